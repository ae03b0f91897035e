"""One consumer and the calls that an application makes: poll, commit, seek, pause, close."""

from __future__ import annotations

import pytest

from engine.client.consumer.settings import ConsumerSettings
from engine.client.consumer.subscription import OffsetAndMetadata
from engine.sim.world.world import World
from engine.wire import messages as m
from engine.wire.errors import KafkaError
from tests.engine.client.consumer.worlds import (
    bare,
    call,
    consumer,
    fill,
    lines,
    member,
    stable,
    values,
    world,
)

P0 = ("orders", 0)


def one(count: int = 30, **given: object) -> World:
    """A world with one partition, so many records in it, and a bare consumer of it."""
    w = world(partitions=1)
    fill(w, count)
    bare(w, **given)
    w.tell("c-1", "assign", (P0,))
    return w


def read(w: World, name: str = "c-1") -> list[str]:
    return [record.text for record in call(w, name, "poll", 3_000).records]


def numbers(first: int, end: int) -> list[str]:
    return [f"shop-{n}" for n in range(first, end)]


def test_a_poll_returns_at_most_max_poll_records_and_later_polls_the_others() -> None:
    w = one(max_poll_records=12)
    assert read(w) == numbers(0, 12)
    assert consumer(w, "c-1").position(P0) == 12
    fetches = w.cluster.happened
    assert read(w) == numbers(12, 24)
    assert w.cluster.happened - fetches < 5  # from the buffer
    assert read(w) == numbers(24, 30)


def test_a_poll_without_records_returns_nothing_after_its_timeout() -> None:
    w = one(count=1)
    assert read(w) == numbers(0, 1)
    began = w.now_us
    assert read(w) == []
    assert 2_990_000 < w.now_us - began < 3_100_000


def test_a_fetch_waits_for_fetch_min_bytes_but_not_beyond_fetch_max_wait_ms() -> None:
    w = one(count=1, fetch_min_bytes=10_000, fetch_max_wait_ms=700)
    call(w, "c-1", "poll", 1)  # metadata, offsets
    w.run(for_s=1)
    began = w.now_us
    assert read(w) == numbers(0, 1)
    assert 600_000 < w.now_us - began < 900_000


def test_max_partition_fetch_bytes_cuts_what_one_fetch_brings() -> None:
    w = one(max_partition_fetch_bytes=300)
    first = read(w)
    assert 0 < len(first) < 10
    assert first == numbers(0, len(first))


def test_seek_goes_anywhere_and_drops_what_was_fetched() -> None:
    w = one(max_poll_records=5)
    assert read(w) == numbers(0, 5)
    w.tell("c-1", "seek", P0, 20)
    assert read(w) == numbers(20, 25)
    w.tell("c-1", "seek_to", P0, "earliest")
    assert read(w) == numbers(0, 5)
    w.tell("c-1", "seek_to", P0, "latest")
    assert read(w) == []
    assert consumer(w, "c-1").position(P0) == 30


def test_a_paused_partition_returns_nothing_and_goes_on_where_it_was() -> None:
    w = one(max_poll_records=5)
    assert read(w) == numbers(0, 5)
    w.tell("c-1", "pause", (P0,))
    assert read(w) == []
    w.tell("c-1", "resume", (P0,))
    assert read(w) == numbers(5, 10)


def test_a_partition_that_is_not_ours_cannot_be_sought() -> None:
    w = one()
    with pytest.raises(ValueError, match="does not own orders-3; it owns orders-0"):
        consumer(w, "c-1").seek(0, ("orders", 3), 1)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [("earliest", 0), ("latest", 30), ("by_duration:PT1H", 0), ("by_duration:PT0S", 30)],
)
def test_without_a_committed_offset_the_policy_decides(policy: str, expected: int) -> None:
    w = one(auto_offset_reset=policy, group_id="billing")
    call(w, "c-1", "poll", 200)
    (_, fields, _) = lines(w, "c-1", "reset")[-1]
    assert fields["offset"] == expected


def test_the_policy_none_reports_an_error_instead_of_a_reset() -> None:
    w = one(auto_offset_reset="none", group_id="billing")
    assert call(w, "c-1", "poll", 2_000).error == "NO_OFFSET_FOR_PARTITION"
    w.tell("c-1", "seek", P0, 99)
    assert call(w, "c-1", "poll", 2_000).error == "OFFSET_OUT_OF_RANGE"


def test_an_offset_out_of_range_is_reset() -> None:
    w = one()
    w.tell("c-1", "seek", P0, 99)
    assert read(w) == numbers(0, 30)
    assert lines(w, "c-1", "fetch refused")[0][1]["error"] == "OFFSET_OUT_OF_RANGE"


