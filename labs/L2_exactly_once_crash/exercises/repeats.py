"""L2-10: a reader's fix for a topic with repeats."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, cases, compare_results


def some_records(source: Random) -> tuple:
    """Four micro-batches of [event id, offset, minute]: a repeat in the same one, one in the next,
    a late event, and hours later one event more."""
    ids = [f"payment-{n}" for n in source.sample(range(100, 1000), k=6)]
    noon = source.randrange(1_000, 2_000)
    records = [
        [[ids[0], 0, noon], [ids[1], 1, noon + 1], [ids[0], 2, noon]],
        [[ids[1], 3, noon + 1], [ids[2], 4, noon + 5]],
        [[ids[3], 5, noon - 2], [ids[2], 6, noon + 5]],
        [[ids[4], 7, noon + 300]],
        [[ids[5], 8, noon + 600]],
    ]
    return (records,)


def once(batches: list[list[list]]) -> dict[str, Any]:
    return {"ids": sorted({record[0] for batch in batches for record in batch}), "forgets": True}


def all_of_them(batches: list[list[list]]) -> dict[str, Any]:
    """What the stub does."""
    return {"ids": sorted(record[0] for batch in batches for record in batch), "forgets": False}


def explain_once(arguments: tuple, expected: Any, seen: Any) -> str:
    if not isinstance(seen, dict) or not isinstance(seen.get("ids"), list):
        return "Return a stream that has the column event_id."
    ids = seen["ids"]
    if twice := [event for event in ids if ids.count(event) > 1]:
        return (
            f"{twice[0]} is there {ids.count(twice[0])} times. A repeat has another offset: "
            "compare the event id alone, over all micro-batches."
        )
    if missing := sorted(set(expected["ids"]) - set(ids)):
        return (
            f"{missing[0]} is missing: it came some minutes late, and your watermark had passed it."
        )
    if set(ids) != set(expected["ids"]):
        return "There are event ids that no record has."
    return (
        "Each event is there once, and the query still keeps the id of every event, hours later. A "
        "watermark lets it forget."
    )


def judge_once(answer: Any, context: Context) -> Verdict:
    return compare_results(context.inputs, answer, once, explain_once, stub=all_of_them)


_MARK = "    marked = records.withWatermark('event_time', '{}')\n"
_WITHIN = "    return marked.dropDuplicatesWithinWatermark({})"
EXERCISE = Exercise(
    "L2-10",
    "A reader's fix",
    (
        "How long after the original can a repeat come, and by which clock?",
        "A stream that drops duplicates keeps what it has seen. A watermark on the event time says "
        "when it may forget; one of Spark's two functions for duplicates is made for that.",
        "Set a watermark of ten minutes on the event time. Then drop duplicates of the event id "
        "within the watermark.",
    ),
    judge_once,
    {
        "every id forever": (
            "def once(records):\n    return records.dropDuplicates(['event_id'])"
        ),
        "whole rows": (
            "def once(records):\n" + _MARK.format("10 minutes")
            + _WITHIN.format("['event_id', 'offset']")
        ),
        "no patience": (
            "def once(records):\n" + _MARK.format("0 seconds") + _WITHIN.format("['event_id']")
        ),
    },
    cases((), some_records, count=1),
    minutes=10,
)  # fmt: skip
