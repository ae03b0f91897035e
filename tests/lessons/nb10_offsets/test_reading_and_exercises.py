"""The judges of notebook 10, and its runs in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from lessons.nb10_offsets import sick_service, virtual_runs
from lessons.nb10_offsets.exercises import at_least_once
from lessons.nb10_offsets.exercises.first_offset import first_offset
from lessons.nb10_offsets.exercises.retry_topics import route
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


def test_a_later_record_of_a_key_does_not_overtake_the_one_that_waits() -> None:
    assert route("orders", "anna", None, 0, ["anna"]) == "orders-retry"
    assert route("orders", "bert", None, 0, ["anna"]) == "handle"
    assert route("orders-retry", "anna", None, 1, ["anna"]) == "handle"
    assert route("orders-retry", "anna", "Timeout", 3, ["anna"]) == "orders-dlq"
    assert route("orders", "anna", "CannotDecode", 1, []) == "orders-dlq"


def test_what_may_pass_is_tried_again_and_what_cannot_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = {row[0]: row[1:] for row in sick_service.sorted_failures().rows}
    assert found["a service that is back after three attempts"][2:] == ["4", "processed"]
    assert found["another writer was first"] == ["StaleVersion", "may pass", "2", "processed"]
    assert found["a service that stays down"][2:] == ["4", "dead letter"]
    assert found["a wrong password"][1:] == ["concerns all records", "1", "stop"]
    assert found["bytes that do not decode"][2:] == ["1", "dead letter"]
    monkeypatch.setattr(sick_service, "kind", lambda error: sick_service.PASSES)
    found = {row[0]: row[1:] for row in sick_service.sorted_failures().rows}
    assert found["bytes that do not decode"][2:] == ["4", "dead letter"]


def test_commits_of_the_quiet_run_are_counted_outside_of_listeners() -> None:
    def commit(inside: str) -> list[Any]:
        return [0, "A1", "commit", 1, [[0, 4]], inside, 1, 9]

    quiet = ["plain", [], [commit(""), commit("on_revoke"), commit("")]]
    crashed = ["plain", [3, 1, 1, 0], [commit("")] * 9]
    assert at_least_once._commits([crashed, quiet]) == 2


def test_offsets_expire_where_a_group_is_empty_or_no_longer_reads_the_topic() -> None:
    found = virtual_runs.expiry(minutes=1)
    assert [row[1:] for row in found.rows] == [
        ["5", "5", "5"],
        ["5", "5", "5"],
        ["5", "none", "none"],
        ["", "reads 5 of 5", ""],
        ["", "reads 0 of 5", ""],
    ]


def test_pauses_that_grow_spare_a_service_that_is_down() -> None:
    *attempts, calls = sick_service.pauses().rows
    assert [row[2:4] for row in attempts] == [
        ["1 s", "1 s"],
        ["2 s", "2 s"],
        ["3 s", "4 s"],
        ["4 s", "8 s"],
    ]
    _, linear, exponential, _ = map(int, calls[1:])
    assert linear <= 40, "four calls, and 0.1 s of pauses"
    assert exponential <= 27, "four calls, and 0.15 s of pauses"
