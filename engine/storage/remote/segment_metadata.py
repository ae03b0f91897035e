"""What is known of one remote segment, and the records that say it.

    RemoteLogSegmentMetadataRecord (0)         a copy begins: offsets, epochs, size, largest time
    RemoteLogSegmentMetadataUpdateRecord (1)   its state is another one now

The leader epochs are part of it: two leaders may each have copied a segment with the same offsets,
and only one of the two belongs to the log's history.  An offset is looked up together with
the epoch that the log has for it.

A record's value is framed as in the metadata log: frame version 1, type, version, message.
Simplified: no custom metadata; a folder needs none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.storage.remote.segment_states import RemoteLogSegmentState, may_follow
from engine.wire import codec, schema
from engine.wire import messages as m

_FRAME_VERSION = 1
_VERSION = 0
_NAMES = {each.api_key: name for name, each in schema.load_file("remote_log_metadata").items()}

SegmentRecord = m.RemoteLogSegmentMetadataRecord | m.RemoteLogSegmentMetadataUpdateRecord


@dataclass(frozen=True, slots=True)
class TopicIdPartition:
    """A partition of one topic, not of its namesake before or after."""

    topic: str
    topic_id: bytes
    index: int


@dataclass(frozen=True, slots=True)
class RemoteLogSegmentMetadata:
    """One remote segment; `end_offset` is its last offset, `epochs` are (epoch, first offset)."""

    partition: TopicIdPartition
    id: bytes
    start_offset: int
    end_offset: int
    max_timestamp_ms: int
    size_in_bytes: int
    epochs: tuple[tuple[int, int], ...]
    broker_id: int
    event_timestamp_ms: int
    has_aborts: bool = False
    state: RemoteLogSegmentState = RemoteLogSegmentState.COPY_SEGMENT_STARTED

    @property
    def is_readable(self) -> bool:
        return self.state is RemoteLogSegmentState.COPY_SEGMENT_FINISHED

    def holds(self, epoch: int, offset: int) -> bool:
        """Whether it has this offset as that epoch's leader wrote it."""
        starts = [start for each, start in self.epochs if each == epoch]
        if not starts or not max(starts[0], self.start_offset) <= offset <= self.end_offset:
            return False
        return all(offset < start for each, start in self.epochs if each > epoch)

    def updated(
        self, state: RemoteLogSegmentState, broker_id: int, now_ms: int
    ) -> RemoteLogSegmentMetadata:
        """ValueError for a state that may not follow."""
        if not may_follow(self.state, state):
            raise ValueError(f"a remote segment does not go from {self.state.name} to {state.name}")
        return replace(self, state=state, broker_id=broker_id, event_timestamp_ms=now_ms)

    def added_record(self) -> m.RemoteLogSegmentMetadataRecord:
        """The record that begins its life."""
        record = m.RemoteLogSegmentMetadataRecord
        return record(
            remote_log_segment_id=record.RemoteLogSegmentIdEntry(
                topic_id_partition=record.TopicIdPartitionEntry(
                    name=self.partition.topic,
                    id=self.partition.topic_id,
                    partition=self.partition.index,
                ),
                id=self.id,
            ),
            start_offset=self.start_offset,
            end_offset=self.end_offset,
            broker_id=self.broker_id,
            max_timestamp_ms=self.max_timestamp_ms,
            event_timestamp_ms=self.event_timestamp_ms,
            segment_leader_epochs=[
                record.SegmentLeaderEpochEntry(leader_epoch=epoch, offset=start)
                for epoch, start in self.epochs
            ],
            segment_size_in_bytes=self.size_in_bytes,
            remote_log_segment_state=self.state,
            txn_index_empty=not self.has_aborts,
        )

    def update_record(self) -> m.RemoteLogSegmentMetadataUpdateRecord:
        """The record that says its present state."""
        record = m.RemoteLogSegmentMetadataUpdateRecord
        return record(
            remote_log_segment_id=record.RemoteLogSegmentIdEntry(
                topic_id_partition=record.TopicIdPartitionEntry(
                    name=self.partition.topic,
                    id=self.partition.topic_id,
                    partition=self.partition.index,
                ),
                id=self.id,
            ),
            broker_id=self.broker_id,
            event_timestamp_ms=self.event_timestamp_ms,
            remote_log_segment_state=self.state,
        )


def of_record(record: m.RemoteLogSegmentMetadataRecord) -> RemoteLogSegmentMetadata:
    key = record.remote_log_segment_id
    where = key.topic_id_partition
    return RemoteLogSegmentMetadata(
        TopicIdPartition(where.name, where.id, where.partition),
        key.id,
        record.start_offset,
        record.end_offset,
        record.max_timestamp_ms,
        record.segment_size_in_bytes,
        tuple((each.leader_epoch, each.offset) for each in record.segment_leader_epochs),
        record.broker_id,
        record.event_timestamp_ms,
        not record.txn_index_empty,
        RemoteLogSegmentState(record.remote_log_segment_state),
    )


def encode_record(record: SegmentRecord) -> bytes:
    """The value of one record of the remote log metadata."""
    assert record.API_KEY is not None, "a stored record has a type"
    header = (_FRAME_VERSION, record.API_KEY, _VERSION)
    return b"".join(map(codec.encode_uvarint, header)) + codec.encode(record, _VERSION)


def decode_record(value: bytes) -> SegmentRecord:
    """The message in a record's value; MalformedMessage if there is none."""
    try:
        frame_version, position = codec.decode_uvarint(value, 0)
        kind, position = codec.decode_uvarint(value, position)
        version, position = codec.decode_uvarint(value, position)
    except IndexError:
        raise codec.MalformedMessage("a remote log record shorter than its frame") from None
    if frame_version != _FRAME_VERSION or kind not in _NAMES:
        raise codec.MalformedMessage(f"no remote log record has frame {frame_version}, type {kind}")
    message = codec.decode(_NAMES[kind], version, value, position)
    assert isinstance(
        message, m.RemoteLogSegmentMetadataRecord | m.RemoteLogSegmentMetadataUpdateRecord
    )
    return message
