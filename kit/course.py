"""Where the course's files are.

The environment variable KAFKALAB_COURSE names another folder with a course of the same
shape (`source/`, `definitions/`); the tests use it for a course of one small notebook.
"""

from __future__ import annotations

import os
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
"""The repository's root."""


def _other() -> Path | None:
    chosen = os.environ.get("KAFKALAB_COURSE")
    return Path(chosen).resolve() if chosen else None


def notebooks_folder() -> Path:
    """Where the notebooks that learners open lie."""
    return _other() or PROJECT / "notebooks"


def source_files() -> list[Path]:
    """What authors edit: notebooks first, then labs, each in order."""
    if other := _other():
        return sorted((other / "source").glob("*.py"))
    labs = sorted(PROJECT.glob("labs/*/source/*.py"))
    return sorted((PROJECT / "notebooks" / "source").glob("*.py")) + labs


def definitions_folder() -> Path:
    """The judge's side of the exercises."""
    if other := _other():
        return other / "definitions"
    return PROJECT / "kit" / "exercises" / "definitions"


def student_notebook(source: Path) -> Path:
    """`source/06_replication.py` -> `06-replication.ipynb`, one folder up."""
    return source.parent.parent / f"{source.stem.replace('_', '-')}.ipynb"


def reference_notebook(source: Path) -> Path:
    """The executed solution that belongs to a source."""
    student = student_notebook(source)
    return student.parent / "solutions" / student.name


def source_of(group: str) -> Path | None:
    """The source of notebook "06" or lab "L1"."""
    return next((path for path in source_files() if path.stem.split("_")[0] == group), None)
