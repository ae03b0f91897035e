"""What a crash left decides which prediction is right."""

from __future__ import annotations

import pytest

from labs.L2_exactly_once_crash import notes
from labs.L2_exactly_once_crash.exercises import predictions as p
from tests.lessons.verdicts import settled


@pytest.mark.parametrize(
    ("offsets", "commits", "letter"),
    [([0, 1, 2], [0, 1], "a"), ([0, 1], [0], "b"), ([0], [0], "c"), ([0, 1], [0, 1], "d"),
     ([0, 1, 2], [0], "")],
)  # fmt: skip
def test_the_files_of_the_checkpoint_decide(offsets, commits, letter) -> None:
    assert settled("L2-1", {"offsets": offsets, "commits": commits}) == letter


@pytest.mark.parametrize(
    ("reader", "letter"), [(p.KAFKA, "a"), (p.FILES, "b"), (p.COMMITTED, "c"), (p.NOTED, "d")]
)
def test_the_reader_with_fewer_rows_decides(reader, letter) -> None:
    exact = dict.fromkeys((p.KAFKA, p.FILES, p.COMMITTED, p.NOTED, p.TABLE), 120)
    assert settled("L2-3", exact | {reader: 80}) == letter
    assert settled("L2-3", exact) == ""
    assert settled("L2-3", exact | {reader: 140}) == ""


def test_free_answers_are_what_the_run_saw() -> None:
    assert settled("L2-2", {p.APPEND: 160, p.ONCE: 120}) == "160"
    assert settled("L2-4", {"morning": 120, "evening": 0}) == "0"
    seen = {"reader": p.KAFKA, "repeats at": ["in the sink", "executor"], "loses at": []}
    assert settled("L2-5", seen) == "2"
    assert settled("L2-6", {"sink": "x", "rows": 120, "lost": 0, "repeated": 0}) == "120"


REFUSED = "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"


@pytest.mark.parametrize(
    ("rows", "letter"),
    [
        ((0, REFUSED, 120, REFUSED), "c"),
        ((7, REFUSED, 0, REFUSED), "a"),
        ((7, REFUSED, 120, REFUSED), ""),
        ((0, REFUSED, 0, REFUSED), ""),
    ],
)
def test_the_changed_query_that_gives_rows_decides(rows, letter) -> None:
    changes = ("a filter", "one column more", "another column", "a watermark")
    assert settled("L2-12", dict(zip(changes, rows, strict=True))) == letter


def test_the_innermost_condition_is_named() -> None:
    failed = Exception(f"[STREAM_FAILED] Query [id = 1] ended: [{REFUSED}] Provided key schema …")
    assert notes.condition(failed) == REFUSED
