"""Damage to bytes at rest: a bit changes.

Every batch carries a checksum (CRC-32C) over all but its first 21 bytes, because it has to survive
disks, cables and memory that lie now and then.  The leader does not check it when it hands the
batch out: the bytes go from the page cache to the socket untouched.  Damage is found

    when a broker recovers after a crash    the log is cut off there
    by a follower that fetches it           refused, asked for again, and again
    by a consumer, unless check.crcs=false  CorruptRecordException

A restart after a clean stop checks nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.records.batch import BatchHeader, CorruptBatch
from engine.storage import scan
from engine.storage.disk import Disk

LAST = -1


def flip_bit(disk: Disk, directory: str, offset: int = LAST) -> int | None:
    """Changes a bit of the batch that holds `offset`; its last offset, None without a batch."""
    for name in reversed(disk.list(directory)):
        path = f"{directory}/{name}"
        if not name.endswith(".log"):
            continue
        found = None
        for header, position in _whole(disk, path):
            if offset == LAST or header.base_offset <= offset <= header.last_offset:
                found = header, position
        if found is not None:
            header, position = found
            place = position + header.size_in_bytes - 1
            disk.write(path, place, bytes([disk.read(path, place, 1)[0] ^ 1]))
            return int(header.last_offset)
    return None


def _whole(disk: Disk, path: str) -> Iterator[tuple[BatchHeader, int]]:
    """The batches up to the end, or to what a power loss has left of a write."""
    try:
        yield from scan.headers(disk, path, 0, disk.size(path))
    except CorruptBatch:
        return
