"""09-10: which partitions moved although their owner stayed."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

INSTRUCTIVE = (
    ({"A": [0], "B": [1]}, {"A": [0, 1]}),
    ({"A": [0], "B": [1]}, {"A": [1], "B": [0]}),
    ({"A": [1, 0], "B": [2]}, {"A": [1], "B": [2], "C": [0]}),
    ({"A": [0, 3], "B": [1, 4], "C": [2, 5]}, {"B": [0, 2, 4], "C": [1, 3, 5]}),
)


def rebalance(source: Random) -> tuple:
    count = source.randrange(2, 12)
    before = ["A", "B", "C", "D"][: source.randrange(2, 5)]
    after = [name for name in before if source.random() < 0.8] or before[:1]
    after += ["E"] * source.randrange(2)
    return _dealt(source, before, count), _dealt(source, after, count)


def _dealt(source: Random, names: list[str], count: int) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {name: [] for name in names}
    for index in source.sample(range(count), count):
        found[source.choice(names)].append(index)
    return found


def needless_moves(before: dict[str, list[int]], after: dict[str, list[int]]) -> list[int]:
    return sorted(
        partition
        for member, owned in before.items()
        if member in after
        for partition in owned
        if partition not in after[member]
    )


def explain(arguments: tuple, expected: list[int], seen: Any) -> str:
    before, after = arguments
    if not isinstance(seen, list) or not all(isinstance(each, int) for each in seen):
        return "Return a list of partitions."
    if sorted(seen) == expected:
        return "These are the right partitions: give them in ascending order, each once."
    gone = [index for name, owned in before.items() if name not in after for index in owned]
    if {*seen} & {*gone}:
        return f"Partitions {sorted({*seen} & {*gone})} lost their owner: they had to move."
    if stayed := {*seen} - {*expected}:
        return f"Partitions {sorted(stayed)} are where they were."
    return f"You miss {sorted({*expected} - {*seen})}: their owner is still a member."


EXERCISE = Exercise(
    "09-10",
    "Needless moves",
    (
        "Which moves were needed with any assignor?",
        "Look at the members that are in both assignments only. What did each have, and what has "
        "it now?",
        "For each member of the first assignment that is in the second one too, take what it does "
        "not have there any more. Sort what you have found.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, needless_moves, explain),
    {
        "all that moved": "def needless_moves(before, after):\n"
        "    return sorted(p for m, owned in before.items() for p in owned\n"
        "                  if p not in after.get(m, []))",
        "new ones of a member": "def needless_moves(before, after):\n"
        "    return sorted(p for m, owned in before.items() if m in after\n"
        "                  for p in owned if p in after[m])",
        "only what a newcomer has": "def needless_moves(before, after):\n"
        "    return sorted(p for m, owned in after.items() if m not in before for p in owned\n"
        "                  if any(p in b and o in after for o, b in before.items()))",
    },
    cases(INSTRUCTIVE, rebalance, count=30),
    minutes=5,
)
