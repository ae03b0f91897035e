"""Carries a learner's notebooks from one folder of the course into another.

Each notebook of the old folder finds its new version by its path or, where the course has
renamed the file, by the number in its stamp.  A notebook of the learner's own is copied.
The new folder's file is kept as a backup if it is not as the course wrote it.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kit.exercises import progress_file
from kit.update import notebook_file, stamps
from kit.update.carry import Carried, carry, is_pristine
from kit.update.notebook_file import Notebook, Unreadable

PATTERNS = ("notebooks/*.ipynb", "labs/*/*.ipynb")
"""Where learners work."""


class NothingToCarry(RuntimeError):
    """The folder holds no notebook; one sentence with the remedy."""


@dataclass(frozen=True, slots=True)
class Line:
    """What happened with one notebook: a summary, and what to look at."""

    notebook: str
    summary: str
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join([f"{self.notebook}: {self.summary}", *(f"  {r}" for r in self.remarks)])


def learner_notebooks(folder: Path) -> list[Path]:
    """The notebooks that a learner works in, as paths within the folder."""
    found = [path for pattern in PATTERNS for path in sorted(folder.glob(pattern))]
    return [path.relative_to(folder) for path in found if path.is_file()]


def is_learner_notebook(path: str) -> bool:
    """Whether a path within the course is one in which learners work."""
    return re.fullmatch(r"(notebooks|labs/[^/]+)/[^/]+\.ipynb", path) is not None


def new_backup() -> Path:
    """A folder for the files as they were, beside the progress file."""
    place = progress_file.location().parent / "backups"
    folder = place / time.strftime("%Y-%m-%d-%H%M%S")
    number = 1
    while folder.exists():
        number += 1
        folder = place / f"{time.strftime('%Y-%m-%d-%H%M%S')}-{number}"
    folder.mkdir(parents=True)
    return folder


def carry_folder(old: Path, here: Path, backup: Path) -> list[Line]:
    """Puts the work of all notebooks in `old` into those of `here`.  Raises NothingToCarry."""
    sources = learner_notebooks(old)
    if not sources:
        raise NothingToCarry(
            f"{old} has no notebooks of the course: name the folder that holds its notebooks/."
        )
    return [line for each in _pairs(old, sources, here) for line in _carried(*each, here, backup)]


def _pairs(old: Path, sources: list[Path], here: Path) -> Iterator[tuple[Path, Path, str]]:
    """Old file, new file (it may not exist), and how a line names the notebook."""
    numbers = {}
    for path in learner_notebooks(here):
        try:
            numbers[stamps.group_of(notebook_file.read(here / path))] = path
        except Unreadable:
            continue
    numbers.pop("", None)
    for path in sources:
        new = path
        if not (here / path).exists():
            moved = numbers.get(_number(old / path), path)
            new = moved if moved not in sources else path
        yield old / path, here / new, path.name


def _number(path: Path) -> str:
    try:
        return stamps.group_of(notebook_file.read(path))
    except Unreadable:
        return ""


def _carried(source: Path, target: Path, name: str, here: Path, backup: Path) -> Iterator[Line]:
    remarks: list[str] = []
    try:
        old = _readable(source, remarks)
        new = notebook_file.read(target) if target.exists() else None
    except Unreadable as problem:
        kept = _keep(source, here, target, backup)
        yield Line(name, f"not carried over. {problem} It is kept as {kept}.", tuple(remarks))
        return
    if is_pristine(old):
        return
    if new is None:
        notebook_file.write(target, old)
        yield Line(name, "the course has no such notebook here; it was copied as it is")
        return
    carried = carry(old, new)
    if carried.notebook == new:
        return
    if not is_pristine(new):
        _keep(target, here, target, backup)
    notebook_file.write(target, carried.notebook)
    if target.name != name:
        remarks.append(f"The notebook is {target.name} now.")
    yield Line(name, _summary(carried), (*remarks, *carried.remarks))


def _readable(source: Path, remarks: list[str]) -> Notebook:
    """The notebook, or JupyterLab's checkpoint of it.  Raises Unreadable."""
    try:
        return notebook_file.read(source)
    except Unreadable as problem:
        checkpoint = notebook_file.checkpoint_of(source)
        if checkpoint is None:
            raise
        found = notebook_file.read(checkpoint)
        saved = time.strftime("%d %B, %H:%M", time.localtime(checkpoint.stat().st_mtime))
        remarks.append(f"{problem} This is what JupyterLab had kept of it on {saved}.")
        return found


def _keep(file: Path, here: Path, target: Path, backup: Path) -> Path:
    """Copies a file into the backup, unless it is there already; gives where it is."""
    if file.is_relative_to(backup):
        return file
    kept = backup / target.relative_to(here)
    if file != target:  # of the old folder; a file of the new one may be kept, too
        kept = kept.with_name(f"{kept.stem}-old{kept.suffix}")
    kept.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(file, kept)
    return kept


def _summary(carried: Carried) -> str:
    counted = [
        (carried.answers, "answer", "answers"),
        (carried.changed, "changed cell", "changed cells"),
        (carried.own, "cell of your own", "cells of your own"),
    ]
    words = [f"{count} {one if count == 1 else many}" for count, one, many in counted if count]
    if not words:
        return "outputs carried over" if not carried.remarks else "look at this:"
    listed = [", ".join(words[:-1]), words[-1]] if len(words) > 1 else words
    return f"{' and '.join(listed)} carried over"
