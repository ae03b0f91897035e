"""A room's rules, by a clock that the test sets."""

from __future__ import annotations

import pytest

from kit.workshop import room as rules
from kit.workshop.room import Refused, Room

TITLES = {"06-4": "The high watermark", "06-5": "The election"}


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def entry(attempts: int = 1, hints: int = 0, solved: bool = False) -> dict:
    return {"attempts": attempts, "hints": hints, "solved": solved}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def room(clock) -> Room:
    return Room({"00-2": "A record"} | TITLES, 3600, clock)


def cell(room: Room, exercise: str = "06-4") -> dict:
    return room.view()["participants"][0]["exercises"][exercise]


def test_a_report_shows_attempts_hints_and_the_time_since(room, clock) -> None:
    alias, key = room.join()
    room.report(key, {"06-4": entry(2, 1)})
    clock.now += 100
    assert room.view() == {
        "remaining_s": 3500,
        "exercises": [["06-4", "The high watermark"], ["06-5", "The election"]],
        "participants": [
            {
                "alias": alias,
                "exercises": {
                    "06-4": {
                        "attempts": 2, "hints": 1, "solved": False, "since_s": 100, "stuck": False,
                    }
                },
            }
        ],
    }  # fmt: skip


def test_four_attempts_or_five_minutes_are_stuck_and_a_solution_is_not(room, clock) -> None:
    _, key = room.join()
    room.report(key, {"06-4": entry(4), "06-5": entry(1)})
    assert cell(room)["stuck"]
    assert not cell(room, "06-5")["stuck"]
    clock.now += rules.STUCK_AFTER_S
    assert cell(room, "06-5")["stuck"]
    room.report(key, {"06-4": entry(5, solved=True), "06-5": entry(1)})
    assert not cell(room)["stuck"]
    assert cell(room, "06-5")["since_s"] == 300, "a report of the same state is no news"


def test_aliases_are_random_and_each_has_its_own(room, clock) -> None:
    aliases = []
    for _ in range(rules.MOST_PARTICIPANTS):
        clock.now += 1
        aliases.append(room.join()[0])
    assert len(set(aliases)) == len(aliases)
    assert aliases != sorted(aliases)
    with pytest.raises(Refused, match="The room is full") as refused:
        room.join()
    assert refused.value.status == 429


def test_a_flood_of_joins_is_slowed_down(room) -> None:
    for _ in range(rules.MOST_JOINS_A_MINUTE):
        room.join()
    with pytest.raises(Refused):
        room.join()


def test_too_many_reports_are_refused_and_later_ones_count_again(room, clock) -> None:
    _, key = room.join()
    for _ in range(rules.REPORTS_AT_ONCE):
        room.report(key, {})
    with pytest.raises(Refused) as refused:
        room.report(key, {})
    assert refused.value.status == 429
    clock.now += 1
    room.report(key, {"06-4": entry(7)})
    assert cell(room)["attempts"] == 7


def test_who_leaves_is_forgotten_and_a_stranger_is_refused(room) -> None:
    _, key = room.join()
    room.report(key, {"06-4": entry()})
    room.leave(key)
    assert room.view()["participants"] == []
    with pytest.raises(Refused) as refused:
        room.report(key, {})
    assert refused.value.status == 403


@pytest.mark.parametrize(
    "garbage",
    [
        None,
        7,
        "06-4",
        [["06-4", 1]],
        {"06-4": 3},
        {"06-4": {}},
        {"<script>": entry()},
        {"06-4": {"attempts": "many", "hints": 0}},
        {"06-4": {"attempts": -1, "hints": 0}},
        {"06-4": {"attempts": True, "hints": 0}},
        {"06-4": {"attempts": 1.5, "hints": 0}},
        {f"06-{number}": entry() for number in range(500)},
    ],
)
def test_data_of_another_shape_is_refused_and_changes_nothing(room, garbage) -> None:
    _, key = room.join()
    with pytest.raises(Refused) as refused:
        room.report(key, garbage)
    assert refused.value.status == 400
    assert room.view()["participants"][0]["exercises"] == {}


def test_unknown_exercises_are_not_noted_and_huge_counts_are_cut(room) -> None:
    _, key = room.join()
    room.report(key, {"99-1": entry(), "06-4": entry(10**30)})
    assert list(room.view()["participants"][0]["exercises"]) == ["06-4"]
    assert cell(room)["attempts"] == rules.LARGEST_COUNT
