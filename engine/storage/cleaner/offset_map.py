"""Where the latest record of each key is: what one pass of the cleaner remembers.

    "a"                         -> 17     a record of "a" below offset 17 has been replaced
    md5("customer-7/orders/31") -> 4

Kafka keeps this map in a buffer of a fixed size (log.cleaner.dedupe.buffer.size), with 24 bytes
for each key however long it is: 16 for the hash, 8 for the offset.  The buffer decides how far
one pass can look: when the map is full up to log.cleaner.io.buffer.load.factor, the pass ends
there, and the next goes on behind it.  A log with more keys than that is cleaned in rounds.

Two keys with the same hash would be taken for one, in Kafka as here.

Simplified: a key shorter than its hash stands for itself, where Kafka hashes every key, and the map
is a dict with as many entries as Kafka's buffer has slots, so it takes about five times the memory;
the buffer's size still bounds it.
"""

from __future__ import annotations

import hashlib
from functools import partial

BYTES_PER_ENTRY = 24
HASH_SIZE = 16
NOT_FOUND = -1
_md5 = partial(hashlib.md5, usedforsecurity=False)


class OffsetMap:
    """The map of one pass; `buffer_size` in bytes, as the setting has it."""

    def __init__(self, buffer_size: int, load_factor: float = 0.9) -> None:
        self.slots = buffer_size // BYTES_PER_ENTRY
        self.entries_max = int(self.slots * load_factor)
        if self.slots * load_factor <= 1:
            raise ValueError(
                "log.cleaner.dedupe.buffer.size is too small for a single key: raise it, "
                "or lower log.cleaner.threads"
            )
        self.latest_offset = -1
        """Up to where the pass has looked."""
        self._offsets: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def utilization(self) -> float:
        return len(self._offsets) / self.slots

    def put(self, key: bytes, offset: int) -> bool:
        """Notes the latest record of a key so far; False when the map is full."""
        offsets = self._offsets
        if len(offsets) >= self.entries_max:
            return False
        offsets[key if len(key) < HASH_SIZE else _md5(key).digest()] = offset
        self.latest_offset = offset
        return True

    def get(self, key: bytes) -> int:
        """The offset of the latest record with this key; -1 if the map knows none."""
        entry = key if len(key) < HASH_SIZE else _md5(key).digest()
        return self._offsets.get(entry, NOT_FOUND)
