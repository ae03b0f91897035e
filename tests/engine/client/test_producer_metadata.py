"""When a producer asks about topics, and what it makes of the answers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.client.backoff import ExponentialBackoff
from engine.client.metadata import Metadata
from engine.client.producer_batch import Sent
from engine.sim.world.world import World
from engine.wire import messages as m
from engine.wire.errors import Errors
from tests.engine.client.worlds import finish, produce, send, world


def _ended(w: World, number: int = -1) -> tuple[str, str, float]:
    """One record's verdict, error, and seconds until then."""
    sent: Sent = w.client("shop").sends[number]
    return sent.verdict, sent.error, (sent.done_us - sent.made_us) / 1e6


def _next_question_in(ms: int) -> Callable[[World], bool]:
    """The backoff has at least so long to go."""
    return lambda w: w.client("shop").metadata.next_at > w.cluster.now + ms * 1000


@pytest.mark.parametrize("in_flight", [1, 5])
def test_a_backlog_does_not_keep_the_question_about_another_topic_back(in_flight: int) -> None:
    w = World(seed=5, brokers=1)
    for topic in ("orders", "payments"):
        w.create_topic(topic, replicas=1)
    produce(w, linger_ms=0, batch_size=1, max_in_flight_requests_per_connection=in_flight)
    send(w, "known")
    finish(w)
    w.delay(101, "shop", ms=250, count=50, api="Produce")
    send(w, *(f"{n}" for n in range(40)))
    w.tell("shop", "send", "payments", b"P", None, 0)
    w.run(for_s=0.4)  # the first answers came, and the first free slot was for the question
    assert w.client("shop").metadata.partitions("payments") == 1
    assert finish(w).verdicts.count() == {"acknowledged": 42}


def test_a_partition_that_was_added_is_asked_about() -> None:
    w = world()
    produce(w, linger_ms=0)
    send(w, "A")
    finish(w)
    request = m.CreatePartitionsRequest
    more = request.CreatePartitionsTopic(name="orders", count=2, assignments=None)
    body = request(topics=[more], timeout_ms=5_000, validate_only=False)
    assert w.ask(body).results[0].error_code == Errors.NONE
    w.run(for_s=2)
    w.tell("shop", "send", "orders", b"B", None, 1)
    assert finish(w).verdicts.count() == {"acknowledged": 2}
    assert _ended(w)[2] < 1


def test_a_partition_that_never_comes_is_waited_for_until_max_block_ms() -> None:
    w = world()
    produce(w, max_block_ms=3_000)
    w.tell("shop", "send", "orders", b"A", None, 7)
    finish(w)
    assert _ended(w) == ("refused", "max.block.ms", 3.0)


def test_a_topic_named_while_an_answer_is_under_way_is_not_forgotten() -> None:
    w = world()
    w.create_topic("payments")
    produce(w, linger_ms=0)
    send(w, "A")
    w.run(until=lambda w: w.client("shop").metadata.asking, for_s=1)
    w.tell("shop", "send", "payments", b"P", None, 0)
    assert finish(w).verdicts.count() == {"acknowledged": 2}
    assert _ended(w)[2] < 1


def test_an_invalid_topic_is_refused_at_once_and_delays_no_other() -> None:
    w = world()
    produce(w, linger_ms=0)
    send(w, "A")
    finish(w)
    for topic in ("no such name!", "no such name!", "orders"):
        w.tell("shop", "send", topic, b"B", None, 0)
    finish(w)
    assert all(_ended(w, n)[:2] == ("refused", "INVALID_TOPIC_EXCEPTION") for n in (1, 2))
    assert _ended(w, 2)[2] == _ended(w, 1)[2] < 0.1
    assert _ended(w)[0] == "acknowledged"
    assert _ended(w)[2] < 0.1


def test_a_deleted_topic_is_forgotten_and_records_wait_outside_until_it_is_back() -> None:
    w = world()
    produce(w, linger_ms=0, max_block_ms=5_000)
    send(w, "A")
    finish(w)
    request = m.DeleteTopicsRequest
    body = request(topics=[request.DeleteTopicState(name="orders")], timeout_ms=5_000)
    assert w.ask(body).responses[0].error_code == Errors.NONE
    w.run(for_s=1)
    send(w, "B")  # nobody knows yet; this one waits inside, for delivery.timeout.ms
    w.run(for_s=3)
    assert w.client("shop").metadata.partitions("orders") == 0
    send(w, "C")
    w.run(for_s=6)
    assert _ended(w) == ("refused", "max.block.ms", 5.0)
    send(w, "D")
    w.create_topic("orders", assignment={0: [102, 103]})
    finish(w)
    assert [each.verdict for each in w.client("shop").sends[1:]] == [
        "acknowledged", "refused", "acknowledged",
    ]  # fmt: skip


def test_a_new_topic_does_not_wait_out_the_backoff() -> None:
    w = world()
    w.create_topic("payments")
    produce(w, linger_ms=0)
    w.tell("shop", "send", "ghost", b"G", None, 0)  # asked about again and again; it never exists
    w.run(for_s=61)
    assert _ended(w)[:2] == ("refused", "max.block.ms")
    assert w.run(until=_next_question_in(ms=700), for_s=10)
    w.tell("shop", "send", "payments", b"P", None, 0)
    assert finish(w).verdicts.count() == {"acknowledged": 1, "refused": 1}
    assert _ended(w)[2] < 0.1


class _NoChance:
    def random(self) -> float:
        return 0.5


def _answer(error: Errors) -> m.MetadataResponse:
    answer = m.MetadataResponse
    parts = [] if error else [answer.MetadataResponsePartition(partition_index=0, leader_id=101)]
    return answer(
        topics=[answer.MetadataResponseTopic(name="orders", error_code=error, partitions=parts)]
    )


def test_access_that_was_refused_is_asked_for_again_with_the_next_record() -> None:
    metadata = Metadata(300_000_000, ExponentialBackoff(100_000, 1_000_000, _NoChance()))
    metadata.add_topic("orders")
    metadata.learn(0, _answer(Errors.TOPIC_AUTHORIZATION_FAILED))
    assert not metadata.wanted, "no question before the next record"
    assert metadata.refusal("orders") == "TOPIC_AUTHORIZATION_FAILED"
    assert metadata.refusal("orders") == ""
    metadata.learn(1, _answer(Errors.INVALID_TOPIC_EXCEPTION))
    assert [metadata.refusal("orders") for _ in range(2)] == ["INVALID_TOPIC_EXCEPTION"] * 2
    metadata.learn(2, _answer(Errors.NONE))
    assert metadata.refusal("orders") == ""
    assert metadata.partitions("orders") == 1
