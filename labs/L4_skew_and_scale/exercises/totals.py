"""L4-8: a mean in two steps, by parts of a key."""

from __future__ import annotations

from collections import defaultdict
from random import Random
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, cases, compare_results

INSTRUCTIVE = (
    ([["a", 0, 80]], 2),
    ([["a", 0, 60], ["a", 1, 80], ["a", 2, 100]], 2),
    ([["a", 0, 60], ["a", 1, 80], ["b", 3, 10], ["a", 5, 10], ["a", 7, 90]], 3),
)


def some_positions(source: Random) -> tuple:
    offsets = sorted(source.sample(range(1_000), k=20))
    trucks = ["a", "a", "a", "b", "c"]
    return [[source.choice(trucks), each, source.randrange(131)] for each in offsets], 4


def totals(rows: list[list], parts: int) -> dict[str, list[list]]:
    first: dict[tuple[str, int], list[int]] = defaultdict(list)
    second: dict[str, list[int]] = defaultdict(list)
    for truck, offset, speed in rows:
        first[truck, offset % parts].append(speed)
        second[truck].append(speed)
    return {
        "first": sorted([*key, len(each), sum(each)] for key, each in first.items()),
        "second": sorted([k, len(v), round(sum(v) / len(v), 6)] for k, v in second.items()),
    }


def untouched(rows: list[list], parts: int) -> dict[str, list[list]]:
    trucks = sorted([row[0]] for row in rows)
    return {"first": trucks, "second": trucks}


def explain(arguments: tuple, expected: Any, seen: Any) -> str:
    _, parts = arguments
    if not isinstance(seen, dict) or not all(isinstance(seen.get(k), list) for k in expected):
        return "Give two DataFrames: by truck and part, and by truck."
    first, second = seen["first"], seen["second"]
    if any(len(row) != 4 for row in first) or any(len(row) != 3 for row in second):
        return "The first has truck, part, positions, total_kmh; the second three columns."
    keys = [row[:2] for row in expected["first"]]
    if [row[:2] for row in first] != keys:
        return f"The parts of the first step are not the offsets modulo {parts}."
    if first != expected["first"]:
        return "The counts or sums of the first step are wrong."
    if len(second) > len(expected["second"]):
        return "The second step has several rows for a truck: it must put its parts together."
    if [row[:2] for row in second] != [row[:2] for row in expected["second"]]:
        return "The second step must add the parts' counts up, and not count the parts."
    return (
        "This is the mean of the parts' means: a part with few positions weighs as much as others."
    )


def judge(answer: Any, context: Context) -> Verdict:
    return compare_results(context.inputs, answer, totals, explain, stub=untouched)


_FIRST = (
    "def totals(positions, parts):\n"
    "    part = (F.col('offset') % parts).alias('part')\n"
    "    first = positions.groupBy('truck', part).agg("
    "F.count('*').alias('positions'), F.sum('speed_kmh').alias('total_kmh'))\n"
)

EXERCISE = Exercise(
    "L4-8",
    "Salt an aggregate",
    (
        "What does a part have to hand on, so that a mean of the whole can be computed?",
        "Two aggregations, the second over the first. A mean is a sum divided by a count, and sums "
        "and counts can be added up.",
        "Group by truck and the offset modulo the parts; count the rows and add up the speeds. "
        "Group that by truck; add up both columns, and divide the one sum by the other.",
    ),
    judge,
    {
        "mean of means": _FIRST + "    mean = F.col('total_kmh') / F.col('positions')\n"
        "    return first, first.groupBy('truck').agg("
        "F.sum('positions').alias('positions'), F.avg(mean).alias('mean_kmh'))",
        "parts not put together": _FIRST
        + "    mean = (F.col('total_kmh') / F.col('positions')).alias('mean_kmh')\n"
        "    return first, first.select('truck', 'positions', mean)",
        "parts counted": _FIRST
        + "    mean = (F.sum('total_kmh') / F.sum('positions')).alias('mean_kmh')\n"
        "    return first, first.groupBy('truck').agg(F.count('*').alias('positions'), mean)",
        "no salt": _FIRST.replace("F.col('offset') % parts", "F.lit(0)")
        + "    mean = (F.sum('total_kmh') / F.sum('positions')).alias('mean_kmh')\n"
        "    return first, first.groupBy('truck').agg(F.sum('positions').alias('positions'), mean)",
    },
    cases(INSTRUCTIVE, some_positions, count=2),
    minutes=10,
)
