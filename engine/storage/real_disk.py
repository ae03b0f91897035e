"""A disk of real files below one folder.

Reads are `pread` and appends are one `write`: no seeking, no buffer of our own, so an
append that has returned has reached the operating system and outlives a killed process.
It has not yet reached the platter; `flush` (fsync) takes it there.

A broker may have thousands of files, but a process may hold only so many open.  So open
file descriptors are kept in a bounded list; the least recently used one is closed first.

Durability has a second half that is easily forgotten: a new *name* lives in the
directory, so the directory is flushed too after a file appears or is replaced.

`lose_power` plays a power loss: how far each file was flushed is remembered, and what
came after is cut off.  What was written before this object was made counts as flushed.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
from collections.abc import Iterator

from engine.plain import Plain
from engine.storage.disk import NO_ROOM, refuse

OPEN_FILES_MAX = 128
NEVER_FLUSHED = -1


class RealDisk:
    """A `Disk` below the folder `root`, which is made if missing."""

    def __init__(self, root: str | os.PathLike[str], open_files_max: int = OPEN_FILES_MAX) -> None:
        self.root = os.path.abspath(root)
        self.open_files_max = open_files_max
        self._descriptors: dict[str, int] = {}
        self._unflushed: dict[str, int] = {}  # path -> how many of its bytes are durable
        self._unflushed_below: dict[str, dict[str, None]] = {}  # directory -> those paths in it
        self.full = False
        self.failure = ""
        os.makedirs(self.root, exist_ok=True)

    def __getstate__(self) -> Plain:
        return {**self.__dict__, "_descriptors": {}}

    def list(self, directory: str) -> list[str]:
        try:
            return sorted(os.listdir(self._full(directory)))
        except FileNotFoundError:
            return []

    def exists(self, path: str) -> bool:
        return os.path.exists(self._full(path))

    def size(self, path: str) -> int:
        return os.stat(self._full(path)).st_size

    def read(self, path: str, position: int, length: int) -> bytes:
        descriptor = self._descriptor(path)
        data = os.pread(descriptor, length, position)
        if len(data) == length or not data:
            return data
        parts = [data]
        got = len(data)
        while got < length:  # a signal or a 2 GiB limit may cut a read short
            part = os.pread(descriptor, length - got, position + got)
            if not part:
                break
            parts.append(part)
            got += len(part)
        return b"".join(parts)

    def append(self, path: str, data: bytes) -> None:
        if self.full:
            refuse(self)
        descriptor = self._descriptor(path, create=True)
        if path not in self._unflushed:
            self._mark(path, os.fstat(descriptor).st_size)
        written = 0
        try:
            written = os.write(descriptor, data)
            while written < len(data):
                written += os.write(descriptor, memoryview(data)[written:])
        except OSError as error:
            # Disk full half-way: remove the part, or the next append would follow garbage.
            if written:
                os.ftruncate(descriptor, os.fstat(descriptor).st_size - written)
            self._failed(error)
            raise

    def write(self, path: str, position: int, data: bytes) -> None:
        # Linux ignores the position of a pwrite on a descriptor opened for appending.
        if path not in self._unflushed:
            self._mark(path, self.size(path))
        with open(self._full(path), "r+b", buffering=0) as file:
            file.seek(position)
            file.write(data)

    def truncate(self, path: str, size: int) -> None:
        if size < self.size(path):
            self._mark(path, min(self._unflushed.get(path, size), size))
            os.truncate(self._full(path), size)

    def replace(self, path: str, data: bytes) -> None:
        if self.full:
            refuse(self)
        full = self._full(path)
        self._make_directory(full)
        try:
            with open(full + ".tmp", "wb", buffering=0) as file:
                file.write(data)
                os.fsync(file.fileno())
        except OSError as error:
            self._failed(error)
            raise
        self._forget_file(path)
        os.replace(full + ".tmp", full)
        _flush_directory(os.path.dirname(full))

    def rename(self, old: str, new: str) -> None:
        moved = {new + path[len(old) :]: self._unflushed[path] for path in self._unflushed_in(old)}
        self._forget(old)
        self._forget(new)
        target = self._full(new)
        self._make_directory(target)
        os.replace(self._full(old), target)
        for path, durable in moved.items():
            self._mark(path, durable)
        _flush_directory(os.path.dirname(target))

    def delete(self, path: str) -> None:
        full = self._full(path)
        if os.path.isdir(full):
            self._forget(path)
            shutil.rmtree(full)
        elif os.path.exists(full):
            self._forget_file(path)
            os.unlink(full)

    def flush(self, path: str) -> None:
        """Flushes through descriptors of its own, so a driver may call it from a thread."""
        full = self._full(path)
        if not os.path.isdir(full):
            if self._flush_file(path):
                _flush_directory(os.path.dirname(full))
            return
        for each in self._unflushed_in(path):
            self._flush_file(each)
        _flush_directory(full)

    def lose_power(self, ids: random.Random, torn: bool = False) -> int:
        """Cuts off what was not flushed; returns how many bytes were lost.

        With `torn`, `ids` decides how much of each unflushed tail survives.
        """
        self.close()
        lost = 0
        for path, durable in sorted(self._unflushed.items()):
            size = self.size(path)
            kept = max(durable, 0)
            if torn:
                kept = ids.randint(kept, size)
            lost += size - kept
            if kept == 0 and durable == NEVER_FLUSHED:
                os.unlink(self._full(path))
            else:
                os.truncate(self._full(path), kept)
        self._unflushed.clear()
        self._unflushed_below.clear()
        return lost

    def close(self) -> None:
        """Closes all descriptors; the disk stays usable and opens them again."""
        while self._descriptors:
            os.close(self._descriptors.popitem()[1])

    def _failed(self, error: OSError) -> None:
        """Remembers that the disk is full or broken; other errors are about one file."""
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            self.failure = NO_ROOM
        elif error.errno in (errno.EIO, errno.EROFS):
            self.failure = f"its disk failed ({error.strerror})"

    def _flush_file(self, path: str) -> bool:
        """True if the file's name is new and the directory must be flushed too."""
        is_new = self._unmark(path) == NEVER_FLUSHED
        descriptor = os.open(self._full(path), os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        return is_new

    def _descriptor(self, path: str, create: bool = False) -> int:
        descriptor = self._descriptors.pop(path, None)
        if descriptor is None:
            full = self._full(path)
            flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC
            try:
                descriptor = os.open(full, flags)
            except FileNotFoundError:
                if not create:
                    raise
                descriptor = self._create(full, flags)
                self._mark(path, NEVER_FLUSHED)
            while len(self._descriptors) >= self.open_files_max:
                os.close(self._descriptors.pop(next(iter(self._descriptors))))
        self._descriptors[path] = descriptor  # last in the dict: most recently used
        return descriptor

    def _create(self, full: str, flags: int) -> int:
        """Makes the directory only if it is missing: most new files are in one that is there."""
        try:
            return os.open(full, flags | os.O_CREAT, 0o644)
        except FileNotFoundError:
            self._make_directory(full)
            return os.open(full, flags | os.O_CREAT, 0o644)

    def _forget(self, path: str) -> None:
        """Forgets what is known about a file and about all files below a directory."""
        for each in [p for p in self._descriptors if p == path or _is_below(p, path)]:
            os.close(self._descriptors.pop(each))
        for each in self._unflushed_in(path):
            self._unmark(each)

    def _forget_file(self, path: str) -> None:
        descriptor = self._descriptors.pop(path, None)
        if descriptor is not None:
            os.close(descriptor)
        self._unmark(path)

    # -- what is not durable yet, by path and by each directory above it

    def _mark(self, path: str, durable: int) -> None:
        self._unflushed[path] = durable
        for directory in _above(path):
            self._unflushed_below.setdefault(directory, {})[path] = None

    def _unmark(self, path: str) -> int:
        """How many of its bytes were durable; 0 if all were."""
        if path not in self._unflushed:
            return 0
        for directory in _above(path):
            below = self._unflushed_below[directory]
            del below[path]
            if not below:
                del self._unflushed_below[directory]
        return self._unflushed.pop(path)

    def _unflushed_in(self, path: str) -> tuple[str, ...]:
        """A file itself, or all files below a directory, as far as they are not durable."""
        if path in self._unflushed:
            return (path,)
        return tuple(self._unflushed_below.get(path, ()))

    def _full(self, path: str) -> str:
        return f"{self.root}/{path}" if path else self.root

    def _make_directory(self, full: str) -> None:
        os.makedirs(os.path.dirname(full), exist_ok=True)


def _is_below(path: str, directory: str) -> bool:
    return not directory or path.startswith(directory + "/")


def _above(path: str) -> Iterator[str]:
    """The directories that a file is in; the last one is the root."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def _flush_directory(full: str) -> None:
    descriptor = os.open(full, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
