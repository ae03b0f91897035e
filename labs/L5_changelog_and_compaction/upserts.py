"""Keeps a Delta table current from the change feed: one row per order, as in the database.

    records ──changes──▶ one row per record ──newest──▶ one row per order ──merge──▶ the table

Three rules make the table right, however often a micro-batch comes and wherever it ends:

* **The newest change of an order is the one with the highest LSN.**  Not the last record of the
  batch, and not the highest `ts_ms`: after a restart old changes come again with a new `ts_ms`.
* **A change is taken only if its LSN is above that of the row.**  So a repeated or an old
  micro-batch changes nothing.
* **A deleted order stays as a row with `deleted`,** and keeps its LSN.  If the row were removed,
  an old update that comes again would find nothing to be compared with, and insert it.

A tombstone has no LSN.  It deletes its order if the batch has no envelope of it: the cleaner has
removed the envelope then, and left the tombstone alone.  This needs ids that are used once, as
those of a sequence are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.spark import SparkMissing, table_format
from labs.L5_changelog_and_compaction.connector import Record

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from labs.L5_changelog_and_compaction.database import Table

COLUMNS = "truck STRING, status STRING, cents BIGINT"
"""The columns of an order beside its id."""
WITH_PRIORITY = f"{COLUMNS}, priority STRING"
STOP_ON_BROKEN = {"mode": "FAILFAST"}
"""A change that cannot be read must stop the query: without it the table would be wrong."""


@dataclass(frozen=True, slots=True)
class Place:
    """The directory of one table and of the checkpoint of the query that keeps it."""

    folder: Path

    @property
    def orders(self) -> str:
        return str(self.folder / "orders")

    @property
    def checkpoint(self) -> str:
        return str(self.folder / "checkpoint")


def require_delta(session: SparkSession) -> None:
    """SparkMissing, with a remedy, if this session has no Delta Lake."""
    if table_format(session) != "delta":
        raise SparkMissing(
            "Delta Lake's jars are missing, and this lab's tables need MERGE and versions, which "
            "Parquet files do not have: run: make setup"
        )


def as_records(session: SparkSession, feed: Sequence[Record]) -> DataFrame:
    """Records as Spark's Kafka source gives them: key BINARY, value BINARY."""
    rows = [(bytearray(r.key), None if r.value is None else bytearray(r.value)) for r in feed]
    return session.createDataFrame(rows, "key BINARY, value BINARY")


def refusal(action: Callable[[], object]) -> str:
    """The name of the error that Spark or Delta refuses this with, or nothing."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        action()
    except (PySparkException, Py4JJavaError) as failure:
        found = re.search(r"\[([A-Z_]{8,})", str(failure))
        return found[1] if found else type(failure).__name__
    return ""


def envelope(columns: str = COLUMNS) -> str:
    """The schema of a value, for `from_json`.  An LSN needs 64 bits."""
    row = f"STRUCT<order_id INT, {columns}>"
    return (
        f"before {row}, after {row}, op STRING, ts_ms BIGINT, "
        "source STRUCT<lsn BIGINT, ts_ms BIGINT, snapshot STRING>"
    )


def changes(records: DataFrame, columns: str = COLUMNS) -> DataFrame:
    """Each record as order_id, lsn, ts_ms, deleted and the order's columns; a tombstone, too.

    `records` has key and value, as Spark's Kafka source gives them.
    """
    from pyspark.sql import functions as F

    key = F.from_json(F.col("key").cast("string"), "order_id INT", STOP_ON_BROKEN)
    value = F.from_json(F.col("value").cast("string"), envelope(columns), STOP_ON_BROKEN)
    return records.select(key.alias("key"), value.alias("value")).select(
        "key.order_id",
        "value.source.lsn",
        "value.ts_ms",
        F.expr("value IS NULL OR value.op = 'd'").alias("deleted"),
        *(f"value.after.{name}" for name in names(columns)),
    )


def newest(found: DataFrame) -> DataFrame:
    """Of each order the change with the highest LSN; a tombstone where it is alone."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    newest_first = Window.partitionBy("order_id").orderBy(F.col("lsn").desc_nulls_last())
    ranked = found.withColumn("rank", F.row_number().over(newest_first))
    return ranked.where("rank = 1").drop("rank", "ts_ms")


def create(session: SparkSession, path: str, columns: str = COLUMNS) -> None:
    """An empty table, unless it is there."""
    session.sql(
        f"CREATE TABLE IF NOT EXISTS delta.`{path}` "
        f"(order_id INT, lsn BIGINT, deleted BOOLEAN, {columns}) USING delta"
    )


