"""The judge's side of lab L1, the telemetry pipeline."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import Any

from kit.exercises.cluster_log import Context, LogRecord
from kit.exercises.exercise import (
    Exercise,
    Observed,
    Prediction,
    Question,
    Verdict,
    cases,
    compare_results,
    right,
    wrong,
)

SOURCE, TARGET = "positions", "truck-minutes"
MORNING = 2_000
"""Positions that the set-up cells write, at least."""
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


# -- L1-3: once, and the first

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


# -- L1-4: minutes as a topic


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


# -- what the runs settle


def explain_rows(answer: str, seen: Observed) -> str:
    """L1-5."""
    if _number(answer) > seen["rows after"]:
        return (
            f"The query read {seen['records read again']} records again, and all files together "
            f"have {seen['rows in all files']} rows. The table has {seen['rows after']}: its log "
            "names each micro-batch once, with the files of the last attempt."
        )
    return (
        f"The table has {seen['rows after']} rows. The query read the micro-batch again, as "
        f"`offsets` had noted it: {seen['records read again']} records."
    )


def explain_refused(answer: str, seen: Observed) -> str:
    """L1-6: which of the learner's numbers are wrong, and which are missing."""
    given = {int(word) for word in answer.split() if word.isdigit()}
    refused = set(seen["refused"])
    sentences = []
    if missed := sorted(refused - given):
        sentences.append(
            f"Refused as well: {_listed(missed)}. INT takes no quotes and no fraction, not even .0."
        )
    if accepted := sorted(given - refused):
        sentences.append(
            f"Accepted: {_listed(accepted)}. STRING takes any value, a range is not a type, and "
            "fields that are not required may be missing or new."
        )
    return " ".join(sentences)


def explain_repeats(answer: str, seen: Observed) -> str:
    """L1-7."""
    return (
        f"{seen['sent again']} records came again and {seen['new rows']} of them became rows. The "
        f"query keeps {seen['event ids that the query keeps']} event ids, across micro-batches and "
        "restarts, and drops an id that it knows."
    )


def explain_minute(answer: str, seen: Observed) -> str:
    """L1-1."""
    return (
        f"Gold has the position in minute {seen['minute']}: it groups by {seen['clock']}, and "
        "without a watermark no position is too late."
    )


def rows_of_the_shift(seen: Observed) -> str:
    """L1-8."""
    missing = seen["acknowledged"] - seen["bronze"]
    if missing == 0:
        return "d" if seen["equations that hold"] == 3 else ""
    if missing < 0:
        return "b"
    return "a" if seen["leader changed"] else "c"


def a_slow_batch(seen: Observed) -> str:
    """L1-9."""
    if seen["micro-batch ms"] <= seen["interval ms"]:
        return ""  # not slow enough to show anything
    if seen["records read"] == seen["records"]:
        return "b" if seen["groups of that name"] else "a"
    return "c" if seen["records read"] > seen["records"] else "d"


def _number(answer: str) -> float:
    try:
        return float(answer.replace(" ", ""))
    except ValueError:
        return 0.0


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


_WRITE = """
kafka = minutes.write.format("kafka").option("kafka.bootstrap.servers", eng.bootstrap)
kafka.option("topic", "truck-minutes").save()
"""
_VALUE = "to_json(struct(truck, unix_millis(minute) AS minute, count)) AS value"

EXERCISES = (
    Prediction(
        "L1-5",
        "Bronze has 2,000 rows, from two micro-batches. The files of the second are written; the "
        "table's log and the folder commits do not name it. The query starts again. How many rows "
        "does bronze have then?",
        form="a number of rows",
        settle=lambda seen: seen["rows after"],
        explain=explain_rows,
    ),
    Prediction(
        "L1-6",
        'Six records differ from a good one in one field: 1 has "speed_kmh": "83" in quotes; '
        '2 has "speed_kmh": -5; 3 has "truck": 99, a number; 4 has "speed_kmh": 83.0; 5 has '
        '"lat": null; 6 has a further field, "driver". Which does the schema refuse?',
        form="the numbers of the refused records",
        settle=lambda seen: seen["refused"],
        explain=explain_refused,
    ),
    Prediction(
        "L1-7",
        "A hundred positions that silver has already arrive once more, hours later. How many new "
        "rows does silver get?",
        form="a number of rows",
        settle=lambda seen: seen["new rows"],
        explain=explain_repeats,
    ),
    Prediction(
        "L1-1",
        "A truck measured its position at 8:02, by its own clock, and sent it at 8:16. In which "
        "minute past eight does gold count it?",
        form="a minute",
        settle=lambda seen: seen["minute"],
        explain=explain_minute,
    ),
    Prediction(
        "L1-8",
        "2,000 positions are written by an idempotent producer with acks=all; after 1,000 the "
        "leader of partition 0 is killed. Spark reads the topic while that broker is down. What "
        "does bronze hold at the end?",
        (
            "fewer than 2,000 rows: what was in flight to the dead broker is lost",
            "more than 2,000 rows: what was sent again is there twice",
            "only the rows of the other partitions, until the broker is back",
            "2,000 rows, each record once",
        ),
        settle=rows_of_the_shift,
        because={
            "a": "{acknowledged} records were acknowledged, and bronze has {bronze} rows. What got "
            "no answer was sent again, to the next leader.",
            "b": "{acknowledged} records were acknowledged, and bronze has {bronze} rows. The new "
            "leader knew the sequence numbers of what it had.",
            "c": "Bronze has {bronze} rows. Another in-sync replica led partition 0 after some "
            "seconds, and Spark asked it.",
            "d": "{acknowledged} records were acknowledged, and bronze has {bronze} rows.",
        },
    ),
    Prediction(
        "L1-9",
        "A streaming query works for a millisecond on each record of a topic, in one micro-batch. "
        "Its max.poll.interval.ms is one second, and the micro-batch takes longer. What do you "
        "find afterwards?",
        (
            "each record read once, and no group of the query's name",
            "each record read once, and the query's group with a lag of 0",
            "records read twice: the partitions were assigned again in the middle",
            "fewer records read: the query lost its partitions",
        ),
        settle=a_slow_batch,
        because={
            "a": "{records read} of {records} records were read, and {groups of that name} groups "
            "have that name.",
            "b": "{groups of that name} groups have that name. Spark's tasks join no group: they "
            "are given their partitions by the query.",
            "c": "{records read} of {records} records were read, in {micro-batch ms} ms. The "
            "interval of {interval ms} ms is for members of a group.",
            "d": "{records read} of {records} records were read, in {micro-batch ms} ms. The "
            "interval of {interval ms} ms is for members of a group.",
        },
    ),
    Question(
        "L1-10",
        "Silver and gold were deleted by mistake, and the topic has deleted its old records. From "
        "what can both tables be computed again, as they were?",
        (
            "the dead letters",
            "bronze",
            "silver's checkpoint, with its state",
            "nothing: without the topic they are lost",
        ),
        right=frozenset("b"),
        explanation="Gold is a function of silver, and silver is a function of bronze.",
        because={
            "a": "These are the records that silver does not have.",
            "c": "A checkpoint holds offsets and event ids, and no speeds.",
            "d": "Bronze has each record of the topic, byte for byte.",
        },
    ),
    Exercise(
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
    ),
    Exercise(
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
    ),
    Exercise(
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
    ),
)
