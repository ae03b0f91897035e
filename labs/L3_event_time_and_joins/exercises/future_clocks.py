"""L3-11: no clock from the future moves the watermark, and no late record is refused."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Inputs, Verdict, compare_results
from labs.L3_event_time_and_joins.exercises.shapes import are_rows
from labs.L3_event_time_and_joins.exercises.spark_rules import Batches, windows, without

WIDTH, DELAY, GRACE = 10, 10, 1


def streams(source: Random) -> Inputs:
    """One truck without trouble, and a longer stream with it."""
    one, minute = f"truck-{source.randrange(1, 60):02}", source.randrange(10)
    return [([[[one, minute, minute]], [[one, 40, 40]]],), some_arrivals(source)]


def some_arrivals(source: Random) -> tuple:
    """Rows [truck, event minute, arrival]: one clock far ahead, one a minute ahead, late ones."""
    good, late, ahead, wrong = (f"truck-{n:02}" for n in source.sample(range(1, 60), k=4))
    some = source.randrange(1, 6)
    return (
        [
            [[good, some, some], [wrong, 3 + source.randrange(90, 2000), 6], [ahead, 10, 9]],
            [[good, 12, 12], [late, source.randrange(3, 8), 13]],
            [[good, 14, 14], [late, source.randrange(3, 8), 18], [good, 18, 18]],
            [[good, 45, 45]],
        ],
    )


def trusted(batches: Batches) -> list[list]:
    return windows(without(batches, from_the_future), WIDTH, DELAY)


def from_the_future(record: Any) -> bool:
    _, event, arrives = record
    return bool(event > arrives + GRACE)


def explain(arguments: tuple, expected: Any, seen: Any) -> str:
    (batches,) = arguments
    if not are_rows(seen, 3):
        return "Give the stream back, with its columns and a watermark."
    known = {(truck, start): count for truck, start, count in seen}
    gone = [row for row in expected if known.get((row[0], row[1])) != row[2]]
    if not gone:
        truck, start, count = next(row for row in seen if row not in expected)
        return f"{truck} has {count} positions from minute {start} on; its clock is not to be read."
    if seen == windows(batches, WIDTH, DELAY):
        return (
            "The clock that is far ahead moved the watermark, and what came later was dropped. The "
            "watermark sees each record that passes through it."
        )
    only = without(batches, lambda record: record[1] > record[2])
    if seen == windows(only, WIDTH, DELAY):
        return "A clock that is a minute ahead is still to be believed: it is refused here."
    truck, start, count = gone[0]
    return (
        f"{truck} has {known.get((truck, start), 0)} positions from minute {start} on, not "
        f"{count}: a record may be late; only one from the future is refused."
    )


def judge(answer: Any, context: Context) -> Verdict:
    return compare_results(context.inputs, answer, trusted, explain)


def _before(rule: str) -> str:
    return (
        "def trusted(arrived):\n"
        f'    known = arrived.where("{rule}")\n'
        "    return known.withWatermark('event_time', '10 minutes')"
    )


EXERCISE = Exercise(
    "L3-11",
    "Clocks from the future",
    (
        "Which of the two times in a row can a truck not change?",
        "The watermark takes the newest event time of all rows that reach it. Must the rule "
        "come before it or after it?",
        "Keep the rows whose event_time is at most the timestamp plus one minute. Then give "
        "event_time a watermark of ten minutes.",
    ),
    judge,
    {
        "after the watermark": (
            "def trusted(arrived):\n"
            "    known = arrived.withWatermark('event_time', '10 minutes')\n"
            "    return known.where('event_time <= timestamp + INTERVAL 1 MINUTE')"
        ),
        "late ones too": _before(
            "event_time BETWEEN timestamp - INTERVAL 1 MINUTE AND timestamp + INTERVAL 1 MINUTE"
        ),
        "no minute of grace": _before("event_time <= timestamp"),
    },
    streams,
    minutes=7,
)
