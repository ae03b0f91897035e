"""The judges' few lines about watermarks say what Spark does."""

from __future__ import annotations

from random import Random

import pytest

from labs.L3_event_time_and_joins import judged
from labs.L3_event_time_and_joins.exercises import spark_rules

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


def some_batches(source: Random) -> list:
    """Trucks whose clocks go on by a few minutes a micro-batch, and records of any lateness."""
    trucks = [f"truck-{number}" for number in range(6)]
    return [
        [
            [truck, max(0, 7 * number + source.randrange(7) - source.choice((0, 0, 8, 15, 25)))]
            for truck in trucks
            for _ in range(3)
        ]
        for number in range(6)
    ]


def test_windows_and_dropped_records_are_those_of_spark(spark) -> None:
    from pyspark.sql import functions as F

    def start(positions, write, checkpoint):
        counts = positions.withWatermark("event_time", "6 minutes")
        counts = counts.groupBy("truck", F.window("event_time", "5 minutes")).count()
        query = counts.writeStream.foreachBatch(write).outputMode("append")
        query = query.option("checkpointLocation", checkpoint)
        return query.trigger(availableNow=True).start()

    batches = some_batches(Random("windows"))
    ours = spark_rules.windows(batches, width=5, delay=6)
    kept = sum(count for _, _, count in ours)
    assert kept < sum(map(len, batches)), "nothing is dropped, so nothing is compared"
    assert judged.counts(start)(batches) == ours


@pytest.mark.full
def test_without_a_late_record_sessions_are_those_of_spark(spark) -> None:
    from pyspark.sql import functions as F

    def trips(positions):
        known = positions.withWatermark("event_time", "10 minutes")
        found = known.groupBy("truck", F.session_window("event_time", "5 minutes"))
        found = found.agg(F.max("event_time").alias("last"), F.count("*").alias("positions"))
        return found.selectExpr("truck", "session_window.start AS start", "last", "positions")

    source = Random("sessions")
    minutes = {f"truck-{n}": source.sample(range(50), k=12) for n in range(6)}
    batches = [
        [[truck, each] for truck, every in minutes.items() for each in every if each // 10 == tens]
        for tens in range(5)
    ]
    assert judged.trips(trips)(batches) == spark_rules.trips(batches, pause=5, delay=10)
