"""Defines exercises, predictions and verdicts.

Judge side only.  Each text that learners see is written once: stub and solution in the
notebook's source, the rest in the lesson's `exercises`.

A judge is a function `judge(answer, context) -> Verdict`.  `answer` is plain data (see
`kit.exercises.plain`); `context` reads the cluster's own log and metadata.  A judge never
trusts what the learner says about the cluster: it reads the cluster itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.plain import from_json, to_json


@dataclass(frozen=True, slots=True)
class Verdict:
    """Right or wrong, with a message that helps: never only "wrong"."""

    passed: bool
    message: str
    expected: str = ""
    seen: str = ""
    counter_example: str = ""


Inputs = Sequence[tuple]
Judge = Callable[[Any, Context], Verdict]


@dataclass(frozen=True, slots=True)
class Exercise:
    """One exercise.  `id` is the notebook's number and a running one: "06-2"."""

    id: str
    title: str
    hints: tuple[str, str, str]
    judge: Judge
    wrong_answers: Mapping[str, str] = field(default_factory=dict)
    """Plausible wrong answers, name -> code in place of the stub.  Tests run each of them;
    each must fail with a message of its own."""
    inputs: Inputs | Callable[[Random], Inputs] = ()
    """For answers that are functions: the arguments to call it with, smallest first, or a
    function that makes them from a seeded source; marking then uses inputs that nobody saw
    in class.  The judge finds them in `context.inputs`, and their results in `answer`; for a
    call that raised, the result is {"raised": "text"}."""

    def inputs_for(self, seed: int) -> Inputs:
        return self.inputs(Random(seed)) if callable(self.inputs) else self.inputs


@dataclass(frozen=True, slots=True)
class Prediction:
    """A question that the learner answers before the run.  Choices have the letters a, b, c, …"""

    id: str
    question: str
    choices: tuple[str, ...]
    right: frozenset[str]
    explanation: str
    because: Mapping[str, str] = field(default_factory=dict)
    """For a wrong choice, its letter -> what it overlooks."""

    @property
    def title(self) -> str:
        return self.question

    def letters(self) -> tuple[str, ...]:
        return tuple("abcdefghij"[: len(self.choices)])


Definition = Exercise | Prediction


def right(message: str) -> Verdict:
    return Verdict(True, message)


def wrong(message: str, *, expected: Any, seen: Any, counter_example: str = "") -> Verdict:
    return Verdict(False, message, str(expected), str(seen), counter_example)


def compare_results(
    inputs: Inputs,
    results: Any,
    reference: Callable[..., Any],
    explain: Callable[[tuple, Any, Any], str] = lambda arguments, expected, seen: "",
) -> Verdict:
    """Judges a learner's function by its results on `inputs`, smallest input first.

    `explain(arguments, expected, seen)` may name the misconception behind one result.
    """
    if not isinstance(results, list) or len(results) != len(inputs):
        return wrong(
            "This exercise wants a function; pass the function itself, without calling it.",
            expected="a function",
            seen=results,
        )
    for arguments, seen in zip(inputs, results, strict=True):
        expected = from_json(to_json(reference(*arguments)))
        if seen != expected:
            message = explain(arguments, expected, seen)
            return wrong(
                message or _about(seen),
                expected=expected,
                seen=seen,
                counter_example=f"called with {', '.join(map(repr, arguments))}",
            )
    return right(f"All {len(inputs)} cases give the right result.")


def _about(seen: Any) -> str:
    if seen is None:
        return "Your function returns None: the stub is still there, or a return is missing."
    if isinstance(seen, dict) and "raised" in seen:
        return f"Your function raised {seen['raised']}."
    return "Your function gives another result here."
