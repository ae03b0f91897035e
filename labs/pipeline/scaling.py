"""The part of the pipeline that keeps a processor busy: parse JSON, validate, aggregate.

Its input is a bronze table that is on the disk already.  No broker runs, and nothing is written:
what is measured is Spark's work, and it should go twice as fast on two cores.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labs.fleet.records import POSITIONS, Fleet, records
from labs.pipeline.events import MENDED, parsed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTS = 8
"""Files of the table, and so tasks that read it: divisible by the cores that are compared."""
DISTINCT = 10_000
"""Records that are generated; the table repeats them."""


def bronze(spark: SparkSession, folder: str, events: int) -> int:
    """Writes a bronze table of about `events` records as PARTS equal files; returns its rows."""
    rows = [
        (each.topic, bytearray(each.key), None if each.value is None else bytearray(each.value))
        for each in records(Fleet(min(events, DISTINCT), seed=4, malformed=0.02))
    ]
    made = spark.createDataFrame(rows, "topic STRING, key BINARY, value BINARY")
    again = spark.range(max(1, events // len(rows))).withColumnRenamed("id", "copy")
    table = made.crossJoin(again).repartition(PARTS)
    table.drop("copy").write.mode("overwrite").parquet(folder)
    return spark.read.parquet(folder).count()


def minutes(spark: SparkSession, table: str) -> dict[str, Any]:
    """Positions by truck and minute, dead letters by reason: the seconds, and what was found."""
    from pyspark.sql import functions as F

    spark.conf.set("spark.sql.files.minPartitionNum", str(PARTS))
    began = time.perf_counter()
    events = parsed(spark.read.parquet(table), MENDED)
    found = (
        events.groupBy(
            "topic", "reason", "truck", F.date_trunc("minute", "event_time").alias("minute")
        )
        .agg(F.count("*").alias("rows"), F.max("speed_kmh").alias("maximum_kmh"))
        .collect()
    )
    seconds = time.perf_counter() - began
    return {
        "seconds": seconds,
        "rows": sum(row["rows"] for row in found),
        "dead letters": sum(row["rows"] for row in found if row["reason"] is not None),
        "minutes of trucks": sum(
            row["reason"] is None and row["topic"] == POSITIONS for row in found
        ),
        "files": len(list(Path(table).glob("*.parquet"))),
    }
