"""L6-6: the pipeline, on waves and faults that it has not seen."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from random import Random
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import MISSING, Exercise, Verdict, right, wrong
from labs.fleet.records import MINUTE_MS, Fleet, records
from labs.fleet.truth import Minute
from labs.L6_capstone.contract import COLUMNS, Breach, Promised, breach
from labs.L6_capstone.trial import AGAIN, BROKER, CRASH, Pairs

RECORDS = 90
CENTURY_MS = range(946_684_800_000, 4_102_444_800_000)
"""The years 2000 to 2099."""


def some_waves(source: Random) -> tuple[list[str], list[Pairs]]:
    """Two waves with every kind of trouble; a crash in the first, a dead broker in the second."""
    while True:
        waves = _waves(source, RECORDS, 2)
        waves[0] = [*waves[0], *_no_times(waves[0])]
        truth = promised(waves)
        if truth.duplicates > 3 and truth.time_as_text > 3 and truth.dead_letters > 3:
            return [CRASH, source.choice((BROKER, AGAIN))], waves


def _no_times(wave: Pairs) -> Pairs:
    """Positions that are good but for their time: nanoseconds, the year 9999, no date."""
    key, event = next(
        (key, event)
        for key, value in wave
        if (event := _read(value)) and isinstance(event["event_time"], int)
    )
    times = event["event_time"] * 1_000_000, "9999-12-31T00:00:00.000Z", "12:30"
    return [
        (key, json.dumps(event | {"event_id": f"far {number}", "event_time": at}).encode())
        for number, at in enumerate(times)
    ]


def inputs(source: Random) -> list[tuple[list[str], list[Pairs]]]:
    """One input: it costs four runs of the pipeline."""
    return [some_waves(source)]


def _waves(source: Random, number: int, parts: int) -> list[Pairs]:
    fleet = Fleet(
        number, source.randrange(10**6), trucks=4, orders=0, late=0.2, duplicate=0.2,
        malformed=0.15, time_as_text=0.4,
    )  # fmt: skip
    every = [(record.key, record.value) for record in records(fleet)]
    return [every[number * n // parts : number * (n + 1) // parts] for n in range(parts)]


def promised(waves: Sequence[Pairs]) -> Promised:
    """What the tables must hold, from the bytes."""
    seen: dict[str, tuple[str, int, int, bool]] = {}
    refused = copies = 0
    for _, value in (pair for wave in waves for pair in wave):
        event = _read(value)
        if event is None:
            refused += 1
            continue
        copies += event["event_id"] in seen
        text = isinstance(event["event_time"], str)
        seen[event["event_id"]] = (event["truck"], _millis(event), event["speed_kmh"], text)
    minutes: dict[tuple[str, int], Minute] = {}
    for truck, at, speed, _ in seen.values():
        place = (truck, at // MINUTE_MS * MINUTE_MS)
        before = minutes.get(place, Minute(0, 0, 0))
        minutes[place] = Minute(
            before.positions + 1, before.total_kmh + speed, max(before.maximum_kmh, speed)
        )
    return Promised(minutes, refused, copies, sum(text for *_, text in seen.values()))


def _read(value: bytes | None) -> dict[str, Any] | None:
    try:
        event = json.loads(value or b"")
        good = event["event_id"] and event["truck"] and isinstance(event["speed_kmh"], int)
        return event if good and _millis(event) in CENTURY_MS else None
    except (ValueError, KeyError, TypeError):
        return None


def _millis(event: dict[str, Any]) -> int:
    at = event["event_time"]
    if isinstance(at, str):
        return round(datetime.fromisoformat(at).timestamp() * 1000)
    return int(at)


def judge(answer: Any, context: Context) -> Verdict:
    if not isinstance(answer, list) or len(answer) != len(context.inputs):
        return wrong(
            "This exercise wants the function: pass pipeline itself, without calling it.",
            expected="a function", seen=answer,
        )  # fmt: skip
    for (faults, waves), found in zip(context.inputs, answer, strict=True):
        sizes = ", ".join(str(len(wave)) for wave in waves)
        tape = f"called with {faults!r}, after waves of {sizes} records"
        if broken := _broken(found, promised(waves)):
            return wrong(
                broken.message, expected=broken.expected, seen=broken.seen,
                counter_example=f"{tape}; {broken.where}" if broken.where else tape,
            )  # fmt: skip
    return right(
        "The tables hold what the contract promises, after a crash, and after a dead broker or a "
        "second call."
    )


def _broken(found: Any, truth: Promised) -> Breach | None:
    tables = " and ".join(COLUMNS)
    if isinstance(found, dict) and found.keys() == {"raised"}:
        raised = f"Your function raised an exception here: {found['raised']}."
        return Breach(raised, "no exception", found["raised"])
    if found is None:
        return Breach(MISSING, tables, "None")
    if not isinstance(found, dict) or not found.keys() >= COLUMNS.keys():
        return Breach("These are no tables.", tables, str(found))
    if all(rows is None for rows in found.values()):
        return Breach(
            "The pipeline wrote neither of its two tables: perhaps the stub is still there.",
            tables, "an empty folder",
        )  # fmt: skip
    return breach(found, truth)


_BASE = """
EVENT = "event_id STRING, truck STRING, event_time STRING, speed_kmh INT"
GOOD = "event_id IS NOT NULL AND truck IS NOT NULL AND speed_kmh IS NOT NULL AND at IS NOT NULL"
MILLIS = "try_cast(event.event_time AS BIGINT)"
CENTURY = "BETWEEN 946684800000 AND 4102444799999"
TEXT = "yyyy-MM-dd'T'HH:mm:ss[.SSS]XXX"
WORDS = f'unix_millis(try_to_timestamp(event.event_time, "{TEXT}"))'
NUMBER = f"CASE WHEN {MILLIS} {CENTURY} THEN timestamp_millis({MILLIS}) END"


