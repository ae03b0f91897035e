"""L1-4: the minutes of each truck, written to a topic."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from kit.exercises.cluster_log import Context, LogRecord
from kit.exercises.exercise import Exercise, Verdict, right, wrong

SOURCE, TARGET = "positions", "truck-minutes"
MORNING = 2_000
"""Positions that the set-up cells write, at least."""
MINUTE_MS = 60_000
FIELDS = {"event_id": str, "truck": str, "event_time": int, "speed_kmh": int}

Minutes = Counter[tuple[str, int]]
"""Positions by truck and the minute's first millisecond."""


def judge_minutes(answer: Any, context: Context) -> Verdict:
    context.set_up(SOURCE)
    arrived = context.records(SOURCE)
    if len(arrived) < MORNING:
        return wrong(
            f"{SOURCE} is not the topic that the set-up cells filled: run them again.",
            expected=f"at least {MORNING:,} positions",
            seen=f"{len(arrived):,}",
        )
    if not context.partitions(TARGET):
        return wrong(f"There is no topic {TARGET}.", expected="a topic", seen="none")
    written = context.records(TARGET)
    truth = minutes(arrived, lambda record, event: event["event_time"])
    if not written:
        return wrong(
            f"The topic {TARGET} is empty: the stub is still there, or Spark has written nothing.",
            expected=f"{len(truth)} records",
            seen="0 records",
        )
    seen: Minutes = Counter()
    for record in written:
        try:
            row = json.loads(record.value or b"")
            place = str(row["truck"]), int(row["minute"])
            count = int(row["count"])
        except (ValueError, KeyError, TypeError):
            return wrong(
                "A value is not JSON with truck, minute and count, where minute is a number of "
                "milliseconds and count a number.",
                expected='{"truck": …, "minute": …, "count": …}',
                seen=(record.value or b"no value").decode(errors="replace"),
                counter_example=_where(record),
            )
        if record.key != place[0].encode():
            return wrong(
                f"A record of {place[0]} has another key or none, so the minutes of a truck are "
                "spread over the partitions.",
                expected=f"the key {place[0]}",
                seen="no key" if record.key is None else record.key.decode(errors="replace"),
                counter_example=_where(record),
            )
        if place in seen:
            return wrong(
                f"{place[0]} has this minute twice. Did the cell run twice on the same topic?",
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

EXERCISE = Exercise(
    "L1-4",
    "Minutes as a topic",
    (
        "The functions for silver and gold work on a batch as on a stream.",
        "The Kafka sink wants two columns, named key and value. Spark can make JSON of a "
        "struct of columns, and milliseconds of a timestamp.",
        "Make silver of what arrived, and gold of silver. Select the truck as the key, and as "
        "the value the JSON of truck, minute in milliseconds, and count. Then write the frame "
        "in the format kafka, with the bootstrap servers and the topic as options.",
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
        "minutes as text": (
            "eng.create_topic('truck-minutes', partitions=3)\n"
            "minutes = tables.gold(tables.silver(arrived)).selectExpr('truck AS key', "
            f"'to_json(struct(truck, minute, count)) AS value')\n{_WRITE}"
        ),
    },
    minutes=12,
)
