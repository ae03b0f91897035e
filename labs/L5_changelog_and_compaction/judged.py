"""Calls a learner's function with the plain data of a check, and gives its results as plain data.

on_records(spark, newest)     records as text, as a DataFrame; the rows that come back
on_batches(spark, merge)      micro-batches, one after the other, into a new Delta table
on_topic(cluster, rebuild)    keyed records in a new compacted topic, and a consumer for it
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, Producer

from kit.clusters.interface import Cluster
from kit.probes import clients
from kit.spark import temporary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = "order_id INT, lsn BIGINT, deleted BOOLEAN, status STRING"
NAMES = [column.split()[0] for column in COLUMNS.split(", ")]
TOPIC = "rebuilt"


def on_records(
    session: SparkSession, function: Callable[[DataFrame], DataFrame]
) -> Callable[[list[list[str | None]]], list[list[Any]]]:
    """Each record is a key and a value; a value of None is a tombstone."""

    def called(records: list[list[str | None]]) -> list[list[Any]]:
        rows = [[None if text is None else bytearray(text.encode()) for text in r] for r in records]
        return _rows(function(session.createDataFrame(rows, "key BINARY, value BINARY")))

    return called


def on_batches(
    session: SparkSession, function: Callable[[DataFrame, str], object]
) -> Callable[[list[list[list[Any]]]], list[list[Any]]]:
    """Each batch is a list of rows of COLUMNS."""

    def called(batches: list[list[list[Any]]]) -> list[list[Any]]:
        path = str(temporary() / "orders")
        session.sql(f"CREATE TABLE delta.`{path}` ({COLUMNS}) USING delta")
        for batch in batches:
            function(session.createDataFrame(batch, COLUMNS).coalesce(1), path)
        return _rows(session.read.format("delta").load(path))

    return called


def on_topic(
    cluster: Cluster, function: Callable[[Consumer, str], Any]
) -> Callable[[list[list[Any]]], Any]:
    """Each record is a partition of 0 to 2, a key, and a value; None is a tombstone."""

    def called(records: list[list[Any]]) -> Any:
        cluster.create_topic(TOPIC, partitions=3, config={"cleanup.policy": "compact"})
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        for partition, key, value in records:
            producer.produce(TOPIC, value, key, partition=partition)
        producer.flush()
        consumer = Consumer({**clients.READER, "bootstrap.servers": cluster.bootstrap})
        try:
            return _plain(function(consumer, TOPIC))
        finally:
            consumer.close()

    return called


def _rows(frame: DataFrame) -> list[list[Any]]:
    found = [list(row) for row in frame.select(*NAMES).collect()]
    return sorted(found, key=lambda row: [(v is not None, str(v).rjust(20)) for v in row])


def _plain(table: Any) -> Any:
    if not isinstance(table, dict):
        return table
    return {_text(key): _text(value) for key, value in table.items()}


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value
