"""L1-3: each event once, and its first row."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, cases, compare_results

EVENTS = (
    ([["a-1", 0, 80]],),
    ([["a-1", 0, 80], ["a-1", 1, 80]],),
    ([["a-1", 4, 80], ["a-1", 9, 95]],),
    ([["a-2", 7, 60], ["a-1", 3, 81], ["a-2", 2, 65], ["a-1", 5, 20]],),
)


def some_events(source: Random) -> tuple:
    """Trucks that send some events again, with other content."""
    offsets = source.sample(range(1_000), k=24)
    trucks = [f"{source.choice('abc')}-{source.randrange(4)}" for _ in offsets]
    return (
        [
            [truck, offset, source.randrange(1, 130)]
            for truck, offset in zip(trucks, offsets, strict=True)
        ],
    )


def once(events: list[list]) -> list[list]:
    first: dict[str, list] = {}
    for event in sorted(events, key=lambda row: row[1]):
        first.setdefault(event[0], event)
    return sorted(first.values())


def explain_once(arguments: tuple, expected: Any, seen: Any) -> str:
    (events,) = arguments
    if not isinstance(seen, list) or not all(
        isinstance(row, list) and len(row) == 3 for row in seen
    ):
        return "Give a DataFrame with event_id, offset and speed_kmh."
    counted = Counter(row[0] for row in seen)
    if twice := [event_id for event_id, n in counted.items() if n > 1]:
        return (
            f"{twice[0]} is still there {counted[twice[0]]} times: its rows differ in another "
            "column, so compare the event id alone."
        )
    if gone := [row[0] for row in expected if row[0] not in counted]:
        return f"{gone[0]} is gone: every event id must stay once."
    first = {row[0]: row[1] for row in expected}
    row = next(row for row in seen if row not in expected)
    if row[0] not in first:
        return f"There is no event {row[0]}."
    if row not in events:
        return (
            f"{row[0]} has offset {row[1]} and speed {row[2]} here, and no such row came in: the "
            "offset is of one row and the speed of another."
        )
    return f"Of {row[0]} you kept the row at offset {row[1]}; its first is at {first[row[0]]}."


def judge_once(answer: Any, context: Context) -> Verdict:
    return compare_results(context.inputs, answer, once, explain_once, stub=sorted)


EXERCISE = Exercise(
    "L1-3",
    "Once, and the first",
    (
        "Which columns make two rows the same event?",
        "Dropping duplicates by a column does not say which row stays. Grouping can: an "
        "aggregate may take one column from the row in which another is smallest.",
        "Group by the event id. Of each group take the smallest offset, and the speed from the "
        "row that has the smallest offset; give both columns their old names.",
    ),
    judge_once,
    {
        "whole rows": "def once(events):\n    return events.distinct()",
        "the last": (
            "def once(events):\n"
            "    return events.groupBy('event_id').agg(F.max('offset').alias('offset'),"
            " F.max_by('speed_kmh', 'offset').alias('speed_kmh'))"
        ),
        "two rows mixed": (
            "def once(events):\n"
            "    return events.groupBy('event_id').agg(F.min('offset').alias('offset'),"
            " F.max('speed_kmh').alias('speed_kmh'))"
        ),
    },
    cases(EVENTS, some_events, count=2),
    minutes=7,
)
