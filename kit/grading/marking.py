"""Marks one submission: takes its answers, runs them on the stage, reads the verdicts."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import nbformat

from kit import places
from kit.course import PROJECT
from kit.grading import sandbox, submission
from kit.grading.stage import Outcome, Task
from kit.grading.submission import Submission, Unreadable

State = Literal["right", "wrong", "empty", "failed"]


@dataclass(frozen=True, slots=True)
class Mark:
    """One exercise.  `empty`: the stub was left; `failed`: no answer reached the judge."""

    exercise: str
    quiz: bool
    """A quiz question is shown and gives no points."""
    state: State
    message: str = ""
    expected: str = ""
    seen: str = ""
    counter_example: str = ""


@dataclass(frozen=True, slots=True)
class Marks:
    """A submission's result.  `problem` is set where it could not be marked at all."""

    name: str
    """Of its report."""
    file: str = ""
    """As the command line named it."""
    notebook: str = ""
    marks: tuple[Mark, ...] = ()
    notes: tuple[str, ...] = ()
    problem: str = ""
    sandbox: str = "bubblewrap"

    @property
    def score(self) -> int:
        return sum(mark.state == "right" for mark in self.marks if not mark.quiz)

    @property
    def out_of(self) -> int:
        return sum(not mark.quiz for mark in self.marks)


class NotRun(Exception):
    """The stage gave no result; one sentence says why."""


def mark(file: Path, name: str, *, time_limit_s: int, sandboxed: bool) -> Marks:
    """Marks one file.  Never raises because of a submission: the result names its problem."""
    unmarked = Marks(name, printable(str(file)), sandbox="bubblewrap" if sandboxed else "none")
    try:
        submitted = submission.read(file)
        outcome = Outcome({}, {})
        if not submission.is_empty(submitted):
            outcome = run(submitted, time_limit_s=time_limit_s, sandboxed=sandboxed)
        marks = _marks(submitted, outcome)
    except (Unreadable, NotRun) as reason:
        return replace(unmarked, problem=str(reason))
    except (places.PathTooLong, places.Unwritable):
        raise  # no file can be marked on this machine
    except Exception as error:
        problem = printable(f"Marking failed ({type(error).__name__}: {error}).")
        return replace(unmarked, problem=problem)
    notes = (*submitted.notes, *filter(None, [outcome.stopped_by]))
    return replace(unmarked, notebook=submitted.group, marks=marks, notes=notes)


def printable(text: str) -> str:
    """The text on one line, with escapes for lone surrogates and characters without a glyph."""
    shown = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return "".join(shown)


def run(submitted: Submission, *, time_limit_s: int, sandboxed: bool) -> Outcome:
    """Runs a transplanted notebook on a stage of its own.  Raises NotRun."""
    scratch = Path(tempfile.mkdtemp(prefix="kafkalab-grade-"))
    try:
        work = scratch / "work"
        for folder in (work / "home", scratch / "judge"):
            folder.mkdir(parents=True)
        places.socket_path(scratch / "judge" / "socket")
        notebook = work / "notebook.ipynb"
        nbformat.write(submission.transplant(submitted), notebook)
        task = Task(str(notebook), time_limit_s, sandboxed, submission.seed_of(submitted))
        command = [sys.executable, "-m", "kit.grading.stage"]
        return _asked(sandbox.on_stage(command) if sandboxed else command, task)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _asked(command: list[str], task: Task) -> Outcome:
    timeout_s = task.time_limit_s + 120
    try:
        done = subprocess.run(
            command,
            input=task.to_json(),
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            cwd=PROJECT,
            timeout=timeout_s,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        raise NotRun(f"Marking took longer than {timeout_s} s.") from None
    try:
        return Outcome.from_json(done.stdout)
    except (ValueError, KeyError, TypeError):
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise NotRun(f"The stage stopped without a result ({printable(last)}).") from None


def _marks(submitted: Submission, outcome: Outcome) -> tuple[Mark, ...]:
    cells = submission.cells_of(submitted.group)
    run_cells = [c for c in submission.needed_cells(submitted.group) if not c.has("solution")]
    positions = {c.name: i for i, c in enumerate(run_cells) if c.has("stub")}
    marks = []
    for exercise_id, quiz in submission.open_exercises(cells).items():
        code = submitted.answers.get(exercise_id)
        verdict = outcome.verdicts.get(exercise_id)
        error = outcome.errors.get(positions[exercise_id], "")
        if code is None or submission.is_untouched(exercise_id, code, cells):
            marks.append(Mark(exercise_id, quiz, "empty"))
        elif verdict is None:
            message = error or "The cell ran, and no answer reached the judge."
            marks.append(Mark(exercise_id, quiz, "failed", message))
        else:
            state: State = "right" if verdict.passed else "wrong"
            seen = (verdict.message, verdict.expected, verdict.seen, verdict.counter_example)
            marks.append(Mark(exercise_id, quiz, state, *seen))
    return tuple(marks)
