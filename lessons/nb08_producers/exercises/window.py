"""08-5: what a leader does with a batch of an idempotent producer."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

STORE, DUPLICATE, GAP = "store", "duplicate", "out of order"
FIVE = [[3, 3], [4, 6], [7, 7], [8, 9], [10, 10]]
BATCHES: tuple[tuple, ...] = (
    ([], 0, 0),
    ([], 5, 6),
    ([[0, 0]], 1, 2),
    ([[0, 0]], 0, 0),
    ([[0, 0]], 2, 2),
    (FIVE, 8, 9),
    (FIVE, 1, 2),
    (FIVE, 4, 5),
    (FIVE, 11, 12),
)


def batch(source: Random) -> tuple:
    """A memory of up to five batches; a repeat, the next, a gap, or something behind."""
    known, at = [], source.randrange(3, 1_000)
    for _ in range(source.randrange(6)):
        size = source.randrange(1, 4)
        known.append([at, at + size - 1])
        at += size
    if not known:
        return [], at, at + source.randrange(3)
    kind = source.randrange(4)
    if kind == 0:
        return known, *source.choice(known)
    first = (at, at + source.randrange(1, 5), known[0][0] - source.randrange(1, 4))[kind - 1]
    return known, first, first + source.randrange(3)


def accept(remembered: list[list[int]], first: int, last: int) -> str:
    if [first, last] in [list(each) for each in remembered]:
        return DUPLICATE
    following = remembered[-1][1] + 1 if remembered else first
    return STORE if first == following else GAP


def explain(arguments: tuple, expected: str, seen: Any) -> str:
    remembered, first, last = arguments
    if seen not in (STORE, DUPLICATE, GAP):
        return f"Give one of {STORE}, {DUPLICATE}, {GAP}."
    if not remembered:
        return (
            f"Nothing is known of this producer: any first sequence is accepted, {first} as well "
            "(since KIP-360)."
        )
    newest = remembered[-1][1]
    if expected == DUPLICATE:
        return (
            f"[{first}, {last}] is one of the batches remembered: it is answered with its old "
            "offset, and not stored again."
        )
    if expected == GAP and first <= newest:
        return (
            f"{first} to {last} came earlier, but is not one of the batches remembered: the leader "
            "cannot tell a repeat from a mistake."
        )
    if expected == GAP:
        return f"After {newest} comes {newest + 1}, not {first}: something is missing."
    return f"{first} follows {newest} without a gap: the batch is new, and it is stored."


EXERCISE = Exercise(
    "08-5",
    "The dedup window",
    (
        "Three things may be asked: is it one of those remembered, does it follow the last one, "
        "is nothing known at all?",
        "A repeat is the same first and last sequence, not only a number that came earlier.",
        "First look for the pair of the two sequences in the list: then it is a duplicate. If not, "
        "the batch is stored in two cases: the list is empty, or its first sequence is one above "
        "the last sequence of the newest batch. All else is out of order.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, accept, explain),
    {
        "all that came earlier is a repeat": "def accept(remembered, first, last):\n"
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
        "only the newest is remembered": "def accept(remembered, first, last):\n"
        "    if not remembered:\n        return 'store'\n"
        "    if [first, last] == list(remembered[-1]):\n        return 'duplicate'\n"
        "    return 'store' if first == remembered[-1][1] + 1 else 'out of order'",
    },
    cases(BATCHES, batch, count=60),
    minutes=8,
)
