"""12-10: which log the cleaner takes next."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

CASES: tuple[tuple, ...] = (
    ({"a": [400, 500], "b": [4000, 4500]}, 0.5),
    ({"a": [400, 500], "b": [400, 900]}, 0.5),
    ({"a": [400, 300], "b": [400, 200]}, 0.5),
    ({"a": [500, 500]}, 0.5),
    ({"a": [400, 300], "b": [900, 100]}, 0.2),
    ({"a": [100, 90], "b": [100, 20]}, 0.6),
)


def made(source: Random) -> tuple:
    logs: dict[str, list[int]] = {}
    ratios: set[float] = set()
    for name in "abcdef"[: source.randrange(1, 7)]:
        clean = source.randrange(1, 5_000)
        dirty = source.choice((clean, source.randrange(1, 5_000)))
        if (ratio := dirty / (clean + dirty)) not in ratios:
            ratios.add(ratio)
            logs[name] = [clean, dirty]
    return logs, source.choice((0.2, 0.5, 0.5, 0.8))


def next_to_clean(logs: dict[str, list[int]], minimum: float) -> str | None:
    ratios = {name: dirty / (clean + dirty) for name, (clean, dirty) in logs.items()}
    due = [name for name, ratio in ratios.items() if ratio > minimum]
    return max(due, key=lambda name: ratios[name], default=None)


def explain(arguments: tuple, expected: str | None, seen: Any) -> str:
    logs, minimum = arguments
    if seen is None:
        return f"{expected} is due: more than {minimum} of its bytes are dirty."
    if not isinstance(seen, str) or seen not in logs:
        return "The name of a log is asked for, or None."
    clean, dirty = logs[seen]
    ratio = dirty / (clean + dirty)
    if ratio == minimum:
        return f"{seen} has a dirty ratio of exactly {minimum}; it must be above it."
    if ratio < minimum:
        return (
            f"{seen} has {dirty} dirty bytes of {clean + dirty}: {ratio:.2f}, which is not above "
            f"{minimum}. The ratio is the dirty bytes divided by all bytes of the log."
        )
    return (
        f"{seen} is due, but {expected} has the higher ratio; how many bytes they are is no rule."
    )


EXERCISE = Exercise(
    "12-10",
    "Which log is next",
    (
        "Two questions in this order: which logs are due, and which of them is the filthiest?",
        "A ratio is a part divided by the whole. What is the whole here?",
        "For each log divide the dirty bytes by the sum of both. Leave out those that are not "
        "above the minimum. Of the others return the name with the largest ratio; None if there "
        "is no other.",
    ),
    lambda answer, context: compare_results(
        context.inputs, answer, next_to_clean, explain, explains_none=True
    ),
    {
        "most dirty bytes": "def next_to_clean(logs, minimum):\n"
        "    due = [n for n, (c, d) in logs.items() if d / (c + d) > minimum]\n"
        "    return max(due, key=lambda n: logs[n][1], default=None)",
        "at least the minimum": "def next_to_clean(logs, minimum):\n"
        "    ratios = {n: d / (c + d) for n, (c, d) in logs.items()}\n"
        "    due = [n for n in ratios if ratios[n] >= minimum]\n"
        "    return max(due, key=ratios.get, default=None)",
        "dirty by clean": "def next_to_clean(logs, minimum):\n"
        "    ratios = {n: d / c for n, (c, d) in logs.items()}\n"
        "    due = [n for n in ratios if ratios[n] > minimum]\n"
        "    return max(due, key=ratios.get, default=None)",
        "the first that is due": "def next_to_clean(logs, minimum):\n"
        "    return next((n for n, (c, d) in logs.items() if d / (c + d) > minimum), None)",
    },
    cases(CASES, made, count=40),
    minutes=5,
)
