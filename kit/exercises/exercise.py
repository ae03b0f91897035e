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
    inputs: Callable[[Random], Inputs] | None = None
    """For answers that are functions: makes the arguments to call it with from a seeded
    source, smallest first (see `cases`).  Each check has a seed of its own, so that a table of
    remembered results fails.  The judge finds them in `context.inputs`, and their results in
    `answer`; for a call that raised, the result is {"raised": "text"}."""
    minutes: int = 5
    """What a learner needs for it, hints included."""

    def inputs_for(self, seed: str) -> Inputs:
        return self.inputs(Random(seed)) if self.inputs else ()


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
    because: Mapping[str, str | Callable[[Observed], str]] = field(
        default_factory=dict, kw_only=True
    )
    """Letter -> what a learner who chose it overlooks: a text in which `{name}` stands for an
    observation, or a function that makes the text.  The letter "" says why no choice fits."""
    explain: Callable[[str, Observed], str] = field(default=lambda answer, seen: "", kw_only=True)
    """For a free answer that is not right (in small letters): the sentence that names the
    mistake."""
    tempting: str = field(default="", kw_only=True)
    """A wrong answer that many would give, as `predict` takes it.  Who is right reads why it is
    not this one; so does a reader of the solutions."""
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


def cases(
    instructive: Inputs, make: Callable[[Random], tuple], count: int = 24
) -> Callable[[Random], Inputs]:
    """Inputs for an exercise: the instructive ones, then `count` that `make` makes.

    The instructive ones show each mistake in its smallest form.  The made ones reach every
    mistake, too; the smallest come first.
    """

    def inputs(source: Random) -> Inputs:
        made = [make(source) for _ in range(count)]
        return [*instructive, *sorted(made, key=lambda arguments: len(repr(arguments)))]

    return inputs


def compare_results(
    inputs: Inputs,
    results: Any,
    reference: Callable[..., Any],
    explain: Callable[[tuple, Any, Any], str] = lambda arguments, expected, seen: "",
    stub: Callable[..., Any] = lambda *arguments: None,
    explains_none: bool = False,
) -> Verdict:
    """Judges a learner's function by its results on `inputs`, smallest input first.

    `explain(arguments, expected, seen)` may name the misconception behind one result.  It is
    asked only about results: not about the results of `stub`, which is the function as the
    notebook gives it, and not about an exception.  None is a return that is missing.  With
    `explains_none` a learner may mean it: then `explain` is asked first.
    """
    if not isinstance(results, list) or len(results) != len(inputs):
        return wrong(
            "This exercise wants a function; pass the function itself, without calling it.",
            expected="a function",
            seen=results,
        )
    wanted = [_plain(reference(*arguments)) for arguments in inputs]
    untouched = results == [_plain(stub(*arguments)) for arguments in inputs]
    for arguments, expected, seen in zip(inputs, wanted, results, strict=True):
        if seen != expected:
            if untouched:
                message = STUB
            elif _raised(seen):
                message = f"Your function raised an exception here: {seen['raised']}."
            elif seen is None and not explains_none:
                message = MISSING
            else:
                message = explain(arguments, expected, seen)
            return wrong(
                message or (MISSING if seen is None else OTHER),
                expected=expected,
                seen=seen["raised"] if _raised(seen) else seen,
                counter_example=f"called with {', '.join(map(repr, arguments))}",
            )
    if len(inputs) == 1:
        return right("The one case gives the right result.")
    return right(f"All {len(inputs)} cases give the right result.")


STUB = "Every result is the stub's: the stub is still there, or a return is missing."
MISSING = "Your function returns None here: on this path a return is missing."
OTHER = "Your function gives another result here."


def _plain(result: Any) -> Any:
    return from_json(to_json(result))


def _raised(seen: Any) -> bool:
    return isinstance(seen, dict) and seen.keys() == {"raised"}
