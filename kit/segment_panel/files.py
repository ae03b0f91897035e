"""A replica's folder at one moment, read and never written, with each read written down.

The folder belongs to a broker that goes on writing.  So the names and the sizes of the files are
taken once, the logs' last; what is appended later is not seen, and an index never points beyond the
log beside it.  A file that is deleted or cut in the meantime is missed by the next read, and the
reader looks again.

`Moment` has the face of the engine's `Disk`, so the engine's own `Segment`, `OffsetIndex` and
`TimeIndex` read through it.  A real Kafka gives the indexes of its active segment their full size
at once, 10 MB of zeros, and writes entries into them through a memory map; it knows their number,
and the file does not.  Here an index ends behind its last entry that is not zero.
"""

from __future__ import annotations

import io
import os
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from engine.storage import file_names, offset_index, time_index

ENTRY_SIZES = {
    file_names.OFFSET_INDEX: offset_index.ENTRY_SIZE,
    file_names.TIME_INDEX: time_index.ENTRY_SIZE,
}


class Readable(Protocol):
    """The reading half of a `Disk`: `MemoryDisk` has it, and `Folder`."""

    def list(self, directory: str) -> list[str]: ...

    def size(self, path: str) -> int: ...

    def read(self, path: str, position: int, length: int) -> bytes: ...


class Folder:
    """A folder of real files, opened for reading only and closed after each read."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = os.fspath(root)

    def list(self, directory: str) -> list[str]:
        try:
            return sorted(os.listdir(self._full(directory)))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def size(self, path: str) -> int:
        return os.stat(self._full(path)).st_size

    def read(self, path: str, position: int, length: int) -> bytes:
        with open(self._full(path), "rb", buffering=0) as file:
            return os.pread(file.fileno(), length, position)

    def _full(self, path: str) -> str:
        return os.path.join(self.root, path)


@dataclass(frozen=True, slots=True)
class Read:
    """One read of a file: what was asked for, and what came."""

    path: str
    position: int
    length: int
    data: bytes

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


class Moment:
    """The files of `directory` as they are when this object is made; a `Disk` that refuses writes.

    The files `also` are elsewhere.  `reserved` are the bytes of zeros behind an index's entries.
    """

    full = False
    failure = ""

    def __init__(self, base: Readable, directory: str, also: Sequence[str] = ()) -> None:
        self.base = base
        self.directory = directory
        self.reserved: dict[str, int] = {}
        self._sizes: dict[str, int] = {}
        self._reads: list[Read] | None = None
        names = base.list(directory)
        inside = sorted(names, key=lambda name: (name.endswith(file_names.LOG), name))
        for path in [*also, *(f"{directory}/{name}" for name in inside)]:
            try:
                self._sizes[path] = self._used(path)
            except (FileNotFoundError, NotADirectoryError):
                continue  # deleted since it was listed

    def _used(self, path: str) -> int:
        size = self.base.size(path)
        entry = ENTRY_SIZES.get(os.path.splitext(path)[1])
        if entry is None or not size:
            return size
        slots = range(size // entry)
        used = bisect_left(slots, True, key=lambda at: self._is_zero(path, at * entry, entry))
        if used == len(slots):
            return size
        self.reserved[path] = size - used * entry
        return used * entry

    def _is_zero(self, path: str, position: int, length: int) -> bool:
        return not any(self.base.read(path, position, length))

    @contextmanager
    def recorded(self) -> Iterator[list[Read]]:
        """The reads that happen inside, in their order."""
        reads = self._reads = []
        try:
            yield reads
        finally:
            self._reads = None

    # -- a Disk, for reading

    def list(self, directory: str) -> list[str]:
        start = len(directory) + 1
        return sorted(path[start:] for path in self._sizes if path.startswith(f"{directory}/"))

    def exists(self, path: str) -> bool:
        return path in self._sizes

    def size(self, path: str) -> int:
        """0 for an index that is not there: Kafka makes its file with the first entry."""
        try:
            return self._sizes[path]
        except KeyError:
            if os.path.splitext(path)[1] in ENTRY_SIZES:
                return 0
            raise FileNotFoundError(path) from None

    def read(self, path: str, position: int, length: int) -> bytes:
        data = self.base.read(path, position, max(0, min(length, self.size(path) - position)))
        if self._reads is not None:
            self._reads.append(Read(path, position, length, data))
        return data

    # -- and not for writing

    def append(self, path: str, data: bytes) -> None:
        self._refuse(path)

    def write(self, path: str, position: int, data: bytes) -> None:
        self._refuse(path)

    def truncate(self, path: str, size: int) -> None:
        self._refuse(path)

    def replace(self, path: str, data: bytes) -> None:
        self._refuse(path)

    def rename(self, old: str, new: str) -> None:
        self._refuse(old)

    def delete(self, path: str) -> None:
        self._refuse(path)

    def flush(self, path: str) -> None:
        self._refuse(path)

    def close(self) -> None:
        """Nothing is open."""

    def _refuse(self, path: str) -> None:
        raise io.UnsupportedOperation(f"{path} belongs to a broker; it is only read here")
