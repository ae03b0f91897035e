"""Records that stay on disk until their bytes are sent.

A Fetch answer may be 50 MB long, and its reader slow.  Kafka keeps no copy for it: the
answer holds *slices of files*, and `sendfile` moves as many bytes as the socket takes.

    frame   | length, header, … | size | size, … |
                                ^      ^
                            slice A  slice B       len() and a way to read a part of it

Here the codec leaves such a slice out and notes its place; `chunks` puts it in while the
frame is being sent, a little at a time.  A reader that stops costs one chunk of memory.

Bytes that were cut off meanwhile (a topic deleted, a log truncated) can no longer be
read: `SliceGone`.  The client's connection ends, and the client asks again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

CHUNK = 64 * 1024


class SliceGone(Exception):
    """The bytes are no longer where they were."""


class Slice(Protocol):
    """A part of a file; empty ones are falsy."""

    def __len__(self) -> int: ...

    def read(self, start: int, length: int) -> bytes:
        """Up to `length` of its bytes; SliceGone."""


class Frame(bytearray):
    """Encoded bytes, and the slices that belong between them, each with its place."""

    def __init__(self, prefix: bytes = b"") -> None:
        super().__init__(prefix)
        self.slices: list[tuple[int, Slice]] = []
        self.outside = 0  # bytes in slices

    @property
    def whole_size(self) -> int:
        """In bytes, slices included."""
        return len(self) + self.outside

    def chunks(self, size: int = CHUNK) -> Iterator[bytes | bytearray]:
        """All of its bytes in order.  Slices are read when it is their turn; SliceGone."""
        if not self.slices:
            yield self
            return
        chunk = bytearray()
        position = 0
        for place, records in self.slices:
            chunk += self[position:place]
            position = place
            for start in range(0, len(records), size):
                chunk += records.read(start, size)
                if len(chunk) >= size:
                    yield chunk
                    chunk = bytearray()
        chunk += self[position:]
        yield chunk


def insert(value: Slice, out: bytearray) -> bytes:
    """What to write in place of a slice: nothing into a frame, else its bytes."""
    if isinstance(out, Frame):
        out.slices.append((len(out), value))
        out.outside += len(value)
        return b""
    return value.read(0, len(value))
