"""L3-9: a whole streaming query, whose counts are final."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Inputs, Verdict, compare_results
from labs.L3_event_time_and_joins.exercises.shapes import are_rows
from labs.L3_event_time_and_joins.exercises.spark_rules import Batches, windows

WIDTH, DELAY = 5, 10


def streams(source: Random) -> Inputs:
    """A stream of one truck, and a longer one."""
    minute = source.randrange(5)
    one = f"truck-{source.randrange(1, 60):02}"
    return [([[[one, minute], [one, 4]], [[one, 3], [one, 60]]],), some_positions(source)]


def some_positions(source: Random) -> tuple:
    """Late records of each kind: one in a window that is open only by the delay, one in a closed
    window, and one in a window that only its end keeps open."""
    late, clock, *others = (f"truck-{n:02}" for n in source.sample(range(1, 60), k=5))
    on_the_way = [[each, source.randrange(5, 17)] for each in others for _ in range(2)]
    return (
        [
            [[late, 2], [clock, 9], *([each, source.randrange(10)] for each in others)],
            [[clock, 16], *on_the_way],
            [[late, source.randrange(1, 4)], [clock, 24]],
            [[late, 3], [late, 6], [clock, 60]],
        ],
    )


def final_counts(batches: Batches) -> list[list]:
    return windows(batches, WIDTH, DELAY)


def explain(arguments: tuple, expected: Any, seen: Any) -> str:
    if not are_rows(seen, 3):
        return "Write rows with truck, window and count."
    places = Counter((truck, start) for truck, start, _ in seen)
    wanted = {(truck, start): count for truck, start, count in expected}
    if twice := sorted(place for place, n in places.items() if n > 1):
        truck, start = twice[0]
        return (
            f"The window of {truck} that begins at minute {start} was written "
            f"{places[twice[0]]} times: this output mode writes each change, not the final count."
        )
    if strange := sorted(places.keys() - wanted.keys()):
        return (
            f"There is no window of {strange[0][0]} that begins at minute {strange[0][1]}: windows "
            f"are {WIDTH} minutes long, follow each other, and come out when they are over."
        )
    if missing := sorted(wanted.keys() - places.keys()):
        return (
            f"The window of {missing[0][0]} that begins at minute {missing[0][1]} never came out, "
            "though the stream is an hour on: the watermark is too far behind."
        )
    truck, start, count = next(row for row in seen if row[2] != wanted[row[0], row[1]])
    if count < wanted[truck, start]:
        return (
            f"{truck} has {count} positions from minute {start} on, not {wanted[truck, start]}: a "
            f"position that came less than {DELAY} minutes late was dropped."
        )
    return (
        f"{truck} has {count} positions from minute {start} on, not {wanted[truck, start]}: a "
        "position of a closed window was counted."
    )


def judge(answer: Any, context: Context) -> Verdict:
    return compare_results(context.inputs, answer, final_counts, explain)


def _answer(delay: str = "10 minutes", window: str = "'5 minutes'", mode: str = "append") -> str:
    return (
        "def start(positions, write, checkpoint):\n"
        f"    known = positions.withWatermark('event_time', '{delay}')\n"
        f"    counts = known.groupBy('truck', F.window('event_time', {window})).count()\n"
        f"    query = counts.writeStream.foreachBatch(write).outputMode('{mode}')\n"
        "    query = query.option('checkpointLocation', checkpoint)\n"
        "    return query.trigger(availableNow=True).start()"
    )


EXERCISE = Exercise(
    "L3-9",
    "Counts that are final",
    (
        "What tells Spark that a window is over? Which output mode waits for it?",
        "The watermark belongs to the frame before it is grouped. The writer of a stream takes a "
        "function for each micro-batch, a mode, the place of its checkpoint, and a trigger that "
        "reads all there is and ends.",
        "Give event_time a watermark with a delay of ten minutes. Group by truck and a window of "
        "five minutes and count. Write each micro-batch by the given function, in append mode, "
        "with the checkpoint as an option and the trigger for all that is there; start it and "
        "return the query.",
    ),
    judge,
    {
        "update mode": _answer(mode="update"),
        "no delay": _answer(delay="0 minutes"),
        "an hour's delay": _answer(delay="1 hour"),
        "hopping windows": _answer(window="'10 minutes', '5 minutes'"),
    },
    streams,
    minutes=10,
)
