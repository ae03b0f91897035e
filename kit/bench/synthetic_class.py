"""A class that hands in one notebook: seeded, so that the same class can be marked again.

Right, wrong, half done, empty, slow, with an error and with a syntax error: made of the course's
own solutions and of the wrong answers that each exercise names.  No two are the same file.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import nbformat

from kit.authoring.compose import student
from kit.exercises import catalogue
from kit.exercises.exercise import Exercise, Question
from kit.grading import submission

SLOW_S = 1
Answer = Callable[[random.Random, str, str], str]
"""From a source of chance, an exercise's id and its solution to what a learner wrote."""


def _wrong(rng: random.Random, exercise: str, solution: str) -> str:
    definition = catalogue.find(exercise)
    if isinstance(definition, Question):
        others = [each for each in definition.letters() if each not in definition.right]
        return f'lab.quiz("{exercise}", "{rng.choice(others or ["a"])}")'
    answers = list(definition.wrong_answers.values()) if isinstance(definition, Exercise) else []
    return rng.choice(answers) if answers else ""


KINDS: dict[str, tuple[int, Answer]] = {
    "right": (6, lambda rng, exercise, solution: solution),
    "wrong": (5, _wrong),
    "empty": (2, lambda rng, exercise, solution: ""),
    "raises": (1, lambda rng, exercise, solution: "raise ValueError('not finished')"),
    "slow": (2, lambda rng, exercise, solution: f"import time\ntime.sleep({SLOW_S})\n{solution}"),
    "half": (3, lambda rng, exercise, solution: solution if rng.random() < 0.5 else ""),
    "syntax": (1, lambda rng, exercise, solution: f"def broken(:\n{solution}"),
}
"""Each kind's share of twenty submissions, and how its answers are made."""


def hand_in(folder: Path, group: str, count: int, seed: int = 1) -> list[str]:
    """Writes `count` notebooks, each in a folder of its own; returns the kind of each.

    The kinds that are first in KINDS come first; with a count of seven or more, all are there.
    """
    rng = random.Random(seed)
    weights = [share for share, _ in KINDS.values()]
    kinds = [*KINDS, *rng.choices(list(KINDS), weights, k=max(0, count - len(KINDS)))][:count]
    rng.shuffle(kinds)
    solved = submission.solved(group).answers
    for number, kind in enumerate(kinds, 1):
        answer = KINDS[kind][1]
        answers = {exercise: answer(rng, exercise, code) for exercise, code in solved.items()}
        _write(folder / f"learner-{number:02}" / f"{group}.ipynb", group, number, answers)
    return kinds


def _write(path: Path, group: str, number: int, answers: dict[str, str]) -> None:
    notebook = student(submission.cells_of(group))
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if "exercise" in tags and answers.get(tags[1]):
            cell.source = f"# learner {number}\n{answers[tags[1]]}"
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)
