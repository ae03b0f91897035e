"""The history of a simulated run."""

from __future__ import annotations

from engine.client.producer import Load
from engine.client.producer import Producer as Teachable
from engine.sim.history import check, history_in, history_of
from engine.sim.world import World


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


def test_a_record_that_is_gone_in_the_end_is_lost() -> None:
    """An unclean election: the consumer stands at the end, and acknowledged records are not."""
    world = World(seed=3)
    world.create_topic("orders", replicas=2, config={"unclean.leader.election.enable": "true"})
    leader = world.leader("orders", 0)
    (follower,) = (b for b in world.partition("orders", 0).replicas if b != leader)
    world.stop(follower)
    world.run(for_s=1)
    producer = world.load("orders", count=5)
    world.run(until=lambda _: producer.idle, for_s=5)
    world.kill(leader)
    world.run(for_s=3)
    world.start(follower)
    world.reader("orders")
    world.run(for_s=5)
    assert check(history_in(world)).kinds == {"unseen": 5}
    assert check(history_in(world, at_end=True)).kinds == {"lost": 5}
