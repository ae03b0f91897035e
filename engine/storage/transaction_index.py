"""The transaction index: which transactions were aborted in a segment.

    entry, 34 bytes:  version int16 | producer id int64 | first offset int64 |
                      last offset int64 | last stable offset int64

An entry is written when an abort marker arrives, into the segment of the marker.  A fetch with
read_committed gets, beside the batches, the aborted transactions among them.  The consumer drops a
producer's batches from the first offset on until it meets the abort marker.  Without the index the
broker would have to read ahead to each marker.

The *last stable offset* in an entry is the one right after the abort: everything below it was
decided.  Entries come in the order of markers, so a look-up that meets an entry whose last
stable offset is not below the end of its range has seen all it needs, and stops.

The file exists only where a transaction was aborted (KIP-98).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from engine.storage.disk import Disk
from engine.storage.offset_index import CorruptIndex

_ENTRY = struct.Struct(">hqqqq")
ENTRY_SIZE = _ENTRY.size
_VERSION = 0


@dataclass(frozen=True, slots=True)
class AbortedTransaction:
    """From its first record to its marker, `last_offset`."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex:
    """The transaction index file `path` of one segment."""

    def __init__(self, disk: Disk, path: str) -> None:
        self.disk = disk
        self.path = path
        self.size = 0

    def load(self) -> None:
        """Takes over an existing file, or none; CorruptIndex if it cannot be right."""
        self.size = self.disk.size(self.path) if self.disk.exists(self.path) else 0
        if self.size % ENTRY_SIZE:
            raise CorruptIndex(self.path)
        for each in self:
            if each.first_offset > each.last_offset:
                raise CorruptIndex(self.path)

    def append(self, transaction: AbortedTransaction) -> None:
        """Adds an entry; markers come in the log's order."""
        data = _ENTRY.pack(
            _VERSION,
            transaction.producer_id,
            transaction.first_offset,
            transaction.last_offset,
            transaction.last_stable_offset,
        )
        self.disk.append(self.path, data)
        self.size += ENTRY_SIZE

    def __iter__(self) -> Iterator[AbortedTransaction]:
        data = self.disk.read(self.path, 0, self.size) if self.size else b""
        for version, *fields in _ENTRY.iter_unpack(data):
            if version != _VERSION:
                raise CorruptIndex(f"{self.path} has an entry of version {version}")
            yield AbortedTransaction(*fields)

    def collect(self, offset: int, end: int) -> tuple[list[AbortedTransaction], bool]:
        """Those that touch the offsets from `offset` to below `end`; True if no later one does."""
        found = []
        for each in self:
            if each.last_offset >= offset and each.first_offset < end:
                found.append(each)
            if each.last_stable_offset >= end:
                return found, True
        return found, False

    def truncate_to(self, offset: int) -> None:
        """Drops the entries whose marker is at or above `offset`."""
        for number, each in enumerate(self):
            if each.last_offset >= offset:
                self._cut(number * ENTRY_SIZE)
                return

    def reset(self) -> None:
        """Empties the file, if there is one."""
        if self.disk.exists(self.path):
            self._cut(0)
        self.size = 0

    def _cut(self, size: int) -> None:
        self.disk.truncate(self.path, size)
        self.size = size
