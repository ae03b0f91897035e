"""The judge of the group suite finds what must not be in a history."""

from __future__ import annotations

from tests.conformance.members.history import Event, faults


def told(*lines: str) -> list[Event]:
    """`one given 0,1 detail`, each a microsecond after the other."""
    events = []
    for number, line in enumerate(lines):
        name, kind, partitions, *detail = line.split()
        numbers = tuple(map(int, partitions.split(","))) if partitions != "-" else ()
        events.append(Event(number, name, kind, numbers, " ".join(detail)))
    return events


def test_a_partition_that_is_handed_on_has_one_owner() -> None:
    history = told("one given 0,1", "one taken 1", "two given 1", "one taken 0", "two given 0")
    assert faults(history, []) == []


def test_two_members_must_not_own_a_partition() -> None:
    history = told("one given 0,1", "two given 1", "one taken 1")
    assert faults(history, []) == ["1 is given to two while one owns it"]


def test_a_frozen_member_owns_nothing() -> None:
    history = told("one given 0", "one frozen -", "two given 0", "one lost 0")
    assert faults(history, []) == []


def test_a_member_that_lives_must_not_lose_a_partition() -> None:
    assert faults(told("one given 0", "one lost 0"), []) == ["one loses 0 though it lives"]


def test_a_new_owner_reads_from_the_commit() -> None:
    history = told("one given 0", "one read 0 0", "one taken 0", "two given 0", "two read 0 4")
    assert faults(history, [(1, 4)]) == []
    assert faults(history, [(1, 5)]) == ["two reads 0 from 4, not from [5]"]


def test_an_offset_may_be_committed_while_an_owner_asks_for_it() -> None:
    history = told("one given 0", "one committed -", "one read 0 4")
    assert faults(history, [(1, 4)]) == []


def test_a_member_that_fails_is_a_fault() -> None:
    assert faults(told("one error - no broker"), []) == ["one fails: no broker"]
