"""Turns a topic into tables, in three steps that can each be stopped and started again.

    topic ──▶ bronze ──┬──▶ silver ──▶ gold
                       └──▶ dead letters

* **bronze** is the topic as it was: key, value, partition, offset, timestamp.  No record is
  judged, so none is lost, and every later step can be repeated.
* **silver** has one row per event, with a schema.  A duplicate is dropped by its event id,
  however long after the original it came.
* **dead letters** are the records that the schema refused, each with its reason.
* **gold** is one row per truck and minute of the trucks' own clocks.

Bronze, silver and dead letters are streaming queries with the trigger `availableNow`: they
read the records that are there in micro-batches, and end.  A checkpoint holds what has been
read, and the table's own log what has been written.  So a query that was stopped in the
middle continues where it was, and each row is in the table once.

Gold is computed again from all of silver each time.  So a position that is fifteen minutes
late still counts in its own minute: there is no watermark that could drop it.  The price is
that each run reads all of silver, and that silver's query keeps every event id; a later lab
pays less.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

BRONZE = "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP"
EVENT = "event_id STRING, truck STRING, event_time BIGINT, speed_kmh INT, lat DOUBLE, lon DOUBLE"
REQUIRED = ("event_id", "truck", "event_time", "speed_kmh")
_AS_TEXT = ", ".join(f"{name} STRING" for name in REQUIRED) + ", broken STRING"


@dataclass(frozen=True, slots=True)
class Tables:
    """Where the tables of one pipeline lie."""

    folder: Path

    @property
    def bronze(self) -> str:
        return str(self.folder / "bronze")

    @property
    def silver(self) -> str:
        return str(self.folder / "silver")

    @property
    def dead_letters(self) -> str:
        return str(self.folder / "dead-letters")

    @property
    def gold(self) -> str:
        return str(self.folder / "gold")

    def checkpoint(self, table: str) -> str:
        return str(self.folder / "checkpoints" / Path(table).name)


def topic_stream(
    spark: SparkSession, bootstrap: str, topic: str, batch_records: int = 100_000
) -> DataFrame:
    """The topic from its beginning, at most `batch_records` in a micro-batch.

    After each poll Spark asks where the log begins and ends, in two round trips.  Its consumer
    has already sent its next fetch, and a broker answers in order, so at the end of the log
    the question waits for `fetch.max.wait.ms`.  So polls are few and large, and waits short.
    """
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    source = source.option("subscribe", topic).option("startingOffsets", "earliest")
    source = source.option("kafka.max.poll.records", 5_000).option("kafka.fetch.max.wait.ms", 50)
    read = source.option("maxOffsetsPerTrigger", batch_records).load()
    return read.select("key", "value", "topic", "partition", "offset", "timestamp")


def start_bronze(stream: DataFrame, tables: Tables) -> StreamingQuery:
    """The records as they are."""
    return _append(stream, tables, tables.bronze)


def start_silver(spark: SparkSession, tables: Tables) -> StreamingQuery:
    """Every event once, with its types."""
    bronze = spark.readStream.schema(BRONZE).parquet(tables.bronze)
    return _append(silver(bronze), tables, tables.silver)


def start_dead_letters(spark: SparkSession, tables: Tables) -> StreamingQuery:
    """The records that the schema refused, unchanged, and why."""
    bronze = spark.readStream.schema(BRONZE).parquet(tables.bronze)
    return _append(dead_letters(bronze), tables, tables.dead_letters)


def write_gold(spark: SparkSession, tables: Tables) -> None:
    """Computes gold again, from all of silver."""
    gold(spark.read.parquet(tables.silver)).write.mode("overwrite").parquet(tables.gold)


def silver(bronze: DataFrame) -> DataFrame:
    """The events among the records, each event id once."""
    from pyspark.sql import functions as F

    events = _parsed(bronze).where("reason IS NULL").select("event.*", "partition", "offset")
    return events.withColumn("event_time", F.timestamp_millis("event_time")).dropDuplicates(
        ["event_id"]
    )


def dead_letters(bronze: DataFrame) -> DataFrame:
    """The other records, untouched, each with its reason."""
    return _parsed(bronze).where("reason IS NOT NULL").drop("event")


def gold(silver: DataFrame) -> DataFrame:
    """Per truck and minute: how many positions, how fast on average and at most."""
    from pyspark.sql import functions as F

    minute = F.date_trunc("minute", "event_time").alias("minute")
    return silver.groupBy("truck", minute).agg(
        F.count("*").alias("count"),
        F.avg("speed_kmh").alias("average_kmh"),
        F.max("speed_kmh").alias("maximum_kmh"),
    )


def _parsed(bronze: DataFrame) -> DataFrame:
    """Each record with its `event`, or with the `reason` why it is none."""
    from pyspark.sql import functions as F

    text = F.col("value").cast("string")
    return (
        bronze.withColumn("event", F.from_json(text, EVENT))
        .withColumn("text", F.from_json(text, _AS_TEXT, {"columnNameOfCorruptRecord": "broken"}))
        .withColumn("reason", _reason())
        .drop("text")
    )


def _reason() -> Column:
    """Every type fits a field that is read as text.  So if that fails, too, the JSON is broken or
    a field is missing."""
    from pyspark.sql import functions as F

    missing = " OR ".join(f"text.{name} IS NULL" for name in REQUIRED)
    mistyped = " OR ".join(f"event.{name} IS NULL" for name in REQUIRED)
    return F.expr(
        f"CASE WHEN text IS NULL OR text.broken IS NOT NULL THEN 'not JSON' "
        f"WHEN {missing} THEN 'missing field' WHEN {mistyped} THEN 'wrong type' END"
    )


def _append(rows: DataFrame, tables: Tables, table: str) -> StreamingQuery:
    writer = rows.writeStream.format("parquet").outputMode("append")
    writer = writer.option("checkpointLocation", tables.checkpoint(table))
    return writer.trigger(availableNow=True).start(table)
