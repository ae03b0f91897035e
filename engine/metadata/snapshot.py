"""A snapshot: the metadata up to one offset, as few records as will do (KIP-630).

    00000000000000000057-0000000003.checkpoint     what offsets 0 to 56 said, the last in epoch 3

    control batch   SnapshotHeader   when the last of those offsets was written
                    KRaftVersion, KRaftVoters    if the voters may change (KIP-853)
    batches         the records of the image (image_records.py), up to 1,024 in each
    control batch   SnapshotFooter

A node that starts, or that has fallen behind the start of the log, takes the newest snapshot and
goes on in the log at its offset.  The batches are numbered from 0; their offsets mean nothing.

Stricter than Kafka: without its footer a snapshot is refused.  Kafka never looks for the footer, so
it takes one that was cut for a whole one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from engine.metadata.records import METADATA_DIRECTORY, MetadataRecord, decode_batch, encode_record
from engine.records import batch, control
from engine.records.batch import Record
from engine.wire import messages as m
from engine.wire.errors import CorruptBatch

SUFFIX = ".checkpoint"
_NAME = re.compile(r"([0-9]{20})-([0-9]{10})\.checkpoint")
RECORDS_PER_BATCH = 1024


class SnapshotId(NamedTuple):
    """Contains everything below `end_offset`; the last of it was written in `epoch`."""

    end_offset: int
    epoch: int

    @property
    def path(self) -> str:
        return f"{METADATA_DIRECTORY}/{self.end_offset:020d}-{self.epoch:010d}{SUFFIX}"

    def __str__(self) -> str:
        return f"{self.end_offset}-{self.epoch}"


def id_of(name: str) -> SnapshotId | None:
    """What a file's name says; None if it is no snapshot."""
    found = _NAME.fullmatch(name)
    return SnapshotId(int(found[1]), int(found[2])) if found else None


def encode(
    snapshot: SnapshotId,
    records: Iterable[m.Message],
    last_timestamp_ms: int,
    now_ms: int,
    voters: Sequence[control.QuorumMessage] = (),
) -> bytes:
    """The file; `last_timestamp_ms` is that of the last record that the snapshot contains.

    `voters` are the records about the quorum, which stand beside the header.
    """
    head = [m.SnapshotHeaderRecord(0, last_timestamp_ms), *voters]
    parts = [_control(head, 0, snapshot, now_ms)]
    offset, left = len(head), iter(records)
    while values := [encode_record(each) for each in islice(left, RECORDS_PER_BATCH)]:
        rows = [Record(0, now_ms, None, value) for value in values]
        parts.append(batch.encode(rows, base_offset=offset, leader_epoch=snapshot.epoch))
        offset += len(rows)
    parts.append(_control([m.SnapshotFooterRecord(0)], offset, snapshot, now_ms))
    return b"".join(parts)


def _control(
    messages: Sequence[control.QuorumMessage], offset: int, snapshot: SnapshotId, now_ms: int
) -> bytes:
    return control.quorum(
        messages, timestamp=now_ms, base_offset=offset, leader_epoch=snapshot.epoch
    )


def decode(data: bytes) -> list[MetadataRecord]:
    """The records between header and footer; CorruptBatch if not all of the file is there.

    MalformedMessage for a record that this engine does not know.
    """
    return _between(list(_records(data)))


def decode_voters(data: bytes) -> list[MetadataRecord]:
    """The records beside the header; CorruptBatch if not all of the file is there."""
    return _between(list(_records(data, control_only=True)))


def _between(found: list[MetadataRecord]) -> list[MetadataRecord]:
    """What is between header and footer."""
    if not found or not isinstance(found[0], m.SnapshotHeaderRecord):
        raise CorruptBatch("it does not begin with a header")
    if not isinstance(found[-1], m.SnapshotFooterRecord):
        raise CorruptBatch("it has no footer: its end is missing")
    return found[1:-1]


def header_of(data: bytes) -> m.SnapshotHeaderRecord | None:
    """What the first batch says; None if it is no snapshot's."""
    first = next(_records(data), None)
    return first if isinstance(first, m.SnapshotHeaderRecord) else None


def _records(data: bytes, *, control_only: bool = False) -> Iterator[MetadataRecord]:
    """Of all batches or only of control batches; every batch is checked."""
    expected = 0
    for header, position in batch.iterate(data):
        batch.validate(data, position)
        if header.base_offset != expected:
            raise CorruptBatch(f"batch {expected} is missing")
        expected = header.next_offset
        if header.is_control or not control_only:
            for _, record in decode_batch(data, position):
                yield record
