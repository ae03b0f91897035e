"""The sinks of the crash lab: what production code writes, each with its way to read it back.

Spark runs a micro-batch again when its number is not in `commits`.  What that means for the rows
depends on the sink alone:

| sink | does it know a batch that it had? |
|---|---|
| Delta's streaming sink | yes: the query's id and the batch number are in the table's log |
| `foreachBatch`, append | no |
| `foreachBatch`, append with txnAppId and txnVersion | yes, as Delta's own sink |
| `foreachBatch`, MERGE by event id | no, and it need not: rows that are there stay as they are |
| `foreachBatch`, number noted first | yes, before it has the rows |
| file sink | yes: `_spark_metadata` lists each batch's files; a reader of the folder cannot tell |
| Kafka sink | no |
| `foreachBatch`, transactional producer | yes: the batch number is committed with the records |
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from labs.pipeline.storage import query_id

if TYPE_CHECKING:
    from confluent_kafka import Consumer
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

TRANSACTION_S = 120.0
"""A new cluster creates its transaction log and its offsets topic first."""
COLUMNS = "event_id STRING, order_id STRING, event_time BIGINT, cents BIGINT"
Half = Callable[[int], None]


def no_pause(_: int) -> None:
    """What the transactional producer does in the middle of a micro-batch: nothing."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where one query of one sink keeps its checkpoint and its rows."""

    folder: Path
    """Holds checkpoint/, and table/ unless the rows go to a topic."""
    bootstrap: str
    topic: str
    """The output topic."""
    half: Half = no_pause
    """Called with the batch number when half of a transaction's records are with the broker."""

    @property
    def checkpoint(self) -> str:
        return str(self.folder / "checkpoint")

    @property
    def table(self) -> str:
        return str(self.folder / "table")

    @property
    def writer(self) -> str:
        """The transactional.id, and the group that keeps the batch number, of the started query.

        The query's id is in it.  A query with a new checkpoint counts its micro-batches from 0
        again: under a fixed name they would pass for batches that were written before.
        """
        found = json.loads((self.folder / "checkpoint" / "metadata").read_text())
        return f"{self.topic}.{found['id']}"


def delta(payments: DataFrame, place: Place) -> StreamingQuery:
    return _writer(payments, place).format("delta").start(place.table)


def append(payments: DataFrame, place: Place) -> StreamingQuery:
    def write(batch: DataFrame, _: int) -> None:
        batch.write.format("delta").mode("append").save(place.table)

    return _writer(payments, place).foreachBatch(write).start()


def append_once(payments: DataFrame, place: Place) -> StreamingQuery:
    def write(batch: DataFrame, number: int) -> None:
        writer = batch.write.format("delta").mode("append")
        writer = writer.option("txnAppId", query_id(batch.sparkSession))
        writer.option("txnVersion", number).save(place.table)

    return _writer(payments, place).foreachBatch(write).start()


def merge(payments: DataFrame, place: Place) -> StreamingQuery:
    payments.sparkSession.sql(
        f"CREATE TABLE IF NOT EXISTS delta.`{place.table}` ({COLUMNS}) USING delta"
    )

    def write(batch: DataFrame, _: int) -> None:
        # Where none matches, a MERGE inserts each of two equal keys.
        batch.dropDuplicates(["event_id"]).createOrReplaceTempView("batch")
        batch.sparkSession.sql(
            f"MERGE INTO delta.`{place.table}` AS kept USING batch "
            "ON kept.event_id = batch.event_id WHEN NOT MATCHED THEN INSERT *"
        )

    return _writer(payments, place).foreachBatch(write).start()


def noted_first(payments: DataFrame, place: Place) -> StreamingQuery:
    """Home-made, and wrong: the note says that the rows are there before they are."""
    notes = place.folder / "notes"
    notes.mkdir(exist_ok=True, parents=True)

    def write(batch: DataFrame, number: int) -> None:
        note = notes / str(number)
        if note.exists():
            return
        note.touch()
        batch.write.format("delta").mode("append").save(place.table)

    return _writer(payments, place).foreachBatch(write).start()


def parquet(payments: DataFrame, place: Place) -> StreamingQuery:
    return _writer(payments, place).format("parquet").start(place.table)


def kafka(payments: DataFrame, place: Place) -> StreamingQuery:
    records = payments.selectExpr("event_id AS key", "to_json(struct(*)) AS value")
    writer = _writer(records, place).format("kafka").option("topic", place.topic)
    return writer.option("kafka.bootstrap.servers", place.bootstrap).start()


