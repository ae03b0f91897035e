"""A partition's log as plain data: its batches, its markers, and the transactions between them.

    offset    0          1          2            3
              Alice -10  Alice -5   COMMIT       Carol -1
              producer 7 ........   of producer 7  producer 8, open

A transaction of a partition begins with the first transactional batch of a producer and ends with
that producer's next marker.  So the log alone tells which records are open, committed or aborted,
and where a reader with read_committed must stop (the last stable offset).  What a broker remembers
beside its log is a short cut to this; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from engine.coordinators import group_records
from engine.coordinators.offsets import OffsetRecord
from engine.coordinators.offsets_topic import OFFSETS_TOPIC
from engine.coordinators.transactions.transaction_records import (
    TRANSACTIONS_TOPIC,
    TransactionRecord,
    decode_record,
)
from engine.records import batch, control
from engine.records.batch import BatchHeader, CorruptBatch, Record
from engine.records.control import ControlType

DATA, COMMIT, ABORT, CONTROL = "data", "commit", "abort", "control"
OPEN, COMMITTED, ABORTED = "open", "committed", "aborted"
MARKERS = {ControlType.COMMIT: COMMIT, ControlType.ABORT: ABORT}
READ_AHEAD = 1 << 20
VALUE_MOST = 64
NOT_READABLE = "(not readable)"
Stored = Mapping[str, Any]
"""A batch: base, last, producer_id, epoch, is_transactional, kind, and its records, each with its
offset and its text.  Of a marker also the coordinator's epoch."""


class Sliced(Protocol):
    """What `slice` of a log finds."""

    def read(self) -> bytes: ...


class Readable(Protocol):
    """The engine's `Log`, and its `Segments` over files of any broker."""

    def slice(
        self, offset: int, max_bytes: int, limit_offset: int | None, at_least_one: bool
    ) -> Sliced | None: ...


@dataclass(frozen=True)
class Transaction:
    """A producer's transaction in one partition; `last` is its marker's offset, -1 while open."""

    producer_id: int
    first: int
    last: int
    fate: str

    def holds(self, stored: Stored) -> bool:
        """Whether a batch of records is part of it."""
        mine = stored["producer_id"] == self.producer_id and stored["is_transactional"]
        return bool(mine and self.first <= stored["base"] and stored["base"] <= self.end)

    @property
    def end(self) -> float:
        return float("inf") if self.last < 0 else self.last


def read(log: Readable, topic: str, start: int, end: int) -> list[Stored]:
    """The batches from an offset on to another."""
    return [_stored(header, data, at, topic) for header, data, at in walk(log, start, end)]


def walk(log: Readable, start: int, end: int) -> Iterator[tuple[BatchHeader, bytes, int]]:
    """Each batch's header, the bytes that it is in, and its place in them."""
    offset = start
    while offset < end:
        piece = log.slice(offset, READ_AHEAD, None, True)
        data, before = piece.read() if piece else b"", offset
        for header, position in batch.iterate(data):
            if header.last_offset >= start:
                yield header, data, position
            offset = header.next_offset
        if offset == before:
            return  # nothing whole is there


def _stored(header: BatchHeader, data: bytes, position: int, topic: str) -> Stored:
    kind, more = CONTROL if header.is_control else DATA, {}
    try:
        records = batch.decode(data, position)
        if header.is_control:
            kind = MARKERS.get(control.control_type(records[0]), CONTROL)
        if kind in (COMMIT, ABORT):
            more["coordinator_epoch"] = control.read_marker(records[0]).coordinator_epoch
        said = [[each.offset, _text(each, topic)] for each in records if kind == DATA]
    except (CorruptBatch, IndexError, ValueError, RuntimeError):
        said = [[header.base_offset, NOT_READABLE]]
    return {
        "base": header.base_offset,
        "last": header.last_offset,
        "producer_id": header.producer_id,
        "epoch": header.producer_epoch,
        "is_transactional": header.is_transactional,
        "kind": kind,
        "records": said,
        **more,
    }


def _text(record: Record, topic: str) -> str:
    if topic == TRANSACTIONS_TOPIC:
        known = decode_record(record.key, record.value)
        return "" if known is None else f"{known.transactional_id}: {state_of(known)}"
    if topic == OFFSETS_TOPIC:
        return _offset(record)
    value = record.value
    return "∅" if value is None else value[:VALUE_MOST].decode("utf-8", "replace")


def _offset(record: Record) -> str:
    """A committed offset in a few words."""
    known = group_records.decode_record(record.key, record.value)
    if not isinstance(known, OffsetRecord):
        return "group"
    committed = known.committed
    return f"{known.topic}-{known.partition}: {'∅' if committed is None else committed.offset}"


def state_of(record: TransactionRecord) -> str:
    return "Dead" if record.metadata is None else str(record.metadata.state)


def state_records(log: Readable, index: int, start: int, end: int) -> list[dict[str, Any]]:
    """What a partition of `__transaction_state` holds, record by record."""
    found = []
    for header, data, position in walk(log, start, end):
        try:
            records = batch.decode(data, position) if not header.is_control else []
        except (CorruptBatch, ValueError, RuntimeError):
            continue
        for each in records:
            known = decode_record(each.key, each.value)
            if known is not None and each.offset >= start:
                found.append(_state_record(known, index, each))
    return found


def _state_record(known: TransactionRecord, index: int, record: Record) -> dict[str, Any]:
    metadata = known.metadata
    told: dict[str, Any] = {
        "partition": index,
        "offset": record.offset,
        "time_ms": record.timestamp,
        "id": known.transactional_id,
        "state": state_of(known),
    }
    if metadata is not None:
        told |= {
            "producer_id": metadata.producer_id,
            "epoch": metadata.producer_epoch,
            "timeout_ms": metadata.timeout_ms,
            "start_ms": metadata.start_ms,
            "partitions": [f"{topic}-{at}" for topic, at in metadata.partitions],
        }
    return told


# -- what follows from the batches alone


def transactions(batches: Iterable[Stored]) -> list[Transaction]:
    """The transactions of a partition in the order in which they begin."""
    open_since: dict[int, int] = {}
    found: list[Transaction] = []
    for each in batches:
        producer = each["producer_id"]
        if each["kind"] == DATA and each["is_transactional"]:
            open_since.setdefault(producer, each["base"])
        elif each["kind"] in (COMMIT, ABORT) and producer in open_since:
            fate = COMMITTED if each["kind"] == COMMIT else ABORTED
            found.append(Transaction(producer, open_since.pop(producer), each["last"], fate))
    found += [Transaction(producer, first, -1, OPEN) for producer, first in open_since.items()]
    return sorted(found, key=lambda each: each.first)


def last_stable_offset(found: Iterable[Transaction], high_watermark: int) -> int:
    """Where a transaction begins that is open, or whose marker may still be lost."""
    unstable = [each.first for each in found if each.last < 0 or each.last >= high_watermark]
    return min([high_watermark, *unstable])


def producers(batches: Iterable[Stored]) -> Iterator[int]:
    """The ids of the producers that wrote them."""
    for each in batches:
        if each["producer_id"] >= 0:
            yield each["producer_id"]
