"""08-5: what a leader does with a batch of an idempotent producer."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, Inputs, compare_results

STORE, DUPLICATE, GAP = "store", "duplicate", "out of order"


def accept(remembered: list[list[int]], first: int, last: int) -> str:
    if [first, last] in [list(each) for each in remembered]:
        return DUPLICATE
    following = remembered[-1][1] + 1 if remembered else first
    return STORE if first == following else GAP


def batches(chance: Random) -> Inputs:
    """Small cases first, then some that learners have not seen."""
    five = [[3, 3], [4, 6], [7, 7], [8, 9], [10, 10]]
    cases: list[tuple] = [
        ([], 0, 0),
        ([], 5, 6),
        ([[0, 0]], 1, 2),
        ([[0, 0]], 0, 0),
        ([[0, 0]], 2, 2),
        (five, 8, 9),
        (five, 1, 2),
        (five, 4, 5),
        (five, 11, 12),
    ]
    for _ in range(6):
        start = chance.randrange(100)
        known, at = [], start
        for _ in range(chance.randrange(1, 6)):
            size = chance.randrange(1, 4)
            known.append([at, at + size - 1])
            at += size
        first = chance.choice([at, at + 1, known[0][0], start - 1 if start else at + 2])
        cases.append((known, first, first))
    return cases


def explain(arguments: tuple, expected: str, seen: Any) -> str:
    remembered, first, last = arguments
    if not remembered:
        return "Nothing is known of this producer: any first sequence is accepted (since KIP-360)."
    if expected == DUPLICATE:
        return "It is one of the five: answered with its old offset, and not stored again."
    if expected == GAP and first <= remembered[-1][1]:
        return (
            f"{first} to {last} lies behind, but is not one of the batches remembered: the leader "
            "cannot tell a repeat from a mistake."
        )
    if expected == GAP:
        return f"After {remembered[-1][1]} comes {remembered[-1][1] + 1}: something is missing."
    return f"It follows {remembered[-1][1]} without a gap."


EXERCISE = Exercise(
    "08-5",
    "The dedup window",
    (
        "Three things may be asked: is it one of those remembered, does it follow the last one, "
        "is nothing known at all?",
        "A repeat is the same first and last sequence, not only a number that lies behind.",
        "duplicate if [first, last] is in remembered; store if nothing is remembered or first is "
        "one above the last remembered sequence; else out of order.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, accept, explain),
    {
        "whatever lies behind is a repeat": "def accept(remembered, first, last):\n"
        "    if not remembered:\n        return 'store'\n"
        "    if first <= remembered[-1][1]:\n        return 'duplicate'\n"
        "    return 'store' if first == remembered[-1][1] + 1 else 'out of order'",
        "gaps do not matter": "def accept(remembered, first, last):\n"
        "    known = [list(each) for each in remembered]\n"
        "    return 'duplicate' if [first, last] in known else 'store'",
        "an unknown producer begins at 0": "def accept(remembered, first, last):\n"
        "    known = [list(each) for each in remembered]\n"
        "    if [first, last] in known:\n        return 'duplicate'\n"
        "    following = remembered[-1][1] + 1 if remembered else 0\n"
        "    return 'store' if first == following else 'out of order'",
    },
    batches,
)
