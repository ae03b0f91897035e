"""Marks one submission: takes its answers, runs them on the stage, reads the verdicts.

A failure of the course itself (a jar that is missing, a set-up cell that fails, a time limit that
its own solutions exceed) must not cost a learner's marks.  Where it may be the cause, the
control decides: a run of the course's own solutions, on the same stage and under the same limits.
If the control does not get the marks either, the submission is "not marked".
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import Literal

from kit import places
from kit.authoring.sources import Cell
from kit.exercises import catalogue
from kit.grading import attempts, submission
from kit.grading.attempts import NotRun
from kit.grading.intake import Unreadable
from kit.grading.limits import Limits
from kit.grading.messages import cleaned, one_line
from kit.grading.stage import Outcome
from kit.grading.submission import Submission

State = Literal["right", "wrong", "empty", "failed"]
Fault = Literal["", "file", "course"]
JUDGE_FAILED = "The judge could not read"


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
    title: str = ""


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
    fault: Fault = ""
    """Whose the problem is: the file cannot be marked, or the course or this machine failed."""
    learner: str = ""
    id: str = ""
    """Of the learner, as the roster or the learning system has it."""
    identified_by: str = ""
    digest: str = ""
    """SHA-256 of the file; with its place, it tells whether a file has been marked already."""
    course: str = ""
    """The version of the notebook's exercises; see `submission.version_of`."""
    answers: dict[str, str] = field(default_factory=dict)
    """The code that was marked."""

    @property
    def score(self) -> int:
        return sum(mark.state == "right" for mark in self.marks if not mark.quiz)

    @property
    def out_of(self) -> int:
        return sum(not mark.quiz for mark in self.marks)


def mark(
    submitted: Submission, unmarked: Marks, control: Control, *, time_limit_s: int, sandboxed: bool
) -> tuple[Marks, str]:
    """The marks of one submission, and the log of its run if the course failed.

    Never raises because of a submission: the result names its problem.
    """
    unmarked = replace(unmarked, notebook=submitted.group, answers=dict(submitted.answers))
    outcome = Outcome({}, {})
    try:
        if not submission.is_empty(submitted):
            outcome = run(submitted, time_limit_s=time_limit_s, sandboxed=sandboxed)
            _must_be_the_learners_own(submitted, outcome, control)
        marks = _marks(submitted, outcome)
    except NotRun as reason:
        problem = one_line(str(reason), 400)
        return replace(unmarked, problem=problem, fault="course"), reason.log or outcome.log
    except (places.PathTooLong, places.Unwritable):
        raise  # no file can be marked on this machine
    except Exception as error:
        problem = one_line(f"Marking failed ({type(error).__name__}: {error}).", 400)
        return replace(unmarked, problem=problem, fault="course"), outcome.log
    stopped = one_line(outcome.stopped_by)
    notes = tuple(filter(None, [*unmarked.notes, *submitted.notes, *outcome.notes, stopped]))
    return replace(unmarked, marks=marks, notes=notes), ""


def unreadable(unmarked: Marks, reason: Unreadable) -> Marks:
    """The result of a file that is no submission."""
    return replace(unmarked, problem=one_line(str(reason)), fault="file")


def _must_be_the_learners_own(submitted: Submission, outcome: Outcome, control: Control) -> None:
    """Raises NotRun where marks were lost to a failure of the course."""
    group = submitted.group
    early, late = _setup_errors(group, outcome)
    if early:
        control.must_pass(group, [])
        # No answer has run before it: the machine's failure, or a forged report of the run.
        text = f"The set-up failed ({one_line(early)}), but not with the course's own solutions."
        raise NotRun(text, outcome.log)
    lost = [m.exercise for m in _marks(submitted, outcome) if m.state == "failed"
            or (m.state == "wrong" and m.message.startswith(JUDGE_FAILED))]  # fmt: skip
    if lost or late or outcome.stopped_by:
        control.must_pass(group, lost)


