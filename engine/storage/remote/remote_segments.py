"""All remote segments of one partition, as the metadata says, and which of them has an offset.

    remote   [ 0..99 ][ 100..199 ][ 200..299 ]
    local                         [ 200..299 ][ 300.. active ]
                                  ^ local log start offset

The metadata is a list of records, added to and never changed.  A broker that leads or follows the
partition applies the new ones, in order, and so knows what its predecessors have copied.

After a leader change a segment may be in the tier twice: the new leader goes on behind what it
finds, and its segments begin and end elsewhere.  Of those that hold an offset in its epoch, the
one copied last is read.

Simplified: Kafka keeps these records in the 50 partitions of the internal topic
`__remote_log_metadata`, which brokers write and read as clients do.  Here the same records are
in a file for each partition, beside the segments; kafka-dump-log reads it
(--remote-log-metadata-decoder).
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.records import batch
from engine.records.batch import Record
from engine.storage import file_names
from engine.storage.disk import Disk
from engine.storage.remote.segment_metadata import (
    RemoteLogSegmentMetadata,
    SegmentRecord,
    TopicIdPartition,
    decode_record,
    encode_record,
    of_record,
)
from engine.storage.remote.segment_states import RemoteLogSegmentState, may_follow
from engine.wire import messages as m
from engine.wire import uuids

METADATA_DIRECTORY = "__remote_log_metadata"
NONE_COPIED = -1


class RemoteSegments:
    """What the tier has of one partition; `refresh` before use, to learn what others wrote."""

    def __init__(self, tier: Disk, partition: TopicIdPartition) -> None:
        self.tier = tier
        self.partition = partition
        self.by_id: dict[bytes, RemoteLogSegmentMetadata] = {}
        """In the order in which they were copied."""
        self._position = 0
        self._next_offset = 0

    @property
    def directory(self) -> str:
        """The folder of the metadata's file, in the tier."""
        where = self.partition
        name = f"{where.topic}-{where.index}-{uuids.to_text(where.topic_id)}"
        return f"{METADATA_DIRECTORY}/{name}"

    @property
    def path(self) -> str:
        return file_names.of_offset(self.directory, 0, file_names.LOG)

    # -- the records

    def refresh(self) -> bool:
        """Applies the records that were added since; True if there were any."""
        size = self.tier.size(self.path) if self.tier.exists(self.path) else 0
        if size <= self._position:
            return False
        data = self.tier.read(self.path, self._position, size - self._position)
        for header, position in batch.iterate(data):
            for record in batch.decode(data, position):
                self._apply(decode_record(record.value or b""))
            self._position += header.size_in_bytes
            self._next_offset = header.next_offset
        return True

    def add(self, segment: RemoteLogSegmentMetadata) -> None:
        """Writes down that a copy begins."""
        self._write(segment.added_record(), segment.event_timestamp_ms)

    def update(
        self, segment: RemoteLogSegmentMetadata, state: RemoteLogSegmentState, broker: int, now: int
    ) -> RemoteLogSegmentMetadata:
        """Writes down a segment's next state; ValueError if it may not follow."""
        self.refresh()
        known = self.by_id.get(segment.id)
        if known is None:
            raise ValueError("there is no such remote segment, or not any more")
        changed = known.updated(state, broker, now)
        self._write(changed.update_record(), now)
        return changed

    def _write(self, record: SegmentRecord, now_ms: int) -> None:
        self.refresh()
        if self.tier.exists(self.path):
            self.tier.truncate(self.path, self._position)  # a record that a crash cut short
        data = batch.encode(
            [Record(0, now_ms, None, encode_record(record))],
            base_offset=self._next_offset,
            leader_epoch=0,
        )
        self.tier.append(self.path, data)
        self.tier.flush(self.path)
        self.refresh()

    def _apply(self, record: SegmentRecord) -> None:
        """A record that does not fit is passed over, as in Kafka's cache."""
        if isinstance(record, m.RemoteLogSegmentMetadataRecord):
            segment = of_record(record)
            if may_follow(None, segment.state):
                self.by_id[segment.id] = segment
            return
        known = self.by_id.get(record.remote_log_segment_id.id)
        state = RemoteLogSegmentState(record.remote_log_segment_state)
        if known is None or not may_follow(known.state, state):
            return
        changed = known.updated(state, record.broker_id, record.event_timestamp_ms)
        if state is RemoteLogSegmentState.DELETE_SEGMENT_FINISHED:
            del self.by_id[known.id]
        else:
            self.by_id[known.id] = changed

    # -- looking

    @property
    def readable(self) -> list[RemoteLogSegmentMetadata]:
        """The segments whose copy is complete, by their first offset."""
        found = [each for each in self.by_id.values() if each.is_readable]
        return sorted(found, key=_start_offset)

    def with_offset(self, epoch: int, offset: int) -> RemoteLogSegmentMetadata | None:
        """The segment that holds an offset in the epoch that the log has for it."""
        found = None
        for each in self.by_id.values():
            if each.is_readable and each.holds(epoch, offset):
                found = each
        return found

    def highest_offset(self, epochs: Iterable[tuple[int, int]]) -> int:
        """The last offset that was copied of a log with these epochs; -1 if none was.

        From the latest epoch back, since a later one has the higher offsets: what an earlier leader
        copied beyond that epoch's end is not part of this log.
        """
        ends: int | None = None
        for epoch, start in sorted(epochs, reverse=True):
            held = [
                min(each.end_offset, _last_of(each, epoch))
                for each in self.by_id.values()
                if each.is_readable and any(epoch == known for known, _ in each.epochs)
            ]
            if held:
                highest = max(held)
                return highest if ends is None else min(highest, ends - 1)
            ends = start
        return NONE_COPIED


def _start_offset(segment: RemoteLogSegmentMetadata) -> int:
    return segment.start_offset


def _last_of(segment: RemoteLogSegmentMetadata, epoch: int) -> int:
    """The last offset that a segment has of an epoch."""
    later = [start for each, start in segment.epochs if each > epoch]
    return min(later) - 1 if later else segment.end_offset
