"""L6-6: the pipeline, on waves and faults that it has not seen."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from random import Random
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, right, wrong
from labs.fleet.records import MINUTE_MS, Fleet, records
from labs.fleet.truth import Minute
from labs.L6_capstone.contract import Promised, breach
from labs.L6_capstone.trial import AGAIN, BROKER, CRASH, Pairs

RECORDS = 90


def some_waves(source: Random) -> tuple:
    """Two waves with every kind of trouble; a crash in the first, a dead broker in the second."""
    while True:
        fleet = Fleet(
            RECORDS, source.randrange(10**6), trucks=4, orders=0, late=0.2, duplicate=0.2,
            malformed=0.15, time_as_text=0.4,
        )  # fmt: skip
        every = [(record.key, record.value) for record in records(fleet)]
        waves = [every[: RECORDS // 2], every[RECORDS // 2 :]]
        truth = promised(waves)
        if truth.duplicates > 3 and truth.time_as_text > 3 and truth.dead_letters > 3:
            return waves, [CRASH, source.choice((BROKER, AGAIN))]


def inputs(source: Random) -> list[tuple]:
    return [some_waves(source)]


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
        return event if good and _millis(event) else None
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
    for (waves, faults), found in zip(context.inputs, answer, strict=True):
        tape = f"two waves of {len(waves[0])} records; after the first: {faults[0]}; "
        tape += f"in the second: {faults[1]}"
        if isinstance(found, dict) and found.keys() == {"raised"}:
            return wrong(
                f"The pipeline raised an exception: {found['raised']}.",
                expected="no exception", seen=found["raised"], counter_example=tape,
            )  # fmt: skip
        if not isinstance(found, dict):
            return wrong("These are no tables.", expected="two tables", seen=found)
        if all(rows is None for rows in found.values()):
            return wrong(
                "The pipeline wrote neither of its two tables: is the stub still there?",
                expected="minutes and dead-letters", seen="an empty folder",
            )  # fmt: skip
        if broken := breach(found, promised(waves)):
            return wrong(
                broken.message, expected=broken.expected, seen=broken.seen,
                counter_example=f"{broken.where}; {tape}" if broken.where else tape,
            )  # fmt: skip
    return right(
        "The tables hold what the contract promises, after a crash, a dead broker or a second "
        "call, too."
    )


_SHOWN = """
EVENT = "event_id STRING, truck STRING, event_time STRING, speed_kmh INT"


def pipeline(spark, bootstrap, folder):
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    source = source.option("subscribe", "fleet.positions").option("startingOffsets", "earliest")
    text = F.col("value").cast("string")
    records = source.load().withColumn("event", F.from_json(text, EVENT))
    number = "timestamp_millis(try_cast(event.event_time AS BIGINT))"
    at = f"coalesce({number}, try_to_timestamp(event.event_time))"
    fields = "event.event_id", "event.truck", "event.speed_kmh"
    records = records.selectExpr("partition", "offset", *fields, f"{at} AS at")
    good = "event_id IS NOT NULL AND truck IS NOT NULL AND speed_kmh IS NOT NULL AND at IS NOT NULL"

    def merge(rows, path, *keys):
        rows.limit(0).write.format("delta").mode("ignore").save(path)
        rows.createOrReplaceTempView("found")
        same = " AND ".join(f"kept.{key} = found.{key}" for key in keys)
        rows.sparkSession.sql(
            f"MERGE INTO delta.`{path}` AS kept USING found ON {same} "
            "WHEN NOT MATCHED THEN INSERT *"
        )

    def write(batch, number):
        batch = batch.persist()
        events = batch.where(good).select("event_id", "truck", "at", "speed_kmh")
        merge(events.dropDuplicates(["event_id"]), f"{folder}/events", "event_id")
        letters = batch.where(f"NOT ({good})")
        letters = letters.selectExpr("partition", "offset", "'unreadable' AS reason")
        merge(letters, f"{folder}/dead-letters", "partition", "offset")
        batch.unpersist()
        kept = batch.sparkSession.read.format("delta").load(f"{folder}/events")
        minute = F.date_trunc("minute", "at").alias("minute")
        fastest = F.max("speed_kmh").alias("maximum_kmh")
        minutes = kept.groupBy("truck", minute).agg(F.count("*").alias("positions"), fastest)
        minutes.write.format("delta").mode("overwrite").save(f"{folder}/minutes")

    query = records.writeStream.foreachBatch(write)
    query = query.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True)
    query.start().awaitTermination()
"""
"""The solution of the notebook; a test compares them.  Each wrong answer changes one thing."""


def _but(*changes: tuple[str, str]) -> str:
    text = _SHOWN
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    return text


_APPEND = 'rows.write.format("delta").mode("append").save(path)\n        return\n        '

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
        "appends": _but(("rows.createOrReplaceTempView", _APPEND + "rows.createOrReplaceTempView")),
        "time as text is refused": _but(
            ('f"coalesce({number}, try_to_timestamp(event.event_time))"', "number")
        ),
        "the broker's clock": _but(
            ('f"{at} AS at"', '"timestamp AS at"'),
        ),
        "no dead letters": _but(
            ('batch.where(f"NOT ({good})")', 'batch.where(f"NOT ({good})").limit(0)'),
        ),
        "only what is new": _but(('"earliest"', '"latest"')),
        "a table of the last batch": _but(
            ('batch.sparkSession.read.format("delta").load(f"{folder}/events")', "events"),
        ),
    },
    inputs,
    minutes=20,
)
