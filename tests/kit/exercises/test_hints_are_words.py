"""The hints lead to an answer: a nudge, a direction, and the plan, never the code."""

from __future__ import annotations

import ast
import re

import pytest

from kit.authoring.sources import solution_of
from kit.exercises import catalogue
from kit.exercises.exercise import Exercise

EXERCISES = [found for found in catalogue.everything() if isinstance(found, Exercise)]
CODE = {
    "an assignment or a comparison": r"[=<>]",
    "a call": r"\w\(",
    "an index or a list": r"[\[\]{}]",
    "a quoted piece of code": r"`|\\",
    "an attribute": r"[a-z_]\.[a-z_]+\.|\w_\w+\.\w",
}


def named(exercise: Exercise) -> str:
    return exercise.id


@pytest.mark.parametrize("exercise", EXERCISES, ids=named)
def test_no_hint_is_code(exercise) -> None:
    for hint in exercise.hints:
        for what, pattern in CODE.items():
            found = re.search(pattern, hint)
            assert found is None, f"{what} ({found and found.group()!r}) in: {hint}"
        for line in solution_of(exercise.id).splitlines():
            assert len(line.strip()) < 6 or line.strip() not in hint


@pytest.mark.parametrize("exercise", EXERCISES, ids=named)
def test_no_hint_names_a_number_of_the_solution(exercise) -> None:
    last = ast.parse(solution_of(exercise.id)).body[-1]
    if not (isinstance(last, ast.Assign) and isinstance(last.value, ast.Dict)):
        return
    numbers = {
        str(node.value)
        for node in ast.walk(last.value)
        if isinstance(node, ast.Constant) and type(node.value) is int
    }
    told = set(re.findall(r"\d+", " ".join(exercise.hints).replace(",", "")))
    assert not numbers & told


@pytest.mark.parametrize("exercise", EXERCISES, ids=named)
def test_the_third_hint_is_a_plan_of_its_own(exercise) -> None:
    nudge, direction, plan = exercise.hints
    assert len({nudge, direction, plan}) == 3
    assert len(plan.split()) > len(nudge.split())


@pytest.mark.parametrize("exercise", EXERCISES, ids=named)
def test_an_exercise_has_minutes_and_wrong_answers(exercise) -> None:
    assert 3 <= exercise.minutes <= 20
    given = len(exercise.wrong_answers)
    assert given >= 3, f"{exercise.id} has {given} wrong answers; at least 3 are needed"
