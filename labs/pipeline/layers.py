"""The pipeline's layers.  Each is a streaming query that reads the layer before.

    topics ──▶ bronze ──┬──▶ silver: positions, orders, payments ──▶ gold: minutes, orders, paid
                        ├──▶ dead letters ──(the mended parser)──▶ silver
                        └──▶ late: events that silver's watermark dropped

* **bronze** is the topics as they were, with partition and offset.  Nothing is judged, so nothing
  is lost, and every later layer can be made again.
* **silver** has each event once, typed, in a table per topic.  A copy is dropped by its event id.
  The ids are kept as long as the watermark says, so the state is bounded.  Each topic has a query
  and a watermark of its own: payments may be hours behind positions.
* **dead letters** are what the parser refused, unchanged, with the reason.  `replay` reads them
  again with a mended parser.  They are written before silver passes a record, so that no parser
  can change in between.
* **late** has the events that came behind the watermark of their topic.  Spark drops them without
  a word; `keep_late` finds them in bronze.
* **gold** follows silver: a late event changes the minute that it belongs to.

All queries have the trigger `availableNow`: they take what is there in micro-batches, and end.
Checkpoints remember what was read.  How a table is written once, and gold is kept current, is the
table format's matter (storage.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from labs.fleet.records import ORDERS, PAYMENTS, POSITIONS, TOPICS
from labs.pipeline.events import Parser, events, parsed
from labs.pipeline.storage import Storage
from labs.pipeline.tables import Gold, Place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

WATERMARK = "45 minutes"
"""How far behind the newest event an event may come, and how long an event id is kept.  A report is
at most 15 minutes late, and its copy comes at most 5 minutes after it; the others are in reserve.
What is later goes to a table of its own."""
PARTITIONS = {POSITIONS: 6, ORDERS: 3, PAYMENTS: 3}
RECORD = "topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, key BINARY, value BINARY"
LATE = f"{RECORD}, event_id STRING, event_time TIMESTAMP"
_ONCE_PER_EVENT = ["topic", "event_id"]


def start_bronze(
    storage: Storage, bootstrap: str, place: Place, batch_records: int
) -> StreamingQuery:
    """The topics from their beginning, at most about `batch_records` in a micro-batch."""
    source = (
        storage.session.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", ",".join(TOPICS))
        .option("startingOffsets", "earliest")
        .option("failOnDataLoss", "true")
        # Spark shares this out among the partitions and rounds down: with one more for each, there
        # is no last micro-batch for what rounding left over.
        .option("maxOffsetsPerTrigger", batch_records + sum(PARTITIONS.values()))
        # At a log's end a poll waits for fetch.max.wait.ms: so polls are few, and waits short.
        .option("kafka.max.poll.records", 5_000)
        .option("kafka.fetch.max.wait.ms", 50)
        # An AdminClient that is about to ask a leader when it dies waits for the second of these.
        .option("kafka.request.timeout.ms", 8_000)
        .option("kafka.default.api.timeout.ms", 10_000)
    )
    records = source.load().select("topic", "partition", "offset", "timestamp", "key", "value")
    # One file a micro-batch: silver then reads whole micro-batches, see _bronze.
    writer = records.repartition(1).writeStream.format(storage.format).queryName("bronze")
    writer = writer.option("checkpointLocation", place.checkpoint("bronze"))
    return writer.trigger(availableNow=True).start(place.bronze)


def start_silver(storage: Storage, place: Place, parser: Parser) -> list[StreamingQuery]:
    """Each event once, into the table of its topic; a query for each topic."""
    return [_start_silver_of(topic, storage, place, parser) for topic in TOPICS]


def _start_silver_of(topic: str, storage: Storage, place: Place, parser: Parser) -> StreamingQuery:
    def write(batch: DataFrame, number: int) -> None:
        """Reads the whole batch, also one that the table has already and does not write again.

        Spark commits a state only for rows that were asked for.  A driver that was killed between
        the table's commit and Spark's would else fail at this batch, at each start.
        """
        batch.persist()
        try:
            batch.count()
            storage.append(events(batch, topic, parser), place.silver(topic), number)
        finally:
            batch.unpersist()

    records = _bronze(storage, place).where(f"topic = '{topic}'")
    good = parsed(records, parser).where("reason IS NULL").drop("key", "value")
    once = good.withWatermark("event_time", WATERMARK).dropDuplicatesWithinWatermark(["event_id"])
    return _each_batch(once, place, f"silver {topic.removeprefix('fleet.')}", write)


def keep_late(storage: Storage, place: Place, parser: Parser) -> int:
    """Keeps the events of bronze that are in no other table; returns how many are new.

    It reads all of bronze, and may be repeated: an event that is kept already is not kept again.
    """
    storage.ensure(place.late, LATE)
    kept = storage.read(place.late)
    known = kept.select("topic", "event_id")
    for topic in TOPICS:
        there = storage.read(place.silver(topic)).selectExpr(f"'{topic}' AS topic", "event_id")
        known = known.union(there)
    letters = storage.read(place.dead_letters).select("topic", "partition", "offset")
    good = parsed(storage.read(place.bronze), parser).where("reason IS NULL")
    missing = good.dropDuplicates(_ONCE_PER_EVENT).join(known, _ONCE_PER_EVENT, "left_anti")
    found = missing.join(letters, letters.columns, "left_anti").select(*_names(LATE)).persist()
    try:
        count = found.count()
        if count:
            storage.insert_missing(found, place.late, *_ONCE_PER_EVENT)
    finally:
        found.unpersist()
    return count


def start_dead_letters(storage: Storage, place: Place, parser: Parser) -> StreamingQuery:
    """The records that the parser refuses, each with its reason."""
    refused = parsed(_bronze(storage, place), parser).where("reason IS NOT NULL")
    writer = refused.select(*_names(RECORD), "reason").writeStream.format(storage.format)
    writer = writer.option("checkpointLocation", place.checkpoint("dead-letters"))
    writer = writer.queryName("dead letters").trigger(availableNow=True)
    return writer.start(place.dead_letters)


def start_gold(storage: Storage, place: Place, gold: Gold) -> Iterable[StreamingQuery]:
    """Brings one gold table up to date with its silver table."""
    checkpoint = place.checkpoint(f"gold-{gold.name}")
    return storage.follow(gold, place.silver(gold.source), place.gold(gold.name), checkpoint)


def replay(storage: Storage, place: Place, parser: Parser) -> int:
    """Reads the dead letters with another parser; returns how many of them it could read.

    First the events are inserted where silver does not have them, then their letters are deleted.
    If this ends in between, the next replay inserts nothing, and deletes the letters.  Replay after
    silver's query has passed the letters' copies, at most 5 minutes after them: its state knows
    the events that it read, and not those of a replay.
    """
    letters = storage.read(place.dead_letters).drop("reason")
    readable = parsed(letters, parser).where("reason IS NULL").persist()
    try:
        count = readable.count()
        once = readable.dropDuplicates(_ONCE_PER_EVENT)
        for topic in TOPICS:
            storage.insert_missing(events(once, topic, parser), place.silver(topic), "event_id")
        storage.delete(readable.select("topic", "partition", "offset"), place.dead_letters)
    finally:
        readable.unpersist()
    return count


def _bronze(storage: Storage, place: Place) -> DataFrame:
    """Bronze as a stream, from its first file on, one file (so one micro-batch) at a time.

    In one large step the watermark would not move before its end, and the state would keep every
    event id.  In steps that have a part of the partitions it would move too far: the other
    part's records of the same minutes would come late.
    """
    return storage.stream(place.bronze, RECORD)


def _each_batch(
    rows: DataFrame, place: Place, name: str, write: Callable[[DataFrame, int], None]
) -> StreamingQuery:
    writer = rows.writeStream.queryName(name).foreachBatch(write)
    writer = writer.option("checkpointLocation", place.checkpoint(name.replace(" ", "-")))
    return writer.trigger(availableNow=True).start()


def _names(columns: str) -> list[str]:
    return [column.split()[0] for column in columns.split(", ")]
