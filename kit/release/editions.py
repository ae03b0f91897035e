"""Which files each edition of the course has, and what is in them.

    edition    notebooks/                       sources            facilitator pages
    student    stubs, no outputs                solutions sealed   left out
    solution   solutions, executed              whole              there
    clean      solutions, no outputs            whole              there
    graded     stubs, no outputs                without solutions  left out; judges sealed

Each is a whole course that runs.  The tests stay behind, and so does what builds them: they
need the repository.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kit.release.sealed import sealed, sealed_module

LEFT_BEHIND = ("tests/", ".ci/", "CONTRIBUTING.md")
REFERENCE = re.compile(r"(notebooks|labs/[^/]+)/solutions/([^/]+\.ipynb)$")
SOURCE = re.compile(r"(lessons|labs)/[^/]+/source/[^/]+\.py$")
JUDGES = re.compile(r"(lessons|labs)/[^/]+/exercises/.+\.py$")
FACILITATOR = re.compile(r"(lessons|labs)/[^/]+/facilitator\.md$")
ABOUT = "EDITION.md"


@dataclass(frozen=True, slots=True)
class File:
    content: bytes
    is_program: bool = False


Files = dict[str, File]


@dataclass(frozen=True, slots=True)
class Edition:
    """A kind of archive; `about` says in one sentence what it is for."""

    name: str
    about: str
    choose: Callable[[Files], Files]


def _student(files: Files) -> Files:
    return _without_references(files, leave_out=False)


def _graded(files: Files) -> Files:
    return _without_references(files, leave_out=True)


def _without_references(files: Files, *, leave_out: bool) -> Files:
    chosen = {}
    for path, file in files.items():
        if REFERENCE.match(path) or FACILITATOR.match(path):
            continue
        if SOURCE.match(path):
            text = sealed(file.content.decode(), leave_out=leave_out)
            file = File(text.encode(), file.is_program)
        elif leave_out and JUDGES.match(path):
            file = File(sealed_module(file.content.decode()).encode(), file.is_program)
        chosen[path] = file
    return chosen


def _solution(files: Files) -> Files:
    """The references take the place of the learners' notebooks."""
    references = {
        f"{found[1]}/{found[2]}": file
        for path, file in files.items()
        if (found := REFERENCE.match(path))
    }
    return {p: f for p, f in files.items() if not REFERENCE.match(p)} | references


def _clean(files: Files) -> Files:
    return {
        path: File(_without_outputs(file.content)) if path.endswith(".ipynb") else file
        for path, file in _solution(files).items()
    }


def _without_outputs(content: bytes) -> bytes:
    notebook: dict[str, Any] = json.loads(content)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()


STUDENT = Edition(
    "student",
    "for learners: exercises to solve, no outputs; the third hint leads to a solution.",
    _student,
)
GRADED = Edition(
    "graded",
    "for learners whose work is marked: exercises to solve, no outputs, no solutions.",
    _graded,
)
SOLUTION = Edition("solution", "to read: every exercise solved, every cell executed.", _solution)
CLEAN = Edition("clean", "to run in class: every exercise solved, no outputs.", _clean)


def files_of(edition: Edition, files: Files, version: str) -> Files:
    """The edition's files, with its page and its version."""
    course = {path: f for path, f in files.items() if not path.startswith(LEFT_BEHIND)}
    page = (
        f"# Kafka Inside Out, {edition.name} edition\n\n{version}\n\nThis edition is "
        f"{edition.about}\n\n`make lab` sets everything up and opens notebook 00. If you have "
        "an older edition with work in it, run in this folder: `make setup`, then "
        "`.venv/bin/kafkalab update OLD-FOLDER`. The tests are in the repository only.\n"
    )
    about = {ABOUT: File(page.encode()), "VERSION": File(f"{version}\n".encode())}
    return edition.choose(course) | about
