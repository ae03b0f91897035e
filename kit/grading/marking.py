"""Marks one submission: lift, transplant, run on the stage, read the judge's verdicts."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import nbformat

from kit import places
from kit.course import PROJECT
from kit.grading import sandbox, submission
from kit.grading.submission import Submission, Unreadable

State = Literal["right", "wrong", "empty", "failed"]


@dataclass(frozen=True, slots=True)
class Mark:
    """One exercise.  `empty`: the stub was left; `failed`: no answer reached the judge."""

    exercise: str
    prediction: bool
    state: State
    message: str = ""
    expected: str = ""
    seen: str = ""
    counter_example: str = ""


@dataclass(frozen=True, slots=True)
class Marks:
    """A submission's result.  `problem` is set where it could not be marked at all."""

    name: str
    notebook: str = ""
    marks: tuple[Mark, ...] = ()
    notes: tuple[str, ...] = ()
    problem: str = ""
    sandbox: str = "bubblewrap"

    @property
    def score(self) -> int:
        return sum(mark.state == "right" for mark in self.marks if not mark.prediction)

    @property
    def out_of(self) -> int:
        return sum(not mark.prediction for mark in self.marks)


def mark(file: Path, name: str, *, time_limit_s: int, sandboxed: bool) -> Marks:
    """Never raises over a submission: what is wrong with it stands in the result."""
    fence = "bubblewrap" if sandboxed else "none"
    try:
        submitted = submission.read(file)
    except Unreadable as reason:
        return Marks(name, problem=str(reason), sandbox=fence)
    result: dict[str, Any] = {"verdicts": {}, "stopped_by": "", "errors": {}}
    if not submission.is_empty(submitted):
        result = run(submitted, time_limit_s=time_limit_s, sandboxed=sandboxed)
    if "problem" in result:
        return Marks(name, submitted.group, problem=result["problem"], sandbox=fence)
    notes = list(submitted.notes)
    if result["stopped_by"]:
        notes.append(result["stopped_by"])
    return Marks(name, submitted.group, _marks(submitted, result), tuple(notes), "", fence)


def run(submitted: Submission, *, time_limit_s: int, sandboxed: bool) -> dict[str, Any]:
    """Runs a transplanted notebook on a stage of its own and gives the stage's result."""
    scratch = Path(tempfile.mkdtemp(prefix="kafkalab-grade-"))
    try:
        work = scratch / "work"
        for folder in (work / "home", scratch / "judge"):
            folder.mkdir(parents=True)
        places.socket_path(scratch / "judge" / "socket")
        notebook = work / "notebook.ipynb"
        nbformat.write(submission.transplant(submitted), notebook)
        task = {
            "notebook": str(notebook),
            "time_limit_s": time_limit_s,
            "sandboxed": sandboxed,
        }
        command = [sys.executable, "-m", "kit.grading.stage"]
        return _asked(sandbox.on_stage(command) if sandboxed else command, task, time_limit_s)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _asked(command: list[str], task: dict, time_limit_s: int) -> dict[str, Any]:
    try:
        done = subprocess.run(
            command,
            input=json.dumps(task),
            capture_output=True,
            text=True,
            cwd=PROJECT,
            timeout=time_limit_s + 120,
            start_new_session=True,
        )
        result: dict[str, Any] = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return {"problem": f"Marking took longer than {time_limit_s + 120} s."}
    except ValueError:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        return {"problem": f"The stage stopped without a result ({last})."}
    return result


def _marks(submitted: Submission, result: dict[str, Any]) -> tuple[Mark, ...]:
    cells = submission.cells_of(submitted.group)
    run_cells = [c for c in submission.needed_cells(submitted.group) if not c.has("solution")]
    positions = {c.name: i for i, c in enumerate(run_cells) if c.has("stub")}
    marks = []
    for exercise_id, prediction in submission.open_exercises(cells).items():
        code = submitted.answers.get(exercise_id)
        verdict = result["verdicts"].get(exercise_id)
        error = result["errors"].get(str(positions[exercise_id]), "")
        if code is None or submission.is_untouched(exercise_id, code, cells):
            marks.append(Mark(exercise_id, prediction, "empty"))
        elif verdict is None:
            message = error or "The cell ran, and no answer reached the judge."
            marks.append(Mark(exercise_id, prediction, "failed", message))
        elif "error" in verdict:
            marks.append(Mark(exercise_id, prediction, "wrong", verdict["error"]))
        else:
            marks.append(
                Mark(
                    exercise_id,
                    prediction,
                    "right" if verdict["passed"] else "wrong",
                    verdict["message"],
                    verdict["expected"],
                    verdict["seen"],
                    verdict["counter_example"],
                )
            )
    return tuple(marks)
