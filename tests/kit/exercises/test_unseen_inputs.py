"""Each check calls a learner's function with inputs that nobody has seen before."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit import exercises
from kit.crashes.judging import fresh_records
from kit.exercises import catalogue, plain
from kit.exercises.ask import ask, one_judge
from kit.exercises.cluster_log import Context
from kit.exercises.exercise import STUB, Exercise, Inputs, Verdict, compare_results

SAMPLE = Path(__file__).parents[1] / "sample_course"
SEEDS = [f"seed {number}" for number in range(8)]
FUNCTIONS = [
    found
    for found in catalogue.everything()
    if isinstance(found, Exercise) and found.inputs and found.inputs is not fresh_records
]
"""A consumer loop is judged by its journals: tests/kit/crashes/test_crash_exercise.py."""
IN_PYTHON = [found for found in FUNCTIONS if not found.id.startswith("L")]
"""The others are functions of Spark's; the lab's own exercises run them."""
ODD: tuple[Any, ...] = (
    "", "text", 7, -7, 2.5, True, float("inf"), b"bytes", [], [1], [1, 2], ["a", "b"], [None, None],
    {}, {"a": 1}, {1: "x"}, [[1], [2, 3]], {"good": 1, "bad": 2},
)  # fmt: skip


def named(exercise: Exercise) -> str:
    return exercise.id


def sent(value: Any) -> Any:
    """The value as it arrives after a way as JSON."""
    return plain.from_json(plain.to_json(value))


def function_in(code: str) -> Callable[..., Any]:
    """The function that a cell defines."""
    names: dict[str, Any] = {}
    exec(code, names)
    return [each for each in names.values() if callable(each)][-1]


def solution_of(exercise: Exercise) -> Callable[..., Any]:
    from kit.authoring.sources import solution_of

    return function_in(solution_of(exercise.id))


def results(function: Callable[..., Any], inputs: Inputs) -> list[Any]:
    """As the kernel works them out."""
    found = []
    for arguments in sent(list(inputs)):
        try:
            found.append(sent(function(*arguments)))
        except Exception as error:
            found.append({"raised": f"{type(error).__name__}: {error}"})
    return found


def judged(exercise: Exercise, function: Callable[..., Any], inputs: Inputs) -> Verdict:
    return exercise.judge(results(function, inputs), Context(inputs=inputs))


def made(exercise: Exercise, seed: str) -> Inputs:
    """The inputs without the instructive ones, which are the same for every seed."""
    first, other = exercise.inputs_for(SEEDS[0]), exercise.inputs_for("another")
    same = next(n for n, (a, b) in enumerate(zip(first, other, strict=True)) if a != b)
    return exercise.inputs_for(seed)[same:]


@pytest.mark.parametrize("exercise", FUNCTIONS, ids=named)
def test_a_seed_makes_the_same_inputs_and_another_seed_others(exercise) -> None:
    assert exercise.inputs_for("a") == exercise.inputs_for("a")
    # A lab's input costs Spark jobs, and shows every mistake by itself.
    assert len(made(exercise, "a")) >= (2 if exercise in IN_PYTHON else 1)
    assert made(exercise, "a") != made(exercise, "b")


@pytest.mark.parametrize("exercise", IN_PYTHON, ids=named)
def test_a_table_of_remembered_results_fails(exercise) -> None:
    solve = solution_of(exercise)
    for seen, marked in zip(SEEDS, reversed(SEEDS), strict=True):
        inputs = exercise.inputs_for(seen)
        right = results(solve, inputs)
        table = {repr(sent(list(each))): result for each, result in zip(inputs, right, strict=True)}
        usual = max(right, key=right.count)

        def remembered(*arguments, table=table, usual=usual):
            return table.get(repr(list(arguments)), usual)

        assert judged(exercise, remembered, inputs).passed, "the table holds what was seen"
        assert judged(exercise, solve, exercise.inputs_for(marked)).passed
        assert not judged(exercise, remembered, exercise.inputs_for(marked)).passed, (seen, marked)


@pytest.mark.parametrize("exercise", IN_PYTHON, ids=named)
def test_the_instructive_inputs_alone_show_every_mistake(exercise) -> None:
    """So a learner with a known mistake gets its own sentence, whatever the seed."""
    inputs = exercise.inputs_for("a")
    instructive = inputs[: len(inputs) - len(made(exercise, "a"))]
    for name, code in exercise.wrong_answers.items():
        assert not judged(exercise, function_in(code), instructive).passed, name


@pytest.mark.parametrize("exercise", IN_PYTHON, ids=named)
def test_the_made_inputs_alone_show_every_mistake(exercise) -> None:
    for name, code in exercise.wrong_answers.items():
        for seed in SEEDS:
            found = judged(exercise, function_in(code), made(exercise, seed))
            assert not found.passed, f"{name!r} passes with {seed!r}"


@pytest.mark.parametrize("exercise", FUNCTIONS, ids=named)
def test_a_judge_has_a_sentence_for_any_result(exercise) -> None:
    inputs = exercise.inputs_for("a")
    for odd in ODD:
        verdict = exercise.judge([sent(odd)] * len(inputs), Context(inputs=inputs))
        assert not verdict.passed
        assert verdict.message, odd
        assert verdict.counter_example.startswith("called with")


@pytest.mark.parametrize("exercise", FUNCTIONS, ids=named)
def test_an_exception_is_named_with_its_text_and_the_input(exercise) -> None:
    inputs = exercise.inputs_for("a")
    verdict = exercise.judge([{"raised": "KeyError: 'x'"}] * len(inputs), Context(inputs=inputs))
    assert verdict.message == "Your function raised an exception here: KeyError: 'x'."
    assert repr(inputs[0][0]) in verdict.counter_example


@pytest.mark.parametrize("exercise", FUNCTIONS, ids=named)
def test_a_missing_return_is_named_before_a_misconception(exercise) -> None:
    inputs = exercise.inputs_for("a")
    all_none = exercise.judge([None] * len(inputs), Context(inputs=inputs))
    assert "a return is missing" in all_none.message


def test_none_has_the_exercise_s_own_sentence_where_it_may_be_meant() -> None:
    def explain(arguments: tuple, expected: Any, seen: Any) -> str:
        return f"{arguments[0]} is there." * (expected == "there")

    def heard(results: list[Any], **options: Any) -> str:
        found = compare_results([(1,), (2,)], results, lambda n: "there" * n, explain, **options)
        return found.message

    assert heard([None, "therethere"], explains_none=True) == "1 is there."
    assert "a return is missing" in heard([None, "therethere"])
    assert "a return is missing" in heard(["there", None], explains_none=True)
    assert heard([None, None], explains_none=True) == STUB


# -- the seed


@pytest.fixture
def sample_course(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("KAFKALAB_COURSE", str(SAMPLE))
    monkeypatch.setenv("KAFKALAB_PROGRESS", str(tmp_path / "progress.json"))


def test_each_check_has_a_seed_of_its_own_that_the_kernel_cannot_choose(
    sample_course, monkeypatch
) -> None:
    for name in ("KAFKALAB_JUDGE_SEED", "PYTHONHASHSEED"):
        monkeypatch.setenv(name, "1")
    asked = [json.dumps(ask("inputs", id="99-2", seed="1")) for _ in range(3)]
    assert len(set(asked)) == 3


def test_one_check_is_judged_on_the_inputs_that_it_got(sample_course) -> None:
    with one_judge() as asked:
        assert asked("inputs", id="99-2") == asked("inputs", id="99-2")
    table = {}

    def learned(leo, isr):
        table[repr((leo, isr))] = result = min(leo[broker] for broker in isr)
        return result

    assert exercises.check("99-2", learned).passed
    remembered = exercises.check("99-2", lambda leo, isr: table.get(repr((leo, isr)), 0))
    assert remembered.passed is False
