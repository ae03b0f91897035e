"""L6-4: what is left of an error budget."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, cases, compare_results

SMALLEST: tuple[tuple, ...] = (
    ([], 95, 100),
    ([True] * 9 + [False], 95, 100),
    ([False] * 5, 95, 100),
    ([False] * 8, 95, 100),
)


def some_samples(source: Random) -> tuple:
    planned = source.choice((100, 200, 400))
    good = [source.random() < 0.97 for _ in range(source.randrange(20, planned))]
    return good, source.choice((90, 95, 99)), planned


def budget_left(good: list[bool], objective: int, planned: int) -> float:
    allowed = planned * (100 - objective) / 100
    return round(1 - good.count(False) / allowed, 3)


def explain(arguments: tuple, expected: Any, seen: Any) -> str:
    good, objective, planned = arguments
    bad, allowed = good.count(False), planned * (100 - objective) / 100
    if not isinstance(seen, int | float) or isinstance(seen, bool):
        return "Return a number: 1 for a whole budget, 0 for one that is used up."
    if good and abs(seen - (1 - bad / (len(good) * (100 - objective) / 100))) < 0.002:
        return (
            f"The budget belongs to the whole window of {planned} samples; {len(good)} of them "
            "have been taken so far."
        )
    if abs(seen - (allowed - bad)) < 0.002:
        return (
            "This is the number of samples that may still be bad; the share of the budget is asked."
        )
    if seen == 0 and expected < 0:
        return "A budget can be overdrawn, and the number says by how much: it is negative then."
    if abs(seen - bad / allowed) < 0.002:
        return "This is the share that is used; asked is the share that is left."
    return f"{bad} samples are bad, and {allowed:g} of {planned} may be."


def judge(answer: Any, context: Context) -> Verdict:
    return compare_results(context.inputs, answer, budget_left, explain)


EXERCISE = Exercise(
    "L6-4",
    "What is left of the error budget",
    (
        "An objective of 95 % over 100 samples says how many samples may be bad.",
        "The samples that are still to come belong to the window, too: the budget is fixed when "
        "the window begins.",
        "Work out how many samples of the planned ones may be bad, divide the bad ones by that, "
        "and subtract the quotient from one. Round to three places.",
    ),
    judge,
    {
        "of the samples so far": (
            "def budget_left(good, objective, planned):\n"
            "    if not good:\n"
            "        return 1\n"
            "    allowed = len(good) * (100 - objective) / 100\n"
            "    return round(1 - good.count(False) / allowed, 3)"
        ),
        "a number of samples": (
            "def budget_left(good, objective, planned):\n"
            "    return round(planned * (100 - objective) / 100 - good.count(False), 3)"
        ),
        "never below zero": (
            "def budget_left(good, objective, planned):\n"
            "    allowed = planned * (100 - objective) / 100\n"
            "    return round(max(0, 1 - good.count(False) / allowed), 3)"
        ),
        "what is used": (
            "def budget_left(good, objective, planned):\n"
            "    return round(good.count(False) / (planned * (100 - objective) / 100), 3)"
        ),
    },
    cases(SMALLEST, some_samples),
    minutes=6,
)
