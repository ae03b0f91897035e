"""Lifts the answers out of a submitted notebook.

The file is read as data, within limits, and only the source of its exercise cells counts.
A cell's tags name its exercise or, if an editor dropped the tags, its id does.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from kit.authoring.compose import reference, student
from kit.authoring.sources import Cell, read_source
from kit.course import source_of

LARGEST_SUBMISSION = 20_000_000
LARGEST_CELL = 100_000
MOST_NOTES = 20
EXERCISE_ID = re.compile(r"[A-Z]?[0-9]{1,3}-[0-9]{1,3}", re.ASCII)
Json = dict[str, object]


class Unreadable(Exception):
    """The file is not a notebook of this course; one sentence says why."""


@dataclass(frozen=True, slots=True)
class Submission:
    """`answers` has the code by exercise id; `notes` are for the marker."""

    group: str
    answers: dict[str, str]
    notes: tuple[str, ...] = field(default=())


def read(path: Path) -> Submission:
    """Raises Unreadable with a sentence."""
    content = _content(path)
    try:
        notebook = json.loads(content)
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Unreadable("The file is not a Jupyter notebook.") from error
    found: list[tuple[str, str]] = []
    for cell in cells:
        if (exercise_id := _exercise_of(cell)) and len(code := _source(cell)) <= LARGEST_CELL:
            found.append((exercise_id, code))
    if not found:
        raise Unreadable("The file has no exercise cell of this course.")
    return _submission(found)


def _content(path: Path) -> bytes:
    """The bytes of a regular file.

    A pipe or a device of that name is not opened: a pipe may never end, and opening a device
    may act on it.  If one replaces the file after the check, opening it does not block.
    """
    try:
        _must_be_regular(os.stat(path))
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            _must_be_regular(os.fstat(descriptor))
            content = file.read(LARGEST_SUBMISSION + 1) or b""
    except OSError as error:
        raise Unreadable(f"The file cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise Unreadable("The file cannot be read (no file can have this name).") from error
    if len(content) > LARGEST_SUBMISSION:
        limit = LARGEST_SUBMISSION // 1_000_000
        raise Unreadable(f"The file is larger than {limit} MB; clear its outputs.")
    return content


def _must_be_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise Unreadable("This is not a regular file but a folder, a pipe, a socket or a device.")


def open_exercises(cells: list[Cell]) -> dict[str, bool]:
    """The exercises of a notebook's source, in order, and whether each is a quiz question."""
    return {cell.name: cell.has("quiz") for cell in cells if cell.has("stub")}


def transplant(submission: Submission) -> object:
    """The course's own student notebook with the submission's answers in their places.

    Cells that no exercise needs are left out: an exercise may use what `setup` cells made.
    """
    return _with_answers(student(needed_cells(submission.group)), submission.answers)


def needed_cells(group: str) -> list[Cell]:
    """Set-up and the cells of exercises, in order."""
    parts = ("setup", "stub", "solution", "check")
    return [cell for cell in cells_of(group) if any(cell.has(part) for part in parts)]


def cells_of(group: str) -> list[Cell]:
    source = source_of(group)
    if source is None:
        raise Unreadable(f"This copy of the course has no notebook {group}; run: git pull")
    return [cell for cell in read_source(source) if not cell.is_prediction]


def solved(group: str) -> Submission:
    """The course's own solutions as a submission: what graders try first."""
    notebook = reference(cells_of(group))
    answers = {
        cell.metadata.tags[1]: cell.source
        for cell in notebook.cells
        if "exercise" in cell.metadata.get("tags", [])
    }
    return Submission(group, answers)


def _submission(found: list[tuple[str, str]]) -> Submission:
    groups = Counter(exercise_id.rpartition("-")[0] for exercise_id, _ in found)
    group = min(groups, key=lambda name: (-groups[name], name))
    known = {cell.name: cell.text for cell in cells_of(group) if cell.has("stub")}
    answers: dict[str, str] = {}
    notes = []
    for exercise_id, code in found:
        if exercise_id not in known:
            notes.append(f"A cell for {exercise_id} was left out: notebook {group} has none.")
            continue
        if exercise_id in answers:
            notes.append(f"{exercise_id} is there twice; the last one was marked.")
        answers[exercise_id] = code
    notes += [f"The cell of {name} is missing." for name in known if name not in answers]
    notes = list(dict.fromkeys(notes))
    if (more := len(notes) - MOST_NOTES) > 0:
        notes[MOST_NOTES:] = [f"{more} more notes were left out."]
    return Submission(group, answers, tuple(notes))


def seed_of(submission: Submission) -> str:
    """The seed of a submission's inputs: from its answers, so that the same get the same marks.

    An answer that remembers the results for one seed has another seed by that.
    """
    return hashlib.sha256(json.dumps(sorted(submission.answers.items())).encode()).hexdigest()


def is_untouched(exercise_id: str, code: str, cells: list[Cell]) -> bool:
    """Whether the learner left the stub as it was."""
    stub = next(cell.text for cell in cells if cell.name == exercise_id and cell.has("stub"))
    return code.split() == stub.split()


def is_empty(submission: Submission) -> bool:
    """Whether every answer is empty: then there is nothing to run."""
    cells = cells_of(submission.group)
    return all(is_untouched(name, code, cells) for name, code in submission.answers.items())


def _with_answers(notebook: object, answers: dict[str, str]) -> object:
    for cell in notebook.cells:  # type: ignore[attr-defined]
        tags = cell.metadata.get("tags", [])
        if "exercise" in tags and tags[1] in answers:
            cell.source = answers[tags[1]]
    return notebook


def _exercise_of(cell: Json) -> str:
    metadata = cell.get("metadata")
    tags = metadata.get("tags") if isinstance(metadata, dict) else None
    if isinstance(tags, list) and "exercise" in tags:
        for tag in tags:
            if isinstance(tag, str) and EXERCISE_ID.fullmatch(tag):
                return tag
    cell_id = cell.get("id")
    exercise_id = cell_id.removeprefix("exercise-") if isinstance(cell_id, str) else ""
    return exercise_id if exercise_id != cell_id and EXERCISE_ID.fullmatch(exercise_id) else ""


def _source(cell: Json) -> str:
    """The code.  A lone surrogate, which no Python file can hold, becomes a question mark."""
    source = cell.get("source", "")
    lines = source if isinstance(source, list) else [source]
    code = "".join(line for line in lines if isinstance(line, str))
    return code.encode("utf-8", "replace").decode()
