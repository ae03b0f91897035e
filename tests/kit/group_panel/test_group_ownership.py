"""When nobody read a partition: the bars of eager, cooperative and broken groups."""

from __future__ import annotations

from typing import Any

from kit.group_panel.ownership import Ownership
from tests.kit.group_panel.toy_group import (
    START_US,
    belief,
    frame,
    group_of,
    line,
    member,
    shown,
)

KNOWN = shown(
    group_of([member("A", [0, 1]), member("B", [2, 3])]),
    {"A": belief("A", [0, 1]), "B": belief("B", [2, 3])},
)


def followed(*lines: Any, snapshot: Any = KNOWN, until_ms: int = 9_000) -> Ownership:
    ownership = Ownership()
    ownership.follow([frame(0, 0, snapshot), frame(1, until_ms, snapshot, *lines)])
    return ownership


def begun(client: str, *partitions: int) -> tuple[Any, Any]:
    """Assigned at 0.1 s, and reading at 0.2 s."""
    return line(100, "assigned", client, *partitions), line(200, "reads", client, *partitions)


def pauses(ownership: Ownership) -> list[tuple[int, int, int | None]]:
    """(partition, from, to) in milliseconds after the start."""
    return [
        (each.partition[1], (each.start_us - START_US) // 1000,
         None if each.end_us is None else (each.end_us - START_US) // 1000)
        for each in ownership.pauses("orders")
    ]  # fmt: skip


def test_in_an_eager_rebalance_every_partition_stops_also_those_that_stay() -> None:
    ownership = followed(
        *begun("A", 0, 1),
        line(1000, "revoked", "A", 0, 1),
        line(1300, "assigned", "A", 0),
        line(1310, "assigned", "B", 1),
        line(1400, "reads", "A", 0),
        line(1600, "reads", "B", 1),
    )
    assert pauses(ownership) == [(0, 1000, 1400), (1, 1000, 1600)]


def test_in_a_cooperative_rebalance_only_what_moves_stops() -> None:
    ownership = followed(
        *begun("A", 0, 1),
        line(1000, "revoked", "A", 1),
        line(1310, "assigned", "B", 1),
        line(1600, "reads", "B", 1),
    )
    assert pauses(ownership) == [(1, 1000, 1600)]


def test_a_pause_begins_when_the_owner_dies_and_not_when_that_is_found_out() -> None:
    ownership = followed(
        *begun("B", 2), line(1000, "killed", "B"),
        line(7000, "assigned", "A", 2), line(7100, "reads", "A", 2),
    )  # fmt: skip
    assert pauses(ownership) == [(2, 1000, 7100)]


def test_a_frozen_owner_reads_nothing_and_once_thawed_there_are_two_readers() -> None:
    ownership = followed(
        *begun("B", 2), line(1000, "frozen", "B"),
        line(7000, "assigned", "A", 2), line(7100, "reads", "A", 2),
        line(8000, "thawed", "B"), line(8500, "lost", "B", 2),
    )  # fmt: skip
    kinds = [(kind, owner) for _, _, kind, owner in ownership.spans("orders", START_US)[2]]
    assert kinds == [
        ("waits", "B"), ("reads", "B"), ("stopped", ""), ("waits", "A"), ("reads", "A"),
        ("twice", "A"), ("reads", "A"),
    ]  # fmt: skip
    assert pauses(ownership) == [(2, 1000, 7100)]


def test_the_time_before_the_first_record_is_no_pause() -> None:
    assert pauses(followed(*begun("A", 0))) == []


def test_a_pause_that_goes_on_has_no_end() -> None:
    assert pauses(followed(*begun("A", 0), line(1000, "revoked", "A", 0))) == [(0, 1000, None)]


def test_of_members_that_tell_nothing_only_the_coordinators_word_is_drawn() -> None:
    stable = shown(group_of([member("theirs", [0])]), {})
    moving = shown(group_of([member("theirs", [0])], state="PreparingRebalance"), {})
    ownership = Ownership()
    ownership.follow([frame(0, 0, stable), frame(1, 500, moving), frame(2, 900, stable)])
    kinds = [(kind, owner) for _, _, kind, owner in ownership.spans("orders", START_US)[0]]
    assert kinds == [("reported", "theirs-id"), ("unsure", "theirs-id"), ("reported", "theirs-id")]
    assert pauses(ownership) == []


def test_frames_are_taken_in_once() -> None:
    ownership, frames = Ownership(), [frame(0, 500, KNOWN, *begun("A", 0))]
    ownership.follow(frames)
    before = ownership.spans("orders", START_US + 900_000)
    ownership.follow(frames)
    assert ownership.spans("orders", START_US + 900_000) == before
