"""The judge's side of lab L1, the telemetry pipeline."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from kit.exercises.cluster_log import Context, LogRecord
from kit.exercises.exercise import (
    Exercise,
    Question,
    Verdict,
    compare_results,
    right,
    wrong,
)

SOURCE, TARGET = "positions", "truck-minutes"
MINUTE_MS = 60_000
FIELDS = {"event_id": str, "truck": str, "event_time": int, "speed_kmh": int}

Minutes = Counter[tuple[str, int]]
"""Positions by truck and the minute's first millisecond."""


# -- L1-2: split without a gap

SPEEDS = (
    ([83, 140],),
    ([0, 130],),
    ([-1, 131],),
    ([None, 50],),
    ([None, 0, 130, 131, -1, None, 77],),
)


def split(speeds: list[int | None]) -> dict[str, list[list[int]]]:
    good = {n for n, speed in enumerate(speeds) if speed is not None and 0 <= speed <= 130}
    return {
        "good": [[n] for n in range(len(speeds)) if n in good],
        "bad": [[n] for n in range(len(speeds)) if n not in good],
    }


def explain_split(arguments: tuple, expected: Any, seen: Any) -> str:
    if not isinstance(seen, dict) or not {"good", "bad"} <= seen.keys():
        return ""
    (speeds,) = arguments
    good, bad = ({n for (n,) in seen[side]} for side in ("good", "bad"))
    if lost := sorted(set(range(len(speeds))) - good - bad):
        which = "an unknown speed" if speeds[lost[0]] is None else f"speed {speeds[lost[0]]}"
        return (
            f"The event with {which} is on neither side: in SQL the negation of null is null, "
            "and where() keeps only what is true. Such a record would just disappear."
        )
    if good & bad:
        return "One event is on both sides: the two conditions overlap."
    number = min(good ^ {n for (n,) in expected["good"]})
    if speeds[number] is None:
        return "An unknown speed counts as good here: null is not a speed from 0 to 130."
    if speeds[number] in (0, 130):
        return f"Speed {speeds[number]} is good: both ends of the range are included."
    side = "good" if number in good else "bad"
    return f"Speed {speeds[number]} is not {side}."


def judge_split(answer: Any, context: Context) -> Verdict:
    return compare_results(SPEEDS, answer, split, explain_split)


# -- L1-3: once, and the first

EVENTS = (
    ([["a-1", 0, 80]],),
    ([["a-1", 0, 80], ["a-1", 1, 80]],),
    ([["a-1", 4, 80], ["a-1", 9, 95]],),
    ([["a-2", 7, 60], ["a-1", 3, 81], ["a-2", 2, 65], ["a-1", 5, 20]],),
)


def once(events: list[list]) -> list[list]:
    first: dict[str, list] = {}
    for event in sorted(events, key=lambda row: row[1]):
        first.setdefault(event[0], event)
    return sorted(first.values())


def explain_once(arguments: tuple, expected: Any, seen: Any) -> str:
    if not isinstance(seen, list):
        return ""
    (events,) = arguments
    counted = Counter(row[0] for row in seen)
    if twice := [event_id for event_id, n in counted.items() if n > 1]:
        return (
            f"{twice[0]} is still there {counted[twice[0]]} times: its rows differ in another "
            "column, so compare the event id alone."
        )
    if len(counted) < len(expected):
        return "An event is gone altogether: every event id must stay once."
    offsets = [row[1] for row in seen]
    if offsets == [max(e[1] for e in events if e[0] == row[0]) for row in seen]:
        return "You kept the last of each event, and the first was asked for."
    if any(row not in events for row in seen):
        return "A row is made of two: the offset of one and the speed of another."
    return ""


def judge_once(answer: Any, context: Context) -> Verdict:
    return compare_results(EVENTS, answer, once, explain_once)


# -- L1-4: minutes as a topic


def judge_minutes(answer: Any, context: Context) -> Verdict:
    if not context.partitions(TARGET):
        return wrong(f"There is no topic {TARGET}.", expected="a topic", seen="none")
    written = context.records(TARGET)
    arrived = context.records(SOURCE)
    truth = minutes(arrived, lambda record, event: event["event_time"])
    if not written:
        return wrong(
            f"The topic {TARGET} is empty.", expected=f"{len(truth)} records", seen="0 records"
        )
    seen: Minutes = Counter()
    for record in written:
        try:
            row = json.loads(record.value or b"")
            place = str(row["truck"]), int(row["minute"])
            count = int(row["count"])
        except (ValueError, KeyError, TypeError):
            return wrong(
                f"The value at {_where(record)} is not JSON with truck, minute and count.",
                expected='{"truck": …, "minute": …, "count": …}',
                seen=record.value,
            )
        if record.key != place[0].encode():
            return wrong(
                "The key is not the truck, so a truck's minutes are spread over the partitions.",
                expected=place[0].encode(),
                seen=record.key,
                counter_example=_where(record),
            )
        if place in seen:
            return wrong(
                "A truck's minute is there twice; did the cell run twice on the same topic?",
                expected="one record per truck and minute",
                seen=f"two for {place[0]}, {place[1]}",
                counter_example=_where(record),
            )
        seen[place] = count
    if seen == truth:
        return right(f"{len(truth)} minutes, {truth.total()} positions: the topic says so itself.")
    return _difference(arrived, truth, seen)


