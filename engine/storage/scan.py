"""Walks along the batch headers of a segment's file, reading little between them.

A batch says how long it is, so a reader can go from header to header.  Only the headers
matter for finding an offset, so a window of the file is read at a time, and where batches
are larger than the window the next window begins at the next header.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.records.batch import (
    HEADER_SIZE,
    MAGIC,
    BatchHeader,
    CorruptBatch,
    read_header,
    validate,
)
from engine.storage.disk import Disk

WINDOW = 8192
CHUNK = 1 << 20


def headers(disk: Disk, path: str, position: int, end: int) -> Iterator[tuple[BatchHeader, int]]:
    """Each whole batch's header and position, from `position` to `end`.

    `position` must be the start of a batch.  Stops before an incomplete batch; CorruptBatch
    for bytes that are no batch.
    """
    window = b""
    begins = position
    while end - position >= HEADER_SIZE:
        if position + HEADER_SIZE > begins + len(window):
            window = disk.read(path, position, min(WINDOW, end - position))
            begins = position
        header = read_header(window, position - begins)
        size = header.size_in_bytes
        if header.magic != MAGIC or size < HEADER_SIZE:
            raise CorruptBatch(f"{path}: no batch at position {position}")
        if position + size > end:
            return
        yield header, position
        position += size


def intact(
    disk: Disk, path: str, position: int, end: int
) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Each batch's header and bytes, checksum verified; CorruptBatch at the first that is not."""
    window = b""
    begins = position
    while position < end:
        at = position - begins
        size = _size_at(window, at)
        if size is None or at + size > len(window):
            window = disk.read(path, position, min(CHUNK, end - position))
            begins, at = position, 0
            size = read_header(window).size_in_bytes
            if size > end - position:
                raise CorruptBatch(f"{end - position} of {size} bytes are there")
            if size > len(window):
                window = disk.read(path, position, size)
        header = validate(window, at)
        yield header, memoryview(window)[at : at + header.size_in_bytes]
        position += header.size_in_bytes


def _size_at(window: bytes, at: int) -> int | None:
    """The size of the batch whose header is in the window; None if it is not."""
    if len(window) - at < HEADER_SIZE:
        return None
    return read_header(window, at).size_in_bytes
