"""Fetch sessions on the leader's side, and operations that wait."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from engine.events import CancelTimer, Outbox, SetTimer
from engine.replication.fetch_sessions import (
    EVICTION_US,
    FetchContext,
    FetchedPartition,
    FetchSessions,
    View,
)
from engine.replication.purgatory import Purgatory, PurgatoryTimer
from engine.wire import messages as m
from engine.wire.errors import Errors

ID = bytes(range(16))
VIEW = View(102, broker_epoch=7)


class Names:
    """Topic names by id, as the broker's metadata has them."""

    def __init__(self) -> None:
        self.known = {ID: "orders"}

    def __call__(self, topic_id: bytes) -> str:
        return self.known.get(topic_id, "")


def request(session_id: int, epoch: int, *offsets: tuple[int, int], forget: tuple[int, ...] = (),
            topic_id: bytes = ID) -> Any:  # fmt: skip
    fetch = m.FetchRequest
    parts = [
        fetch.FetchPartition(partition=index, fetch_offset=offset) for index, offset in offsets
    ]
    return fetch(
        session_id=session_id,
        session_epoch=epoch,
        topics=[fetch.FetchTopic(topic_id=topic_id, partitions=parts)] if parts else [],
        forgotten_topics_data=[fetch.ForgottenTopic(topic_id=topic_id, partitions=list(forget))]
        if forget
        else [],
    )


def sessions(slots: int = 10) -> FetchSessions:
    return FetchSessions(slots, Random(1))


def wanted(context: FetchContext) -> list[tuple[int, int]]:
    return [(each.index, each.fetch_offset) for each in context.partitions]


def test_an_incremental_request_names_only_what_changed() -> None:
    all_of_them = sessions()
    first = all_of_them.open(0, request(0, 0, (0, 5), (1, 6)), VIEW, Names())
    assert first.session_id != 0
    second = all_of_them.open(0, request(first.session_id, 1, (1, 9)), VIEW, Names())
    assert wanted(second) == [(0, 5), (1, 9)]
    third = all_of_them.open(0, request(first.session_id, 2, forget=(0,)), VIEW, Names())
    assert wanted(third) == [(1, 9)]


def test_a_repeated_or_lost_request_is_noticed() -> None:
    all_of_them = sessions()
    known = all_of_them.open(0, request(0, 0, (0, 5)), VIEW, Names()).session_id
    assert all_of_them.open(0, request(known, 1), VIEW, Names()).error == Errors.NONE
    again = all_of_them.open(0, request(known, 1), VIEW, Names())
    assert again.error == Errors.INVALID_FETCH_SESSION_EPOCH
    unknown = all_of_them.open(0, request(known + 1, 1), VIEW, Names())
    assert unknown.error == Errors.FETCH_SESSION_ID_NOT_FOUND


def test_a_full_request_replaces_the_session_and_epoch_minus_one_ends_it() -> None:
    all_of_them = sessions()
    known = all_of_them.open(0, request(0, 0, (0, 5)), VIEW, Names()).session_id
    replaced = all_of_them.open(0, request(known, 0, (0, 5)), VIEW, Names()).session_id
    assert list(all_of_them.sessions) == [replaced]
    assert all_of_them.open(0, request(replaced, -1, (0, 5)), VIEW, Names()).session_id == 0
    assert all_of_them.sessions == {}


@pytest.mark.parametrize("named", [(), ((0, 7),)], ids=["only forgotten", "named and forgotten"])
def test_a_session_ends_with_its_last_partition(named: tuple[tuple[int, int], ...]) -> None:
    """What the request names is read, without a session."""
    all_of_them = sessions()
    known = all_of_them.open(0, request(0, 0, (0, 5)), VIEW, Names()).session_id
    last = all_of_them.open(0, request(known, 1, *named, forget=(0,)), VIEW, Names())
    assert (last.error, last.session_id, last.session) == (Errors.NONE, 0, None)
    assert wanted(last) == list(named)
    assert all_of_them.sessions == {}


