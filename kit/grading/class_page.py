"""`class.html`: the class at a glance, notebook by notebook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape
from statistics import median
from urllib.parse import quote

from kit.grading import report
from kit.grading.document import document, sign_of
from kit.grading.gradebook import Gradebook
from kit.grading.marking import Marks
from kit.grading.messages import natural

MOST_STUMBLES = 20


def page(book: Gradebook, title: str = "Class") -> str:
    parts = [f"<h1>{escape(title)}</h1>", _summary(book), _by_notebook(book)]
    for notebook in book.missing:
        marked = [m for m in book.marked if m.notebook == notebook and not m.problem]
        parts.append(f"<h2>Notebook {escape(notebook)}</h2>")
        parts.append(_table(marked, book))
        parts.append(_missing(book, notebook))
    parts += [_without_marks(book), _twice(book), _totals(book)]
    parts += [_stumbles(book.marked), _alike(book)]
    return document(title, "".join(parts))


def _summary(book: Gradebook) -> str:
    states = Counter(map(report.state, book.marked))
    counts = ", ".join(f"{states[s]} {s}" for s in ("marked", "not marked", "unreadable")
                       if states[s])  # fmt: skip
    return (
        f"<p>{len(book.marked)} submissions: {counts or 'none'}.</p>"
        "<p class='quiet'><span class='right'>✓</span> right &nbsp; "
        "<span class='wrong'>✗</span> wrong &nbsp; – left empty &nbsp; "
        "<span class='failed'>!</span> no answer reached the judge &nbsp; "
        "(the message shows when you point at a sign)</p>"
    )


def _by_notebook(book: Gradebook) -> str:
    """How a course went, a row per notebook; nothing for a single one."""
    if len(book.missing) < 2:
        return ""
    rows = ""
    for notebook in book.missing:
        marked = [m for m in book.marked if m.notebook == notebook and not m.problem]
        scores = [marks.score for marks in marked]
        middle = f"{median(scores):g} of {book.out_of[notebook]}" if scores else ""
        rows += (
            f"<tr><th scope='row'>{escape(notebook)}</th><td class='number'>{len(marked)}</td>"
            f"<td class='number'>{len(book.missing[notebook])}</td><td>{middle}</td>"
            f"<td>{_hardest(marked)}</td></tr>"
        )
    names = ("notebook", "marked", "without a submission", "median", "hardest exercise")
    head = "".join(f"<th scope='col'>{name}</th>" for name in names)
    return (
        "<h2>By notebook</h2><div class='scroll'><table>"
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _hardest(marked: Sequence[Marks]) -> str:
    """The exercise with the fewest right answers, and their share."""
    states: dict[str, list[str]] = {}
    for mark in (mark for marks in marked for mark in marks.marks if not mark.quiz):
        states.setdefault(mark.exercise, []).append(mark.state)
    shares = {name: each.count("right") / len(each) for name, each in states.items()}
    if not shares:
        return ""
    name = min(shares, key=lambda each: (shares[each], natural(each)))
    return f"{escape(name)} ({100 * shares[name]:.0f} % right)"


def _table(marked: Sequence[Marks], book: Gradebook) -> str:
    exercises = report.exercises_of(marked)
    quizzes = {mark.exercise for marks in marked for mark in marks.marks if mark.quiz}
    head = "".join(
        f"<th scope='col'>{escape(each)}{'<br><small>quiz</small>' if each in quizzes else ''}</th>"
        for each in exercises
    )
    body = "".join(_row(marks, exercises, book) for marks in marked)
    right = "".join(f"<td class='sign'>{_share(marked, each)}</td>" for each in exercises)
    return (
        "<div class='scroll'><table><thead><tr><th scope='col'>learner</th>"
        "<th scope='col'>id</th><th scope='col'>identified by</th><th scope='col'>score</th>"
        f"{head}<th scope='col'>notes</th></tr></thead><tbody>{body}</tbody>"
        f"<tfoot><tr><th scope='row' colspan='4'>right</th>{right}<td></td></tr></tfoot>"
        "</table></div>"
    )


def _row(marks: Marks, exercises: list[str], book: Gradebook) -> str:
    by_exercise = {mark.exercise: mark for mark in marks.marks}
    cells = "".join(sign_of(by_exercise.get(exercise)) for exercise in exercises)
    return (
        f"<tr>{_name(marks, book)}<td>{escape(marks.id)}</td><td>{escape(marks.identified_by)}</td>"
        f"<td class='number'>{marks.score} of {marks.out_of}</td>{cells}"
        f"<td class='notes'>{escape(' '.join(marks.notes))}</td></tr>"
    )


def _name(marks: Marks, book: Gradebook) -> str:
    shown = escape(marks.learner or marks.name)
    if marks.fault != "course":
        folder, _, name = marks.name.rpartition("/")
        where = f"{book.folders[folder]}/" if folder else ""
        page = quote(f"{where}feedback/{name}.html", errors="replace")
        shown = f"<a href='{page}'>{shown}</a>"
    return f"<th scope='row' title='{escape(marks.file, quote=True)}'>{shown}</th>"


def _share(marked: Sequence[Marks], exercise: str) -> str:
    states = [m.state for marks in marked for m in marks.marks if m.exercise == exercise]
    return f"{100 * states.count('right') / len(states):.0f} %" if states else ""


def _missing(book: Gradebook, notebook: str) -> str:
    names = book.missing[notebook]
    if not names:
        return ""
    unreadable = {marks.learner for marks in book.marked if marks.fault == "file"}
    listed = ", ".join(
        escape(name) + (" (a file that cannot be read)" if name in unreadable else "")
        for name in names
    )
    return f"<p>No submission of {escape(notebook)} ({len(names)}): {listed}.</p>"


def _without_marks(book: Gradebook) -> str:
    rows = "".join(
        f"<tr>{_name(marks, book)}<td class='notes'>{escape(marks.file)}</td>"
        f"<td>{report.state(marks)}</td><td class='problem'>{escape(marks.problem)}</td></tr>"
        for marks in book.marked
        if marks.problem
    )
    head = "<th scope='col'>learner</th><th scope='col'>file</th>"
    head += "<th scope='col'>state</th><th scope='col'>reason</th>"
    return rows and (
        "<h2>Without marks</h2><p class='quiet'><b>unreadable</b>: the file is no submission. "
        "<b>not marked</b>: the course or this machine failed; mend it and run the command "
        "again.</p><div class='scroll'><table>"
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _twice(book: Gradebook) -> str:
    rows = "".join(
        f"<li>{escape(learner)}, notebook {escape(notebook)}: {escape(', '.join(names))}</li>"
        for learner, notebook, names in book.twice
    )
    return rows and (
        "<h2>Several submissions of one learner</h2>"
        f"<p>In the totals the best one counts.</p><ul>{rows}</ul>"
    )


def _totals(book: Gradebook) -> str:
    notebooks = list(book.missing)
    if len(notebooks) < 2:
        return ""
    head = "".join(f"<th scope='col'>{escape(notebook)}</th>" for notebook in notebooks)
    rows = ""
    for total in book.totals:
        points = [total.points[notebook] for notebook in notebooks]
        cells = "".join(f"<td class='number'>{'' if p is None else p}</td>" for p in points)
        rows += f"<tr><th scope='row'>{escape(total.learner)}</th>{cells}"
        rows += f"<td class='number'>{total.score} of {total.out_of}</td></tr>"
    return (
        "<h2>Totals</h2><div class='scroll'><table><thead><tr><th scope='col'>learner</th>"
        f"{head}<th scope='col'>all</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _stumbles(marked: Sequence[Marks]) -> str:
    """The most frequent message per exercise: what to explain again."""
    messages = Counter(
        (mark.exercise, mark.message)
        for marks in marked
        for mark in marks.marks
        if mark.state in ("wrong", "failed")
    )
    lines = sorted(messages.items(), key=lambda item: (-item[1], item[0]))[:MOST_STUMBLES]
    rows = "".join(
        f"<tr><td class='number'>{count}</td><th scope='row' class='exercise'>"
        f"{escape(exercise)}</th><td class='said'>{escape(text)}</td></tr>"
        for (exercise, text), count in lines
    )
    table = f"<div class='scroll'><table><tbody>{rows}</tbody></table></div>"
    return f"<h2>What went wrong most</h2>{table if rows else '<p>Nothing.</p>'}"


def _alike(book: Gradebook) -> str:
    rows = "".join(
        f"<tr><td>{escape(pair.notebook)}</td><td>{escape(pair.first)}</td>"
        f"<td>{escape(pair.second)}</td><td class='number'>"
        f"{'the same file' if pair.same_file else f'{100 * pair.share:.0f} %'}</td></tr>"
        for pair in book.alike
    )
    head = "".join(f"<th scope='col'>{name}</th>" for name in ("notebook", "one", "other", "alike"))
    return rows and (
        "<h2>Alike</h2><p>A hint to look, not a verdict: short exercises have few good answers. "
        "Comments, layout, names of variables and what many have do not count.</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )
