"""Puts a learner's cells into a new version of the notebook.

Three texts of a cell meet: the one that the course once wrote (its digest is enough), the
learner's, and the one of the new version.  Two rules decide everything:

  * every cell of the new version is there, in its order, so that the notebook runs;
  * every text that the learner typed is there, in its place or as a cell below it.

    learner changed it   course changed it   in the cell             below it
    no                   yes or no           the new text
    yes                  no                  the learner's
    yes, an exercise     yes                 the learner's answer    the new stub
    yes, another cell    yes                 the new text            the learner's, as text

Where the new notebook has work of its own (the learner has begun there, too), that work stays,
and the older one is below it.  A cell that the course has given another name is found by
its digest.  What a learner deleted comes back: deleting a cell is no answer.
"""

from __future__ import annotations

import copy
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kit.update import stamps
from kit.update.stamps import digest, text_of

Cell = dict[str, Any]
Notebook = dict[str, Any]
KEPT = "kept-"
"""How the id of a cell begins that holds such a text."""


@dataclass(slots=True)
class Carried:
    """The new notebook with the learner's work, and what was done."""

    notebook: Notebook
    answers: int = 0
    """Exercises and predictions with the learner's text."""
    changed: int = 0
    """Other cells of the course with the learner's text."""
    own: int = 0
    """Cells that the learner added."""
    remarks: list[str] = field(default_factory=list)
    """A sentence for each thing that the learner should look at."""


def is_pristine(notebook: Notebook) -> bool:
    """Whether the file is as the course wrote it, without outputs."""
    known = stamps.digests_of(notebook)
    cells = notebook["cells"]
    return {cell.get("id") for cell in cells} == set(known) and all(
        digest(text_of(cell)) == known[cell["id"]] and not cell.get("outputs") for cell in cells
    )


def carry(old: Notebook, new: Notebook) -> Carried:
    """`new` with the learner's work from `old`; neither is changed."""
    return _Carrier(old, new).run()


