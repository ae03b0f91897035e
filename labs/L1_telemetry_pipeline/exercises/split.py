"""L1-2: split good from bad events, and lose none."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, cases, compare_results

SPEEDS = (
    ([83, 140],),
    ([0, 130],),
    ([-1, 131],),
    ([None, 50],),
    ([None, 0, 130, 131, -1, None, 77],),
)


def some_speeds(source: Random) -> tuple:
    speeds = (None, -1, 0, 130, 131, source.randrange(-60, 0), source.randrange(132, 250))
    return ([source.choice([*speeds, source.randrange(1, 130)]) for _ in range(30)],)


def split(speeds: list[int | None]) -> dict[str, list[list[int]]]:
    good = {n for n, speed in enumerate(speeds) if speed is not None and 0 <= speed <= 130}
    return {
        "good": [[n] for n in range(len(speeds)) if n in good],
        "bad": [[n] for n in range(len(speeds)) if n not in good],
    }


def explain_split(arguments: tuple, expected: Any, seen: Any) -> str:
    (speeds,) = arguments
    try:
        good, bad = ({n for (n,) in seen[side]} for side in ("good", "bad"))
    except (TypeError, KeyError, ValueError):
        return "Give two DataFrames: the good events and the bad ones."
    if lost := sorted(set(range(len(speeds))) - good - bad):
        which = "an unknown speed" if speeds[lost[0]] is None else f"speed {speeds[lost[0]]}"
        return (
            f"The event with {which} is on neither side: in SQL the negation of null is null, "
            "and where() keeps only what is true. Such a record would just disappear."
        )
    if good & bad:
        both = speeds[min(good & bad)]
        return f"The event with speed {both} is on both sides: the two conditions overlap."
    number = min(good ^ {n for (n,) in expected["good"]})
    if speeds[number] is None:
        return "An unknown speed counts as good here: null is not a speed from 0 to 130."
    if speeds[number] in (0, 130):
        return f"Speed {speeds[number]} is good: both ends of the range are included."
    side = "good" if number in good else "bad"
    return f"Speed {speeds[number]} is not {side}."


def judge_split(answer: Any, context: Context) -> Verdict:
    return compare_results(context.inputs, answer, split, explain_split, stub=all_good)


def all_good(speeds: list[int | None]) -> dict[str, list[list[int]]]:
    """What the stub does."""
    return {"good": [[n] for n in range(len(speeds))], "bad": []}


EXERCISE = Exercise(
    "L1-2",
    "Split without a gap",
    (
        "What is the opposite of “the speed is from 0 to 130” when the speed is null?",
        "A filter keeps the rows whose condition is true. A condition about null is null, and "
        "so is its negation: neither is true.",
        "Write the condition for a good event, and replace its null by false: Spark has a "
        "function that takes the first of several values that is not null. Then filter by the "
        "condition for one side and by its negation for the other.",
    ),
    judge_split,
    {
        "null falls through": (
            "def split(events):\n"
            "    good = F.col('speed_kmh').between(0, 130)\n"
            "    return events.where(good), events.where(~good)"
        ),
        "ends left out": (
            "def split(events):\n"
            "    good = F.coalesce((F.col('speed_kmh') > 0) & (F.col('speed_kmh') < 130),"
            " F.lit(False))\n"
            "    return events.where(good), events.where(~good)"
        ),
        "null is good": (
            "def split(events):\n"
            "    good = F.coalesce(F.col('speed_kmh').between(0, 130), F.lit(True))\n"
            "    return events.where(good), events.where(~good)"
        ),
    },
    cases(SPEEDS, some_speeds, count=2),
    minutes=7,
)
