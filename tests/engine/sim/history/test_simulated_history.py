"""A simulated run's history, and what the campaign makes of it."""

from __future__ import annotations

import pytest

from engine.client.producer import Load
from engine.client.producer import Producer as Teachable
from engine.events import Expired
from engine.sim.clients import Producer
from engine.sim.consumer import Consumer
from engine.sim.history import Poll, Read, check, history_in, history_of, judge
from engine.sim.world import World


def history(*verdicts: str, idempotent: bool = False) -> tuple[Producer, Consumer]:
    """A producer that sent a, b, c … with these verdicts, and a consumer that saw nothing."""
    producer = Producer("p", "orders", 1, (101,), idempotent=idempotent)
    for _ in verdicts:
        producer.step(0, Expired(("make",)))
    for offset, (sent, verdict) in enumerate(zip(producer.history[0], verdicts, strict=True)):
        sent.value = "abcdefgh"[offset]
        sent.verdict = verdict
        sent.offset = offset if verdict == "acknowledged" else -1
    consumer = Consumer("c", "orders", 1, (101,))
    consumer.start(0)
    return producer, consumer


def see(consumer: Consumer, values: str) -> None:
    reads = tuple(Read("orders", 0, offset, value) for offset, value in enumerate(values))
    consumer.operations.append(Poll(1, "c", reads))
    consumer.positions[0].offset = len(values)


def test_everything_acknowledged_is_seen() -> None:
    producer, consumer = history("acknowledged", "acknowledged")
    see(consumer, "ab")
    assert judge(producer, consumer) == []


def test_an_acknowledged_record_that_is_missing_is_lost_unless_the_election_was_unclean() -> None:
    producer, consumer = history("acknowledged", "acknowledged")
    see(consumer, "a")
    assert judge(producer, consumer)[0].startswith("lost: 'b' was acknowledged at offset 1")
    assert judge(producer, consumer, unclean=("orders-0",)) == []


def test_a_phantom_counts_also_after_an_unclean_election() -> None:
    producer, consumer = history("refused")
    see(consumer, "az")
    for unclean in ((), ("orders-0",)):
        kinds = [finding.partition(":")[0] for finding in judge(producer, consumer, unclean)]
        assert kinds == ["phantom", "phantom"]


@pytest.mark.parametrize(("seen", "kind"), [("abb", "duplicate"), ("acb", "reordered")])
def test_only_an_idempotent_producer_promises_once_and_in_order(seen: str, kind: str) -> None:
    producer, consumer = history("unknown", "unknown", "unknown")
    see(consumer, seen)
    assert judge(producer, consumer) == []
    producer.idempotent = True
    assert judge(producer, consumer)[0].startswith(kind)


def test_a_world_s_own_clients_leave_a_clean_history() -> None:
    world = World(seed=3)
    world.create_topic("orders", partitions=2)
    producer = world.load("orders", count=200, idempotent=True)
    consumer = world.reader("orders")
    world.run(for_s=2)
    world.kill(world.leader("orders", 0))
    world.run(until=lambda _: producer.idle, for_s=60)
    world.run(for_s=5)
    findings = check(history_of([producer], [consumer], at_end=True))
    assert not findings, findings.text
    assert findings.summary.startswith("200 sent (200 acknowledged")


def test_a_world_s_history_has_all_its_clients_in_its_own_time() -> None:
    world = World(seed=3)
    world.create_topic("orders")
    world.load("orders", count=20)
    load = Load("orders", count=30, period_us=5_000)
    world.add("shop", Teachable("shop", (101, 102, 103), load=load))
    world.reader("orders")
    world.run(for_s=5)
    history = history_in(world, at_end=True)
    assert check(history).summary.startswith("50 sent (50 acknowledged")
    assert not check(history)
    assert {each.client for each in history.operations} == {"producer-1", "shop", "consumer-2"}
    assert all(0 <= each.at_us <= world.now_us for each in history.operations)


def test_a_send_that_still_waits_is_unknown() -> None:
    world = World(seed=3)
    world.create_topic("orders")
    producer = world.load("orders", count=1)
    world.run(until=lambda _: producer.made == 1, for_s=1)
    assert [each.verdict for each in history_of([producer], []).operations] == ["unknown"]
