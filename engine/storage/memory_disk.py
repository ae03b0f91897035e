"""A disk in memory, with a page cache that a power loss empties.

    file   |#########################|.........|
           0                      flushed     end
            survives a power loss     is lost, or torn somewhere

The model is a journaling file system, the mildest kind that still loses data:
* appended bytes are certain only once flushed
* a file that was never flushed is gone altogether
* truncating, renaming and deleting take effect at once and for good

With `torn`, a random part of each unflushed tail survives, in places as zeros: the file
had grown but its bytes had not arrived.  A batch may then be cut in its middle, which is
what recovery has to cope with.

A `full` disk takes no more bytes; what is there can be read, overwritten, cut and deleted.

Simplified: an in-place write to flushed bytes counts as durable, and one file's fate says
nothing about the order in which several files reached the disk.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from engine.plain import Plain
from engine.storage.disk import refuse

NEVER_FLUSHED = -1


@dataclass(slots=True)
class _File:
    data: bytearray = field(default_factory=bytearray)
    flushed: int = NEVER_FLUSHED


class MemoryDisk:
    """A `Disk` of bytearrays; equal when the contents are.

    `_directories` has for each directory the paths of all files below it.
    """

    def __init__(self) -> None:
        self._files: dict[str, _File] = {}
        self._directories: dict[str, dict[str, None]] = {}
        self.full = False
        self.failure = ""

    def __getstate__(self) -> Plain:
        return {**self.__dict__, "_directories": {}}

    def __setstate__(self, state: Plain) -> None:
        self.__dict__.update(state)
        for path in self._files:
            self._list_below(path)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemoryDisk) and self._files == other._files

    __hash__ = None  # type: ignore[assignment]

    def list(self, directory: str) -> list[str]:
        prefix = directory + "/" if directory else ""
        start = len(prefix)
        return sorted({path[start:].split("/", 1)[0] for path in self._below(directory)})

    def exists(self, path: str) -> bool:
        return path in self._files or path in self._directories

    def size(self, path: str) -> int:
        return len(self._open(path).data)

    def read(self, path: str, position: int, length: int) -> bytes:
        return bytes(memoryview(self._open(path).data)[position : position + length])

    def append(self, path: str, data: bytes) -> None:
        if self.full:
            refuse(self)
        file = self._files.get(path)
        if file is None:
            file = self._put(path, _File())
        file.data += data

    def write(self, path: str, position: int, data: bytes) -> None:
        file = self._open(path)
        if position > len(file.data):
            raise ValueError(f"{path}: a write at {position} would leave a gap")
        file.data[position : position + len(data)] = data

    def truncate(self, path: str, size: int) -> None:
        file = self._open(path)
        del file.data[size:]
        file.flushed = min(file.flushed, len(file.data))

    def replace(self, path: str, data: bytes) -> None:
        if self.full:
            refuse(self)
        self._put(path, _File(bytearray(data), len(data)))

    def rename(self, old: str, new: str) -> None:
        if old in self._files:
            self._put(new, self._take(old))
            return
        below = self._below(old)
        if not below:
            raise FileNotFoundError(old)
        for path in below:
            self._put(new + path[len(old) :], self._take(path))

    def delete(self, path: str) -> None:
        for each in (path,) if path in self._files else self._below(path):
            self._take(each)

    def flush(self, path: str) -> None:
        paths = (path,) if path in self._files else self._below(path)
        if not paths:
            raise FileNotFoundError(path)
        for each in paths:
            file = self._files[each]
            file.flushed = len(file.data)

    def close(self) -> None:
        """No file is ever open."""

    def lose_power(self, ids: random.Random, torn: bool = False) -> int:
        """Forgets what was not flushed; returns how many bytes were lost.

        With `torn`, `ids` decides how much of each unflushed tail survives.
        """
        lost = 0
        for path in [*self._files]:
            file = self._files[path]
            kept = max(file.flushed, 0)
            unflushed = len(file.data) - kept
            arrived = zeros = 0
            if torn and unflushed:
                arrived = ids.randint(0, unflushed)
                zeros = ids.randint(0, unflushed - arrived) if ids.random() < 0.5 else 0
            lost += unflushed - arrived
            if file.flushed == NEVER_FLUSHED and not arrived + zeros:
                self._take(path)
                continue
            del file.data[kept + arrived :]
            file.data += bytes(zeros)
            file.flushed = len(file.data)
        return lost

    def _open(self, path: str) -> _File:
        file = self._files.get(path)
        if file is None:
            raise FileNotFoundError(path)
        return file

    def _below(self, directory: str) -> tuple[str, ...]:
        return tuple(self._directories.get(directory, ()))

    def _put(self, path: str, file: _File) -> _File:
        self._files[path] = file
        self._list_below(path)
        return file

    def _list_below(self, path: str) -> None:
        for directory in _directories_of(path):
            self._directories.setdefault(directory, {})[path] = None

    def _take(self, path: str) -> _File:
        for directory in _directories_of(path):
            below = self._directories[directory]
            del below[path]
            if not below:
                del self._directories[directory]
        return self._files.pop(path)


def _directories_of(path: str) -> list[str]:
    """Every directory that a file is in: the root, `a` and `a/b` for `a/b/c`."""
    parts = path.split("/")
    return ["/".join(parts[:number]) for number in range(len(parts))]
