"""The files of a class, which sum up a folder of reports: pages, tables, what systems import."""

from __future__ import annotations

import contextlib
import csv
import io
import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from kit.grading import class_page, report
from kit.grading.gradebook import Gradebook, summed_up
from kit.grading.identity import Roster
from kit.grading.marking import Marks
from kit.grading.messages import natural


def reports_in(out: Path) -> dict[str, Marks]:
    """By name, all reports that a folder holds."""
    found = [report.read_json(path) for path in sorted(out.glob("*.json"))]
    return {marks.name: marks for marks in found if marks}


def write(
    marked: dict[str, Marks], out: Path, roster: Roster | None, times: dict[str, float]
) -> None:
    """All files of the class; see `kit.grading.report`."""
    book = summed_up(marked.values(), roster)
    report.write_class_csv(book.marked, out)
    report.write_class_json(_as_json(book), out)
    report.write(out / "class.html", class_page.page(book))
    report.write_csv(out / "totals.csv", totals_table(book))
    report.write_csv(out / "import.csv", _for_import(book, roster))
    _write_times(out, times, marked)


def write_course(
    folders: Sequence[Path], out: Path, roster: Roster | None, title: str
) -> Gradebook:
    """Sums up the reports of several folders: `course.html`, `totals.csv` and `import.csv`.

    Raises RuntimeError with a sentence for a folder without reports.
    """
    marked: list[Marks] = []
    places: dict[str, str] = {}
    for folder in dict.fromkeys(map(Path.resolve, folders)):
        found = reports_in(folder)
        if not found:
            raise RuntimeError(f"{folder} holds no reports; name the folder of kafkalab grade.")
        name = report.name_for(folder.name, "", {each.casefold() for each in places})
        places[name] = os.path.relpath(folder, out.resolve())
        marked += [replace(marks, name=f"{name}/{marks.name}") for marks in found.values()]
    book = replace(summed_up(marked, roster), folders=places)
    out.mkdir(parents=True, exist_ok=True)
    report.write(out / "course.html", class_page.page(book, title))
    report.write_csv(out / "totals.csv", totals_table(book))
    report.write_csv(out / "import.csv", _for_import(book, roster))
    return book


def totals_table(book: Gradebook) -> list[list[str]]:
    notebooks = list(book.missing)
    rows = [["learner", "id", *notebooks, "score", "of"]]
    for total in book.totals:
        cells = [_shown(total.points[notebook]) for notebook in notebooks]
        rows.append([total.learner, total.id, *cells, str(total.score), str(total.out_of)])
    return rows


def _for_import(book: Gradebook, roster: Roster | None) -> list[list[str]]:
    """The roster's columns as they were, and points; a learning system knows its own columns.

    A learner without a marked submission has an empty cell, which learning systems leave alone.
    """
    notebooks = list(book.missing)
    points = [f"Notebook {notebook}" for notebook in notebooks]
    by_learner = {(total.learner, total.id): total for total in book.totals}
    if roster is None:
        rows = [["Full name", "ID number", *points]]
        rows += [[t.learner, t.id, *(_shown(t.points[n]) for n in notebooks)] for t in book.totals]
        return rows
    rows = [[*roster.header, *points]]
    for person in roster.people:
        total = by_learner[person.name, person.id]
        rows.append([*person.row, *(_shown(total.points[n]) for n in notebooks)])
    return rows


def _shown(points: int | None) -> str:
    return "" if points is None else str(points)


def _as_json(book: Gradebook) -> dict:
    return {
        "notebooks": book.out_of,
        "submissions": [
            {
                "name": m.name, "learner": m.learner, "id": m.id, "notebook": m.notebook,
                "state": report.state(m), "score": m.score, "of": m.out_of, "problem": m.problem,
                "exercises": {mark.exercise: mark.state for mark in m.marks},
            }
            for m in book.marked
        ],
        "totals": [
            {"learner": t.learner, "id": t.id, "points": t.points, "score": t.score, "of": t.out_of}
            for t in book.totals
        ],
        "missing": book.missing,
        "several submissions": [
            {"learner": learner, "notebook": notebook, "reports": names}
            for learner, notebook, names in book.twice
        ],
        "alike": [asdict(pair) | {"share": round(pair.share, 2)} for pair in book.alike],
    }  # fmt: skip


def _write_times(out: Path, times: dict[str, float], marked: dict[str, Marks]) -> None:
    """Seconds per submission; those of earlier runs are kept."""
    known = known_times(out) | times
    rows: list[Sequence[str]] = [["name", "seconds"]]
    rows += [[name, f"{known[name]:.1f}"] for name in sorted(known, key=natural) if name in marked]
    report.write_csv(out / "times.csv", rows)


def known_times(out: Path) -> dict[str, float]:
    """Seconds by report name, from the runs before; a row of another shape is passed over."""
    known = {}
    for row in _rows(out / "times.csv")[1:]:
        with contextlib.suppress(ValueError, IndexError):
            known[row[0]] = float(row[1])
    return known


def _rows(path: Path) -> list[list[str]]:
    try:
        return list(csv.reader(io.StringIO(path.read_text("utf-8-sig"))))
    except (OSError, ValueError):
        return []
