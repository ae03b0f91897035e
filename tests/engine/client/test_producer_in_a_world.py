"""The producer among brokers in virtual time: what it sends, when, and what became of it."""

from __future__ import annotations

import pytest

from engine.client.producer import Load
from tests.engine.client.worlds import finish, lines, log, produce, send, world


def test_records_gather_for_linger_ms_and_leave_together() -> None:
    w = world()
    produce(w, linger_ms=50)
    send(w, "A", "B", "C")
    w.run(for_s=0.2)
    (sent,) = lines(w, "sent")
    assert sent[1]["records"] == 3
    assert sent[0] - lines(w, "record")[0][0] >= 50_000
    assert finish(w).verdicts.count() == {"acknowledged": 3}
    assert log(w) == ["A", "B", "C"]


def test_a_full_batch_does_not_linger() -> None:
    w = world()
    produce(w, linger_ms=10_000, batch_size=200, delivery_timeout_ms=30_000)
    send(w, *(f"{n:040}" for n in range(6)))
    w.run(for_s=0.5)
    assert [each[1]["records"] for each in lines(w, "sent")] == [2, 2]
    assert finish(w).verdicts.count() == {"acknowledged": 6}


def test_never_more_than_five_requests_are_under_way() -> None:
    w = world()
    for follower in (102, 103):
        w.pause(follower)
    produce(w, batch_size=0, linger_ms=0)
    send(w, *"ABCDEFGHIJ")
    w.run(for_s=0.3)
    assert len(lines(w, "sent")) == 5


def test_a_killed_leader_costs_time_and_nothing_else() -> None:
    w = world()
    produce(w, Load("orders", 300, period_us=10_000))
    w.run(for_s=1)
    w.kill(101)
    producer = finish(w)
    assert producer.verdicts.count() == {"acknowledged": 300}
    assert log(w) == [f"shop-{n}" for n in range(300)]
    assert all(each.text == log(w)[each.offset] for each in producer.sends)


@pytest.mark.parametrize(("idempotence", "copies"), [(True, 1), (False, 2)])
def test_a_lost_answer_makes_a_copy_only_without_idempotence(
    idempotence: bool, copies: int
) -> None:
    w = world()
    produce(w, enable_idempotence=idempotence)
    send(w, "A")
    w.run(until=lambda _: bool(log(w)), for_s=5)
    w.cut(101, "shop")  # appended, and the answer waits at the cut
    w.run(for_s=2.5)
    w.heal(101, "shop")
    assert finish(w).verdicts.count() == {"acknowledged": 1}
    assert log(w) == ["A"] * copies


def test_what_never_left_is_refused_and_what_did_is_unknown() -> None:
    w = world()
    produce(w, delivery_timeout_ms=3_000)
    send(w, "known")
    finish(w)
    w.cut(101, "shop")
    send(w, "left")
    w.run(for_s=1.5)
    send(w, "stayed")
    producer = finish(w)
    assert [(each.text, each.verdict) for each in producer.sends] == [
        ("known", "acknowledged"),
        ("left", "unknown"),
        ("stayed", "refused"),
    ]
    assert producer.sends[1].done_us - producer.sends[1].made_us >= 3_000_000


def test_gaps_between_attempts_double_and_jitter() -> None:
    w = world()
    for follower in (102, 103):
        w.kill(follower)
    w.run(until=lambda w: len(w.partition("orders", 0).isr) == 1, for_s=10)
    produce(w, retry_backoff_ms=100, retry_backoff_max_ms=1_000)
    send(w, "A")
    w.run(for_s=6)
    waits = [fields["backoff_us"] / 1000 for _, fields, _ in lines(w, "retry")]
    for wait, expected in zip(waits, [100, 200, 400, 800, 1000, 1000], strict=False):
        assert 0.8 * expected <= wait <= min(1.2 * expected, 1_000)
    assert len(waits) > 4
    assert len(set(waits[:4])) == 4
    assert lines(w, "retry")[0][2] == "NOT_ENOUGH_REPLICAS"


def test_a_full_buffer_blocks_the_sender_and_max_block_ms_ends_that() -> None:
    w = world()
    for broker in (101, 102, 103):
        w.pause(broker)
    produce(w, buffer_memory=40_000, max_block_ms=500)
    send(w, "A")
    w.run(for_s=0.6)
    first = w.cluster.nodes["shop"].sends[0]
    assert (first.verdict, first.error) == ("refused", "max.block.ms")  # no metadata
    for broker in (101, 102, 103):
        w.resume(broker)
    w.run(until=lambda w: w.cluster.nodes["shop"].metadata.partitions("orders") > 0, for_s=10)
    w.pause(101)
    send(w, *("x" * 15_000 for _ in range(4)))
    w.run(for_s=0.6)
    verdicts = [each.verdict for each in w.cluster.nodes["shop"].sends[1:]]
    assert verdicts == ["pending", "pending", "refused", "refused"]


