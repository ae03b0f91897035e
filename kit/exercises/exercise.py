"""Defines exercises, predictions, quiz questions and verdicts.

Judge side only.  Each text that learners see is written once: stub and solution in the
notebook's source, all else in the lesson's `exercises`.

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
    function that makes them from a seeded source; marking then uses inputs that were
    not seen in class.  The judge finds them in `context.inputs`, and their results in `answer`;
    for a call that raised, the result is {"raised": "text"}."""
    minutes: int = 5
    """What a learner needs for it, hints included."""

    def inputs_for(self, seed: int) -> Inputs:
        return self.inputs(Random(seed)) if callable(self.inputs) else self.inputs


Observed = Mapping[str, Any]
"""What one side of a run has shown: the name of an observation -> a number, a text or a list."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A question before a run, which the run answers.

    `settle` maps what the run observed to the letter of a choice, or, where there are no
    choices, to the value itself.  It returns "" where the run fits none of the choices.
    """

    id: str
    question: str
    choices: tuple[str, ...] = ()
    """Three or four, with the letters a, b, c, …; empty for a free answer."""
    settle: Callable[[Observed], Any] = field(kw_only=True)
    because: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    """Letter -> what a learner who chose it overlooks.  `{name}` stands for an observation."""
    explain: Callable[[str, Observed], str] = field(default=lambda answer, seen: "", kw_only=True)
    """For a free answer that is not right: the sentence that names the mistake."""
    form: str = field(default="", kw_only=True)
    """What a free answer is: "an offset", "a list of brokers"."""

    @property
    def title(self) -> str:
        return self.question

    def letters(self) -> tuple[str, ...]:
        return letters(self.choices)


@dataclass(frozen=True, slots=True)
class Question:
    """A quiz question after the runs.  The verdict comes at once; several letters may be right."""

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
        return letters(self.choices)


Definition = Exercise | Prediction | Question


def letters(choices: Sequence[str]) -> tuple[str, ...]:
    return tuple("abcdefghij"[: len(choices)])


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
