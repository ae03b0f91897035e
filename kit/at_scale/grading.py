"""The grading of a class as Spark tasks: a submission is a task, marked as the local run marks it.

The driver reads what was handed in, gives the names and writes the reports; a task gets the answers
of one submission and gives its marks back.  What the marks are made of depends on neither the task
nor the attempt: the seed of a submission's inputs comes from its answers.  Beside the reports,
which are those of the local run, the folder gets

    marks.delta   a row per mark: learner, notebook, exercise, state, mark, seconds, task, attempt
                  (`marks.parquet` where Delta Lake's jars are missing); each run adds its rows
    spark.html    marks by exercise, time per submission, and what ran where

A worker that is killed takes its stage with it: bubblewrap ends with its parent, and without a
sandbox the stage looks whether its parent is alive.  A reaper removes the worker's rooms.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from kit import places
from kit.at_scale import grading_page, tables, tasks
from kit.at_scale.tasks import Done
from kit.clusters.reaper import Reaper
from kit.grading import class_files, report, submission
from kit.grading.class_run import HandedIn, OneMarked, Options, mark_one
from kit.grading.marking import Control

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = (
    "run string, name string, learner string, id string, notebook string, exercise string, "
    "quiz boolean, state string, mark int, seconds double, started_s double, task int, "
    "attempt int, worker string"
)
START_S, ANSWER_S = 5.0, 1.0
"""A guess for a notebook that was never timed: only the order of tasks depends on it."""


@dataclass(frozen=True, slots=True)
class MachineFailed:
    """In place of marks: nothing can be marked on this machine, and a retry would not help."""

    sentence: str


def each_marked(todo: list[HandedIn], options: Options, out: Path) -> Iterator[OneMarked]:
    """The marks, the log and the seconds of each, as tasks end.

    Raises SparkMissing, and RuntimeError with a sentence if Spark ends or gives a task up.
    """
    yield from ((each.unmarked, "", 0.0) for each in todo if each.submission is None)
    ordered = longest_first([each for each in todo if each.submission], out)
    if not ordered:
        return
    started = tasks.session()
    finished: list[Done[Any]] = []
    lost = False
    try:
        for done in tasks.spread(started, [(each, options) for each in ordered], mark_on_worker):
            if isinstance(done.value, MachineFailed):
                raise RuntimeError(done.value.sentence)
            finished.append(done)
            yield done.value
    except tasks.SessionLost:
        lost = True
        raise
    finally:
        if finished and not lost:
            write(started, finished, out)


def longest_first(todo: list[HandedIn], out: Path) -> list[HandedIn]:
    """By the time that each is expected to take, from the times of earlier runs in this folder.

    The longest task must not be the last one to start: all other cores would wait for it.
    """
    known = class_files.known_times(out)
    by_notebook: dict[str, list[float]] = defaultdict(list)
    for name, marks in class_files.reports_in(out).items():
        if seconds := known.get(name):
            by_notebook[marks.notebook].append(seconds)

    def expected(each: HandedIn) -> tuple[float, int]:
        submitted = each.submission
        if submitted is None or submission.is_empty(submitted):
            return 0.0, 0
        answers = len(submitted.answers)
        typical = by_notebook.get(submitted.group)
        guess = median(typical) if typical else START_S + ANSWER_S * answers
        return known.get(each.unmarked.name) or guess, answers

    return sorted(todo, key=expected, reverse=True)


def mark_on_worker(item: tuple[HandedIn, Options]) -> OneMarked | MachineFailed:
    """One submission's marks, in a Python worker of Spark."""
    each, options = item
    usual, tempfile.tempdir = tempfile.tempdir, str(_rooms())
    try:
        return mark_one(each, options, _control(options.time_limit_s, options.sandboxed))
    except (places.PathTooLong, places.Unwritable) as problem:
        return MachineFailed(str(problem))
    finally:
        tempfile.tempdir = usual


@cache
def _control(time_limit_s: int, sandboxed: bool) -> Control:
    """Of this worker: it runs the course's solutions at most once, not once for each task."""
    return Control(time_limit_s=time_limit_s, sandboxed=sandboxed)


@cache
def _rooms() -> Path:
    """Where this worker's submissions have their rooms; gone when the worker is."""
    folder = Path(tempfile.mkdtemp(prefix="kl-"))
    folder.chmod(0o755)  # the sandbox's user must reach its room
    _reaper().own(str(folder))
    return folder


@cache
def _reaper() -> Reaper:
    return Reaper.start()


def write(started: SparkSession, finished: Sequence[Done[OneMarked]], out: Path) -> None:
    """Adds the rows of this run to the table, and draws the page of it."""
    run = datetime.now(UTC).isoformat(timespec="seconds")
    found = [row for done in finished for row in rows(run, done)]
    tables.append(started, found, SCHEMA, out, "marks")
    report.write(out / "spark.html", grading_page.page(finished, str(started.sparkContext.master)))


def rows(run: str, done: Done[OneMarked]) -> list[tuple[Any, ...]]:
    """A row per mark; one without an exercise for a submission that was not marked."""
    marks, _, seconds = done.value
    who = (run, marks.name, marks.learner, marks.id, marks.notebook)
    where = (seconds, done.started_s, done.task, done.attempt, done.worker)
    if marks.problem:
        return [(*who, None, None, report.state(marks), None, *where)]
    return [
        (*who, mark.exercise, mark.quiz, mark.state, _points(mark.state), *where)
        for mark in marks.marks
    ]


def _points(state: str) -> int:
    return int(state == "right")