def _difference(arrived: list[LogRecord], truth: Minutes, seen: Minutes) -> Verdict:
    place = min(p for p in truth.keys() | seen.keys() if truth[p] != seen[p])
    by_arrival = minutes(arrived, lambda record, event: record.timestamp_ms)
    with_repeats = minutes(arrived, lambda record, event: event["event_time"], once=False)
    if seen == with_repeats:
        message = "Duplicates count twice here: silver drops them by their event id."
    elif seen == by_arrival or set(seen) <= set(by_arrival):
        message = "These are minutes of arrival; late positions belong in their own minute."
    elif seen.total() < truth.total():
        message = f"{truth.total() - seen.total()} positions are missing; late ones count too."
    else:
        message = "The positions are counted in the wrong minutes."
    return wrong(
        message,
        expected=f"{truth[place]} ({truth.total()} in all)",
        seen=f"{seen[place]} ({seen.total()} in all)",
        counter_example=f"{place[0]}, minute {place[1]}",
    )


def minutes(arrived: Iterable[LogRecord], clock: Any, *, once: bool = True) -> Minutes:
    """Good positions per truck and minute, by the time that `clock(record, event)` gives."""
    found: Minutes = Counter()
    known = set()
    for record in arrived:
        event = good_event(record.value or b"")
        if event is None or (once and event["event_id"] in known):
            continue
        known.add(event["event_id"])
        found[event["truck"], clock(record, event) // MINUTE_MS * MINUTE_MS] += 1
    return found


def good_event(value: bytes) -> dict | None:
    try:
        event = json.loads(value)
    except ValueError:
        return None
    if not isinstance(event, dict):
        return None
    return (
        event if all(isinstance(event.get(name), kind) for name, kind in FIELDS.items()) else None
    )


def _where(record: LogRecord) -> str:
    return f"partition {record.partition}, offset {record.offset}"


_WRITE = """
kafka = minutes.write.format("kafka").option("kafka.bootstrap.servers", eng.bootstrap)
kafka.option("topic", "truck-minutes").save()
"""
_VALUE = "to_json(struct(truck, unix_millis(minute) AS minute, count)) AS value"

EXERCISES = (
    Question(
        "L1-1",
        "Its position of 8:02 arrives at 8:16. Where does gold count it?",
        (
            "in the minute 8:16, when it arrived",
            "in the minute 8:02, by the truck's clock",
            "nowhere: it is too late",
        ),
        right=frozenset("b"),
        explanation=(
            "Gold groups by the event's own time and is computed again from all of silver. Only "
            "a watermark could drop a late event, and this pipeline has none."
        ),
        because={
            "a": "The arrival is Kafka's timestamp; bronze keeps it, and gold does not use it.",
            "c": "Neither Kafka nor a table has a notion of too late; a watermark has.",
        },
    ),
    Exercise(
        "L1-2",
        "Split without a gap",
        (
            "What is `NOT (speed_kmh BETWEEN 0 AND 130)` when the speed is null?",
            "where() keeps rows whose condition is true; null is not true, on either side.",
            "Make it never null: F.coalesce(condition, F.lit(False)); then use it, and ~ of it.",
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
        SPEEDS,
    ),
    Exercise(
        "L1-3",
        "Once, and the first",
        (
            "Which columns make two rows the same event?",
            "dropDuplicates says which column, not which row stays; a group can say both.",
            "groupBy('event_id') with F.min('offset') and F.min_by('speed_kmh', 'offset').",
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
        EVENTS,
    ),
    Exercise(
        "L1-4",
        "Minutes as a topic",
        (
            "tables.silver and tables.gold work on a batch as on a stream.",
            "The sink wants columns named key and value; to_json(struct(…)) makes the value.",
            "tables.gold(tables.silver(arrived)).selectExpr('truck AS key', …), then "
            ".write.format('kafka') with the option topic.",
        ),
        judge_minutes,
        {
            "duplicates counted": (
                "eng.create_topic('truck-minutes', partitions=3)\n"
                "event = F.from_json(F.col('value').cast('string'), tables.EVENT)\n"
                "every = arrived.select(event.alias('event')).select('event.*')\n"
                "every = every.dropna(subset=list(tables.REQUIRED))\n"
                "every = every.withColumn('event_time', F.timestamp_millis('event_time'))\n"
                f"minutes = tables.gold(every).selectExpr('truck AS key', '{_VALUE}')\n{_WRITE}"
            ),
            "by arrival": (
                "eng.create_topic('truck-minutes', partitions=3)\n"
                "when = arrived.select('partition', 'offset', 'timestamp')\n"
                "late = tables.silver(arrived).join(when, ['partition', 'offset'])\n"
                "late = late.withColumn('event_time', F.col('timestamp'))\n"
                f"minutes = tables.gold(late).selectExpr('truck AS key', '{_VALUE}')\n{_WRITE}"
            ),
            "no key": (
                "eng.create_topic('truck-minutes', partitions=3)\n"
                f"minutes = tables.gold(tables.silver(arrived)).selectExpr('{_VALUE}')\n{_WRITE}"
            ),
        },
    ),
)