class _Carrier:
    def __init__(self, old: Notebook, new: Notebook) -> None:
        self.result = Carried(copy.deepcopy(new))
        self.cells: list[Cell] = self.result.notebook["cells"]
        self.now = stamps.digests_of(new) or _as_stamped(new["cells"])
        self.then = stamps.digests_of(old) or self.now | _prose(old["cells"])
        self.old_cells: list[Cell] = copy.deepcopy(old["cells"])
        self.place = {cell.get("id"): number for number, cell in enumerate(self.cells)}
        self.below: dict[int, list[Cell]] = {}
        self.texts = {cell.get("id"): digest(text_of(cell)) for cell in self.cells}

    def run(self) -> Carried:
        anchor = -1
        met = set()
        for cell, name in self._named():
            if name is None:
                self._add_own(cell, anchor)
                continue
            met.add(name)
            target = self._target(name)
            if target is not None:
                anchor = self.place[target]
            if digest(text_of(cell)) == self.then[name] or not text_of(cell).strip():
                self._keep_outputs(cell, target)
            else:
                self._carry_text(cell, name, target, anchor)
        deleted = [name for name in self.then if name in self.now and name not in met]
        if deleted:
            some = "A cell that you had deleted is" if len(deleted) == 1 else (
                f"{len(deleted)} cells that you had deleted are"
            )  # fmt: skip
            self.result.remarks.append(f"{some} there again.")
        self._interleave()
        return self.result

    def _named(self) -> Iterator[tuple[Cell, str | None]]:
        """Each old cell with the name of the course's cell that it is, if it is one."""
        is_lost = not any(cell.get("id") in self.then for cell in self.old_cells)
        by_text = {text: name for name, text in self.then.items()}
        seen: set[str] = set()
        for cell in self.old_cells:
            name = cell.get("id")
            if is_lost:  # an editor that knows no ids
                name = _id_by_tags(cell) or by_text.get(digest(text_of(cell)))
            if not isinstance(name, str) or name not in self.then or name in seen:
                yield cell, None
                continue
            seen.add(name)
            yield cell, name

    def _target(self, name: str) -> str | None:
        """The new version's cell: of the same name, or else with the very text."""
        if name in self.now and name in self.place:
            return name
        same = [
            each
            for each, text in self.now.items()
            if text == self.then[name] and each not in self.then and each in self.place
        ]
        return same[0] if len(same) == 1 else None

    def _carry_text(self, cell: Cell, name: str, target: str | None, anchor: int) -> None:
        text, shown = text_of(cell), _shown(cell, name)
        if target is None:
            kind = "exercise" if _exercise(cell) else "cell"
            if self._keep(cell, anchor, f"From before the update: the {kind} {shown}"):
                self._remark(f"The course no longer has the {kind} {shown}. Your text is kept.")
            return
        fresh = self.cells[self.place[target]]
        if digest(text_of(fresh)) == digest(text):
            self._keep_outputs(cell, target)
        elif fresh["cell_type"] != cell.get("cell_type"):
            self._keep(cell, anchor, f"Your version of {shown}")
            self._remark(f"{shown} is a cell of another kind now. Your text is below it.")
        elif self.texts[target] != self.now[target]:
            if self._keep(cell, anchor, f"Your other version of {shown}"):
                self._remark(f"{shown} has your work here, too. It stays; the other one is below.")
        elif self.then[name] == self.now[target]:
            self._replace(fresh, text, cell)
            if name != target:
                self._remark(f"{shown} is {_shown(fresh, target)} now. Your text is there.")
        elif _exercise(fresh):
            if self._keep(fresh, anchor, f"The new beginning of {shown}"):
                self._remark(
                    f"The exercise {shown} has changed. Your answer is in its place, and the new "
                    "stub is below it: run the check again."
                )
            self._replace(fresh, text, cell)
        elif self._keep(cell, anchor, f"Your version of {shown}"):
            self._remark(f"The course has changed the cell {shown}. Yours is below it.")

    def _replace(self, fresh: Cell, text: str, cell: Cell) -> None:
        fresh["source"] = text
        if _exercise(fresh):
            self.result.answers += 1
        else:
            self.result.changed += 1
        self._keep_outputs(cell, fresh["id"])

    def _keep_outputs(self, cell: Cell, target: str | None) -> None:
        """Outputs and what is folded stay with a text that stays."""
        fresh = self.cells[self.place[target]] if target is not None else {}
        if not fresh or text_of(fresh) != text_of(cell):
            return
        if cell.get("outputs") and not fresh.get("outputs"):
            fresh["outputs"] = cell["outputs"]
            fresh["execution_count"] = cell.get("execution_count")
        kept = {key: value for key, value in _metadata(cell).items() if key != "tags"}
        fresh["metadata"] = _metadata(fresh) | kept

    def _add_own(self, cell: Cell, anchor: int) -> None:
        if not text_of(cell).strip():
            return
        name, text = cell.get("id"), digest(text_of(cell))
        if not isinstance(name, str) or self.texts.get(name, text) != text:
            name = cell["id"] = f"own-{text}"
        if name not in self.texts:
            self.result.own += 1
            self._below(cell, anchor)

    def _keep(self, cell: Cell, anchor: int, title: str) -> bool:
        """Adds the text as prose below the anchor; False if it is there already."""
        text = text_of(cell)
        longest = max((len(run) for run in re.findall("`+", text)), default=0)
        fence = "`" * max(3, longest + 1)
        if cell.get("cell_type") == "code":
            text = f"{fence}python\n{text.strip()}\n{fence}"
        name = KEPT + digest(f"{title}\n{text}")
        if name in self.texts:
            return False
        source = f"**{title}**\n\n{text}"
        self._below({"cell_type": "markdown", "id": name, "metadata": {}, "source": source}, anchor)
        return True

    def _below(self, cell: Cell, anchor: int) -> None:
        self.texts[cell["id"]] = digest(text_of(cell))
        self.below.setdefault(anchor, []).append(cell)

    def _interleave(self) -> None:
        cells = list(self.below.get(-1, ()))
        for number, cell in enumerate(self.cells):
            cells += [cell, *self.below.get(number, ())]
        self.result.notebook["cells"] = cells

    def _remark(self, sentence: str) -> None:
        self.result.remarks.append(sentence[0].upper() + sentence[1:])


def _as_stamped(cells: list[Cell]) -> dict[str, str]:
    return {cell["id"]: digest(text_of(cell)) for cell in cells if "id" in cell}


def _prose(cells: list[Cell]) -> dict[str, str]:
    """Cells whose id is the digest of their text: the course's, in a file without a stamp."""
    found = {}
    for cell in cells:
        text = text_of(cell)
        name = stamps.UNNAMED + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:10]
        if cell.get("id") == name:
            found[name] = digest(text)
    return found


def _metadata(cell: Cell) -> dict[str, Any]:
    found = cell.get("metadata")
    return found if isinstance(found, dict) else {}


def _exercise(cell: Cell) -> str:
    """ "06-4" of an exercise's or a prediction's cell; empty for any other."""
    tags = _metadata(cell).get("tags")
    if isinstance(tags, list) and len(tags) > 1 and tags[0] in ("exercise", "prediction"):
        return str(tags[1])
    return ""


def _id_by_tags(cell: Cell) -> str:
    return f"{_metadata(cell)['tags'][0]}-{name}" if (name := _exercise(cell)) else ""


def _shown(cell: Cell, name: str) -> str:
    return _exercise(cell) or name
