"""The pipeline's layers.  Each is a streaming query that reads the layer before.

    topics ──▶ bronze ──┬──▶ silver: positions, orders, payments ──▶ gold: minutes, orders, paid
                        └──▶ dead letters ──(the mended parser)──▶ silver

* **bronze** is the topics as they were, with partition and offset.  Nothing is judged, so nothing
  is lost, and every later layer can be made again.
* **silver** has each event once, typed, in a table per topic.  A copy is dropped by its event id.
  The ids are kept as long as the watermark says, so the state is bounded.
* **dead letters** are what the parser refused, unchanged, with the reason.  `replay` reads them
  again with a mended parser.
* **gold** is kept current by MERGE: a late event changes the minute that it belongs to.

All queries have the trigger `availableNow`: they take what is there in micro-batches, and end.
Checkpoints remember what was read, the tables' logs what was written (tables.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from labs.fleet.records import TOPICS
from labs.pipeline import tables
from labs.pipeline.events import Parser, events, parsed
from labs.pipeline.tables import COLUMNS, MINUTES, PAID, SOURCE_OF, STATES, Place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

WATERMARK = "45 minutes"
"""How far behind the newest event an event may come, and how long an event id is kept.  A report is
at most 15 minutes late, and its copy comes at most 5 minutes after it; the others are in reserve.
What is later is dropped, and counted."""
RECORD = "topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, key BINARY, value BINARY"
_ONCE_PER_EVENT = ["topic", "event_id"]


def start_bronze(
    session: SparkSession, bootstrap: str, place: Place, batch_records: int
) -> StreamingQuery:
    """The topics from their beginning, at most about `batch_records` in a micro-batch."""
    source = (
        session.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", ",".join(TOPICS))
        .option("startingOffsets", "earliest")
        .option("failOnDataLoss", "true")
        .option("maxOffsetsPerTrigger", batch_records)
        # At a log's end a poll waits for fetch.max.wait.ms: so polls are few, and waits short.
        .option("kafka.max.poll.records", 5_000)
        .option("kafka.fetch.max.wait.ms", 50)
        # A broker that died is asked for this long; Kafka's defaults are 30 and 60 seconds.
        .option("kafka.request.timeout.ms", 15_000)
        .option("kafka.default.api.timeout.ms", 20_000)
    )
    records = source.load().select("topic", "partition", "offset", "timestamp", "key", "value")
    # One file a micro-batch: silver then reads whole micro-batches, see _bronze.
    writer = records.repartition(1).writeStream.format("delta").queryName("bronze")
    writer = writer.option("checkpointLocation", place.checkpoint("bronze"))
    return writer.trigger(availableNow=True).start(place.bronze)


def start_silver(session: SparkSession, place: Place, parser: Parser) -> StreamingQuery:
    """Each event once, into the table of its topic."""

    def write(batch: DataFrame, number: int) -> None:
        batch.persist()
        try:
            for topic in TOPICS:
                tables.append(events(batch, topic, parser), place.silver(topic), number)
        finally:
            batch.unpersist()

    good = parsed(_bronze(session, place), parser).where("reason IS NULL").drop("key", "value")
    once = good.withWatermark("event_time", WATERMARK)
    return _each_batch(once.dropDuplicatesWithinWatermark(_ONCE_PER_EVENT), place, "silver", write)


def start_dead_letters(session: SparkSession, place: Place, parser: Parser) -> StreamingQuery:
    """The records that the parser refuses, each with its reason."""
    refused = parsed(_bronze(session, place), parser).where("reason IS NOT NULL")
    writer = refused.select(*_names(RECORD), "reason").writeStream.format("delta")
    writer = writer.option("checkpointLocation", place.checkpoint("dead-letters"))
    writer = writer.queryName("dead letters").trigger(availableNow=True)
    return writer.start(place.dead_letters)


def start_gold(session: SparkSession, place: Place, table: str) -> StreamingQuery:
    """Brings one gold table up to date with its silver table."""
    tables.create(session, place.gold(table), COLUMNS[table])
    silver = session.readStream.format("delta").load(place.silver(SOURCE_OF[table]))
    merge = MERGES[table]
    path = place.gold(table)
    return _each_batch(
        silver, place, f"gold {table}", lambda batch, number: merge(batch, path, number)
    )


def replay(session: SparkSession, place: Place, parser: Parser) -> int:
    """Reads the dead letters with another parser; returns how many of them it could read.

    First the events are inserted where silver does not have them, then their letters are deleted.
    If this ends in between, the next replay inserts nothing, and deletes the letters.  Replay after
    silver's query has passed the letters' copies, at most 5 minutes after them: its state knows
    the events that it read, and not those of a replay.
    """
    letters = session.read.format("delta").load(place.dead_letters).drop("reason")
    readable = parsed(letters, parser).where("reason IS NULL").persist()
    count = readable.count()
    once = readable.dropDuplicates(_ONCE_PER_EVENT)
    for topic in TOPICS:
        events(once, topic, parser).createOrReplaceTempView("found")
        session.sql(
            f"MERGE WITH SCHEMA EVOLUTION INTO delta.`{place.silver(topic)}` AS kept "
            "USING found ON kept.event_id = found.event_id WHEN NOT MATCHED THEN INSERT *"
        )
    readable.select("topic", "partition", "offset").createOrReplaceTempView("found")
    session.sql(
        f"MERGE INTO delta.`{place.dead_letters}` AS letter USING found "
        "ON letter.topic = found.topic AND letter.partition = found.partition "
        "AND letter.offset = found.offset WHEN MATCHED THEN DELETE"
    )
    readable.unpersist()
    return count


def _merge_minutes(batch: DataFrame, path: str, number: int) -> None:
    """Adds the batch's positions to their minutes; adding twice is wrong, so the MERGE is named."""
    from pyspark.sql import functions as F

    minute = F.date_trunc("minute", "event_time").alias("minute")
    found = batch.groupBy("truck", minute).agg(
        F.count("*").alias("positions"),
        F.sum("speed_kmh").alias("total_kmh"),
        F.max("speed_kmh").alias("maximum_kmh"),
    )
    found.createOrReplaceTempView("found")
    with tables.named(batch.sparkSession, number):
        batch.sparkSession.sql(
            f"MERGE INTO delta.`{path}` AS kept USING found "
            "ON kept.truck = found.truck AND kept.minute = found.minute "
            "WHEN MATCHED THEN UPDATE SET positions = kept.positions + found.positions, "
            "total_kmh = kept.total_kmh + found.total_kmh, "
            "maximum_kmh = greatest(kept.maximum_kmh, found.maximum_kmh) "
            "WHEN NOT MATCHED THEN INSERT *"
        )