def keep(found, table, same):
    found.limit(0).write.format("delta").mode("ignore").save(table)
    found.createOrReplaceTempView("found")
    found.sparkSession.sql(
        f"MERGE INTO delta.`{table}` AS kept USING found ON {same} WHEN NOT MATCHED THEN INSERT *"
    )


def pipeline(spark, bootstrap, folder):
    def sink(batch, number):
        good = batch.where(GOOD).select("event_id", "truck", "at", "speed_kmh")
        good = good.dropDuplicates(["event_id"])
        keep(good, f"{folder}/events", "kept.event_id = found.event_id")
        bad = batch.where(f"NOT ({GOOD})").selectExpr("partition", "offset", "'odd' AS reason")
        here = "kept.partition = found.partition AND kept.offset = found.offset"
        keep(bad, f"{folder}/dead-letters", here)
        every = batch.sparkSession.read.format("delta").load(f"{folder}/events")
        every.groupBy("truck", F.date_trunc("minute", "at").alias("minute")).agg(
            F.count("*").alias("positions"), F.max("speed_kmh").alias("maximum_kmh")
        ).write.format("delta").mode("overwrite").save(f"{folder}/minutes")

    text = f"CASE WHEN {WORDS} {CENTURY} THEN timestamp_millis({WORDS}) END"
    at = f"coalesce({NUMBER}, {text})"
    (
        spark.readStream.format("kafka")
        .options(**{"kafka.bootstrap.servers": bootstrap, "subscribe": "fleet.positions"})
        .option("startingOffsets", "earliest")
        .load()
        .withColumn("event", F.from_json(F.col("value").cast("string"), EVENT))
        .selectExpr("partition", "offset", "event.event_id", "event.truck", "event.speed_kmh",
                    f"{at} AS at")
        .writeStream.foreachBatch(sink)
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start()
        .awaitTermination()
    )
"""
"""A right answer; each wrong answer changes one thing in it."""


def _but(before: str, after: str) -> str:
    assert before in _BASE
    return _BASE.replace(before, after)


EXERCISE = Exercise(
    "L6-6",
    "The pipeline, under faults that you do not know",
    (
        "Which of your writes change something when the same micro-batch comes a second time?",
        "Two tables hold what was read: events by event_id, dead letters by partition and offset. "
        "A MERGE that inserts only what is not there may run as often as it likes. Minutes are a "
        "function of the events.",
        "Read the topic from its earliest offset with a checkpoint in the folder. Parse into "
        "columns, with the time as a number or as text. In foreachBatch, merge the good events "
        "and the refused records into a table each, then compute the minutes from all events and "
        "overwrite them. A view of a batch belongs to the batch's own session.",
    ),
    judge,
    {
        "appends": _but(
            '    found.createOrReplaceTempView("found")',
            '    found.write.format("delta").mode("append").save(table)\n    return',
        ),
        "time as text is refused": _but('f"coalesce({NUMBER}, {text})"', "NUMBER"),
        "any number is a time": _but("{CENTURY}", "IS NOT NULL"),
        "the broker's clock": _but('f"{at} AS at"', '"timestamp AS at"'),
        "no dead letters": _but('f"NOT ({GOOD})"', '"false"'),
        "only what is new": _but('"earliest"', '"latest"'),
        "a table of the last batch": _but(
            'batch.sparkSession.read.format("delta").load(f"{folder}/events")', "good"
        ),
    },
    inputs,
    minutes=20,
)
