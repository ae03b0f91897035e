"""Runs one submission on the stage, again where one exercise cost the others their turn.

Most submissions take one attempt: a notebook with all answers, cell after cell in one kernel.
An answer can end that: it exits, kills the kernel, loops without end, uses up what a run may
use, or puts something else in the place of `check`.  Then each exercise that has not had its
turn gets an attempt of its own: a new stage, a new kernel, the set-up cells above the exercise,
the exercise.  All attempts share the time limit.

    attempt 1    set-up │ 06-4 ✓ │ 06-5 os._exit() │ 06-7 never ran │ 06-8 never ran
    attempt 2    set-up │ 06-5 os._exit()
    attempt 3    set-up │ 06-7 ✓
    attempt 4    set-up │ 06-8 ✓

Only verdicts of the exercise itself are taken from its own attempt.

A wrong answer that comes after one that changed the set-up (kit/grading/meddling.py) gets such an
attempt, too, and a note if it is right by itself.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import nbformat
import psutil

from kit import places
from kit.authoring.compose import Notebook, student
from kit.course import PROJECT
from kit.grading import meddling, sandbox, submission
from kit.grading.limits import ENDED_KERNEL, RAN_LONGER, Limits
from kit.grading.messages import one_line
from kit.grading.stage import LARGEST_LOG, Outcome, Task
from kit.grading.submission import Submission

SHORTEST_ATTEMPT_S = 5.0
"""With less time left no kernel would even start."""
OUT_OF_TIME = "The time limit of the submission left too little for it."
STAGE_START_S = 120
ROOM = "kafkalab-grade-"
"""Begins the names of the folders of attempts; the id of the process that made one follows."""


class NotRun(Exception):
    """The course or the machine failed, not the learner; one sentence says how.

    `log` is what was printed.
    """

    def __init__(self, sentence: str, log: str = "") -> None:
        super().__init__(sentence)
        self.log = log


def run(submitted: Submission, limits: Limits, *, sandboxed: bool) -> Outcome:
    """The outcome of all attempts.  Raises NotRun.

    Errors are by position among the code cells that a submission needs; see
    `submission.needed_cells`.
    """
    deadline = time.monotonic() + limits.time_s
    notebook: Notebook = submission.transplant(submitted)
    outcome = _attempt(notebook, submitted, limits, sandboxed=sandboxed)
    tags = [cell.metadata.get("tags", []) for cell in notebook.cells]
    waiting = _without_a_turn(outcome, submitted, tags)
    if not waiting and outcome.stopped_by == ENDED_KERNEL:
        outcome = replace(outcome, stopped_by="")  # after all its answers, it cost nothing

    def alone(exercise: str, position: int) -> tuple[Outcome, list[int]] | None:
        """What it says without the other exercises, and its cells; None if no time is left."""
        left_s = deadline - time.monotonic()
        if left_s < SHORTEST_ATTEMPT_S:
            return None
        own = [i for i, its in enumerate(tags) if _is_for(its, exercise, i < position)]
        part = student([])
        part.cells = [notebook.cells[i] for i in own]
        said = _attempt(part, submitted, replace(limits, time_s=left_s), sandboxed=sandboxed)
        return said, own

    for exercise, position in waiting:
        if (tried := alone(exercise, position)) is None:
            outcome = replace(outcome, errors=outcome.errors | {position: OUT_OF_TIME})
        else:
            outcome = _together(outcome, tried[0], exercise, position, tried[1])
    for exercise, position, change in _after_a_change(outcome, submitted, notebook, tags):
        tried = None if (exercise, position) in waiting else alone(exercise, position)
        if tried and (verdict := tried[0].verdicts.get(exercise)) and verdict.passed:
            note = f"{exercise} is right by itself: {change}. It was marked without that."
            outcome = _together(outcome, tried[0], exercise, position, tried[1])
            outcome = replace(outcome, notes=(*outcome.notes, note))
    return outcome


def sweep() -> None:
    """Removes the folders of runs that were killed."""
    for room in Path(tempfile.gettempdir()).glob(f"{ROOM}*"):
        owner = room.name.removeprefix(ROOM).partition("-")[0]
        if owner.isdigit() and not psutil.pid_exists(int(owner)):
            shutil.rmtree(room, ignore_errors=True)


def _without_a_turn(
    outcome: Outcome, submitted: Submission, tags: list[list[str]]
) -> list[tuple[str, int]]:
    """Answered exercises, each with its position, that have neither a verdict nor an error.

    Their cells did not run, or an answer above them keeps theirs from the judge.
    """
    cells = submission.cells_of(submitted.group)
    open_ones = []
    for position, its in enumerate(tags):
        exercise = its[1] if its[:1] == ["exercise"] else ""
        code = submitted.answers.get(exercise)
        if code is None or submission.is_untouched(exercise, code, cells):
            continue
        if exercise not in outcome.verdicts and position not in outcome.errors:
            open_ones.append((exercise, position))
    return open_ones


def _after_a_change(
    outcome: Outcome, submitted: Submission, notebook: Notebook, tags: list[list[str]]
) -> list[tuple[str, int, str]]:
    """Answers that did not pass behind one that changed the set-up; the last says which and what.

    Each with its position.
    """
    setup = [cell.source for cell, its in zip(notebook.cells, tags, strict=True) if "setup" in its]
    stubs = submission.stubs_of(submitted.group)
    cells = submission.cells_of(submitted.group)
    change, found = "", []
    for position, its in enumerate(tags):
        exercise = its[1] if its[:1] == ["exercise"] else ""
        code = submitted.answers.get(exercise)
        if code is None or submission.is_untouched(exercise, code, cells):
            continue
        verdict = outcome.verdicts.get(exercise)
        if change and (verdict is None or not verdict.passed):
            found.append((exercise, position, change))
        if what := meddling.changes(code, stubs[exercise], setup):
            change = change or f"the answer to {exercise} changes {what}"
    return found


def _is_for(tags: list[str], exercise: str, above: bool) -> bool:
    return exercise in tags or (above and "setup" in tags)


def _together(
    first: Outcome, own: Outcome, exercise: str, position: int, positions: list[int]
) -> Outcome:
    """Adds an exercise's own attempt to the first; its set-up is not the first one's."""
    verdicts, errors = dict(first.verdicts), dict(first.errors)
    if exercise in own.verdicts:
        verdicts[exercise] = own.verdicts[exercise]
    failed = {positions[at]: text for at, text in own.errors.items() if at < len(positions)}
    errors |= {at: text for at, text in failed.items() if at >= position}
    if exercise not in verdicts and position not in errors:
        if own.stopped_by:
            late = own.stopped_by.startswith(RAN_LONGER)
            errors[position] = OUT_OF_TIME if late else own.stopped_by
        elif any(at < position for at in failed):
            errors[position] = "The set-up cells did not succeed in the time that was left."
    log = f"{first.log}\n--- {exercise} alone ---\n{own.log}"[-LARGEST_LOG:]
    return replace(first, verdicts=verdicts, errors=errors, log=log)


def _attempt(
    notebook: Notebook, submitted: Submission, limits: Limits, *, sandboxed: bool
) -> Outcome:
    """Runs a notebook on a stage and in a room of its own."""
    room = Path(tempfile.mkdtemp(prefix=f"{ROOM}{os.getpid()}-"))
    try:
        places.socket_path(room / "judge" / "socket")
        task = Task(
            nbformat.writes(notebook),
            tuple(submission.open_exercises(submission.cells_of(submitted.group))),
            str(room),
            sandboxed,
            submission.seed_of(submitted),
            limits,
        )
        command = [sys.executable, "-m", "kit.grading.stage"]
        return _asked(sandbox.on_stage(command, room, limits) if sandboxed else command, task)
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _asked(command: list[str], task: Task) -> Outcome:
    timeout_s = task.limits.time_s + STAGE_START_S
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
        raise NotRun(f"Marking took longer than {timeout_s:.0f} s.") from None
    try:
        return Outcome.from_json(done.stdout)
    except (ValueError, KeyError, TypeError):
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        sentence = f"The stage stopped without a result ({one_line(lines[-1])})."
        raise NotRun(sentence, done.stderr[-LARGEST_LOG:]) from None
