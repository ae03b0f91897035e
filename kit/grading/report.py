"""Writes the results of grading as files, and reads its own again.

    NAME.json              one submission: identity, marks, notes, and the code that was marked
    feedback/NAME.html     the same for the learner
    logs/NAME.txt          what a run printed in which the course failed
    class.csv              a row per submission, written again as the run goes on
    class.json, class.html the class: submissions, totals, who is missing, what is alike
    totals.csv             a row per learner, a column per notebook
    import.csv             the roster's own columns and the points, for a learning system
    times.csv              seconds per submission

Except for `times.csv` they hold no times, and no paths but those of the command line, so the same
submissions give the same files.  Every file system accepts their names.  A file is written whole
or not at all.  A lone surrogate in a learner's text becomes an escape.
"""

from __future__ import annotations

import csv
import io
import json
import os
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kit.grading.marking import Mark, Marks
from kit.grading.messages import cleaned, natural, one_line

SIGNS = {"right": "✓", "wrong": "✗", "empty": "–", "failed": "!"}
VERSION = 2
"""Of the JSON file of a submission."""
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
OWN_NAMES = {"class", "totals", "import", "times"}
CLASS_HEAD = ["name", "learner", "id", "identified by", "file", "notebook", "state", "score", "of"]


def name_for(learner: str, notebook: str, taken: set[str]) -> str:
    """A report name that is not taken: the learner, with the notebook, with a number.

    Names that differ only in case count as one, as on the disks of macOS and Windows.
    """
    stem = _file_name(learner)
    name = stem if stem.casefold() not in OWN_NAMES else f"{stem}-{notebook or 1}"
    if name.casefold() in taken and notebook:
        name = f"{stem}-{notebook}"
    plain, again = name, 1
    while name.casefold() in taken:
        again += 1
        name = f"{plain}-{again}"
    taken.add(name.casefold())
    return name


def _file_name(text: str) -> str:
    """Letters, digits and a few signs are kept; any other becomes an underscore."""
    kept = (
        c if c in KEPT_SIGNS or unicodedata.category(c)[0] in "LMN" else "_"
        for c in unicodedata.normalize("NFC", text)[:LONGEST_NAME]
    )
    name = "".join(kept).strip().rstrip(" .").lstrip(".") or "submission"
    return f"_{name}" if name.split(".")[0].upper() in DEVICES else name


def in_order(marked: Iterable[Marks]) -> list[Marks]:
    """By learner and notebook, with 2 before 10."""
    return sorted(marked, key=lambda m: (natural(m.learner), natural(m.notebook), natural(m.name)))


def line(marks: Marks) -> str:
    """One submission on one line of a terminal."""
    if marks.problem:
        return f"{marks.name}: not marked. {one_line(marks.problem)}"
    signs = "  ".join(f"{mark.exercise} {SIGNS[mark.state]}" for mark in marks.marks)
    return f"{marks.name}: {marks.score} of {marks.out_of}   {signs}"


def state(marks: Marks) -> str:
    """`marked`, `not marked` (the course failed) or `unreadable` (the file is no submission)."""
    return {"": "marked", "course": "not marked", "file": "unreadable"}[marks.fault]


def write_json(marks: Marks, out: Path) -> Path:
    content = {
        "version": VERSION,
        "name": marks.name,
        "learner": marks.learner,
        "id": marks.id,
        "identified by": marks.identified_by,
        "file": marks.file,
        "sha256": marks.digest,
        "notebook": marks.notebook,
        "course": marks.course,
        "state": state(marks),
        "score": marks.score,
        "of": marks.out_of,
        "sandbox": marks.sandbox,
        "problem": marks.problem,
        "notes": list(marks.notes),
        "exercises": [asdict(mark) for mark in marks.marks],
        "answers": marks.answers,
    }
    path = out / f"{marks.name}.json"
    write(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return path


def read_json(path: Path) -> Marks | None:
    """What `write_json` wrote; None for any other file."""
    try:
        content = json.loads(path.read_bytes())
        if content["version"] != VERSION or content["name"] != path.stem:
            return None
        faults = {"marked": "", "not marked": "course", "unreadable": "file"}
        return Marks(
            name=content["name"],
            file=content["file"],
            notebook=content["notebook"],
            marks=tuple(Mark(**mark) for mark in content["exercises"]),
            notes=tuple(content["notes"]),
            problem=content["problem"],
            sandbox=content["sandbox"],
            fault=faults[content["state"]],  # type: ignore[arg-type]
            learner=content["learner"],
            id=content["id"],
            identified_by=content["identified by"],
            digest=content["sha256"],
            course=content["course"],
            answers=content["answers"],
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def write_log(name: str, log: str, out: Path) -> None:
    """Keeps what a run printed; without its escapes, because it quotes learners' code."""
    (out / "logs").mkdir(exist_ok=True)
    lines = (cleaned(each) for each in log.splitlines())
    write(out / "logs" / f"{name}.txt", "\n".join(lines) + "\n")


def write_class_csv(marked: Sequence[Marks], out: Path) -> None:
    exercises = exercises_of(marked)
    rows = [[*CLASS_HEAD, *exercises, "notes"]]
    for marks in in_order(marked):
        states = {mark.exercise: mark.state for mark in marks.marks}
        score = ["", ""] if marks.problem else [str(marks.score), str(marks.out_of)]
        row = [marks.name, marks.learner, marks.id, marks.identified_by, marks.file]
        row += [marks.notebook, state(marks), *score]
        row += [states.get(exercise, "") for exercise in exercises]
        rows.append([*row, " ".join(filter(None, [marks.problem, *marks.notes]))])
    write_csv(out / "class.csv", rows)


def exercises_of(marked: Iterable[Marks]) -> list[str]:
    return sorted({mark.exercise for marks in marked for mark in marks.marks}, key=natural)


def write_csv(path: Path, rows: Iterable[Sequence[str]]) -> None:
    """UTF-8 with a byte order mark, which spreadsheets need to show names as they are."""
    text = io.StringIO()
    csv.writer(text).writerows([_no_formula(cell) for cell in row] for row in rows)
    write(path, "\ufeff" + text.getvalue())


def write_class_json(content: dict[str, Any], out: Path) -> None:
    write(out / "class.json", json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def write(path: Path, text: str) -> None:
    """Replaces the file as a whole: a reader sees the old one or the new one."""
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(text.encode("utf-8", "backslashreplace"))
    os.replace(part, path)


def _no_formula(text: str) -> str:
    """A spreadsheet would run a cell that starts like a formula."""
    return f"'{text}" if text[:1] in "=+-@\t\r" and text not in ("", "-") else text
