"""Makes submissions for the tests of grading, and reads what a run wrote about them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from kit.authoring import compose
from kit.authoring.sources import read_source
from kit.grading import grade

SAMPLE = Path(__file__).parents[1] / "sample_course"
SOURCE = SAMPLE / "lessons" / "nb99_sample" / "source" / "99_sample.py"


def notebook(answer: str | None = None) -> dict:
    """A student's notebook; without an answer it is marked (as empty) and not run."""
    made = compose.student(read_source(SOURCE))
    for cell in made.cells:
        if answer is not None and cell.id == "exercise-99-2":
            cell.source = answer
    return made


def handed_in(path: Path, answer: str | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook(answer)))
    return path


def rows(out: Path) -> dict[str, dict[str, str]]:
    """The rows of class.csv by name."""
    with (out / "class.csv").open(encoding="utf-8-sig", newline="") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def graded(files: list[Path], out: Path, **options) -> dict[str, dict[str, str]]:
    """The rows of class.csv by name, after a run without a sandbox."""
    grade(files, out, sandboxed=False, **options)
    return rows(out)


def table(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))
