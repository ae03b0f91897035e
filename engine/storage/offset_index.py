"""The sparse offset index: where in the segment's file to begin looking for an offset.

    entry, 8 bytes:  relative offset int32 | position int32

One entry per index.interval.bytes of log, not per record: the index stays a five-hundredth
of the log's size, and a look-up is a binary search here plus a short scan of batch headers
there.  Offsets are relative to the segment's base, which is why a segment spans at most
2^31 - 1 offsets.

An entry holds the *last* offset of the batch at `position`.  So a look-up for an offset
within that batch may find the entry before it; the scan then goes a batch further.

Only the last entry is kept in memory; the others are read from the file when needed.  The
index can be rebuilt from the log at any time; after a crash it is.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right

from engine.storage.disk import Disk

_ENTRY = struct.Struct(">ii")
ENTRY_SIZE = _ENTRY.size


class CorruptIndex(Exception):
    """The index contradicts itself; it has to be rebuilt from the log."""


class OffsetIndex:
    """The index file `path` of the segment that starts at `base_offset`."""

    def __init__(self, disk: Disk, path: str, base_offset: int) -> None:
        self.disk = disk
        self.path = path
        self.base_offset = base_offset
        self.entries = 0
        self.last_offset = base_offset
        self.last_position = 0

    def load(self) -> None:
        """Takes over an existing file; CorruptIndex if it cannot be right."""
        size = self.disk.size(self.path)
        self._set_entries(size // ENTRY_SIZE)
        if size % ENTRY_SIZE or (self.entries and self.last_offset < self.base_offset):
            raise CorruptIndex(self.path)
        if self.entries > 1 and self.last_offset == self.base_offset:
            raise CorruptIndex(self.path)  # Kafka's preallocated zeros after a crash

    def append(self, offset: int, position: int) -> None:
        """Adds an entry; offsets must rise."""
        assert self.entries == 0 or offset > self.last_offset, "index entries must rise"
        self.disk.append(self.path, _ENTRY.pack(offset - self.base_offset, position))
        self.entries += 1
        self.last_offset = offset
        self.last_position = position

    def lookup(self, offset: int) -> tuple[int, int]:
        """The last (offset, position) at or below `offset`; (base offset, 0) if none."""
        if self.entries and offset >= self.last_offset:
            return self.last_offset, self.last_position
        slot = bisect_right(range(self.entries), offset, key=self._offset_at) - 1
        return self._entry(slot) if slot >= 0 else (self.base_offset, 0)

    def position_below(self, position: int) -> int:
        """The last indexed position at or below `position`; 0 if none."""
        if self.entries and position >= self.last_position:
            return self.last_position
        slot = bisect_right(range(self.entries), position, key=self._position_at) - 1
        return self._position_at(slot) if slot >= 0 else 0

    def offset_above(self, position: int) -> int | None:
        """The first indexed offset whose batch begins at or above `position`; None if none."""
        if not self.entries or position > self.last_position:
            return None
        return self._entry(bisect_left(range(self.entries), position, key=self._position_at))[0]

    def truncate_to(self, offset: int) -> None:
        """Drops the entries at or above `offset`."""
        self._cut(bisect_left(range(self.entries), offset, key=self._offset_at))

    def is_full(self, size_max: int) -> bool:
        """As segment.index.bytes says; a full index makes the segment roll."""
        return self.entries >= size_max // ENTRY_SIZE

    def reset(self) -> None:
        """Empties the file, making it if there is none."""
        if not self.disk.exists(self.path):
            self.disk.append(self.path, b"")
        self._cut(0)

    def _cut(self, entries: int) -> None:
        self.disk.truncate(self.path, entries * ENTRY_SIZE)
        self._set_entries(entries)

    def _set_entries(self, entries: int) -> None:
        self.entries = entries
        self.last_offset, self.last_position = self.base_offset, 0
        if entries:
            self.last_offset, self.last_position = self._entry(entries - 1)

    def _entry(self, slot: int) -> tuple[int, int]:
        data = self.disk.read(self.path, slot * ENTRY_SIZE, ENTRY_SIZE)
        relative_offset, position = _ENTRY.unpack(data)
        return self.base_offset + relative_offset, position

    def _offset_at(self, slot: int) -> int:
        return self._entry(slot)[0]

    def _position_at(self, slot: int) -> int:
        return self._entry(slot)[1]
