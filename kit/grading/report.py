"""Writes the results of grading: JSON per submission, a CSV and a page for the class.

They hold no times, and no paths but those of the command line, so the same submissions give
the same files.  Every file system accepts the names of the files.  A file is written whole or
not at all.  A lone surrogate in a learner's text becomes an escape.
"""

from __future__ import annotations

import csv
import io
import json
import os
import unicodedata
from collections import Counter
from dataclasses import asdict
from html import escape
from pathlib import Path

from kit.grading.marking import Mark, Marks

SIGNS = {"right": "✓", "wrong": "✗", "empty": "–", "failed": "!"}

STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0 2rem; }
th, td { border-bottom: 1px solid color-mix(in srgb, currentColor 25%, transparent);
         padding: .3rem .8rem; text-align: left; vertical-align: top; }
.right { color: #009E73; } .wrong, .failed { color: #D55E00; } .empty { opacity: .6; }
"""


KEPT_SIGNS = " .-_'(),+@"
LONGEST_NAME = 60
"""Characters: with a number and an ending it stays below 255 bytes of UTF-8."""
DEVICES = {
    "CON",
    "PRN",
    "AUX",
    "NUL",
    *(f"{port}{n}" for port in ("COM", "LPT") for n in range(10)),
}
"""Names that Windows keeps for itself, with any ending."""


def distinct_names(files: list[Path]) -> list[str]:
    """A report name for each file, from its stem; files of one name get a number.

    Names that differ only in case count as one, as on the disks of macOS and Windows.
    """
    taken: set[str] = set()
    names = []
    for stem in (_file_name(file.stem) for file in files):
        name, again = stem, 1
        while name.casefold() in taken:
            again += 1
            name = f"{stem}-{again}"
        taken.add(name.casefold())
        names.append(name)
    return names


def _file_name(stem: str) -> str:
    """Letters, digits and a few signs are kept; any other becomes an underscore."""
    kept = (
        c if c in KEPT_SIGNS or unicodedata.category(c)[0] in "LMN" else "_"
        for c in unicodedata.normalize("NFC", stem)[:LONGEST_NAME]
    )
    name = "".join(kept).rstrip(" .") or "submission"
    return f"_{name}" if name.split(".")[0].upper() in DEVICES else name


def line(marks: Marks) -> str:
    """One submission on one line of a terminal."""
    if marks.problem:
        return f"{marks.name}: not marked. {marks.problem}"
    signs = "  ".join(f"{mark.exercise} {SIGNS[mark.state]}" for mark in marks.marks)
    return f"{marks.name}: {marks.score} of {marks.out_of}   {signs}"


def write_json(marks: Marks, out: Path) -> Path:
    content = {
        "name": marks.name,
        "file": marks.file,
        "notebook": marks.notebook,
        "score": marks.score,
        "of": marks.out_of,
        "sandbox": marks.sandbox,
        "problem": marks.problem,
        "notes": list(marks.notes),
        "exercises": [asdict(mark) for mark in marks.marks],
    }
    path = out / f"{marks.name}.json"
    _write(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return path


def write_class(marked: list[Marks], out: Path) -> None:
    """`class.csv`, a row per submission, and `class.html`, to be read."""
    exercises = sorted({mark.exercise for marks in marked for mark in marks.marks})
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(["name", "file", "notebook", "score", "of", *exercises, "notes"])
    for marks in marked:
        states = {mark.exercise: mark.state for mark in marks.marks}
        notes = " ".join(filter(None, [marks.problem, *marks.notes]))
        cells = [marks.name, marks.file, marks.notebook, str(marks.score), str(marks.out_of)]
        cells += [states.get(exercise, "") for exercise in exercises]
        table.writerow([_no_formula(cell) for cell in [*cells, notes]])
    _write(out / "class.csv", text.getvalue())
    _write(out / "class.html", _page(marked, exercises))


def _write(path: Path, text: str) -> None:
    """Replaces the file as a whole: a reader sees the old one or the new one."""
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(text.encode("utf-8", "backslashreplace"))
    os.replace(part, path)


def _no_formula(text: str) -> str:
    """A spreadsheet would run a cell that starts like a formula."""
    return f"'{text}" if text[:1] in "=+-@\t\r" and text not in ("", "-") else text


def _page(marked: list[Marks], exercises: list[str]) -> str:
    head = "".join(f"<th scope='col'>{escape(exercise)}</th>" for exercise in exercises)
    body = "".join(_row(marks, exercises) for marks in marked)
    return (
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>Class</title>"
        f"<style>{STYLE}</style><h1>Class</h1>"
        "<p>✓ right &nbsp; ✗ wrong &nbsp; – left empty &nbsp; ! no answer reached the judge</p>"
        f"<table><thead><tr><th scope='col'>name</th><th scope='col'>score</th>{head}"
        f"<th scope='col'>notes</th></tr></thead><tbody>{body}</tbody></table>"
        f"<h2>What went wrong most</h2>{_stumbles(marked)}</html>\n"
    )


def _row(marks: Marks, exercises: list[str]) -> str:
    by_exercise = {mark.exercise: mark for mark in marks.marks}
    cells = "".join(_cell(by_exercise.get(exercise)) for exercise in exercises)
    score = "not marked" if marks.problem else f"{marks.score} of {marks.out_of}"
    notes = escape(" ".join(filter(None, [marks.problem, *marks.notes])))
    return (
        f"<tr><th scope='row' title='{escape(marks.file, quote=True)}'>{escape(marks.name)}</th>"
        f"<td>{score}</td>{cells}<td>{notes}</td></tr>"
    )


def _cell(mark: Mark | None) -> str:
    if mark is None:
        return "<td></td>"
    title = escape(mark.message, quote=True)
    return f"<td class='{mark.state}' title='{title}'>{SIGNS[mark.state]} {mark.state}</td>"


def _stumbles(marked: list[Marks]) -> str:
    """The most frequent message per exercise: what to explain again."""
    messages = Counter(
        (mark.exercise, mark.message)
        for marks in marked
        for mark in marks.marks
        if mark.state in ("wrong", "failed")
    )
    if not messages:
        return "<p>Nothing.</p>"
    lines = sorted(messages.items(), key=lambda item: (-item[1], item[0]))[:20]
    rows = "".join(
        f"<tr><td>{count}</td><th scope='row'>{escape(exercise)}</th><td>{escape(text)}</td></tr>"
        for (exercise, text), count in lines
    )
    return f"<table><tbody>{rows}</tbody></table>"
