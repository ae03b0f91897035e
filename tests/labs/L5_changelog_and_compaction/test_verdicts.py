"""What MERGE, the cleaner and the topic do decides which prediction is right."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit import lab
from tests.lessons.verdicts import seen_by, settled


@pytest.fixture(scope="module")
def engine_alone() -> Iterator[None]:
    """No real Kafka beside the engine, and engines that end with the module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(lab.REAL_VARIABLE, "off")
        patch.setattr(lab, "_kernel", lab._Kernel())
        yield
        lab._kernel.close()


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("spark", "engine_alone")
@pytest.mark.parametrize(
    ("question", "cell", "change", "letter"),
    [
        ("L5-3", "deleted-again", ('"DELETE"', '"UPDATE SET *"'), "d"),
        (
            "L5-6",
            "away",
            ("delete_retention_ms, gone = 0,", "delete_retention_ms, gone = 86_400_000,"),
            "c",
        ),
        ("L5-7", "more-partitions", ("added, changed, gone = 2", "added, changed, gone = 0"), "a"),
    ],
)
@pytest.mark.full
def test_another_value_makes_another_answer_right(question, cell, change, letter) -> None:
    assert settled(question, seen_by("L5", cell, change=change)) == letter


@pytest.mark.parametrize(
    ("error", "statuses", "letter"),
    [
        ("DELTA_MULTIPLE_SOURCE_ROW", ["placed"], "c"),
        ("", ["loaded", "under way"], "d"),
        ("", ["under way"], "a"),
        ("", ["loaded"], "b"),
    ],
)
def test_what_merge_does_with_two_changes_decides(error, statuses, letter) -> None:
    seen = {"error": error, "statuses": statuses, "newest": "under way"}
    assert settled("L5-1", seen) == letter


@pytest.mark.parametrize(
    ("right", "at_the_end", "letter"), [(4, 0, "a"), (1, 0, "b"), (2, 0, "b"), (0, 3, "c")]
)
def test_the_versions_that_are_the_database_decide(right, at_the_end, letter) -> None:
    seen = {"versions": 4, "versions like the database": right}
    assert settled("L5-4", seen | {"rows that differ at the end": at_the_end}) == letter


@pytest.mark.parametrize(("after", "differ", "letter"), [(80, 0, "a"), (300, 0, "b"), (80, 5, "c")])
def test_what_a_rebuild_reads_and_gives_decides(after, differ, letter) -> None:
    seen = {"records before": 300, "records after the cleaner": after}
    assert settled("L5-5", seen | {"rows that differ, compacted": differ}) == letter


@pytest.mark.parametrize(
    ("rows", "failed", "letter"),
    [([[], []], [False, False], "a"), ([[90], []], [False, False], "b"),
     ([[0], []], [True, False], "c"), ([[0], [0]], [True, True], "d"),
     ([[0], []], [False, False], "")],
)  # fmt: skip
def test_the_starts_after_a_compaction_decide(rows, failed, letter) -> None:
    seen = {"rows by start": [[90], *rows], "failed": [False, *failed]}
    assert settled("L5-12", seen) == letter


def test_a_free_answer_is_what_the_run_saw() -> None:
    assert settled("L5-2", {"in the table": "loaded"}) == "loaded"