def test_a_full_cache_gives_no_session_until_one_is_long_unused() -> None:
    all_of_them = sessions(slots=1)
    old = all_of_them.open(0, request(0, 0, (0, 5)), VIEW, Names()).session_id
    assert all_of_them.open(1, request(0, 0, (1, 5)), VIEW, Names()).session_id == 0
    fresh = all_of_them.open(EVICTION_US, request(0, 0, (1, 5)), VIEW, Names()).session_id
    assert fresh not in (0, old)
    assert list(all_of_them.sessions) == [fresh]


def test_a_topic_that_was_unknown_is_served_without_being_named_again() -> None:
    """The follower had heard of the topic before the leader had."""
    names, later = Names(), bytes(reversed(ID))
    all_of_them = sessions()
    first = all_of_them.open(0, request(0, 0, (0, 5), topic_id=later), VIEW, names)
    assert first.partitions[0].topic == ""
    names.known[later] = "payments"
    second = all_of_them.open(0, request(first.session_id, 1), VIEW, names)
    assert second.partitions[0].topic == "payments"


def test_a_session_keeps_to_its_way_of_naming_topics() -> None:
    all_of_them = sessions()
    known = all_of_them.open(0, request(0, 0, (0, 5)), VIEW, Names()).session_id
    other = all_of_them.open(0, request(known, 1), VIEW, Names(), by_id=False)
    assert other.error == Errors.FETCH_SESSION_TOPIC_ID_ERROR
    assert all_of_them.open(0, request(known, 1), VIEW, Names()).error == Errors.NONE


def test_who_got_records_goes_behind_the_others() -> None:
    all_of_them = sessions()
    known = all_of_them.open(0, request(0, 0, (0, 5), (1, 6)), VIEW, Names()).session_id
    context = all_of_them.open(0, request(known, 1), VIEW, Names())
    assert context.session is not None
    context.session.served(context.partitions[0])
    assert wanted(all_of_them.open(0, request(known, 2), VIEW, Names())) == [(1, 6), (0, 5)]


def settled(all_of_them: FetchSessions) -> FetchContext:
    """Partitions 0 and 1 in a session, both looked at and found idle."""
    known = all_of_them.open(0, request(0, 0, (0, 5), (1, 6)), VIEW, Names()).session_id
    context = all_of_them.open(1, request(known, 1), VIEW, Names())
    assert context.session is not None
    context.session.due.clear()
    return context


def test_what_is_idle_is_read_again_once_it_moves_or_is_named() -> None:
    all_of_them = sessions()
    known = settled(all_of_them).session_id
    assert wanted(all_of_them.open(1, request(known, 2), VIEW, Names())) == []
    all_of_them.look_again(("orders", 1))
    assert wanted(all_of_them.open(1, request(known, 3, (0, 7)), VIEW, Names())) == [(0, 7), (1, 6)]


@pytest.mark.parametrize(
    "view",
    [VIEW._replace(isolation_level=1), VIEW._replace(rack="b"), VIEW._replace(broker_epoch=8)],
    ids=["isolation level", "rack", "started again"],
)
def test_who_sees_other_things_is_shown_everything_again(view: View) -> None:
    all_of_them = sessions()
    known = settled(all_of_them).session_id
    assert wanted(all_of_them.open(2, request(known, 2), VIEW, Names())) == []
    assert len(wanted(all_of_them.open(3, request(known, 3), view, Names()))) == 2


def test_what_is_forgotten_or_over_is_not_watched() -> None:
    all_of_them = sessions()
    context = settled(all_of_them)
    all_of_them.open(2, request(context.session_id, 2, forget=(0,)), VIEW, Names())
    assert list(all_of_them.readers) == [("orders", 1)]
    all_of_them.open(3, request(context.session_id, -1), VIEW, Names())
    assert all_of_them.readers == {}


