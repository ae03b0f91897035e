"""L3-10: trips, as session windows."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Inputs, Verdict, compare_results
from labs.L3_event_time_and_joins.exercises import spark_rules
from labs.L3_event_time_and_joins.exercises.shapes import are_rows
from labs.L3_event_time_and_joins.exercises.spark_rules import Batches

PAUSE, DELAY = 5, 10


def streams(source: Random) -> Inputs:
    """One truck with a trip of two positions, and a longer stream."""
    one, start = f"truck-{source.randrange(1, 60):02}", source.randrange(5)
    return [([[[one, start], [one, start + 5]], [[one, 60]]],), some_trips(source)]


def some_trips(source: Random) -> tuple:
    """A pause of exactly five minutes, one of six, a late position between two trips, and trucks
    at random.  A last position an hour on ends all trips."""
    edge, two, bridged, clock, other = (f"truck-{n:02}" for n in source.sample(range(1, 60), k=5))
    free = [[other, minute] for minute in sorted(source.sample(range(20), k=5))]
    return (
        [
            [[edge, 0], [edge, 5], [two, 0], [two, 6], [bridged, 9], [bridged, 15], *free,
             [clock, 20]],
            [[clock, 21], [edge, 13]],
            [[bridged, 12], [clock, 60]],
        ],
    )  # fmt: skip


def trips(batches: Batches) -> list[list]:
    return spark_rules.trips(batches, PAUSE, DELAY)


def explain(arguments: tuple, expected: Any, seen: Any) -> str:
    if not are_rows(seen, 4):
        return "Give a frame with truck, start, last and positions."
    wanted = {(truck, start): [last, count] for truck, start, last, count in expected}
    found = {(truck, start): [last, count] for truck, start, last, count in seen}
    shifted = {place: [last + PAUSE, count] for place, (last, count) in wanted.items()}
    if found == shifted:
        return (
            "Each last position is five minutes too late: a session window ends a pause after its "
            "last position."
        )
    sent = sum(count for _, _, _, count in expected)
    if (counted := sum(count for _, _, _, count in seen)) < sent:
        return (
            f"{counted} positions are in trips, and {sent} were sent in time: one that came less "
            f"than {DELAY} minutes late is missing, or a trip did not come out."
        )
    place = min(place for place in wanted if found.get(place) != wanted[place])
    if len(found) > len(wanted):
        return (
            f"The trip of {place[0]} from minute {place[1]} on is cut in pieces: a trip goes on "
            "while no pause is longer than five minutes, over any number of minutes."
        )
    return (
        f"The trip of {place[0]} from minute {place[1]} on has {wanted[place][1]} positions and "
        f"ends with that of minute {wanted[place][0]}."
    )


def judge(answer: Any, context: Context) -> Verdict:
    return compare_results(context.inputs, answer, trips, explain)


def _answer(
    window: str = "F.session_window('event_time', '5 minutes')",
    name: str = "session_window",
    last: str = "F.max('event_time')",
    delay: str = "10 minutes",
) -> str:
    return (
        "def trips(positions):\n"
        f"    known = positions.withWatermark('event_time', '{delay}')\n"
        f"    found = known.groupBy('truck', {window}).agg(\n"
        f"        {last}.alias('last'), F.count('*').alias('positions'))\n"
        f"    return found.select('truck', F.col('{name}.start').alias('start'), 'last',"
        " 'positions')"
    )


EXERCISE = Exercise(
    "L3-10",
    "Trips",
    (
        "Which kind of window has an end that depends on the data?",
        "A session window takes the time column and the length of the pause. It ends a pause "
        "after its last record, so its end is not the time of the last position.",
        "Give event_time a watermark of ten minutes. Group by truck and a session window of five "
        "minutes. Aggregate the largest event time as last and the count as positions; select "
        "the start of the window as start.",
    ),
    judge,
    {
        "the window's end": (
            "def trips(positions):\n"
            "    known = positions.withWatermark('event_time', '10 minutes')\n"
            "    found = known.groupBy('truck', F.session_window('event_time', '5 minutes'))\n"
            "    return found.agg(F.count('*').alias('positions')).selectExpr('truck',\n"
            "        'session_window.start AS start', 'session_window.end AS last', 'positions')"
        ),
        "fixed windows": _answer("F.window('event_time', '5 minutes')", "window"),
        "no delay": _answer(delay="0 minutes"),
        "all trucks together": (
            "def trips(positions):\n"
            "    known = positions.withWatermark('event_time', '10 minutes')\n"
            "    found = known.groupBy(F.session_window('event_time', '5 minutes')).agg(\n"
            "        F.first('truck').alias('truck'), F.max('event_time').alias('last'),\n"
            "        F.count('*').alias('positions'))\n"
            "    return found.selectExpr('truck', 'session_window.start AS start', 'last',"
            " 'positions')"
        ),
    },
    streams,
    minutes=8,
)
