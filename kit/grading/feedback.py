"""A learner's own page: what was right, what was expected and seen, and where to look again."""

from __future__ import annotations

import contextlib
from html import escape
from pathlib import Path

from kit.grading import report, submission
from kit.grading.document import WORDS, document
from kit.grading.intake import Unreadable
from kit.grading.marking import Mark, Marks
from kit.grading.messages import cleaned

LONGEST_CODE = 4000


def write(marks: Marks, out: Path) -> None:
    """`feedback/NAME.html`; none where the course failed, because the learner can do nothing."""
    path = out / "feedback" / f"{marks.name}.html"
    if marks.fault == "course":
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(exist_ok=True)
    report.write(path, page(marks))


def page(marks: Marks) -> str:
    title = f"{marks.learner or marks.name}: {_notebook(marks.notebook)}"
    head = f"<h1>{escape(title)}</h1>"
    who = f" ({escape(marks.id)})" if marks.id else ""
    by = escape(marks.identified_by or "file name")
    file = f"<p class='quiet'>{escape(marks.file)}{who}; identified by: {by}.</p>"
    if marks.problem:
        problem = f"<p class='problem said'>This file got no marks. {escape(marks.problem)}</p>"
        return document(title, head + file + problem, kind="feedback")
    score = f"<p class='score'>{marks.score} of {marks.out_of}</p>"
    notes = "".join(f"<li>{escape(note)}</li>" for note in marks.notes)
    notes = f"<h2>Notes</h2><ul class='said'>{notes}</ul>" if notes else ""
    exercises = "".join(_exercise(mark, marks.answers.get(mark.exercise)) for mark in marks.marks)
    return document(title, head + score + file + exercises + notes, kind="feedback")


def _notebook(group: str) -> str:
    """The heading of a notebook, with its number: "06 Replication"."""
    with contextlib.suppress(Unreadable):
        for cell in submission.cells_of(group):
            if not cell.code and cell.text.startswith("# "):
                heading = cell.text.splitlines()[0].removeprefix("# ")
                return heading if heading.startswith(group) else f"{group} {heading}"
    return group or "a file"


def _exercise(mark: Mark, code: str | None) -> str:
    about = WORDS[mark.state] + (", a question without points" if mark.quiz else "")
    rows = "".join(
        f"<dt>{name}</dt><dd class='said'>{escape(text)}</dd>"
        for name, text in (
            ("expected", mark.expected),
            ("seen", mark.seen),
            ("smallest case", mark.counter_example),
        )
        if text
    )
    message = f"<p class='said'>{escape(mark.message)}</p>" if mark.message else ""
    if mark.state == "failed" and mark.message:
        message = f"<pre>{escape(mark.message)}</pre>"
    hint = ""
    if mark.state != "right" and not mark.quiz:
        command = f'hint("{mark.exercise}")'
        hint = f"<p class='quiet'>In the notebook, <code>{escape(command)}</code> helps.</p>"
    yours = ""
    if code and mark.state in ("wrong", "failed"):
        shown = cleaned(code, LONGEST_CODE, most_lines=200)
        yours = f"<details><summary>your code</summary><pre>{escape(shown)}</pre></details>"
    return (
        f"<section class='{mark.state}'><h2>{report.SIGNS[mark.state]} {escape(mark.exercise)} "
        f"{escape(mark.title)} <span>({about})</span></h2>{message}"
        f"{f'<dl>{rows}</dl>' if rows else ''}{hint}{yours}</section>"
    )
