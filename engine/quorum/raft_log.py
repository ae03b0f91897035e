"""The log of the cluster's metadata: `__cluster_metadata-0` on a controller's disk.

    log start ......... high watermark ......... flushed ......... log end
              committed                on this disk      in this process

A leader appends, followers copy.  An offset is committed once a majority of the voters has it on
its disk; then no election can undo it.  What is above the high watermark may be cut off again, when
another leader's log says something else there.

One flush is under way at a time.  What is appended meanwhile goes with the next, so a busy
controller does not flush more often than its disk can.

Stricter than Kafka: a leader counts itself only with what it has flushed.  Kafka counts what it has
appended, and flushes while its followers fetch.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.events import Outbox
from engine.metadata.records import (
    METADATA_DIRECTORY,
    METADATA_TOPIC_ID,
    MetadataRecord,
    decode_batches,
)
from engine.records import batch
from engine.storage import checkpoints
from engine.storage.disk import Disk
from engine.storage.log import Log
from engine.storage.log_config import UNLIMITED, LogConfig
from engine.wire.errors import Errors, KafkaError

FLUSH_TOKEN = "metadata-flush"
READ_BYTES = 1 << 20
_CONFIG = LogConfig(retention_ms=UNLIMITED, max_message_bytes=1 << 30)


class RaftLog:
    """The log, its flushes, and how far it is committed.

    What a former process has left is taken as not flushed: it may only be in the page cache.
    """

    def __init__(self, disk: Disk, outbox: Outbox, now: int) -> None:
        self.outbox = outbox
        self.log = Log(disk, METADATA_DIRECTORY, _CONFIG, now)
        if checkpoints.read_topic_id(disk, METADATA_DIRECTORY) is None:
            checkpoints.write_topic_id(disk, METADATA_DIRECTORY, METADATA_TOPIC_ID)
        self.high_watermark = self.flushed_to = self.log.log_start_offset
        self.flushing_to: int | None = None

    @property
    def end_offset(self) -> int:
        return self.log.log_end_offset

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record; 0 while there is none."""
        return max(self.log.latest_epoch, 0)

    @property
    def is_flushed(self) -> bool:
        return self.flushed_to == self.end_offset

    # -- writing

    def append(self, data: bytes, epoch: int, now: int) -> None:
        """As leader: one batch, with the next offsets."""
        self.log.append_as_leader(data, epoch, now, "raft-leader")
        self.flush()

    def append_fetched(self, data: bytes, epoch: int) -> None:
        """As follower: batches as the leader has them, none of them of a later epoch."""
        size = 0
        for header, _ in batch.iterate(data):
            if header.partition_leader_epoch > epoch:
                break
            size += header.size_in_bytes
        if size:
            self.log.append_as_follower(data[:size])
            self.flush()

    def truncate(self, epoch: int, end_offset: int) -> None:
        """Cuts back to where this log and the leader's agree, at most at that epoch's end."""
        own_epoch, own_end = self.log.end_offset_for_epoch(epoch)
        if epoch == 0 or own_epoch < 0:
            agreed = min(end_offset, self.end_offset)
        elif own_epoch == epoch:
            agreed = min(own_end, end_offset)
        else:
            agreed = own_end
        if agreed < self.high_watermark:
            raise KafkaError(
                Errors.KAFKA_STORAGE_ERROR,
                f"cutting the metadata log at {agreed} would undo what is committed up to "
                f"{self.high_watermark}",
            )
        end = self.log.truncate_to(agreed)
        self.flushed_to = min(self.flushed_to, end)
        if self.flushing_to is not None:
            self.flushing_to = min(self.flushing_to, end)

    def flush(self) -> None:
        """Begins a flush, unless one is under way or everything is flushed."""
        if self.flushing_to is None and not self.is_flushed:
            self.flushing_to = self.end_offset
            self.outbox.flush(self.log.directory, (FLUSH_TOKEN,))

    def flushed(self) -> None:
        """A flush is done; what came later is flushed next."""
        assert self.flushing_to is not None, "nothing was being flushed"
        self.flushed_to = max(self.flushed_to, self.flushing_to)
        self.log.mark_flushed(self.flushed_to)
        self.flushing_to = None
        self.flush()

    def raise_high_watermark(self, offset: int) -> bool:
        """True if it moved: it never goes back, and never beyond the log's end."""
        offset = min(offset, self.end_offset)
        if offset <= self.high_watermark:
            return False
        self.high_watermark = offset
        return True

    def close(self) -> None:
        self.log.close()

    # -- reading

    def read(self, offset: int, max_bytes: int, limit: int) -> bytes:
        """Batches from the one with `offset` on, below `limit`; empty if there are none.

        KafkaError(OFFSET_OUT_OF_RANGE) for an offset that this log never reached.
        """
        if offset < self.log.log_start_offset or offset > self.end_offset:
            raise KafkaError(Errors.OFFSET_OUT_OF_RANGE, f"There is no metadata offset {offset}.")
        if offset >= limit:
            return b""
        return self.log.read(offset, max_bytes, limit)

    def records(self, offset: int, limit: int) -> Iterator[tuple[int, MetadataRecord]]:
        """Every record from `offset` up to `limit`, with its offset."""
        while offset < limit and (data := self.log.read(offset, READ_BYTES, limit)):
            for found, record in decode_batches(data):
                if found >= offset:
                    yield found, record
                    offset = found + 1

    def agrees(self, epoch: int, offset: int) -> tuple[int, int] | None:
        """None if a log that ends at (epoch, offset) is a part of this one.

        Else the (epoch, end offset) up to which it may be: the largest epoch here that is not later
        than `epoch`, and where that epoch ends.
        """
        if offset == 0 and self.log.log_start_offset == 0:
            return None
        found_epoch, end = self.log.end_offset_for_epoch(epoch)
        if found_epoch < 0:
            found_epoch, end = self.last_epoch, self.end_offset
        return None if found_epoch == epoch and end >= offset else (found_epoch, end)
