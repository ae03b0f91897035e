"""Snapshots of the producers' states, so that a restart need not read the whole log.

    00000000000000000042.snapshot    int16 version | uint32 CRC-32C | entries
                                                                   covered by the CRC

A snapshot at offset 42 holds what the batches below 42 say.  One is taken whenever a
segment is rolled (at its base offset) and when the log is closed (at its end).  After a
start, or a truncation, the latest one that is not beyond the log's end is loaded and the
batches from there on are replayed.

Kafka's snapshot keeps only the last batch of each producer, so after a restart a
duplicate older than that is refused as out of order instead of recognized.
"""

from __future__ import annotations

import struct

from engine.records.crc32c import crc32c
from engine.storage import file_names
from engine.storage.disk import Disk
from engine.storage.producer_states import ProducerState, ProducerStates, RememberedBatch
from engine.wire import codec
from engine.wire import messages as m

_VERSION = 1
_HEAD = struct.Struct(">hI")
_CRC_SIZE = 4


class CorruptSnapshot(Exception):
    """A damaged snapshot; the one before it is used instead."""


def encode(producers: ProducerStates) -> bytes:
    entries = [
        m.ProducerSnapshot.ProducerEntry(
            producer_id=producer_id,
            epoch=state.epoch,
            last_sequence=state.last_sequence,
            last_offset=state.batches[-1].last_offset if state.batches else -1,
            offset_delta=state.batches[-1].offset_delta if state.batches else 0,
            timestamp=state.last_timestamp,
            coordinator_epoch=state.coordinator_epoch,
            current_txn_first_offset=state.transaction_start,
        )
        for producer_id, state in sorted(producers, key=_producer_id)
    ]
    body = codec.encode(m.ProducerSnapshot(crc=0, producer_entries=entries), _VERSION)
    covered = body[_CRC_SIZE:]
    return _HEAD.pack(_VERSION, crc32c(covered)) + covered


def _producer_id(item: tuple[int, ProducerState]) -> int:
    return item[0]


def decode(data: bytes) -> dict[int, ProducerState]:
    try:
        version, crc = _HEAD.unpack_from(data)
    except struct.error:
        raise CorruptSnapshot("shorter than its head") from None
    if version != _VERSION:
        raise CorruptSnapshot(f"version {version}")
    if crc != crc32c(memoryview(data)[_HEAD.size :]):
        raise CorruptSnapshot("wrong checksum")
    try:
        message = codec.decode(m.ProducerSnapshot, _VERSION, data, 2)
    except codec.MalformedMessage as error:
        raise CorruptSnapshot(str(error)) from None
    return {entry.producer_id: _state(entry) for entry in message.producer_entries}


def _state(entry: m.ProducerSnapshot.ProducerEntry) -> ProducerState:
    batches = []
    if entry.last_offset >= 0:
        batches.append(
            RememberedBatch(
                entry.last_sequence, entry.last_offset, entry.offset_delta, entry.timestamp
            )
        )
    return ProducerState(
        entry.epoch,
        batches,
        entry.coordinator_epoch,
        entry.timestamp,
        entry.current_txn_first_offset,
    )


class ProducerSnapshots:
    """The snapshot files of one log."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self.disk = disk
        self.directory = directory
        self.offsets = file_names.offsets(disk.list(directory), file_names.PRODUCER_SNAPSHOT)

    def take(self, producers: ProducerStates, offset: int) -> None:
        """Writes a snapshot at `offset`; not flushed, as its loss only costs time."""
        path = self._path(offset)
        self.disk.delete(path)
        self.disk.append(path, encode(producers))
        if offset not in self.offsets:
            self.offsets = sorted([*self.offsets, offset])

    def load(self, producers: ProducerStates, start_offset: int, end_offset: int) -> int:
        """Loads the latest in (start, end]; its offset, or the start: replay begins there.

        Snapshots outside that range, and corrupt ones, are deleted.
        """
        loaded = self.read(producers, start_offset, end_offset)
        for offset in [o for o in self.offsets if not start_offset < o <= loaded]:
            self.delete(offset)
        return loaded

    def read(self, producers: ProducerStates, start_offset: int, end_offset: int) -> int:
        """The same, and no file is deleted."""
        producers.restore({})
        for offset in reversed(self.offsets):
            if not start_offset < offset <= end_offset:
                continue
            path = self._path(offset)
            try:
                producers.restore(decode(self.disk.read(path, 0, self.disk.size(path))))
                return offset
            except CorruptSnapshot:
                continue
        return start_offset

    def delete_before(self, offset: int) -> None:
        for each in [o for o in self.offsets if o < offset]:
            self.delete(each)

    def keep_only(self, base_offsets: list[int], end_offset: int) -> None:
        """Deletes strays: a snapshot belongs to a segment's start or to the log's end."""
        for offset in [o for o in self.offsets if o not in base_offsets and o != end_offset]:
            self.delete(offset)

    def delete(self, offset: int) -> None:
        self.disk.delete(self._path(offset))
        self.offsets = [o for o in self.offsets if o != offset]

    def _path(self, offset: int) -> str:
        return file_names.of_offset(self.directory, offset, file_names.PRODUCER_SNAPSHOT)