def _merge_states(batch: DataFrame, path: str, _: int) -> None:
    """The highest revision wins, in any order of arrival; a second time it changes nothing."""
    from pyspark.sql import functions as F

    newest = batch.groupBy("order_id").agg(
        F.max("revision").alias("revision"), F.max_by("status", "revision").alias("status")
    )
    newest.createOrReplaceTempView("found")
    batch.sparkSession.sql(
        f"MERGE INTO delta.`{path}` AS kept USING found ON kept.order_id = found.order_id "
        "WHEN MATCHED AND found.revision > kept.revision THEN UPDATE SET * "
        "WHEN NOT MATCHED THEN INSERT *"
    )


def _merge_paid(batch: DataFrame, path: str, _: int) -> None:
    """An order is paid by one payment: what is there already stays."""
    batch.select("order_id", "cents").createOrReplaceTempView("found")
    batch.sparkSession.sql(
        f"MERGE INTO delta.`{path}` AS kept USING found ON kept.order_id = found.order_id "
        "WHEN NOT MATCHED THEN INSERT *"
    )


MERGES = {MINUTES: _merge_minutes, STATES: _merge_states, PAID: _merge_paid}
"""How a gold table takes a micro-batch: the rows, the table's path, the batch's number."""


def _bronze(session: SparkSession, place: Place) -> DataFrame:
    """Bronze as a stream, from its first commit on, one file (so one micro-batch) at a time.

    In one large step the watermark would not move before its end, and the state would keep every
    event id.  In steps that have a part of the partitions it would move too far: the other
    part's records of the same minutes would come late.
    """
    source = session.readStream.format("delta").option("startingVersion", 0)
    return source.option("maxFilesPerTrigger", 1).load(place.bronze)


def _each_batch(
    rows: DataFrame, place: Place, name: str, write: Callable[[DataFrame, int], None]
) -> StreamingQuery:
    writer = rows.writeStream.queryName(name).foreachBatch(write)
    writer = writer.option("checkpointLocation", place.checkpoint(name.replace(" ", "-")))
    return writer.trigger(availableNow=True).start()


def _names(columns: str) -> list[str]:
    return [column.split()[0] for column in columns.split(", ")]
