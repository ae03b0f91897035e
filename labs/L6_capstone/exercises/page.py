"""L6-5: when an alert rings at night."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, cases, compare_results

LONG, SHORT = 12, 3
SMALLEST: tuple[tuple, ...] = (
    ([True] * 12, 90, 5),
    ([True] * 9 + [False] * 3, 90, 5),
    ([False] * 9 + [True] * 3, 90, 5),
    ([True] * 4 + [False] * 6 + [True] + [False], 90, 6),
    ([True, True, False, False, False], 90, 2),
    ([False] * 2, 90, 2),
    ([False] * 12 + [True] * 12, 90, 5),
)


def some_samples(source: Random) -> tuple:
    share = source.choice((0.2, 0.5, 0.8))
    good = [source.random() > share for _ in range(source.randrange(1, 30))]
    return good, source.choice((80, 90)), source.choice((2, 3, 5))


def burn_rate(good: list[bool], window: int, objective: int) -> float:
    taken = good[-window:]
    return taken.count(False) * 100 / len(taken) / (100 - objective)


def page(good: list[bool], objective: int, rate: float) -> bool:
    return all(burn_rate(good, window, objective) >= rate for window in (LONG, SHORT))


def explain(arguments: tuple, expected: Any, seen: Any) -> str:
    good, objective, rate = arguments
    long, short = (burn_rate(good, window, objective) for window in (LONG, SHORT))
    if not isinstance(seen, bool):
        return "Return True or False."
    rates = (
        f"The burn rate is {long:g} in the last {LONG} samples and {short:g} in the last {SHORT}"
    )
    if len(good) < LONG and not seen:
        return f"{rates}: a window that is not full yet consists of the samples that are there."
    if seen and short < rate:
        return f"{rates}: the trouble is over, and an alert that still rings is for nothing."
    if seen and long < rate:
        return f"{rates}: a short burst alone does not endanger the budget."
    if rate in (long, short):
        return f"{rates}: a rate that reaches the limit of {rate} counts."
    return f"{rates}, and the limit is {rate} in both."


def judge(answer: Any, context: Context) -> Verdict:
    return compare_results(context.inputs, answer, page, explain)


EXERCISE = Exercise(
    "L6-5",
    "When the alert rings at night",
    (
        "A long window sees what endangers the budget; a short one sees whether it still goes on.",
        "The burn rate of a window is the share of its samples that are bad, divided by the share "
        "that may be bad.",
        "For each of the two windows take the last samples, as many as there are if the window is "
        "not full yet, and work out the burn rate. The alert is due if both reach the limit.",
    ),
    judge,
    {
        "one window is enough": (
            "def page(good, objective, rate):\n"
            "    def burn(window):\n"
            "        taken = good[-window:]\n"
            "        return taken.count(False) * 100 / len(taken) / (100 - objective)\n"
            "    return burn(12) >= rate"
        ),
        "either window": (
            "def page(good, objective, rate):\n"
            "    def burn(window):\n"
            "        taken = good[-window:]\n"
            "        return taken.count(False) * 100 / len(taken) / (100 - objective)\n"
            "    return burn(12) >= rate or burn(3) >= rate"
        ),
        "only full windows": (
            "def page(good, objective, rate):\n"
            "    def burn(window):\n"
            "        return good[-window:].count(False) * 100 / window / (100 - objective)\n"
            "    return len(good) >= 12 and burn(12) >= rate and burn(3) >= rate"
        ),
    },
    cases(SMALLEST, some_samples),
    minutes=8,
)
