"""Lifts the answers out of a submitted notebook.

The file is read as data, within limits, and only the source of its exercise cells counts.
A cell's tags name its exercise or, if an editor dropped the tags, its id does.  The cells say
which notebook it is, not the name of the file: the one of which the file has the most exercises,
each counted once.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from kit.authoring.compose import reference, student
from kit.authoring.sources import Cell, read_source
from kit.course import group_of, slice_of, source_files, source_of
from kit.grading import meddling
from kit.grading.intake import Unreadable, read_file

LARGEST_CELL = 100_000
MOST_CELLS = 10_000
MOST_NOTES = 20
EXERCISE_ID = re.compile(r"[A-Z]?[0-9]{1,3}-[0-9]{1,3}", re.ASCII)
RESAVE = "open it in JupyterLab, save it and hand it in again"
Json = dict[str, object]


class OtherNotebook(Unreadable):
    """A notebook of this course, but not the one that is marked."""


@dataclass(frozen=True, slots=True)
class Submission:
    """`answers` has the code by exercise id; `notes` are for the marker."""

    group: str
    answers: dict[str, str]
    notes: tuple[str, ...] = field(default=())


def read(path: Path, group: str = "") -> Submission:
    """Raises Unreadable with a sentence."""
    return parse(read_file(path), group)


def parse(content: bytes, group: str = "") -> Submission:
    """The answers in a notebook file; with `group`, those of that notebook of the course.

    Raises Unreadable with a sentence.
    """
    notebook, note = _json(content)
    found: list[tuple[str, str]] = []
    elsewhere: list[str] = []
    notes = [note] if note else []
    for cell in _code_cells(notebook):
        exercise_id, code = _exercise_of(cell), _source(cell)
        if not exercise_id:
            elsewhere.append(code[:LARGEST_CELL])
        elif len(code) > LARGEST_CELL:
            limit = LARGEST_CELL // 1000
            notes.append(f"A cell for {exercise_id} is longer than {limit} kB and was left out.")
        else:
            found.append((exercise_id, code))
    if not found:
        raise Unreadable("The file has no exercise cell of this course.")
    submitted = _submission(found, group, notes)
    return replace(submitted, notes=(*submitted.notes, *_misplaced(submitted, elsewhere)))


def _misplaced(submitted: Submission, elsewhere: list[str]) -> list[str]:
    """Notes on answers, and helpers of answers, that are in a cell of their own."""
    cells = cells_of(submitted.group)
    ours = {"".join(cell.text.split()) for cell in cells}
    theirs = {name for code in elsewhere if "".join(code.split()) not in ours
              for name in meddling.bound(code)}  # fmt: skip
    setup = {name for cell in cells if cell.has("setup") for name in meddling.bound(cell.text)}
    notes = []
    for name, stub in stubs_of(submitted.group).items():
        code = submitted.answers.get(name, "")
        if is_untouched(name, code, cells):
            if there := sorted(meddling.bound(stub) & theirs):
                notes.append(
                    f"{name} has no answer in its own cell, and another cell defines "
                    f"`{there[0]}`: an answer counts in the cell of its exercise."
                )
        elif there := sorted(meddling.missing(code, setup) & theirs):
            notes.append(
                f"{name} uses `{there[0]}`, which another cell defines: what an answer needs "
                "must be in the cell of its exercise."
            )
    return notes[:MOST_NOTES]


def _json(content: bytes) -> tuple[object, str]:
    """What the file holds, and a note if it is in an unusual encoding."""
    if not content.strip():
        raise Unreadable("The file is empty.")
    if content.startswith(b"PK\3\4"):
        raise Unreadable("The file is a zip archive; let its name end in .zip.")
    encoding = json.detect_encoding(content)
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise Unreadable(
            f"The file is not a Jupyter notebook: it is not in UTF-8 (byte {error.start + 1}); "
            f"{RESAVE}."
        ) from None
    try:
        notebook = json.loads(text)
    except RecursionError:
        raise Unreadable(
            "The file is not a Jupyter notebook: its lists and objects are nested too deeply."
        ) from None
    except ValueError as error:
        raise Unreadable(_not_json(text, error)) from None
    note = f"The file is in {encoding.upper()} instead of UTF-8; it was read all the same."
    return notebook, "" if encoding in ("utf-8", "utf-8-sig") else note


def _not_json(text: str, error: ValueError) -> str:
    at = getattr(error, "pos", None)
    if text.lstrip("\ufeff \t\r\n")[:1] not in ("{", "["):
        return "The file is not a Jupyter notebook: it is not JSON; hand in the .ipynb file."
    if at is not None and at >= len(text.rstrip()) - 1:
        return "The file is not a Jupyter notebook: it ends in the middle; hand it in again."
    place = f" (line {getattr(error, 'lineno', '?')})" if at is not None else ""
    return f"The file is not a Jupyter notebook: its JSON is broken{place}; {RESAVE}."


def _code_cells(notebook: object) -> list[Json]:
    """The code cells.  A cell of another shape than a cell's is passed over."""
    if not isinstance(notebook, dict):
        raise Unreadable("The file is not a Jupyter notebook: it is JSON of another kind.")
    version = notebook.get("nbformat", 4)
    if "worksheets" in notebook or (isinstance(version, int) and version < 4):
        raise Unreadable(f"The notebook has a format from before 2015 (nbformat 3); {RESAVE}.")
    if version != 4:
        raise Unreadable(f"The notebook has a format that is not known here (nbformat); {RESAVE}.")
    cells = notebook.get("cells")
    if not isinstance(cells, list):
        raise Unreadable("The file is not a Jupyter notebook: it has no list of cells.")
    if len(cells) > MOST_CELLS:
        raise Unreadable(f"The notebook has more than {MOST_CELLS} cells.")
    return [c for c in cells if isinstance(c, dict) and c.get("cell_type") == "code"]


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
    """The cells of a notebook's source, predictions aside.  Raises Unreadable."""
    source = source_of(group)
    if source is None:
        raise Unreadable(f"This copy of the course has no notebook {group}; run: kafkalab update")
    return list(_cells(source, source.stat().st_mtime_ns))