def test_a_commit_is_where_the_next_consumer_begins_and_carries_a_note() -> None:
    w = one(group_id="billing", enable_auto_commit=False)
    read(w)
    call(w, "c-1", "commit_sync", {P0: OffsetAndMetadata(7, 0, "half of it")})
    last = consumer(w, "c-1").last_commit
    assert last is not None
    assert last.verdict == "committed"
    group = m.OffsetFetchRequest.OffsetFetchRequestGroup(group_id="billing", topics=None)
    coordinator = consumer(w, "c-1").coordinator.node
    found = w.ask(m.OffsetFetchRequest(groups=[group]), broker=coordinator)
    assert found is not None
    part = found.groups[0].topics[0].partitions[0]
    assert (part.committed_offset, part.metadata) == (7, "half of it")
    bare(w, "c-2", group_id="billing")
    w.tell("c-2", "assign", (P0,))
    assert read(w, "c-2") == numbers(7, 30)


def test_a_commit_without_offsets_takes_the_positions() -> None:
    w = one(group_id="billing", enable_auto_commit=False, max_poll_records=10)
    read(w)
    w.tell("c-1", "commit_async")
    w.run(for_s=1)
    last = consumer(w, "c-1").last_commit
    assert last is not None
    assert last.offsets == {P0: OffsetAndMetadata(10, 0)}
    assert last.verdict == "committed"


def test_a_sync_commit_waits_for_a_coordinator_that_is_away() -> None:
    w = one(group_id="billing", enable_auto_commit=False)
    read(w)
    call(w, "c-1", "commit_sync")
    w.kill(consumer(w, "c-1").coordinator.node or 101)
    began = w.now_us
    call(w, "c-1", "commit_sync", {P0: OffsetAndMetadata(3)})
    assert w.now_us - began > 500_000
    last = consumer(w, "c-1").last_commit
    assert last is not None
    assert last.verdict == "committed"


def test_the_offsets_of_a_poll_are_committed_by_the_next_polls_and_by_close() -> None:
    w = one(group_id="billing", max_poll_records=10, auto_commit_interval_ms=1_000)
    assert read(w) == numbers(0, 10)
    w.run(for_s=3)
    assert lines(w, "c-1", "committed")[-1:] == []  # no poll, no commit
    assert read(w) == numbers(10, 20)
    w.run(for_s=0.5)
    assert lines(w, "c-1", "committed")[-1][1]["offset"] == 10
    call(w, "c-1", "close")
    assert lines(w, "c-1", "committed")[-1][1]["offset"] == 20


def test_a_call_during_a_call_is_refused() -> None:
    w = one()
    w.tell("c-1", "poll", 1_000)
    with pytest.raises(RuntimeError, match="one call at once"):
        consumer(w, "c-1").poll(w.cluster.now, 1)


@pytest.mark.parametrize(
    ("strategy", "repeats", "loses"),
    [("before", False, True), ("after", True, False), ("each", False, False)],
)
def test_what_a_crash_in_the_work_does_depends_on_when_the_loop_commits(
    strategy: str, repeats: bool, loses: bool
) -> None:
    w = world(partitions=1)
    fill(w, 30)
    given = {"enable.auto.commit": False, "max.poll.records": 10}
    member(w, "A", given, commit=strategy, per_record_us=20_000)
    w.run(until=lambda w: len(values(w, "A")) == 15 and not consumer(w, "A").busy, for_s=20)
    done = values(w, "A")
    w.kill("A")
    member(w, "B", given, commit=strategy)
    w.run(until=stable("B", each=1), for_s=30)
    w.run(for_s=3)
    both = done + values(w, "B")
    assert (len(both) > len(set(both))) is repeats
    assert (set(both) < set(numbers(0, 30))) is loses


def test_a_listener_commits_what_is_processed_before_its_partitions_go() -> None:
    w = world()
    fill(w, 400)
    given = {"enable.auto.commit": False, "max.poll.records": 10}
    for name in "AB":
        member(w, name, given, commit="none", commit_on_revoke=True, per_record_us=10_000)
        w.run(for_s=1.5)
    w.run(until=stable("A", "B", each=2), for_s=20)
    w.run(for_s=10)
    both = values(w, "A", "B")
    assert len(both) == len(set(both)) == 400


def test_after_a_change_of_leader_the_position_is_checked_with_the_new_one() -> None:
    w = one(max_poll_records=10)
    read(w)
    leader = w.leader("orders", 0)
    w.kill(leader)
    assert w.run(until=lambda w: w.leader("orders", 0) not in (-1, leader), for_s=20)
    before = len(lines(w, "c-1", "validated"))
    while consumer(w, "c-1").position(P0) < 30:
        read(w)
    w.run(for_s=1)
    call(w, "c-1", "poll", 6_000)
    assert len(lines(w, "c-1", "validated")) > before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("auto.offset.reset", "newest"),
        ("auto.offset.reset", "by_duration:1h"),
        ("partition.assignment.strategy", "fair"),
        ("heartbeat.interval.ms", 45_000),
        ("max.poll.records", 0),
        ("linger.ms", 1),
    ],
)
def test_settings_that_make_no_sense_are_refused(name: str, value: object) -> None:
    with pytest.raises(KafkaError, match=name.split(".")[0]):
        ConsumerSettings.of({name: value})
