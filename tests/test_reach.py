"""What a change reaches among the tests marked `full`; a tree has one selection."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests import reach
from tests.reach import FullRun, is_reached, of_report, selection, within_budget

NBVAL = "tests/notebooks/test_nbval.py::test_runs_clean_on_the_engine_alone"
EXERCISE = "tests/kit/exercises/test_every_exercise.py::test_stub_fails_solution_passes"
CRASH_TABLE = "tests/labs/crash/test_crash_table.py::test_a_crash_loses_and_repeats"


@pytest.mark.parametrize(
    ("changed", "test", "reached"),
    [
        ("labs/crash/points.py", CRASH_TABLE, True),
        ("labs/pipeline/dashboard.css", "tests/labs/pipeline/test_seeded_inputs.py::test_a", True),
        ("labs/pipeline/dashboard.css", f"{NBVAL}[03-p]", False),
        ("labs/L5_changelog_and_compaction/connector.py", CRASH_TABLE, False),
        ("engine/records/batch.py", CRASH_TABLE, True),
        ("kit/panel/widget/panel.js", f"{NBVAL}[00-s]", True),
        ("tests/labs/conftest.py", CRASH_TABLE, True),
        ("tests/browser/conftest.py", CRASH_TABLE, False),
        ("lessons/nb03_partitioning/measure.py", f"{NBVAL}[03-p]", True),
        ("lessons/nb03_partitioning/JavaClient.java", f"{NBVAL}[03-producers]", True),
        ("lessons/nb03_partitioning/exercises/keys.py", f"{EXERCISE}[course-03-4]", True),
        ("notebooks/solutions/03-producers-and-partitioning.ipynb", f"{NBVAL}[03-p]", True),
        ("notebooks/solutions/03-producers-and-partitioning.ipynb", f"{NBVAL}[04-i]", False),
        ("labs/L5_changelog_and_compaction/facilitator.md", f"{EXERCISE}[course-L5-2]", True),
        ("labs/L5_changelog_and_compaction/facilitator.md", f"{EXERCISE}[course-L4-2]", False),
        ("kit/panel/scene.py", f"{NBVAL}[00-start-here]", True),
        ("kit/grading/cells.py", f"{NBVAL}[00-start-here]", False),
        ("docs/decisions.md", f"{NBVAL}[03-p]", False),
        ("requirements-spark.lock", CRASH_TABLE, True),
    ],
)  # fmt: skip
def test_a_change_reaches_what_names_it(changed: str, test: str, reached: bool) -> None:
    assert is_reached(test, {changed}) is reached


def test_every_notebook_is_reached_by_the_engine() -> None:
    assert is_reached(f"{NBVAL}[03-p]", {"engine/storage/log.py"})


def test_without_a_history_everything_is_reached() -> None:
    assert FullRun("0" * 40, {}).changes() is None
    assert is_reached(CRASH_TABLE, None)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=reach.ROOT, capture_output=True)
    if head.returncode == 0:
        assert FullRun(head.stdout.decode().strip(), {}).changes() is not None


def test_the_quickest_run_when_not_all_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "BUDGET_S", 100)
    lanes = dict.fromkeys("abc", "plain") | {"d": "screens", "new": "screens"}
    run = FullRun("", {"a": 60, "b": 30, "c": 50, "d": 90})
    assert within_budget(lanes, lanes, run) == {"b", "c", "d", "new"}
    assert within_budget(reversed(lanes), lanes, run) == {"b", "c", "d", "new"}


def test_the_selection_is_said_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FullRun, "changes", lambda self: {"labs/crash/points.py"})
    said, chosen = selection(
        {CRASH_TABLE: "screens", f"{NBVAL}[03-p]": "plain"}, FullRun("abcdefghi", {})
    )
    assert chosen == {CRASH_TABLE}
    assert said == (
        "Files changed since the last whole run (abcdefg): 1. They reach 1 of the 2 tests "
        f"marked full; 1 run here:\n{CRASH_TABLE}\n"
    )


REPORT = """<testsuites><testsuite>
<testcase classname="tests.labs.test_a" name="test_b[0]" time="12.4">{}</testcase>
<testcase classname="tests.labs.test_a" name="test_c" time="0.4"/>
</testsuite></testsuites>"""


def test_a_whole_run_is_noted_if_it_was_green(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = subprocess.CompletedProcess([], 0, "abc\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    file = tmp_path / "report.xml"
    file.write_text(REPORT.format(""))
    assert of_report(file) == FullRun("abc", {"tests/labs/test_a.py::test_b[0]": 12})
    file.write_text(REPORT.format("<failure/>"))
    with pytest.raises(ValueError, match=r"test_b\[0\] failed"):
        of_report(file)