def transactional(payments: DataFrame, place: Place) -> StreamingQuery:
    """One transaction for each micro-batch: its records, and its number as a group's offset.

    Both are there, or none is.  A driver that starts again aborts the transaction
    that its predecessor left open (`init_transactions`), and asks the group how far it was.  The
    records pass through the driver, so this is for small micro-batches.
    """

    def write(batch: DataFrame, number: int) -> None:
        from confluent_kafka import Consumer, Producer, TopicPartition

        there = {"bootstrap.servers": place.bootstrap, "log_level": 0}
        producer = Producer(there | {"transactional.id": place.writer})
        producer.init_transactions(TRANSACTION_S)
        group = Consumer(there | {"group.id": place.writer})
        try:
            if _committed(group, place.topic) > number:
                return  # this micro-batch is in the topic already
            rows = batch.selectExpr("event_id", "to_json(struct(*)) AS value").collect()
            producer.begin_transaction()
            for written, row in enumerate(rows):
                if written == len(rows) // 2:
                    if producer.flush(TRANSACTION_S):
                        raise RuntimeError(f"{place.topic} does not take the records of {number}.")
                    place.half(number)
                producer.produce(place.topic, row["value"], row["event_id"])
            producer.send_offsets_to_transaction(
                [TopicPartition(place.topic, 0, number + 1)], group.consumer_group_metadata()
            )
            producer.commit_transaction(TRANSACTION_S)
        finally:
            group.close()

    return _writer(payments, place).foreachBatch(write).start()


@dataclass(frozen=True, slots=True)
class Sink:
    """A sink, by its name in commands."""

    name: str
    title: str
    start: Callable[[DataFrame, Place], StreamingQuery]
    topic: bool = False
    """The rows go to a topic and not to a table."""
    tasks_write: bool = True
    """False: the tasks hand the rows to the driver, which writes them."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A way to read what a sink has written: a row of the table of sinks and crash points."""

    title: str
    sink: str
    event_ids: Callable[[SparkSession, Place], list[str]]


SINKS = {
    sink.name: sink
    for sink in (
        Sink("delta", "Delta sink", delta),
        Sink("append", "foreachBatch, append", append),
        Sink("append-once", "foreachBatch, append with txnAppId, txnVersion", append_once),
        Sink("merge", "foreachBatch, MERGE by event id", merge),
        Sink("noted-first", "foreachBatch, number noted first", noted_first),
        Sink("parquet", "Parquet file sink", parquet),
        Sink("kafka", "Kafka sink", kafka, topic=True),
        Sink("transactional", "foreachBatch, transactional producer", transactional, True, False),
    )
}


def _committed(group: Consumer, topic: str) -> int:
    """The number of the next micro-batch; below 0 if there was none.

    On a new cluster the group's coordinator may still be on its way, so that is asked again.
    """
    from confluent_kafka import KafkaError, KafkaException, TopicPartition

    soon = {
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    }
    deadline = time.monotonic() + TRANSACTION_S
    while True:
        try:
            (kept,) = group.committed([TopicPartition(topic, 0)], TRANSACTION_S)
            return int(kept.offset)
        except KafkaException as refusal:
            if refusal.args[0].code() not in soon or time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def _table(kind: str) -> Callable[[SparkSession, Place], list[str]]:
    def event_ids(session: SparkSession, place: Place) -> list[str]:
        rows = session.read.format(kind).load(place.table).select("event_id").collect()
        return [row.event_id for row in rows]

    return event_ids


def _folder(session: SparkSession, place: Place) -> list[str]:
    """Every file by its name: Spark then asks no `_spark_metadata`."""
    files = sorted(str(file) for file in Path(place.table).glob("*.parquet"))
    rows = session.read.parquet(*files).select("event_id").collect()
    return [row.event_id for row in rows]


def _topic(isolation: str) -> Callable[[SparkSession, Place], list[str]]:
    def event_ids(session: SparkSession, place: Place) -> list[str]:
        source = session.read.format("kafka").option("subscribe", place.topic)
        source = source.option("kafka.bootstrap.servers", place.bootstrap)
        records = source.option("kafka.isolation.level", isolation).load()
        rows = records.selectExpr("get_json_object(string(value), '$.event_id') AS id").collect()
        return [row.id for row in rows]

    return event_ids


READERS = (
    *(
        Reader(SINKS[name].title, name, _table("delta"))
        for name in ("delta", "append", "append-once", "merge", "noted-first")
    ),
    Reader("Parquet file sink, read as a table", "parquet", _table("parquet")),
    Reader("Parquet file sink, every file read", "parquet", _folder),
    Reader("Kafka sink", "kafka", _topic("read_committed")),
    Reader("transactional producer, read_committed", "transactional", _topic("read_committed")),
    Reader("transactional producer, read_uncommitted", "transactional", _topic("read_uncommitted")),
)
"""The rows of the table, in its order."""


def _writer(rows: DataFrame, place: Place) -> DataStreamWriter:
    writer = rows.writeStream.option("checkpointLocation", place.checkpoint)
    return writer.queryName(place.topic).trigger(availableNow=True)