@functools.lru_cache(maxsize=64)
def _cells(source: Path, _changed_ns: int) -> tuple[Cell, ...]:
    return tuple(cell for cell in read_source(source) if not cell.is_prediction)


def version_of(group: str) -> str:
    """A digest of what decides the marks of a notebook: its source and its exercises."""
    source = source_of(group)
    if source is None:
        return ""
    own = slice_of(source)
    files = [source, *sorted((own / "exercises").rglob("*.py"))]
    whole = hashlib.sha256()
    for file in files:
        whole.update(f"{file.relative_to(own)}\0".encode() + file.read_bytes() + b"\0")
    return whole.hexdigest()[:16]


def stubs_of(group: str) -> dict[str, str]:
    """The code that each exercise of a notebook begins with."""
    return {cell.name: cell.text for cell in cells_of(group) if cell.has("stub")}


def solved(group: str) -> Submission:
    """The course's own solutions as a submission: what graders try first."""
    notebook = reference(cells_of(group))
    answers = {
        cell.metadata.tags[1]: cell.source
        for cell in notebook.cells
        if "exercise" in cell.metadata.get("tags", [])
    }
    return Submission(group, answers)


def _submission(found: list[tuple[str, str]], group: str, notes: list[str]) -> Submission:
    groups = _exercises_by_group(found)
    if group and group not in groups:
        others = ", ".join(sorted(groups)) or "none that this course has"
        raise OtherNotebook(f"The file has no exercise of notebook {group} (it has of: {others}).")
    if not groups:
        cells_of(_group(found[0][0]))  # names a notebook that this copy does not have
        raise Unreadable("The file has no exercise cell of this course.")
    group = group or min(groups, key=lambda name: (-len(groups[name]), name))
    if others := ", ".join(sorted(set(groups) - {group})):
        notes.append(f"It has cells of notebook {others}, too; only those of {group} were marked.")
    cells = cells_of(group)
    known = [cell.name for cell in cells if cell.has("stub")]
    answers: dict[str, str] = {}
    for exercise_id, code in found:
        if exercise_id not in known:
            if _group(exercise_id) not in groups or _group(exercise_id) == group:
                notes.append(f"A cell for {exercise_id} was left out: notebook {group} has none.")
            continue
        if exercise_id in answers:
            notes.append(f"{exercise_id} is there twice; the last one with an answer was marked.")
            if is_untouched(exercise_id, code, cells):
                continue
        answers[exercise_id] = code
    notes += [f"The cell of {name} is missing." for name in known if name not in answers]
    notes = list(dict.fromkeys(notes))
    if (more := len(notes) - MOST_NOTES) > 0:
        notes[MOST_NOTES:] = [f"{more} more notes were left out."]
    return Submission(group, answers, tuple(notes))


def _group(exercise_id: str) -> str:
    return exercise_id.rpartition("-")[0]


def _exercises_by_group(found: list[tuple[str, str]]) -> dict[str, set[str]]:
    """Notebook -> those of its exercises that the file has."""
    ids = {exercise_id for exercise_id, _ in found}
    here = {group_of(source) for source in source_files()}
    groups = {}
    for group in sorted({_group(each) for each in ids} & here):
        if mine := ids & {cell.name for cell in cells_of(group) if cell.has("stub")}:
            groups[group] = mine
    return groups


def seed_of(submission: Submission) -> str:
    """The seed of a submission's inputs: from its answers, so that the same get the same marks.

    An answer that remembers the results for one seed has another seed by that.
    """
    return hashlib.sha256(json.dumps(sorted(submission.answers.items())).encode()).hexdigest()


def is_untouched(exercise_id: str, code: str, cells: list[Cell]) -> bool:
    """Whether the learner left the stub as it was, or left nothing but comments."""
    stub = next(cell.text for cell in cells if cell.name == exercise_id and cell.has("stub"))
    return code.split() == stub.split() or not _has_code(code)


def _has_code(code: str) -> bool:
    lines = [line.strip() for line in code.splitlines()]
    return any(line and not line.startswith("#") for line in lines)


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
