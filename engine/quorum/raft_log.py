"""The log of the cluster's metadata: `__cluster_metadata-0` on the disk of every node.

    log start ......... high watermark ......... flushed ......... log end
              committed                on this disk      in this process

A leader appends, followers copy.  An offset is committed once a majority of the voters has it on
its disk; then no election can undo it.  What is above the high watermark may be cut off again, when
another leader's log says something else there.

One flush is under way at a time.  What is appended meanwhile goes with the next, so a busy
controller does not flush more often than its disk can.

A snapshot stands for everything below its offset (snapshots.py).  Of an older one, and of the log
below the next, nothing is needed; they go when log and snapshots together are too large or too old.

Stricter than Kafka: a leader counts itself only with what it has flushed.  Kafka counts what it has
appended, and flushes while its followers fetch.  Simplified: old snapshots go when a new one is
written (before it, so that who is a little behind can still read on in the log); Kafka looks once a
minute.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from engine.events import Outbox
from engine.metadata import snapshot
from engine.metadata.image import MetadataImage
from engine.metadata.records import (
    METADATA_DIRECTORY,
    METADATA_TOPIC_ID,
    MetadataRecord,
    decode_batch,
    decode_batches,
)
from engine.metadata.snapshot import SnapshotId
from engine.quorum.snapshots import Snapshots
from engine.quorum.voter_history import BEFORE_THE_LOG, VoterHistory
from engine.records import batch
from engine.settings import Settings
from engine.storage import checkpoints
from engine.storage.disk import Disk
from engine.storage.log import Log
from engine.storage.log_config import UNLIMITED, LogConfig
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

FLUSH_TOKEN = "metadata-flush"
READ_BYTES = 1 << 20


class EpochEnd(NamedTuple):
    """Where an epoch ends in a log."""

    epoch: int
    end_offset: int


class RaftLog:
    """The log, its flushes, and how far it is committed.

    What a former process has left is taken as not flushed: it may only be in the page cache.
    A broker's copy `flushes` nothing: no majority counts on it, and what is lost is fetched again.
    """

    def __init__(
        self,
        disk: Disk,
        settings: Settings,
        outbox: Outbox,
        now: int,
        history: VoterHistory | None = None,
        *,
        flushes: bool = True,
    ) -> None:
        self.history = history or VoterHistory()
        self.flushes = flushes
        self.settings = settings
        self.outbox = outbox
        self.log = Log(disk, METADATA_DIRECTORY, _log_config(settings), now)
        if checkpoints.read_topic_id(disk, METADATA_DIRECTORY) is None:
            checkpoints.write_topic_id(disk, METADATA_DIRECTORY, METADATA_TOPIC_ID)
        self.snapshots = Snapshots(disk)
        self._begin_at_snapshot()
        self._read_voters()
        newest = self.snapshots.newest
        self.high_watermark = newest.end_offset if newest else 0
        self.flushed_to = self.start_offset
        self.flushing_to: int | None = None
        self.size_behind = self.log.bytes_between(self.high_watermark)
        self.looked_at = now

    def _begin_at_snapshot(self) -> None:
        """The log begins at 0 or at a snapshot; KafkaError if there is none, or it is damaged."""
        start = self.start_offset
        self.snapshots.delete_below(start)
        newest = self.snapshots.newest
        if newest is None:
            if start:
                raise KafkaError(
                    Errors.KAFKA_STORAGE_ERROR,
                    f"the metadata log begins at {start}, and there is no snapshot of what came "
                    f"before: copy the newest {snapshot.SUFFIX} file from another node into "
                    f"{METADATA_DIRECTORY}",
                )
            return
        self.snapshots.voters(newest)
        if (newest.epoch, newest.end_offset) > (max(self.log.latest_epoch, 0), self.end_offset):
            # Of another leader's log, or the process ended before it had deleted what came before.
            self.log.truncate_fully_and_start_at(newest.end_offset)
            self.snapshots.delete_below(newest.end_offset)
        elif start:
            self.log.advance_log_start(self.snapshots.ids[0].end_offset)

    def _read_voters(self) -> None:
        """From the format on, what snapshot and log say of the voters."""
        for record in self.snapshots.bootstrap():
            self.history.read(BEFORE_THE_LOG, record)
        newest = self.snapshots.newest
        if newest is not None:
            self.history.restart_at(newest.end_offset, self.snapshots.voters(newest))
        offset = newest.end_offset if newest else 0
        while offset < self.end_offset and (data := self.log.read(offset, READ_BYTES)):
            offset = max(offset + 1, self._take_voters(data))

    def _take_voters(self, data: bytes) -> int:
        """Voters count from here on, committed or not; gives the offset after these batches."""
        end = 0
        for header, position in batch.iterate(data):
            end = header.next_offset
            if header.is_control:
                for offset, record in decode_batch(data, position):
                    self.history.read(offset, record)
        return end

    @property
    def start_offset(self) -> int:
        return self.log.log_start_offset

    @property
    def end_offset(self) -> int:
        return self.log.log_end_offset

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record; 0 while there has been none."""
        newest = self.snapshots.newest
        return max(self.log.latest_epoch, newest.epoch if newest else 0)

    @property
    def last(self) -> tuple[int, int]:
        """(epoch, offset) at which it ends: the later of two logs has the larger one."""
        return self.last_epoch, self.end_offset

    @property
    def is_flushed(self) -> bool:
        return self.flushed_to == self.end_offset

    # -- writing

    def append(self, data: bytes, epoch: int, now: int) -> None:
        """As leader: one batch, with the next offsets."""
        self.log.append_as_leader(data, epoch, now, "raft-leader")
        self.size_behind += len(data)
        self._take_voters(data)
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
            self.size_behind += size
            self._take_voters(data[:size])
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
            raise self._undone(agreed)
        end = self.log.truncate_to(agreed)
        self.history.truncate_to(end)
        self._measure()
        self.flushed_to = min(self.flushed_to, end)
        if self.flushing_to is not None:
            self.flushing_to = min(self.flushing_to, end)

    def _undone(self, offset: int) -> KafkaError:
        return KafkaError(
            Errors.KAFKA_STORAGE_ERROR,
            f"cutting the metadata log at {offset} would undo what is committed up to "
            f"{self.high_watermark}",
        )

    def flush(self) -> None:
        """Begins a flush, unless one is under way or everything is flushed."""
        if self.flushes and self.flushing_to is None and not self.is_flushed:
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

    # -- snapshots

    def needs_snapshot(self, now: int) -> bool:
        """Whether so much, or so old, is committed behind the newest one."""
        newest = self.snapshots.newest
        if self.high_watermark <= (newest.end_offset if newest else 0):
            return False
        interval_ms: int = self.settings["metadata.log.max.snapshot.interval.ms"]
        is_old = interval_ms > 0 and now - self.looked_at >= interval_ms * 1000
        return is_old or self.size_behind >= self.settings[
            "metadata.log.max.record.bytes.between.snapshots"
        ]  # fmt: skip

    def write_snapshot(self, now: int, epoch: int, records: Iterable[m.Message]) -> SnapshotId:
        """Of everything that is committed: `epoch` is that of the last committed record."""
        new, now_ms = SnapshotId(self.high_watermark, epoch), now // 1000
        last_ms = self._timestamp_before(new.end_offset)
        voters = self.history.before(new.end_offset)
        data = snapshot.encode(new, records, last_ms, now_ms, voters)
        self._clean(now_ms)
        self.snapshots.write(new, data)
        self.looked_at = now
        self._measure()
        return new

    def restart_at(self, now: int, new: SnapshotId, data: bytes) -> None:
        """As follower: the leader's snapshot takes the place of a log that ends before it."""
        if new.end_offset < self.high_watermark:
            raise self._undone(new.end_offset)
        self.snapshots.write(new, data)
        self.log.truncate_fully_and_start_at(new.end_offset)
        self.snapshots.delete_below(new.end_offset)
        self.history.restart_at(new.end_offset, snapshot.decode_voters(data))
        self.high_watermark = self.flushed_to = new.end_offset
        self.looked_at = now
        self._measure()

    def committed(self) -> MetadataImage:
        """What the newest snapshot and the log say up to the high watermark."""
        image = MetadataImage()
        self.replay(image)
        return image

    def replay(self, image: MetadataImage) -> None:
        """Applies the same to an image that is empty."""
        newest = self.snapshots.newest
        if newest is not None:
            for record in self.snapshots.load(newest):
                image.apply(record)
            image.offset, image.epoch = newest
        for offset, record in self.records(image.offset, self.high_watermark):
            image.apply(record)
            image.offset = offset + 1

    def _measure(self) -> None:
        newest = self.snapshots.newest
        self.size_behind = self.log.bytes_between(newest.end_offset if newest else 0)

    def _timestamp_before(self, offset: int) -> int:
        return batch.read_header(self.log.read(offset - 1, 1)).max_timestamp

    def _clean(self, now_ms: int) -> None:
        """Deletes the oldest snapshot, and the log below the next; one snapshot always stays."""
        while len(self.snapshots.ids) > 1 and self._is_too_much(now_ms):
            kept = self.snapshots.ids[1].end_offset
            self.log.advance_log_start(kept)
            self.snapshots.delete_below(kept)

    def _is_too_much(self, now_ms: int) -> bool:
        max_bytes: int = self.settings["metadata.max.retention.bytes"]
        max_age_ms: int = self.settings["metadata.max.retention.ms"]
        size = self.log.size_in_bytes + self.snapshots.size_in_bytes
        if 0 <= max_bytes < size:
            return True
        oldest = self.snapshots.last_timestamp(self.snapshots.ids[0])
        return 0 <= max_age_ms < now_ms - oldest

    # -- reading

    def read(self, offset: int, max_bytes: int, limit: int) -> bytes:
        """Batches from the one with `offset` on, below `limit`; empty if there are none.

        KafkaError(OFFSET_OUT_OF_RANGE) for an offset that this log never reached.
        """
        if offset < self.start_offset or offset > self.end_offset:
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

    def snapshot_for(self, offset: int) -> SnapshotId | None:
        """What a reader needs that has everything below `offset`, if the log alone won't do."""
        return self.snapshots.newest if offset == 0 or offset < self.start_offset else None

    def differs(self, epoch: int, offset: int) -> SnapshotId | EpochEnd | None:
        """None if a log that ends at (epoch, offset) is a part of this one.

        Else up to where it may be: the largest epoch here that is not later than `epoch`, and where
        that epoch ends.  What is below this log's start is in its newest snapshot.
        """
        needed = self.snapshot_for(offset)
        if needed is not None or offset == 0:
            return needed
        if self.snapshots.ids:
            oldest = self.snapshots.ids[0]
            if (oldest.end_offset, oldest.epoch) == (offset, epoch):
                return None
            if epoch < oldest.epoch or offset == self.start_offset:
                return self.snapshots.newest
        found = EpochEnd(*self.log.end_offset_for_epoch(epoch))
        if found.epoch < 0:
            found = EpochEnd(self.last_epoch, self.end_offset)
        return None if found.epoch == epoch and found.end_offset >= offset else found


def _log_config(settings: Settings) -> LogConfig:
    segment_bytes = settings["internal.metadata.log.segment.bytes"]
    return LogConfig(
        segment_bytes=segment_bytes or settings["metadata.log.segment.bytes"],
        segment_ms=settings["metadata.log.segment.ms"],
        retention_ms=UNLIMITED,
        max_message_bytes=1 << 30,
    )
