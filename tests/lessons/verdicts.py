"""Runs one cell of a lesson in this process, and settles its prediction by what it saw.

    seen = seen_by("06", "one-fetch-late")
    assert settled("06-1", seen) == "3"

A test changes a rule of the engine and sees that the verdict changes with it.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import sys
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from kit.authoring.sources import read_source
from kit.clusters.reaper import Reaper
from kit.course import source_of
from kit.exercises import catalogue, settling
from kit.exercises.doorway import sides_of
from kit.exercises.exercise import Prediction


def seen_by(
    group: str, cell: str, also: Sequence[str] = (), change: tuple[str, str] = ("", "")
) -> Mapping[str, Any]:
    """What the cell hands to `lab.verdict`.  Set-up cells run first, and those in `also`.

    `change` is a value at the top of the cell and the one that a learner puts in its place.
    """
    source = source_of(group)
    assert source is not None
    seen: list[Any] = []
    names: dict[str, Any] = {"display": lambda *shown: None, "__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()):
        for each in read_source(source):
            if each.name == cell:
                real = names["lab"]
                catching = {"verdict": lambda exercise_id, found: seen.append(found)}
                names["lab"] = SimpleNamespace(
                    **{n: getattr(real, n) for n in dir(real)} | catching
                )
                assert change[0] in each.text, f"{cell} does not have {change[0]!r}"
                run_cell(each.text.replace(*change), names, f"<{group} {cell}>")
                break
            if each.has("setup") or each.name in also:
                run_cell(each.text, names, f"<{group} {each.name}>")
    assert len(seen) == 1, f"{group} has no cell {cell!r} that ends with lab.verdict"
    return next(iter(sides_of(seen[0]).values()))


def run_cell(text: str, names: dict[str, Any], file: str) -> None:
    """Runs a cell so that the source of its functions can be read, as in a notebook."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), names)


def engines_run(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines that start from now on run `code` instead of `python -m engine`."""
    spawn = Reaper.spawn

    def other(self: Reaper, argv: list[str], **details: object) -> object:
        assert argv[1:3] == ["-m", "engine"]
        return spawn(self, [sys.executable, "-c", code, *argv[3:]], **details)

    monkeypatch.setattr(Reaper, "spawn", other)


def settled(exercise_id: str, seen: Mapping[str, Any]) -> str:
    """The letter, or the words of a free answer in small letters, that this makes right."""
    prediction = catalogue.find(exercise_id)
    assert isinstance(prediction, Prediction)
    return settling.settle(prediction, "", {"": seen}).right[""].casefold()
