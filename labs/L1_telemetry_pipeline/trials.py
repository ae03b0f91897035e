"""What a check does with your function: it runs it on records that only the judge knows.

Each function here takes yours and returns another, which the check calls with the judge's records.
It starts the query that you made, waits for it, and notes what Spark read and wrote.  The judge
sees these notes, and never the query.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit import spark
from kit.clusters.interface import Cluster

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

Notes = dict[str, Any] | None
Learners = Callable[..., Any]
"""May return anything, None included."""
TOPIC = "trial"
PARTITIONS = 2
DELETED = 6
"""Records of each partition that are deleted before they are read."""
PATIENCE_S = 3
"""A query whose trigger is availableNow ends at once when all is read; another one never."""


def reading(source: Learners, cluster: Cluster) -> Callable[..., Notes]:
    """`source(bootstrap, topic)` reads a topic; then records are deleted before it reads them."""

    def called(texts: list[str]) -> Notes:
        cluster.create_topic(TOPIC, partitions=PARTITIONS)
        _produce(cluster, texts)
        checkpoint = str(spark.temporary("trial"))
        batches: list[list[Any]] = []

        def start() -> StreamingQuery | None:
            rows = source(cluster.bootstrap, TOPIC)
            if rows is None:
                return None
            noted = rows.selectExpr("string(value) AS text", "spark_partition_id() AS task")
            writer = noted.writeStream.foreachBatch(
                lambda batch, _: batches.append(batch.collect())
            )
            writer = writer.option("checkpointLocation", checkpoint)
            return writer.trigger(availableNow=True).start()

        query = start()
        if query is None:
            return None
        query.awaitTermination()
        full = [batch for batch in batches if batch]
        notes = {
            "read": sorted(row["text"] for batch in full for row in batch),
            "micro-batches": len(full),
            "tasks of the first": len({row["task"] for row in full[0]}) if full else 0,
        }
        _lose(cluster, len(texts) // PARTITIONS)
        return notes | {"after the loss": _outcome(start())}

    return called


def parsing(parse: Learners) -> Callable[..., Any]:
    """`parse(records)` gives each record its columns, or the reason why it has none."""

    def called(values: list[bytes | None]) -> Any:
        session = spark.session()
        records = session.createDataFrame(
            [(number, None if value is None else bytearray(value)) for number, value in
             enumerate(values)],
            "offset BIGINT, value BINARY",
        )  # fmt: skip
        found = parse(records)
        if found is None:
            return None
        wanted = found.select("offset", "order_id", "cents", "reason")
        return sorted(list(row) for row in wanted.collect())

    return called


def archiving(archive: Learners) -> Callable[..., Notes]:
    """`archive(rows, table, checkpoint)` is started, and started again when there are more rows."""

    def called(first: list[str], second: list[str]) -> Notes:
        session, folder = spark.session(), spark.temporary("trial")
        table, checkpoint = folder / "table", folder / "checkpoint"
        ended = []
        for number, texts in enumerate((first, second)):
            _file(folder / "rows", number, [{"text": text} for text in texts])
            rows = session.readStream.schema("text STRING").json(str(folder / "rows"))
            query = archive(rows, str(table), str(checkpoint))
            if query is None:
                return None
            ended.append(_ends(query))
        kept = session.read.parquet(str(table)).collect() if table.is_dir() else []
        return {
            "name": query.name,
            "rows": sorted(str(row["text"]) for row in kept),
            "ended by itself": all(ended),
            "notes in the checkpoint": (checkpoint / "commits").is_dir(),
        }

    return called


def within(once: Learners) -> Callable[..., Notes]:
    """`once(events)` drops copies; a micro-batch is a list of (id, minute)."""

    def called(batches: list[list[tuple[str, int]]]) -> Notes:
        session, folder = spark.session(), spark.temporary("trial")
        for number, batch in enumerate(batches):
            _file(folder / "rows", number, [
                {"event_id": event, "event_time": 60 * minute} for event, minute in batch
            ])  # fmt: skip
        events = session.readStream.schema("event_id STRING, event_time TIMESTAMP")
        rows = once(events.option("maxFilesPerTrigger", 1).json(str(folder / "rows")))
        if rows is None:
            return None
        kept: list[str] = []
        writer = rows.writeStream.outputMode("append").foreachBatch(
            lambda batch, _: kept.extend(str(row["event_id"]) for row in batch.collect())
        )
        writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        first = {event for event, _ in batches[0]}
        every = {event for batch in batches for event, _ in batch}
        return {"kept": sorted(kept), "state": _state(query, every, first)}

    return called


def _file(folder: Path, number: int, rows: list[dict[str, Any]]) -> None:
    """A file of rows; a stream reads files in the order of their times."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{number:03d}.json"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    os.utime(path, (number, number))


def _ends(query: StreamingQuery) -> bool:
    """Whether the query ends by itself when all is read; it has ended afterwards."""
    query.processAllAvailable()
    ended = bool(query.awaitTermination(PATIENCE_S))
    query.stop()
    return ended


def _state(query: StreamingQuery, every: set[str], first: set[str]) -> str:
    """What the query still knows; the ids of the first micro-batch are hours old at the end."""
    operators = query.lastProgress["stateOperators"] if query.lastProgress else []
    if not operators:
        return "no state"
    known = sum(operator["numRowsTotal"] for operator in operators)
    if known >= len(every):
        return "all ids"
    return "old ids are forgotten" if known <= len(every - first) else "some old ids"


def _outcome(query: StreamingQuery | None) -> str:
    from pyspark.errors import StreamingQueryException

    assert query is not None
    try:
        query.awaitTermination()
    except StreamingQueryException:
        return "stopped with an error"
    return "went on"


def _produce(cluster: Cluster, texts: list[str]) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    for number, text in enumerate(texts):
        producer.produce(TOPIC, text, partition=number % PARTITIONS)
    producer.flush()


def _lose(cluster: Cluster, end: int) -> None:
    """More records come and are deleted before they are read; then one more comes."""
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient

    _produce(cluster, ["deleted"] * DELETED * PARTITIONS)
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    where = [TopicPartition(TOPIC, p, end + DELETED) for p in range(PARTITIONS)]
    for deleted in admin.delete_records(where).values():
        deleted.result()
    _produce(cluster, ["kept"] * PARTITIONS)