def merge(batch: DataFrame, path: str) -> None:
    """Takes one change of each order into the table.  A new column of the batch is added."""
    batch.createOrReplaceTempView("found")
    batch.sparkSession.sql(
        f"MERGE WITH SCHEMA EVOLUTION INTO delta.`{path}` AS kept "
        "USING found ON kept.order_id = found.order_id "
        "WHEN MATCHED AND found.lsn > kept.lsn THEN UPDATE SET * "
        "WHEN MATCHED AND found.lsn IS NULL AND NOT kept.deleted THEN UPDATE SET deleted = true "
        "WHEN NOT MATCHED AND found.lsn IS NOT NULL THEN INSERT *"
    )


def start(
    session: SparkSession,
    bootstrap: str,
    topic: str,
    place: Place,
    columns: str = COLUMNS,
    batch_records: int = 100_000,
) -> StreamingQuery:
    """Takes what is in the topic into the table, in micro-batches, and ends."""
    create(session, place.orders)

    def write(batch: DataFrame, _: int) -> None:
        merge(newest(changes(batch, columns)), place.orders)

    source = session.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    source = source.option("subscribe", topic).option("startingOffsets", "earliest")
    source = source.option("maxOffsetsPerTrigger", batch_records).option("failOnDataLoss", "true")
    # At a log's end a poll waits for fetch.max.wait.ms: so polls are few, and waits short.
    source = source.option("kafka.max.poll.records", 5_000)
    source = source.option("kafka.fetch.max.wait.ms", 50)
    writer = source.load().writeStream.queryName(f"upserts of {topic}").foreachBatch(write)
    writer = writer.option("checkpointLocation", place.checkpoint)
    return writer.trigger(availableNow=True).start()


def rebuild(
    session: SparkSession, bootstrap: str, topic: str, place: Place, columns: str = COLUMNS
) -> int:
    """A table from the whole topic in one step; returns how many records were read."""
    source = session.read.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    read = source.option("subscribe", topic).option("kafka.fetch.max.wait.ms", 50).load().persist()
    create(session, place.orders)
    merge(newest(changes(read, columns)), place.orders)
    count = read.count()
    read.unpersist()
    return count


def rows(session: SparkSession, path: str) -> Table:
    """The table's orders; deleted ones are left out."""
    return _as_table(session.read.format("delta").load(path).collect())


def as_of(session: SparkSession, path: str, version: int) -> tuple[int, Table]:
    """One version of the table: the highest LSN that it knows, and its orders."""
    found = session.sql(f"SELECT * FROM delta.`{path}` VERSION AS OF {version}").collect()
    return max((row["lsn"] for row in found), default=0), _as_table(found)


def history(session: SparkSession, path: str) -> list[dict[str, int]]:
    """What each MERGE did, the oldest first: version, rows inserted, rows updated."""
    found = []
    for row in reversed(session.sql(f"DESCRIBE HISTORY delta.`{path}`").collect()):
        if row["operation"] == "MERGE":
            metrics = row["operationMetrics"]
            found.append(
                {
                    "version": int(row["version"]),
                    "inserted": int(metrics["numTargetRowsInserted"]),
                    "updated": int(metrics["numTargetRowsUpdated"]),
                }
            )
    return found


def deleted(session: SparkSession, path: str) -> int:
    """How many rows only note that their order was deleted."""
    return session.read.format("delta").load(path).where("deleted").count()


def differences(found: Table, truth: Table) -> list[str]:
    """Row by row: what is missing, what is too much, what differs."""
    lines = []
    for order_id in sorted(found.keys() | truth.keys()):
        if order_id not in found:
            lines.append(f"order {order_id} is missing")
        elif order_id not in truth:
            lines.append(f"order {order_id} is not in the database")
        elif wrong := _unequal(found[order_id], truth[order_id]):
            lines.append(f"order {order_id}: {wrong}")
    return lines


def names(columns: str) -> list[str]:
    """`truck STRING, cents BIGINT` -> truck, cents."""
    return [column.split()[0] for column in columns.split(", ")]


def _as_table(found: Iterable[Any]) -> Table:
    """Without deleted rows, without the bookkeeping, and without columns that are null."""
    return {
        row["order_id"]: {
            name: value
            for name, value in row.asDict().items()
            if name not in ("lsn", "deleted") and value is not None
        }
        for row in found
        if not row["deleted"]
    }


def _unequal(found: Any, truth: Any) -> str:
    return ", ".join(
        f"{name} is {found.get(name)}, not {truth.get(name)}"
        for name in sorted(found.keys() | truth.keys())
        if found.get(name) != truth.get(name)
    )
