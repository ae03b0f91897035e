"""The judges of notebook 10, and its runs in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from lessons.nb10_offsets import virtual_runs
from lessons.nb10_offsets.exercises import at_least_once
from lessons.nb10_offsets.exercises.first_offset import first_offset
from lessons.nb10_offsets.exercises.send_again import send_again


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((20, 0, 100, "latest"), 20),
        ((100, 0, 100, "earliest"), 100),
        ((20, 50, 100, "earliest"), 50),
        ((None, 0, 100, "latest"), 100),
        ((20, 50, 100, "none"), "error"),
    ],
)
def test_where_a_consumer_starts(arguments: Any, expected: Any) -> None:
    assert first_offset(*arguments) == expected


def test_only_the_newest_commit_is_sent_again() -> None:
    assert send_again(7, 7, "NOT_COORDINATOR")
    assert not send_again(6, 7, "NOT_COORDINATOR")
    assert not send_again(7, 7, "ILLEGAL_GENERATION")


def test_commits_of_the_quiet_run_are_counted_outside_of_listeners() -> None:
    def commit(inside: str) -> list[Any]:
        return [0, "A1", "commit", 1, [[0, 4]], inside, 1, 9]

    quiet = ["plain", [], [commit(""), commit("on_revoke"), commit("")]]
    crashed = ["plain", [3, 1, 1, 0], [commit("")] * 9]
    assert at_least_once._commits([crashed, quiet]) == 2


def test_offsets_of_an_empty_group_expire_and_those_of_an_idle_group_stay() -> None:
    found = virtual_runs.expiry(minutes=1)
    assert [row[1:] for row in found.rows] == [["5", "5"], ["5", "5"], ["5", "none"]]
