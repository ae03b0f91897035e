"""What the course itself gets wrong costs no learner a mark: runs of broken courses."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kit.grading import grade
from tests.kit.grading.handing_in import SAMPLE, SOURCE, handed_in, rows

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(240)]


@pytest.fixture
def source(tmp_path, monkeypatch) -> Path:
    """A copy of the sample course, to be broken."""
    course = tmp_path / "course"
    shutil.copytree(SAMPLE, course)
    monkeypatch.setenv("KAFKALAB_COURSE", str(course))
    return course / SOURCE.relative_to(SAMPLE)


def test_a_set_up_cell_that_fails_is_the_courses_failure(source, tmp_path) -> None:
    file = handed_in(tmp_path / "anna.ipynb", "x = 1")
    doorway = "from kit import exercises as lab\n"
    broken = doorway + "raise ModuleNotFoundError('no \\x1b[31mjar')\n"
    source.write_text(source.read_text().replace(doorway, broken))
    assert grade([file], tmp_path / "out", sandboxed=False) == 3
    row = rows(tmp_path / "out")["anna"]
    assert row["state"] == "not marked"
    assert "own set-up failed (ModuleNotFoundError: no jar)" in row["notes"]
    assert "no jar" in (tmp_path / "out" / "logs" / "anna.txt").read_text()


def test_a_time_limit_that_the_solutions_exceed_is_no_learners_failure(source, tmp_path) -> None:
    file = handed_in(tmp_path / "anna.ipynb", "while True: pass")
    text = source.read_text()
    for solution in ("    return min(log_end_offsets[broker] for broker in isr)", "quorum = {"):
        indent = " " * (len(solution) - len(solution.lstrip()))
        text = text.replace(solution, f"{indent}import time; time.sleep(600)\n{solution}")
    source.write_text(text)  # two cells, and each may have half of the time
    assert grade([file], tmp_path / "out", sandboxed=False, time_limit_s=8) == 3
    row = rows(tmp_path / "out")["anna"]
    assert "The course's own solutions were stopped, too: It ran longer than 8 s." in row["notes"]


@pytest.mark.full
def test_a_solution_that_gets_no_mark_protects_its_exercise_alone(source, tmp_path) -> None:
    solution = 'quorum = {"replicas": 3, "min.insync.replicas": 2}'
    source.write_text(source.read_text().replace(solution, "quorum = missing"))
    files = [handed_in(tmp_path / f"{n}.ipynb", "x = (") for n in "ab"]
    files[1].write_text(files[1].read_text().replace("quorum = None", "quorum = missing"))
    assert grade(files, tmp_path / "out", sandboxed=False) == 3
    found = rows(tmp_path / "out")
    assert (found["a"]["99-2"], found["a"]["state"]) == ("failed", "marked")
    assert found["b"]["state"] == "not marked"
    assert "own solution of 99-3 got no mark, either (NameError" in found["b"]["notes"]
