"""What a run saw decides which prediction is right."""

from __future__ import annotations

import pytest

from tests.lessons.verdicts import settled


@pytest.mark.parametrize(
    ("error", "counted", "letter"),
    [("KAFKA_DATA_LOSS", 100, "a"), ("", 140, "b"), ("", 200, "c"), ("", 100, "d")],
)
def test_what_a_query_does_about_deleted_records(error, counted, letter) -> None:
    seen = {"sent": 200, "deleted unread": 60, "counted": counted, "error": error}
    assert settled("L6-2", seen) == letter


def test_free_answers_are_what_the_run_saw() -> None:
    assert settled("L6-1", {"counted": 1454, "readable": 1158}) == "296"
    assert settled("L6-3", {"bad": 5}) == "5"
