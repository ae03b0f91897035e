"""The log of the cluster's metadata: `__cluster_metadata-0` on the controller's disk.

    append --> in the log, known to the controller --flush--> committed: answered, fetched

What a broker has received must survive a power loss of the controller, so nothing above
the high watermark leaves it.  With a quorum the high watermark is what a majority has
written; with one voter it is what has been flushed.  One flush at a time is under way;
what is appended meanwhile goes with the next, so a busy controller does not flush more
often than the disk can.

Each start of the controller is a new epoch, opened by a LeaderChange control batch.  The
log is read from its beginning; there are no snapshots yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.events import Outbox
from engine.metadata.records import (
    METADATA_DIRECTORY,
    METADATA_TOPIC_ID,
    LeaderChange,
    MetadataRecord,
    decode_batches,
    encode_batch,
    encode_leader_change,
)
from engine.storage import checkpoints
from engine.storage.disk import Disk
from engine.storage.log import Log
from engine.storage.log_config import UNLIMITED, LogConfig
from engine.wire.errors import Errors, KafkaError
from engine.wire.structures import Message

FLUSH_TOKEN = "metadata-flush"
REPLAY_BYTES = 1 << 20
_CONFIG = LogConfig(retention_ms=UNLIMITED, max_message_bytes=1 << 30)


class MetadataLog:
    """The log, its flushes, and how far it is committed.  `epoch` is the controller's own."""

    def __init__(self, disk: Disk, outbox: Outbox, now: int) -> None:
        self.outbox = outbox
        self.log = Log(disk, METADATA_DIRECTORY, _CONFIG, now)
        if checkpoints.read_topic_id(disk, METADATA_DIRECTORY) is None:
            checkpoints.write_topic_id(disk, METADATA_DIRECTORY, METADATA_TOPIC_ID)
        self.epoch = max(self.log.latest_epoch, 0) + 1
        self.high_watermark = self.log.log_start_offset
        self.flushing_to: int | None = None

    @property
    def end_offset(self) -> int:
        return self.log.log_end_offset

    def replay(self) -> Iterator[tuple[int, MetadataRecord]]:
        """Every record of the log with its offset."""
        offset = self.log.log_start_offset
        while offset < self.end_offset:
            for found, record in decode_batches(self.log.read(offset, REPLAY_BYTES)):
                yield found, record
                offset = found + 1

    def begin_epoch(self, node_id: int, now: int) -> tuple[int, LeaderChange]:
        """Opens this controller's epoch; gives the offset and what readers will find there."""
        offset = self.end_offset
        self._append(encode_leader_change(node_id, self.epoch, offset, now // 1000), now)
        return offset, LeaderChange(node_id, self.epoch)

    def append(self, records: Sequence[Message], now: int) -> Iterator[tuple[int, Message]]:
        """Appends one change, as one batch; gives each record with its offset."""
        base_offset = self.end_offset
        self._append(encode_batch(records, now // 1000), now)
        return enumerate(records, base_offset)

    def _append(self, data: bytes, now: int) -> None:
        self.log.append_as_leader(data, self.epoch, now, "raft-leader")
        self._flush()

    def _flush(self) -> None:
        if self.flushing_to is None and self.high_watermark < self.end_offset:
            self.flushing_to = self.end_offset
            self.outbox.flush(self.log.directory, (FLUSH_TOKEN,))

    def flushed(self) -> None:
        """A flush is done: what it covered is committed, and what came later is flushed next."""
        assert self.flushing_to is not None, "nothing was being flushed"
        self.high_watermark = self.flushing_to
        self.log.mark_flushed(self.flushing_to)
        self.flushing_to = None
        self._flush()

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Committed batches from the one with `offset` on; empty if there is nothing yet.

        KafkaError(OFFSET_OUT_OF_RANGE) for an offset that this log never reached.
        """
        if offset < self.log.log_start_offset or offset > self.end_offset:
            raise KafkaError(Errors.OFFSET_OUT_OF_RANGE, f"There is no metadata offset {offset}.")
        if offset >= self.high_watermark:
            return b""
        return self.log.read(offset, max_bytes, self.high_watermark)

    def close(self) -> None:
        self.log.close()
