"""09-8: the range assignor for one topic."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

INSTRUCTIVE = (
    (["A", "B"], 3),
    (["B", "A"], 4),
    (["A", "B", "C"], 2),
    (["A", "B", "C"], 4),
    (["C", "A", "B"], 8),
)


def membership(source: Random) -> tuple:
    members = [f"{source.randrange(16**6):06x}" for _ in range(source.randrange(2, 7))]
    return list(dict.fromkeys(members)), source.randrange(1, 20)


def range_assignment(members: list[str], partitions: int) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    start = 0
    for place, member in enumerate(sorted(members)):
        size = partitions // len(members) + (place < partitions % len(members))
        found[member] = list(range(start, start + size))
        start += size
    return found


def explain(arguments: tuple, expected: dict[str, list[int]], seen: Any) -> str:
    members, partitions = arguments
    if not isinstance(seen, dict) or not all(isinstance(each, list) for each in seen.values()):
        return "Return a dict from member to the list of its partitions."
    if {*seen} != {*expected}:
        return "Each member has an entry, also one without a partition."
    given = sorted(index for each in seen.values() for index in each)
    if given != list(range(partitions)):
        return f"Each of the {partitions} partitions has exactly one reader; you gave {given}."
    sizes = {name: len(each) for name, each in seen.items()}
    if max(sizes.values()) - min(sizes.values()) > 1:
        return f"The shares differ by more than one: {sizes}."
    if any(each != list(range(each[0], each[0] + len(each))) for each in seen.values() if each):
        return "These are cards dealt one by one; range gives each member a block."
    if members != sorted(members) and seen != expected:
        return f"The members' order is {members}; range sorts them first."
    return "The blocks that are one longer are those of the first members."


EXERCISE = Exercise(
    "09-8",
    "Range by hand",
    (
        "How many partitions has each member at least, and how many are left over?",
        "The members are sorted first. Those that are left over go to the first members, one "
        "each. A block begins where the one before ended.",
        "Go through the sorted members with a counter that starts at zero. A member's block is as "
        "long as the whole-number share, and one longer while there is a remainder. Give it the "
        "partitions from the counter on, and move the counter to the end of the block.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, range_assignment, explain),
    {
        "round robin": "def range_assignment(members, partitions):\n"
        "    members = sorted(members)\n"
        "    return {m: list(range(n, partitions, len(members)))\n"
        "            for n, m in enumerate(members)}",
        "not sorted": "def range_assignment(members, partitions):\n"
        "    found, start = {}, 0\n"
        "    for place, member in enumerate(members):\n"
        "        size = partitions // len(members) + (place < partitions % len(members))\n"
        "        found[member] = list(range(start, start + size))\n"
        "        start += size\n"
        "    return found",
        "what does not divide is lost": "def range_assignment(members, partitions):\n"
        "    size = partitions // len(members)\n"
        "    return {m: list(range(n * size, n * size + size))\n"
        "            for n, m in enumerate(sorted(members))}",
        "blocks of the longest share": "def range_assignment(members, partitions):\n"
        "    size = -(-partitions // len(members))\n"
        "    return {m: list(range(min(n * size, partitions), min(n * size + size, partitions)))\n"
        "            for n, m in enumerate(sorted(members))}",
        "the last takes what does not divide": "def range_assignment(members, partitions):\n"
        "    size, found = partitions // len(members), {}\n"
        "    for n, m in enumerate(sorted(members)):\n"
        "        end = partitions if n == len(members) - 1 else n * size + size\n"
        "        found[m] = list(range(n * size, end))\n"
        "    return found",
    },
    cases(INSTRUCTIVE, membership, count=30),
    minutes=7,
)
