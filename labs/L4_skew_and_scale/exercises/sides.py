"""L4-10: both sides of a salted join."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, cases, compare_results

INSTRUCTIVE = (
    ([["a", 0]], [["a", "north"]], 2),
    ([["a", 0], ["a", 1], ["b", 5]], [["a", "north"], ["b", "south"]], 2),
)


def some_sides(source: Random) -> tuple:
    offsets = sorted(source.sample(range(1_000), k=12))
    positions = [[source.choice("aaab"), each] for each in offsets]
    return positions, [[truck, f"depot {source.randrange(9)}"] for truck in "abc"], 3


def sides(positions: list[list], depots: list[list], parts: int) -> dict[str, list[list]]:
    return {
        "positions": sorted([truck, each, each % parts] for truck, each in positions),
        "depots": sorted([truck, part, d] for truck, d in depots for part in range(parts)),
    }


def untouched(positions: list[list], depots: list[list], parts: int) -> dict[str, list[list]]:
    return {"positions": sorted(positions), "depots": sorted(depots)}


def explain(arguments: tuple, expected: Any, seen: Any) -> str:
    positions, depots, parts = arguments
    if not isinstance(seen, dict) or not all(isinstance(seen.get(k), list) for k in expected):
        return "Give two DataFrames: the positions and the depots."
    left, right = seen["positions"], seen["depots"]
    if any(len(row) != 3 for row in [*left, *right]):
        return (
            "The columns are truck, offset, part on one side, and truck, part, depot on the other."
        )
    if len(left) > len(positions):
        return "Each position is there several times: only the other side may be repeated."
    if left != expected["positions"]:
        return f"A position's part is its offset modulo {parts}."
    if len(right) == len(depots):
        return (
            "Each depot is there once, so a position of another part meets no depot and is lost: a "
            "depot must be there for every part."
        )
    return f"The parts of a depot are all numbers from 0 to {parts - 1}."


def judge(answer: Any, context: Context) -> Verdict:
    return compare_results(context.inputs, answer, sides, explain, stub=untouched)


_LEFT = "positions.select('truck', 'offset', (F.col('offset') % parts).alias('part'))"


def _answer(left: str, right: str) -> str:
    return f"def sides(positions, depots, parts):\n    return ({left}, {right})"


EXERCISE = Exercise(
    "L4-10",
    "Salt a join",
    (
        "After the salt a truck's positions have several keys. Which keys must its depot have?",
        "The positions get a part that comes from the row. The other side is repeated: an array "
        "of all parts can become rows.",
        "Add the offset modulo the parts to the positions. Give each depot a sequence from zero "
        "to the number of parts less one, and explode it.",
    ),
    judge,
    {
        "depots once": _answer(_LEFT, "depots.select('truck', F.lit(0).alias('part'), 'depot')"),
        "positions repeated": _answer(
            "positions.select('truck', 'offset', "
            "F.explode(F.sequence(F.lit(0), F.lit(parts - 1))).alias('part'))",
            "depots.select('truck', F.lit(0).alias('part'), 'depot')",
        ),
        "parts from one": _answer(
            _LEFT,
            "depots.select('truck', "
            "F.explode(F.sequence(F.lit(1), F.lit(parts))).alias('part'), 'depot')",
        ),
        "part by truck": _answer(
            "positions.select('truck', 'offset', F.lit(0).alias('part'))",
            "depots.select('truck', "
            "F.explode(F.sequence(F.lit(0), F.lit(parts - 1))).alias('part'), 'depot')",
        ),
    },
    cases(INSTRUCTIVE, some_sides, count=2),
    minutes=8,
)
