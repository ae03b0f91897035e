"""The records of the metadata log, between message objects and the bytes on disk.

The log `__cluster_metadata-0` is an ordinary log of ordinary record batches.  A record
has no key; its value is a small frame around a message of the schemas:

    frame version   uvarint  1
    record type     uvarint  the message's api key: 3 is a PartitionRecord
    version         uvarint
    body            the message, encoded in that version (flexible)

so that Kafka's dump-log tool (`--cluster-metadata-decoder`) reads our log, and we read
Kafka's.  All records of one change travel in one batch: they are there together or not
at all.  A control batch opens each controller's term (KIP-595).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.records import batch, control
from engine.records.batch import Record
from engine.wire import codec, schema, uuids
from engine.wire import messages as m

METADATA_TOPIC = "__cluster_metadata"
METADATA_TOPIC_ID = uuids.METADATA_TOPIC
METADATA_DIRECTORY = f"{METADATA_TOPIC}-0"
RECORDS_PER_BATCH_MAX = 10_000
"""Kafka refuses a change with more records than this."""

_FRAME_VERSION = 1
_NAMES: dict[int, str] = {
    definition.api_key: name
    for name, definition in schema.load_file("metadata_records").items()
    if definition.api_key is not None
}


@dataclass(frozen=True, slots=True)
class LeaderChange:
    """A controller has begun its term: what the control batch and its header say."""

    leader_id: int
    epoch: int


MetadataRecord = m.Message | LeaderChange
"""What the log says at one offset."""


def version_of(record: m.Message) -> int:
    """The version that Kafka 4.3 writes a record in: as low as its contents allow."""
    if not isinstance(record, m.BrokerRegistrationChangeRecord):
        return record.LATEST
    if record.cordoned_log_dirs is not None:
        return 3
    return 2 if record.log_dirs else 1 if record.in_controlled_shutdown else 0


def encode_record(record: m.Message) -> bytes:
    """The value of one record of the log."""
    version = version_of(record)
    header = (_FRAME_VERSION, record.API_KEY, version)
    return b"".join(map(codec.encode_uvarint, header)) + codec.encode(record, version)


def decode_record(value: bytes) -> m.Message:
    """The message in a record's value; MalformedMessage if there is none."""
    try:
        frame_version, position = codec.decode_uvarint(value, 0)
        record_type, position = codec.decode_uvarint(value, position)
        version, position = codec.decode_uvarint(value, position)
    except IndexError:
        raise codec.MalformedMessage("a metadata record shorter than its frame") from None
    if frame_version != _FRAME_VERSION:
        raise codec.MalformedMessage(f"a metadata record with frame version {frame_version}")
    name = _NAMES.get(record_type)
    if name is None:
        raise codec.MalformedMessage(f"no metadata record has the type {record_type}")
    return codec.decode(name, version, value, position)


def encode_batch(records: Sequence[m.Message], timestamp_ms: int) -> bytes:
    """One batch with the records of one change; the log assigns offsets and epoch."""
    return batch.encode([Record(0, timestamp_ms, None, encode_record(each)) for each in records])


def encode_leader_change(
    leader: int,
    voters: Sequence[int],
    granted_by: Sequence[int],
    epoch: int,
    base_offset: int,
    timestamp_ms: int,
    more: Sequence[control.QuorumMessage] = (),
) -> bytes:
    """The control batch that opens a term, with `more` after its first record."""
    voter = m.LeaderChangeMessage.Voter
    message = m.LeaderChangeMessage(
        version=0,
        leader_id=leader,
        voters=[voter(voter_id=each) for each in voters],
        granting_voters=[voter(voter_id=each) for each in granted_by],
    )
    return control.quorum(
        [message, *more],
        timestamp=timestamp_ms,
        base_offset=base_offset,
        leader_epoch=epoch,
    )


def decode_batches(buffer: bytes) -> Iterator[tuple[int, MetadataRecord]]:
    """Each record's offset and message, control records included (as `LeaderChange`)."""
    for _, position in batch.iterate(buffer):
        yield from decode_batch(buffer, position)


def decode_batch(buffer: bytes, position: int) -> Iterator[tuple[int, MetadataRecord]]:
    """The records of the batch at `position`."""
    header = batch.read_header(buffer, position)
    for record in batch.decode(buffer, position):
        if not header.is_control:
            yield record.offset, decode_record(record.value or b"")
            continue
        message = control.read(record)
        if isinstance(message, m.LeaderChangeMessage):
            yield record.offset, LeaderChange(message.leader_id, header.partition_leader_epoch)
        else:
            yield record.offset, message