def test_an_answer_that_is_taken_back_is_due_again() -> None:
    all_of_them = sessions()
    context = settled(all_of_them)
    data = m.FetchResponse.PartitionData(partition_index=1)
    topic = m.FetchResponse.FetchableTopicResponse(topic="orders", topic_id=ID, partitions=[data])
    answer = m.FetchResponse(session_id=context.session_id, responses=[topic])
    all_of_them.take_back(answer, incremental=True)
    assert wanted(context) == [(1, 6)]


# -- purgatory


class Waiting:
    """An operation that may end once `ready` is set."""

    def __init__(self) -> None:
        self.ready = False
        self.ends: list[str] = []
        self.moved: list[FetchedPartition | None] = []

    def try_complete(self, now: int, moved: FetchedPartition | None = None) -> bool:
        self.moved.append(moved)
        if self.ready:
            self.ends.append("answered")
        return self.ready

    def expire(self, now: int) -> None:
        self.ends.append("expired")


KEYS = (("orders", 0), ("orders", 1))


def purgatory(operation: Waiting) -> tuple[Purgatory, Outbox]:
    outbox = Outbox()
    waiting = Purgatory(outbox, sessions())
    waiting.try_or_wait(0, operation, KEYS, wait_ms=5)
    return waiting, outbox


def test_a_satisfied_operation_is_answered_once_and_its_timer_cancelled() -> None:
    operation = Waiting()
    waiting, outbox = purgatory(operation)
    waiting.check(1, KEYS[0])
    assert operation.ends == []
    operation.ready = True
    waiting.check(2, KEYS[1])
    waiting.check(3, KEYS[0])
    waiting.expire(5_000, 1)
    assert operation.ends == ["answered"]
    assert outbox.drain() == [SetTimer(PurgatoryTimer(1), 5_000), CancelTimer(PurgatoryTimer(1))]


def test_an_operation_expires_once_and_is_not_tried_again() -> None:
    operation = Waiting()
    waiting, _ = purgatory(operation)
    waiting.expire(5_000, 1)
    operation.ready = True
    waiting.check(5_001, KEYS[0])
    assert operation.ends == ["expired"]


def test_nothing_is_kept_of_what_is_over() -> None:
    operation = Waiting()
    waiting, _ = purgatory(operation)
    waiting.expire(5_000, 1)
    assert (waiting.operations, waiting.watchers) == ({}, {})


def test_a_partition_may_be_watched_twice_by_one_operation() -> None:
    waiting = Purgatory(Outbox(), sessions())
    waiting.try_or_wait(0, Waiting(), (KEYS[0], KEYS[0]), 5)
    waiting.expire(5_000, 1)
    assert (waiting.operations, waiting.watchers) == ({}, {})


def test_other_partitions_wake_no_operation() -> None:
    operation = Waiting()
    waiting, _ = purgatory(operation)
    operation.ready = True
    waiting.check(1, ("payments", 0))
    assert operation.ends == []


def test_a_session_that_waits_hears_which_of_its_partitions_moved() -> None:
    all_of_them = sessions()
    context = settled(all_of_them)
    waiting = Purgatory(Outbox(), all_of_them)
    operation = Waiting()
    waiting.try_or_wait(0, operation, (context.session_id,), 5)
    waiting.check(1, ("orders", 1))
    assert [each and (each.topic, each.index) for each in operation.moved] == [None, ("orders", 1)]


def test_a_partition_that_a_session_knows_by_two_ids_is_looked_at_with_all_others() -> None:
    all_of_them = sessions()
    context = settled(all_of_them)
    assert context.session is not None
    again = FetchedPartition((bytes(16), 1), "orders", bytes(16), 1)
    context.session.add(again)
    all_of_them._watch(context.session, again)
    waiting = Purgatory(Outbox(), all_of_them)
    operation = Waiting()
    waiting.try_or_wait(0, operation, (context.session_id,), 5)
    waiting.check(1, ("orders", 1))
    assert operation.moved == [None, None]
