"""Reads a notebook's source: Jupytext's percent format with a small convention of ours.

    # %% leader-dies tags=["both"]        a code cell, its name, its kind
    # %% [markdown]                       prose
    # %% 06-2 tags=["stub"]               what learners see of exercise 06-2
    # %% 06-2 tags=["solution"]           what the reference holds in its place
    # %% 06-2 tags=["check"]              asks the judge

docs/authoring.md explains every tag.  A source that breaks the convention is refused here,
with the name of the cell, so that later steps can trust their input.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from kit.course import source_of
from kit.release.sealed import unsealed
from kit.update.stamps import UNNAMED

KINDS = ("sim", "live", "both", "read", "setup", "stub", "solution", "check")
"""A code cell has at least one of these tags."""
EXTRAS = ("predict", "quiz", "raises-exception", "nbval-skip", "hide-input")
DEEPER = "## Deeper: "
_AT_DEEPER = re.compile(rf"\n+(?={DEEPER})")
"""A section that is closed when a learner comes to it begins with a cell of its own."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,50}$")


class BadSource(Exception):
    """A source that breaks the convention: file, cell, and what to change."""


@dataclass(frozen=True, slots=True)
class Cell:
    name: str
    code: bool
    text: str
    tags: tuple[str, ...] = ()

    def has(self, tag: str) -> bool:
        return tag in self.tags

    @property
    def opens_deeper(self) -> bool:
        """The heading of a section that the notebook opens on demand."""
        return not self.code and self.text.startswith(DEEPER)

    @property
    def is_prediction(self) -> bool:
        """A prediction is settled by the next cell's run; no mark is given for it."""
        return self.has("predict") and not self.has("quiz")


def read_source(path: Path) -> list[Cell]:
    """The cells of a source, checked.  Raises BadSource."""
    import jupytext

    if path.suffix != ".py":
        raise BadSource(f"{path.name} is not a source: name lessons/…/source/….py.")
    notebook = jupytext.reads(path.read_text(), fmt="py:percent")
    cells = []
    for cell in notebook.cells:
        if cell.cell_type == "raw" or not cell.source.strip():
            continue
        code, tags = cell.cell_type == "code", tuple(cell.metadata.get("tags", ()))
        name = cell.metadata.get("title")
        for part in [cell.source] if code else _AT_DEEPER.split(cell.source):
            cells.append(Cell(name or _derived_name(part), code, unsealed(part), tags))
            name = None
    _check(path, cells)
    return cells


def solution_of(exercise_id: str) -> str:
    """The code of an exercise's solution cell; a sentence where none is written."""
    source = source_of(exercise_id.rpartition("-")[0])
    for cell in read_source(source) if source else []:
        if cell.name == exercise_id and cell.has("solution"):
            return cell.text
    return "This exercise has no solution yet."


def _derived_name(text: str) -> str:
    return UNNAMED + hashlib.sha256(text.encode()).hexdigest()[:10]


def _check(path: Path, cells: list[Cell]) -> None:
    roles: dict[tuple[str, str], int] = {}
    for cell in cells:
        where = f"{path.name}, cell {cell.name!r}"
        if cell.code and cell.name.startswith(UNNAMED):
            first = cell.text.splitlines()[0]
            raise BadSource(f"{path.name}: the code cell that begins with {first!r} has no name.")
        if not NAME.match(cell.name):
            raise BadSource(f"{where}: a cell's name has letters, digits and dashes, 51 at most.")
        for tag in cell.tags:
            if tag not in KINDS + EXTRAS:
                raise BadSource(
                    f"{where}: the tag {tag!r} is not one of {', '.join(KINDS + EXTRAS)}."
                )
        if cell.code and not any(cell.has(kind) for kind in KINDS):
            raise BadSource(f"{where}: a code cell needs one of the tags {', '.join(KINDS)}.")
        role = next((tag for tag in ("stub", "solution", "check") if cell.has(tag)), "")
        if (cell.name, role) in roles:
            raise BadSource(f"{where}: another cell has this name; give this one its own.")
        roles[cell.name, role] = len(roles)
    for name, role in roles:
        other = {"stub": "solution", "solution": "stub", "check": "stub"}.get(role)
        if other and (name, other) not in roles:
            raise BadSource(f"{path.name}: {name} has a {role} cell and no {other} cell.")
        if role == "stub" and roles[name, "solution"] != roles[name, "stub"] + 1:
            raise BadSource(f"{path.name}: the solution of {name} must follow its stub at once.")
