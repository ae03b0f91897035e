"""Control records: what the brokers write into a log beside the users' data.

A batch with the control bit holds records whose keys are two 16-bit numbers, a version and a
type; the end of a transaction has a batch to itself.  They take offsets like any record
(which is why a transactional topic has gaps in what a consumer sees), are replicated like
any, and no client hands them to the application.

* ABORT and COMMIT end a transaction of one producer in one partition (KIP-98).  The batch
  carries that producer's id and epoch; the value names the coordinator's epoch, so that a
  deposed coordinator can no longer decide.
* LEADER_CHANGE opens each epoch of the metadata log (KIP-595): who leads, who voted.
* The others head and close a snapshot of that log (KIP-630) and record the quorum's
  version and voters (KIP-853).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntEnum

from engine.records.batch import CorruptBatch, Record, encode
from engine.wire import codec
from engine.wire import messages as m

_KEY = struct.Struct(">hh")
_VERSION = struct.Struct(">h")
_CURRENT_VERSION = 0


class ControlType(IntEnum):
    """The second number of a control record's key."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


QuorumMessage = (
    m.LeaderChangeMessage
    | m.SnapshotHeaderRecord
    | m.SnapshotFooterRecord
    | m.KRaftVersionRecord
    | m.VotersRecord
)

_MESSAGES: dict[ControlType, type[m.Message]] = {
    ControlType.LEADER_CHANGE: m.LeaderChangeMessage,
    ControlType.SNAPSHOT_HEADER: m.SnapshotHeaderRecord,
    ControlType.SNAPSHOT_FOOTER: m.SnapshotFooterRecord,
    ControlType.KRAFT_VERSION: m.KRaftVersionRecord,
    ControlType.KRAFT_VOTERS: m.VotersRecord,
}
_KINDS = {message: kind for kind, message in _MESSAGES.items()}


def end_transaction(
    *,
    commit: bool,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int,
    timestamp: int,
    leader_epoch: int = -1,
) -> bytes:
    """The batch that commits or aborts a producer's transaction in one partition."""
    kind = ControlType.COMMIT if commit else ControlType.ABORT
    marker = m.EndTxnMarker(coordinator_epoch=coordinator_epoch)
    value = _VERSION.pack(_CURRENT_VERSION) + codec.encode(marker, _CURRENT_VERSION)
    return encode(
        [Record(0, timestamp, _KEY.pack(_CURRENT_VERSION, kind), value)],
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        leader_epoch=leader_epoch,
        transactional=True,
        control=True,
    )


def quorum(
    messages: Sequence[QuorumMessage], *, timestamp: int, base_offset: int, leader_epoch: int
) -> bytes:
    """A batch of the metadata log with records of the quorum's own.

    `version` of a message is the version that it is written in.
    """
    records = [
        Record(
            base_offset + number,
            timestamp,
            _KEY.pack(_CURRENT_VERSION, _KINDS[type(message)]),
            codec.encode(message, message.version),
        )
        for number, message in enumerate(messages)
    ]
    return encode(records, base_offset=base_offset, leader_epoch=leader_epoch, control=True)


def control_type(record: Record) -> ControlType:
    """What a record of a control batch is; CorruptBatch for a type that does not exist."""
    try:
        return ControlType(_KEY.unpack_from(record.key or b"")[1])
    except (struct.error, ValueError):
        raise CorruptBatch(f"the record at offset {record.offset} is no control record") from None


def read(record: Record) -> m.Message:
    """The message inside a control record: `m.EndTxnMarker`, `m.LeaderChangeMessage`, …"""
    kind, value = control_type(record), record.value or b""
    if kind in (ControlType.ABORT, ControlType.COMMIT):
        return read_marker(record)
    try:
        (version,) = _VERSION.unpack_from(value)
        return codec.decode(_MESSAGES[kind], version, value)
    except (struct.error, codec.MalformedMessage) as error:
        raise _corrupt(kind, record, error) from None


def read_marker(record: Record) -> m.EndTxnMarker:
    """The message of a record that ends a transaction; of a newer version, the known fields."""
    value = record.value or b""
    try:
        (version,) = _VERSION.unpack_from(value)
        known = min(version, m.EndTxnMarker.LATEST)
        return codec.decode_prefix(m.EndTxnMarker, known, value, _VERSION.size)[0]
    except (struct.error, codec.MalformedMessage) as error:
        raise _corrupt(control_type(record), record, error) from None


def _corrupt(kind: ControlType, record: Record, error: Exception) -> CorruptBatch:
    return CorruptBatch(f"the {kind.name} at offset {record.offset}: {error}")
