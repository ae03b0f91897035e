"""What a learner of notebook 02 hears after a wrong answer to an exercise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kit.exercises import catalogue
from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise
from kit.exercises.plain import from_json, to_json
from lessons.nb02_log.exercises.file_of import file_of
from lessons.nb02_log.exercises.scan_from import scan_from
from lessons.nb02_log.exercises.varint import varint


def heard(exercise_id: str, function: Callable[..., Any]) -> str:
    exercise = catalogue.find(exercise_id)
    assert isinstance(exercise, Exercise)
    inputs = exercise.inputs_for("a class")
    results = from_json(to_json([function(*arguments) for arguments in inputs]))
    return exercise.judge(results, Context(inputs=inputs)).message


def entry(entries: list[list[int]], offset: int) -> list[int] | None:
    return max((each for each in entries if each[0] <= offset), default=None)


def place(entries: list[list[int]], offset: int) -> int:
    return sum(each[0] <= offset for each in entries) - 1


WRONG: list[tuple[str, Callable[..., Any], str]] = [
    ("02-8", lambda data: varint(data)[::-1], "the wrong way round"),
    ("02-8", lambda data: (varint(data)[0], varint(data)[1] - 1), "the place of its last byte"),
    ("02-8", lambda data: [str(each) for each in varint(data)], "Return two numbers"),
    ("02-9", lambda entries, offset: entry(entries, offset) or [0, 0], "both numbers of an entry"),
    ("02-9", lambda entries, offset: entry(entries, offset) or 0, "both numbers of an entry"),
    ("02-9", lambda entries, offset: max(place(entries, offset), 0), "the place of an entry"),
    ("02-9", lambda entries, offset: place(entries, offset) + 1, "the place of an entry"),
    ("02-9", lambda entries, offset: offset, "is an offset"),
    ("02-9", lambda entries, offset: str(scan_from(entries, offset)), "Return one number"),
    ("02-9", lambda entries, offset: scan_from(entries, offset) + 1, "No batch is known to begin"),
    ("02-9", lambda entries, offset: scan_from(entries, offset) or None, "No entry is at or below"),
    ("02-9", lambda entries, offset: 0, "read too much"),
    ("02-10", lambda b, start, end, n: file_of(b, start + 1, end, n), "there is one"),
    ("02-10", lambda b, start, end, n: file_of(b, start, end, n) or "None", "return None itself"),
    ("02-10", lambda b, start, end, n: file_of(b, start, end, n) and f"{1:020d}.log",
     "No segment begins at 1"),
    ("02-10", lambda b, start, end, n: file_of(b, start, end, n) and "x" * 20 + ".log",
     "in twenty digits"),
]  # fmt: skip


@pytest.mark.parametrize(("exercise_id", "function", "says"), WRONG)
def test_a_wrong_answer_hears_what_is_wrong_with_it(
    exercise_id: str, function: Callable[..., Any], says: str
) -> None:
    assert says in heard(exercise_id, function)


def test_a_return_that_is_missing_is_still_named() -> None:
    def on_one_path(entries: list[list[int]], offset: int) -> int | None:
        return None if entries and offset >= entries[-1][0] else scan_from(entries, offset)

    assert "a return is missing" in heard("02-9", on_one_path)
