"""Where the course's files are.

A lesson is a folder, and a lab is one of the same shape:

    lessons/nb06_replication/     labs/L1_telemetry_pipeline/
      *.py         what its notebook imports: scenes, runs, drawings
      source/      the notebook as authors write it, with its solutions
      exercises/   the judge's side
      facilitator.md   for the teacher

A kernel sees only the modules at the top.  A lesson's notebooks are written to
`notebooks/`, where learners look for them; a lab's are in its own folder.

The environment variable KAFKALAB_COURSE names another folder with a course of this shape;
the tests use it for a course of one small notebook.
"""

from __future__ import annotations

import os
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
"""The repository's root."""


def _root() -> Path:
    chosen = os.environ.get("KAFKALAB_COURSE")
    return Path(chosen).resolve() if chosen else PROJECT


def notebooks_folder() -> Path:
    """The folder of the notebooks that learners open."""
    return _root() / "notebooks"


def source_files() -> list[Path]:
    """What authors edit: lessons first, then labs, each in order."""
    return [
        source
        for kind in ("lessons", "labs")
        for source in sorted(_root().glob(f"{kind}/*/source/*.py"))
    ]


def source_of(group: str) -> Path | None:
    """The source of notebook "06" or lab "L1"."""
    return next((path for path in source_files() if group_of(path) == group), None)


def group_of(source: Path) -> str:
    """`source/06_replication.py` -> "06", `source/L1_telemetry_pipeline.py` -> "L1"."""
    return source.stem.split("_")[0]


def slice_of(source: Path) -> Path:
    """The folder of the lesson or lab that a source belongs to."""
    return source.parent.parent


def student_notebook(source: Path) -> Path:
    """`06_replication.py` -> `06-replication.ipynb`, what learners open."""
    own = slice_of(source)
    folder = own.parent.parent / "notebooks" if own.parent.name == "lessons" else own
    return folder / f"{source.stem.replace('_', '-')}.ipynb"


def reference_notebook(source: Path) -> Path:
    """The executed solution that belongs to a source."""
    student = student_notebook(source)
    return student.parent / "solutions" / student.name


def modules_for_kernels() -> list[Path]:
    """Files of lessons and labs that learners' code may see, of this project alone."""
    packages = ("lessons", "labs")
    return [
        file
        for name in packages
        for pattern in (f"{name}/*.py", f"{name}/*/*.py")
        for file in sorted(PROJECT.glob(pattern))
    ]