def _setup_errors(group: str, outcome: Outcome) -> tuple[str, str]:
    """The first error of a set-up cell above all exercises, and of one below an exercise."""
    cells = _run_cells(group)
    first = next((i for i, c in enumerate(cells) if c.has("stub")), len(cells))
    setup = [i for i, c in enumerate(cells) if not c.has("stub") and not c.has("check")]
    errors = [(i, outcome.errors[i] or "no reason given") for i in setup if i in outcome.errors]
    early = next((text for i, text in errors if i < first), "")
    return early, next((text for i, text in errors if i > first), "")


class Control:
    """Runs the course's own solutions, once per notebook and only if a failure asks for it."""

    def __init__(self, *, time_limit_s: int, sandboxed: bool) -> None:
        self._time_limit_s = time_limit_s
        self._sandboxed = sandboxed
        self._lock = threading.Lock()
        self._results: dict[str, NotRun | dict[str, NotRun]] = {}

    def must_pass(self, group: str, exercises: list[str]) -> None:
        """Raises NotRun if the solutions cannot be run, or fail in one of these exercises."""
        with self._lock:
            if group not in self._results:
                self._results[group] = self._run(group)
            result = self._results[group]
        if isinstance(result, NotRun):
            raise NotRun(str(result), result.log)
        if failed := [result[each] for each in exercises if each in result]:
            raise NotRun(str(failed[0]), failed[0].log)

    def _run(self, group: str) -> NotRun | dict[str, NotRun]:
        solution = submission.solved(group)
        try:
            outcome = run(solution, time_limit_s=self._time_limit_s, sandboxed=self._sandboxed)
        except NotRun as reason:
            return reason
        if stopped := one_line(outcome.stopped_by):
            return NotRun(f"The course's own solutions were stopped, too: {stopped}", outcome.log)
        if error := next(filter(None, _setup_errors(group, outcome)), ""):
            return NotRun(f"The notebook's own set-up failed ({one_line(error)}).", outcome.log)
        text = "The course's own solution of {} got no mark, either ({})."
        return {
            m.exercise: NotRun(text.format(m.exercise, one_line(m.message)), outcome.log)
            for m in _marks(solution, outcome)
            if m.state != "right"
        }


def run(submitted: Submission, *, time_limit_s: int, sandboxed: bool) -> Outcome:
    """Runs a submission on the stage.  Raises NotRun."""
    return attempts.run(submitted, Limits(time_s=time_limit_s), sandboxed=sandboxed)


def _run_cells(group: str) -> list[Cell]:
    return [cell for cell in submission.needed_cells(group) if not cell.has("solution")]


def _marks(submitted: Submission, outcome: Outcome) -> tuple[Mark, ...]:
    cells = submission.cells_of(submitted.group)
    run_cells = list(enumerate(_run_cells(submitted.group)))
    answered = {cell.name: i for i, cell in run_cells if cell.has("stub")}
    checked = {cell.name: i for i, cell in run_cells if cell.has("check")}
    marks = []
    for exercise_id, quiz in submission.open_exercises(cells).items():
        title = catalogue.find(exercise_id).title
        code = submitted.answers.get(exercise_id)
        verdict = outcome.verdicts.get(exercise_id)
        error = own = outcome.errors.get(answered[exercise_id], "")
        if not error and (in_check := outcome.errors.get(checked.get(exercise_id, -1), "")):
            error = f"The check of the answer ended with an error: {in_check}"
        if code is None or submission.is_untouched(exercise_id, code, cells):
            marks.append(Mark(exercise_id, quiz, "empty", title=title))
        elif verdict is None:
            message = cleaned(error or "The cell ran, and no answer reached the judge.")
            marks.append(Mark(exercise_id, quiz, "failed", message, title=title))
        else:
            state: State = "right" if verdict.passed else "wrong"
            said = (verdict.message, verdict.expected, verdict.seen, verdict.counter_example)
            message, expected, seen, example = map(cleaned, said)
            if own and not verdict.passed:
                message += f" The cell of the answer ended with an error: {one_line(own)}"
            marks.append(Mark(exercise_id, quiz, state, message, expected, seen, example, title))
    return tuple(marks)