def test_too_large_a_record_is_turned_away_at_the_door() -> None:
    w = world()
    produce(w, max_request_size=1_000)
    send(w, "x" * 2_000)
    (sent,) = w.cluster.nodes["shop"].sends
    assert (sent.verdict, sent.error) == ("refused", "larger than max.request.size")


def test_a_batch_larger_than_the_topic_takes_is_cut_up() -> None:
    w = world()
    w.create_topic("small", assignment={0: [101, 102, 103]}, config={"max.message.bytes": 600})
    produce(w, linger_ms=50)
    for n in range(8):
        w.tell("shop", "send", "small", (f"{n}" * 100).encode(), None, 0)
    assert finish(w).verdicts.count() == {"acknowledged": 8}
    assert log(w, topic="small") == [f"{n}" * 100 for n in range(8)]
    assert len(lines(w, "split")) == 1


def test_acks_0_believes_in_success_and_hears_of_nothing() -> None:
    w = world()
    produce(w, acks="0")
    send(w, "first")
    w.run(for_s=0.5)
    w.kill(101)
    send(w, "A")
    w.run(for_s=0.001)
    producer = finish(w)
    assert producer.verdicts.count() == {"acknowledged": 2}
    assert {each.offset for each in producer.sends} == {-1}
    w.run(until=lambda w: w.leader("orders", 0) == 102, for_s=10)
    assert log(w) == ["first"]


def test_acks_0_to_an_old_leader_loses_its_connection_and_asks_again() -> None:
    w = world()
    produce(w, Load("orders", 100, period_us=50_000), acks="0")
    w.run(for_s=1)
    w.stop(101)
    w.start(101)
    finish(w)
    w.run(for_s=1)
    assert "shop-99" in log(w)


def test_the_same_seed_and_calls_give_the_same_trace_and_a_fork_the_same_future() -> None:
    def run() -> list[str]:
        w = world()
        produce(w, Load("orders", 200, period_us=5_000, partition=None))
        w.run(for_s=0.5)
        w.kill(102)
        copy = w.fork()
        finish(w)
        finish(copy)
        reported = [str(line) for _, node, line in w.cluster.trace if node == "shop"]
        assert reported == [str(line) for _, node, line in copy.cluster.trace if node == "shop"]
        return reported

    assert run() == run()


def test_it_works_when_messages_travel_as_bytes() -> None:
    w = world(encoded=True)
    produce(w, compression_type="gzip")
    send(w, *"ABC")
    assert finish(w).verdicts.count() == {"acknowledged": 3}
    w2 = world(encoded=True)
    produce(w2, acks="0")
    send(w2, *"ABC")
    w2.run(for_s=1)
    assert log(w2) == ["A", "B", "C"]


def test_a_batch_given_up_after_it_was_sent_is_followed_by_a_new_epoch() -> None:
    w = world()
    produce(w, delivery_timeout_ms=2_500)
    send(w, "known")
    finish(w)
    w.cut(101, "shop")
    send(w, "A")
    finish(w)
    w.heal()
    send(w, "B")
    finish(w)
    numbers = [(each["epoch"], each["sequence"]) for _, each, _ in lines(w, "sent")]
    assert numbers == [(0, 0), (0, 1), (1, 0)]


def test_memory_is_given_back_when_a_batch_is_done() -> None:
    w = world()
    produce(w, buffer_memory=40_000, max_block_ms=1_000)
    w.run(for_s=0.2)
    for _ in range(10):
        send(w, "x" * 15_000)
        finish(w)
    assert w.client("shop").verdicts.count() == {"acknowledged": 10}


def test_a_late_answer_differs_from_a_lost_connection() -> None:
    w = world()
    produce(w)
    send(w, "known")
    finish(w)
    w.cut(101, "shop")
    send(w, "A")
    w.run(for_s=1.5)
    errors = [fields["error"] for _, fields, _ in lines(w, "answered")]
    assert errors == ["NONE", "REQUEST_TIMED_OUT"]
    w.heal()
    w.kill(101)
    send(w, "B")
    finish(w)
    assert w.client("shop").verdicts.count() == {"acknowledged": 3}
