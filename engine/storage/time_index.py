"""The time index: from which offset on to look for a timestamp.

    entry, 12 bytes:  timestamp int64 (ms) | relative offset int32

An entry (t, o) says: the largest timestamp up to and including the batch that ends at
offset o is t.  So a search for a timestamp above t may begin behind o.  That holds
although producers' clocks disagree and timestamps jump back and forth within a log: the
entries only ever rise, in both columns.

ListOffsets by time, consumers' `offsets_for_times`, and retention.ms rest on it (KIP-33).
When a segment is rolled or closed its largest timestamp is added as the last entry.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right

from engine.storage.disk import Disk
from engine.storage.offset_index import CorruptIndex

_ENTRY = struct.Struct(">qi")
ENTRY_SIZE = _ENTRY.size
NO_TIMESTAMP = -1


class TimeIndex:
    """The time index file `path` of the segment that starts at `base_offset`."""

    def __init__(self, disk: Disk, path: str, base_offset: int) -> None:
        self.disk = disk
        self.path = path
        self.base_offset = base_offset
        self.entries = 0
        self.last_timestamp = NO_TIMESTAMP
        self.last_offset = base_offset

    def load(self) -> None:
        """Takes over an existing file; CorruptIndex if it cannot be right."""
        size = self.disk.size(self.path)
        self._set_entries(size // ENTRY_SIZE)
        if size % ENTRY_SIZE:
            raise CorruptIndex(self.path)
        if self.entries and (
            self.last_timestamp < self._timestamp_at(0) or self.last_offset < self.base_offset
        ):
            raise CorruptIndex(self.path)
        if self.entries > 1 and self.last_offset == self.base_offset:
            raise CorruptIndex(self.path)  # Kafka's preallocated zeros after a crash

    def maybe_append(self, timestamp: int, offset: int) -> None:
        """Adds an entry if the timestamp is larger than the last."""
        if timestamp > self.last_timestamp:
            self.disk.append(self.path, _ENTRY.pack(timestamp, offset - self.base_offset))
            self.entries += 1
            self.last_timestamp = timestamp
            self.last_offset = offset

    def lookup(self, timestamp: int) -> tuple[int, int]:
        """The last (timestamp, offset) at or below `timestamp`; (-1, base offset) if none."""
        slot = bisect_right(range(self.entries), timestamp, key=self._timestamp_at) - 1
        return self._entry(slot) if slot >= 0 else (NO_TIMESTAMP, self.base_offset)

    def truncate_to(self, offset: int) -> None:
        """Drops the entries at or above `offset`."""
        self._cut(bisect_left(range(self.entries), offset, key=self._offset_at))

    def is_full(self, size_max: int) -> bool:
        """One slot is kept free for the entry that closes the segment."""
        return self.entries >= size_max // ENTRY_SIZE - 1

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
        self.last_timestamp, self.last_offset = NO_TIMESTAMP, self.base_offset
        if entries:
            self.last_timestamp, self.last_offset = self._entry(entries - 1)

    def _entry(self, slot: int) -> tuple[int, int]:
        data = self.disk.read(self.path, slot * ENTRY_SIZE, ENTRY_SIZE)
        timestamp, relative_offset = _ENTRY.unpack(data)
        return timestamp, self.base_offset + relative_offset

    def _timestamp_at(self, slot: int) -> int:
        return self._entry(slot)[0]

    def _offset_at(self, slot: int) -> int:
        return self._entry(slot)[1]
