"""Each run of a notebook settles its prediction as its solution says, on the engine alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from kit.authoring.rules import read
from kit.authoring.sources import read_source
from kit.course import PROJECT, source_files
from tests.lessons.verdicts import seen_by, settled

SLOW = ("the-ladder", "storm", "surface", "pause", "every-step", "rates")
"""They take ten seconds and more on a busy machine."""


def runs() -> Iterator[Any]:
    for source in source_files():
        if source.is_relative_to(PROJECT / "lessons"):
            lesson = read(source)
            answers = {cell.name: cell.text for cell in read_source(source) if cell.has("solution")}
            for _, cell, question in lesson.key_runs:
                yield pytest.param(
                    lesson.group, cell.name, question, answers[question],
                    id=f"{question}-{cell.name}",
                    marks=[pytest.mark.full] if cell.name in SLOW else [],
                )  # fmt: skip


@pytest.mark.heavy
@pytest.mark.timeout(180)
@pytest.mark.usefixtures("engine_alone")
@pytest.mark.parametrize(("group", "cell", "question", "solution"), [*runs()])
def test_it_settles_its_prediction(group: str, cell: str, question: str, solution: str) -> None:
    found = re.fullmatch(rf'lab\.predict\("{question}", "?(.*?)"?\)', solution)
    assert found, solution
    assert settled(question, seen_by(group, cell)) == found[1].casefold()
