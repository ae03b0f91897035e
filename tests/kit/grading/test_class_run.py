"""A class is marked as it goes: nothing is overwritten, and an interrupted run continues."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kit import cli
from kit.course import PROJECT
from kit.exercises.exercise import Verdict
from kit.grading import grade, marking, report
from kit.grading.marking import NotRun
from kit.grading.stage import Outcome
from tests.kit.grading.handing_in import SAMPLE, graded, handed_in, rows, table

pytestmark = pytest.mark.timeout(60)
RIGHT, WRONG = Verdict(True, "Yes."), Verdict(False, "No.")
SOLVED = {"99-2": RIGHT, "99-3": RIGHT, "99-4": RIGHT}


@pytest.fixture(autouse=True)
def sample_course(monkeypatch) -> None:
    monkeypatch.setenv("KAFKALAB_COURSE", str(SAMPLE))


class Stage:
    """In place of the real one: answers by the code of 99-2, and notes what was run."""

    def __init__(self, monkeypatch, outcomes: dict[str, Outcome | Exception]) -> None:
        self.outcomes = outcomes
        self.ran: list[str] = []
        monkeypatch.setattr(marking, "run", self)

    def __call__(self, submitted, **limits) -> Outcome:
        code = submitted.answers.get("99-2", "")
        code = "the solution" if "return min(" in code else code
        self.ran.append(code)
        outcome = self.outcomes.get(code, Outcome({"99-2": WRONG}, {}))
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


def test_an_interrupted_run_keeps_what_was_marked_and_continues(tmp_path, monkeypatch) -> None:
    stage = Stage(monkeypatch, {"slow": KeyboardInterrupt()})
    files = [handed_in(tmp_path / f"{name}.ipynb", name) for name in ("anna", "slow", "zoe")]
    with pytest.raises(KeyboardInterrupt):
        grade(files, tmp_path / "out", sandboxed=False)
    assert set(rows(tmp_path / "out")) == {"anna"}
    assert "anna" in (tmp_path / "out" / "class.html").read_text()
    stage.outcomes = {}
    stage.ran.clear()
    assert set(graded(files, tmp_path / "out")) == {"anna", "slow", "zoe"}
    assert stage.ran == ["slow", "zoe"], "anna was marked before"
    whole = tmp_path / "whole"
    graded(files, whole)
    for name in ("class.csv", "class.json", "class.html", "totals.csv", "anna.json"):
        assert (whole / name).read_bytes() == (tmp_path / "out" / name).read_bytes(), name


def test_a_run_that_is_killed_has_written_the_rows_so_far(tmp_path, monkeypatch) -> None:
    seen = []

    class Watching(Stage):
        def __call__(self, submitted, **limits) -> Outcome:
            if self.ran:
                seen.append(set(rows(tmp_path / "out")))
            return super().__call__(submitted, **limits)

    Watching(monkeypatch, {})
    graded([handed_in(tmp_path / f"{n}.ipynb", n) for n in "abc"], tmp_path / "out")
    assert seen == [{"a"}, {"a", "b"}]


def test_two_runs_into_one_folder_overwrite_nothing(tmp_path, monkeypatch) -> None:
    Stage(monkeypatch, {"better": Outcome({"99-2": RIGHT}, {})})
    out = tmp_path / "out"
    graded([handed_in(tmp_path / "monday" / "anna.ipynb", "first")], out)
    file = handed_in(tmp_path / "tuesday" / "anna.ipynb", "better")
    found = graded([file], out)
    assert set(found) == {"anna", "anna-99"}
    handed_in(file, "worse")
    found = graded([file], out)
    assert {name: row["score"] for name, row in found.items()} == {
        "anna": "0", "anna-99": "1", "anna-99-2": "0"
    }  # fmt: skip
    assert table(out / "totals.csv")[1] == ["anna", "", "1", "1", "2"], "the best counts"
    assert "anna, notebook 99: anna, anna-99, anna-99-2" in (out / "class.html").read_text()


def test_a_mended_file_takes_the_place_of_its_report_without_marks(tmp_path) -> None:
    file = tmp_path / "anna.ipynb"
    file.write_text("not yet a notebook")
    assert graded([file], tmp_path / "out")["anna"]["state"] == "unreadable"
    handed_in(file)
    found = graded([file], tmp_path / "out")
    assert {name: row["state"] for name, row in found.items()} == {"anna": "marked"}


def test_a_roster_that_comes_later_renames_reports_without_running_anything(
    tmp_path, monkeypatch
) -> None:
    stage = Stage(monkeypatch, {})
    file = handed_in(tmp_path / "class" / "s001.ipynb", "x = 1")
    (tmp_path / "others.csv").write_text("name,id\nZoe,s009\n")
    graded([file.parent], tmp_path / "out", roster=tmp_path / "others.csv")
    (tmp_path / "roster.csv").write_text("name,id\nAnna,s001\nBob,s002\n")
    (row,) = graded([file.parent], tmp_path / "out", roster=tmp_path / "roster.csv").values()
    assert (row["learner"], row["id"], row["notes"]) == ("Anna", "s001", "")
    assert stage.ran == ["x = 1"]
    page = (tmp_path / "out" / "class.html").read_text()
    assert "No submission of 99 (1): Bob." in page
    assert table(tmp_path / "out" / "import.csv") == [
        ["name", "id", "Notebook 99"],
        ["Anna", "s001", "0"],
        ["Bob", "s002", ""],
    ]


def test_again_marks_again(tmp_path, monkeypatch) -> None:
    stage = Stage(monkeypatch, {})
    file = handed_in(tmp_path / "anna.ipynb", "x = 1")
    for again in (False, False, True):
        graded([file], tmp_path / "out", again=again)
    assert stage.ran == ["x = 1"] * 2


def test_a_second_run_into_a_folder_at_the_same_time_is_refused(tmp_path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with (out / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(RuntimeError, match="Another run writes to"):
            grade([handed_in(tmp_path / "anna.ipynb")], out, sandboxed=False)


def test_jobs_run_at_once_and_write_the_same_reports(tmp_path, monkeypatch) -> None:
    files = [handed_in(tmp_path / f"{n}.ipynb", n) for n in "abcd"]
    Stage(monkeypatch, {})
    graded(files, tmp_path / "one")
    both = threading.Barrier(2, timeout=60)

    class Together(Stage):
        def __call__(self, submitted, **limits) -> Outcome:
            both.wait()
            return super().__call__(submitted, **limits)

    stage = Together(monkeypatch, {})
    graded(files, tmp_path / "two", jobs=2)
    assert sorted(stage.ran) == list("abcd")
    for path in (tmp_path / "one").rglob("*.*"):
        if path.name != "times.csv":
            same = tmp_path / "two" / path.relative_to(tmp_path / "one")
            assert path.read_bytes() == same.read_bytes(), path.name


def test_progress_says_how_many_and_how_long(tmp_path, monkeypatch, capsys) -> None:
    Stage(monkeypatch, {})
    passed = iter(range(0, 10_000, 100))
    monkeypatch.setattr("kit.grading.class_run.time.monotonic", lambda: next(passed))
    graded([handed_in(tmp_path / f"{n}.ipynb", n) for n in "abc"], tmp_path / "out")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("1 of 3  a: 0 of 2")
    assert lines[0].endswith("(about 3 min left)")
    assert table(tmp_path / "out" / "times.csv")[1] == ["a", "100.0"]


NO_SETUP = Outcome({}, {0: "ModuleNotFoundError: pyspark"}, log="\x1b[31mE  no pyspark\x1b[0m")
STOPPED = Outcome({}, {}, stopped_by="It ran longer than 300 s.")
FAILED = Outcome({"99-3": RIGHT}, {1: "SyntaxError: '(' was never closed"})
COURSE = {
    # what the submission's run gives, what the course's own solutions give, the sentence
    "the set-up fails": (NO_SETUP, NO_SETUP, "own set-up failed (ModuleNotFound"),
    "the set-up fails once": (NO_SETUP, Outcome(SOLVED, {}), "but not with the course's own"),
    "the time limit is too short": (STOPPED, STOPPED, "solutions were stopped, too: It ran longer"),
    "a jar is missing": (FAILED, Outcome({"99-3": RIGHT}, {}), "own solution of 99-2 got no mark"),
    "the judge fails": (
        Outcome({"99-2": Verdict(False, "The judge could not read this answer (KeyError).")}, {}),
        Outcome({"99-2": WRONG}, {}),
        "own solution of 99-2 got no mark",
    ),
    "the control has no set-up": (FAILED, NO_SETUP, "own set-up failed"),
    "the control cannot be run": (FAILED, NotRun("No room on disk."), "No room on disk."),
    "the stage stops": (NotRun("The stage stopped.", "why"), Outcome(SOLVED, {}), "stage stopped"),
    "marking fails": (LookupError("a surprise"), Outcome(SOLVED, {}), "LookupError: a surprise"),
}  # fmt: skip


@pytest.mark.parametrize(("run", "control", "sentence"), COURSE.values(), ids=COURSE.keys())
def test_the_courses_own_failures_are_not_marked(
    tmp_path, monkeypatch, run, control, sentence
) -> None:
    Stage(monkeypatch, {"x = 1": run, "the solution": control})
    files = [handed_in(tmp_path / "anna.ipynb", "x = 1"), handed_in(tmp_path / "zoe.ipynb")]
    assert grade(files, tmp_path / "out", sandboxed=False) == 3
    found = rows(tmp_path / "out")
    assert found["anna"]["state"] == "not marked"
    assert sentence in found["anna"]["notes"]
    assert found["anna"]["score"] == found["anna"]["99-2"] == ""
    assert found["zoe"]["state"] == "marked"
    assert not (tmp_path / "out" / "feedback" / "anna.html").exists()
    Stage(monkeypatch, {"x = 1": Outcome(SOLVED, {})})
    assert grade(files, tmp_path / "out", sandboxed=False) == 0, "mended, and marked this time"
    assert rows(tmp_path / "out")["anna"]["score"] == "1"


def test_the_log_of_a_failure_of_the_course_is_kept(tmp_path, monkeypatch) -> None:
    Stage(monkeypatch, {"x = 1": NO_SETUP})
    found = graded([handed_in(tmp_path / "anna.ipynb", "x = 1")], tmp_path / "out")
    assert "The log is logs/anna.txt." in found["anna"]["notes"]
    assert (tmp_path / "out" / "logs" / "anna.txt").read_text() == "E  no pyspark\n"


LEARNERS = {
    "stopped": (STOPPED, "failed", "It ran longer than 300 s."),
    "failed": (FAILED, "failed", ""),
    "a set-up below fails": (Outcome({"99-2": WRONG}, {7: "NameError: lab"}), "wrong", ""),
}


@pytest.mark.parametrize(("run", "state", "note"), LEARNERS.values(), ids=LEARNERS.keys())
def test_where_the_solutions_pass_a_failure_is_the_learners_own(
    tmp_path, monkeypatch, run, state, note
) -> None:
    stage = Stage(monkeypatch, {"x = 1": run, "y = 1": run, "the solution": Outcome(SOLVED, {})})
    files = [handed_in(tmp_path / f"{n}.ipynb", f"{n} = 1") for n in "xy"]
    assert grade(files, tmp_path / "out", sandboxed=False) == 0
    found = rows(tmp_path / "out")
    assert (found["x"]["99-2"], found["x"]["notes"]) == (state, note)
    assert stage.ran.count("the solution") <= 1, "once for the class"


def test_exit_statuses_tell_a_bad_file_from_a_bad_machine(tmp_path, monkeypatch, capsys) -> None:
    Stage(monkeypatch, {"x = 1": NotRun("No room on disk.")})
    good, bad = handed_in(tmp_path / "anna.ipynb"), tmp_path / "bob.ipynb"
    bad.write_text("nothing")
    failed = handed_in(tmp_path / "carl.ipynb", "x = 1")

    def status(*files: Path) -> int:
        out = tmp_path / f"out-{len(files)}"
        return cli.main(["grade", *map(str, files), "--no-sandbox", "--out", str(out)])

    assert [status(good), status(good, bad), status(good, bad, failed)] == [0, 1, 3]
    assert "1 not marked, because the course or this machine failed: carl." in (
        capsys.readouterr().out
    )


def test_a_notebook_that_the_course_lacks_and_jobs_of_zero_are_refused(tmp_path, capsys) -> None:
    file = str(handed_in(tmp_path / "anna.ipynb"))
    assert cli.main(["grade", file, "--no-sandbox", "--notebook", "77"]) == 1
    assert "The course has no notebook 77; it has 99." in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["grade", file, "--jobs", "0"])


def test_a_report_of_another_program_is_left_alone(tmp_path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for name, content in (("anna", '{"name": "anna"}'), ("b", "["), ("c", '{"version": 2}')):
        (out / f"{name}.json").write_text(content)
        assert report.read_json(out / f"{name}.json") is None
    assert set(graded([handed_in(tmp_path / "zoe.ipynb")], out)) == {"zoe"}
    stored = report.read_json(out / "zoe.json")
    assert stored is not None
    assert json.loads((out / "zoe.json").read_text())["answers"] == stored.answers


@pytest.mark.heavy
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "ends", [pytest.param(signal.SIGTERM, marks=pytest.mark.full), signal.SIGKILL]
)
def test_a_run_that_is_ended_from_outside_leaves_what_it_can(tmp_path: Path, ends: int) -> None:
    """SIGTERM writes the pages of the class.  What SIGKILL leaves behind, the next run removes."""
    handed_in(tmp_path / "class" / "anna.ipynb", "'quick'")
    handed_in(tmp_path / "class" / "bob.ipynb", "import time; time.sleep(20)")
    out, scratch = tmp_path / "out", tmp_path / "t"
    scratch.mkdir()
    words = [sys.executable, "-m", "kit.cli", "grade", str(tmp_path / "class"), "--out", str(out)]
    own = os.environ | {"TMPDIR": str(scratch), "KAFKALAB_COURSE": str(SAMPLE)}
    with subprocess.Popen([*words, "--no-sandbox"], env=own, cwd=PROJECT) as run:
        deadline = time.monotonic() + 100
        while not (out / "anna.json").exists() or not list(scratch.glob("kafkalab-grade-*")):
            assert run.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        run.send_signal(ends)
        run.wait(60)
    assert "anna" in rows(out)
    if ends == signal.SIGTERM:
        assert run.returncode == 130
        assert "anna" in (out / "class.html").read_text()
    else:
        assert list(scratch.glob("kafkalab-grade-*"))
    bystander = scratch / f"kafkalab-grade-{os.getpid()}-x"
    bystander.mkdir()
    again = [*words[:-3], str(tmp_path / "class" / "anna.ipynb"), *words[-2:], "--no-sandbox"]
    subprocess.run(again, env=own, cwd=PROJECT, check=True, capture_output=True)
    assert list(scratch.glob("kafkalab-grade-*")) == [bystander]
