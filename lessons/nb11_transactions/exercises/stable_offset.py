"""11-7: the last stable offset of a partition, from its transactions."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

Transactions = list[tuple[int, int | None]]

INSTRUCTIVE: list[tuple[Any, ...]] = [
    ([], 5),
    ([(1, None)], 5),
    ([(1, 3)], 5),
    ([(1, 3), (4, None)], 8),
    ([(2, None), (5, None)], 8),
    ([(1, 5)], 5),
]


def transactions(source: Random) -> tuple[Any, ...]:
    high_watermark = source.randrange(5, 40)
    found: Transactions = []
    for first in sorted(source.sample(range(high_watermark), k=source.randrange(4))):
        last = source.choice([None, first + source.randrange(1, 9), high_watermark])
        found.append((first, last))
    return found, high_watermark


def last_stable_offset(transactions: Transactions, high_watermark: int) -> int:
    unfinished = [
        first for first, marker in transactions if marker is None or marker >= high_watermark
    ]
    return min([*unfinished, high_watermark])


def explain(arguments: tuple[Any, ...], expected: Any, seen: Any) -> str:
    transactions, high_watermark = arguments
    if isinstance(seen, bool) or not isinstance(seen, int):
        return "Give an offset."
    if expected == high_watermark:
        return "Every transaction here has a replicated marker, so nothing holds the reader back."
    if seen == high_watermark:
        late = any(marker is not None and marker >= high_watermark for _, marker in transactions)
        if late and all(marker is not None for _, marker in transactions):
            return "A marker at the high watermark or behind it is not replicated yet."
        return f"A transaction that began at {expected} is open."
    if seen > expected:
        return f"The oldest unfinished transaction began at {expected}, before {seen}."
    return f"What began at {seen} does not hold the reader: look for what is unfinished."


HEAD = "def last_stable_offset(transactions, high_watermark):\n"

EXERCISE = Exercise(
    "11-7",
    "The last stable offset",
    (
        "Which transactions can still end in two ways, as far as a reader may know?",
        "Those without a marker, and those whose marker is not replicated. The oldest one decides.",
        "Collect the first offsets of the unfinished transactions. The result is the smallest of "
        "them, and the high watermark if there are none.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, last_stable_offset, explain),
    {
        "the high watermark": HEAD + "    return high_watermark",
        "the newest open one": HEAD
        + "    return max([f for f, m in transactions if m is None], default=high_watermark)",
        "every transaction": HEAD
        + "    return min([f for f, m in transactions] + [high_watermark])",
        "any marker": HEAD
        + "    return min([f for f, m in transactions if m is None] + [high_watermark])",
    },
    cases(INSTRUCTIVE, transactions, count=60),
    minutes=6,
)
