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

from engine.storage.disk import refuse

NEVER_FLUSHED = -1


@dataclass(slots=True)
class _File:
    data: bytearray = field(default_factory=bytearray)
    flushed: int = NEVER_FLUSHED


class MemoryDisk:
    """A `Disk` of bytearrays.  Pickles as it is; equal when the contents are."""

    def __init__(self) -> None:
        self._files: dict[str, _File] = {}
        self.full = False
        self.failure = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemoryDisk) and self._files == other._files

    __hash__ = None  # type: ignore[assignment]

    def list(self, directory: str) -> list[str]:
        prefix = directory + "/" if directory else ""
        start = len(prefix)
        return sorted({p[start:].split("/", 1)[0] for p in self._files if p.startswith(prefix)})

    def exists(self, path: str) -> bool:
        return path in self._files or bool(_below(self._files, path))

    def size(self, path: str) -> int:
        return len(self._open(path).data)

    def read(self, path: str, position: int, length: int) -> bytes:
        return bytes(memoryview(self._open(path).data)[position : position + length])

    def append(self, path: str, data: bytes) -> None:
        if self.full:
            refuse(self)
        file = self._files.get(path)
        if file is None:
            file = self._files[path] = _File()
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
        self._files[path] = _File(bytearray(data), len(data))

    def rename(self, old: str, new: str) -> None:
        if old in self._files:
            self._files[new] = self._files.pop(old)
            return
        below = _below(self._files, old)
        if not below:
            raise FileNotFoundError(old)
        for path in below:
            self._files[new + path[len(old) :]] = self._files.pop(path)

    def delete(self, path: str) -> None:
        if self._files.pop(path, None) is None:
            for each in _below(self._files, path):
                del self._files[each]

    def flush(self, path: str) -> None:
        if path in self._files:
            below = [path]
        else:
            below = _below(self._files, path)
            if not below:
                raise FileNotFoundError(path)
        for each in below:
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
                del self._files[path]
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


def _below(files: dict[str, _File], directory: str) -> list[str]:
    prefix = directory + "/" if directory else ""
    return [path for path in files if path.startswith(prefix)]
