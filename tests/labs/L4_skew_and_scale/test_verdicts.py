"""What Spark's tasks did decides which prediction is right."""

from __future__ import annotations

import pytest

from tests.lessons.verdicts import settled

ROWS = {"positions": 12_000, "positions of the hot truck": 4_900, "reading tasks": 4}


@pytest.mark.parametrize(
    ("largest", "letter"), [(12, "c"), (3_100, "a"), (4_900, "b"), (7_000, "b"), (1_500, "a")]
)
@pytest.mark.parametrize("question", ["L4-3", "L4-4"])
def test_the_rows_of_the_largest_task_decide(question, largest, letter) -> None:
    assert settled(question, ROWS | {"rows of its largest task": largest}) == letter


@pytest.mark.parametrize(
    ("join", "steps", "letter"), [(7, 4, "a"), (4, 7, "b"), (7, 7, "c"), (4, 4, "d")]
)
def test_what_was_split_decides(join, steps, letter) -> None:
    seen = {"tasks of the join": join, "tasks of the steps": steps}
    largest = {"rows of its largest task, join": 1, "rows of its largest task, steps": 1}
    assert settled("L4-6", seen | largest) == letter


@pytest.mark.parametrize(
    ("rows", "offsets", "ended", "changed", "letter"),
    [(4_000, 4_000, True, True, "d"), (4_100, 4_000, True, True, "c"),
     (3_000, 3_000, True, True, "b"), (900, 900, False, True, "a"),
     (4_000, 4_000, True, False, "")],
)  # fmt: skip
def test_the_rows_of_the_rush_decide(rows, offsets, ended, changed, letter) -> None:
    seen = {"produced": 4_000, "rows": rows, "offsets": offsets, "leader changed": changed}
    assert settled("L4-7", seen | {"the query ended by itself": ended}) == letter


def test_numbers_are_what_the_run_saw() -> None:
    assert settled("L4-1", {"tasks": 6, "tasks of partition 0": 3,
                            "records of the largest task": 400}) == "3"  # fmt: skip
    assert settled("L4-2", {"of partition 2": 30, "of partition 0": 180,
                            "records of the first micro-batch": 300}) == "30"  # fmt: skip
    assert settled("L4-5", {"trucks": 6, "right": ["maximum"], "wrong": []}) == "a"
