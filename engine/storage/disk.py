"""What a broker needs of a disk, and nothing more.

Kafka leans on the operating system: an append lands in the *page cache*, costs
microseconds, and survives the death of the process.  It does not survive a power loss
until it has been flushed (fsync).  Kafka rarely flushes; it trusts replication to hold
the record on other machines.  So there are two kinds of death, and the engine has both:

    process killed     everything appended is still there
    power lost         only what was flushed is certain; the tail may be torn

`RealDisk` keeps real files.  `MemoryDisk` keeps them in memory, knows which part of each
was flushed, and can lose all else.  The same `Log` runs on either.

Paths are relative, with `/` between the parts.  No role holds a file handle: a path is
plain data, so a broker and its whole disk can be pickled, which is how the simulator
rewinds.
"""

from __future__ import annotations

import errno
from typing import Protocol

NO_ROOM = "no space left on its disk; make room there and start it again"


class Disk(Protocol):
    """Files by path.  A missing file raises FileNotFoundError; a full disk, OSError.

    Set `full` to see what a full disk does.  `failure` says why a write failed, and is empty
    before; a node whose disk has failed cannot go on.
    """

    full: bool
    failure: str

    def list(self, directory: str) -> list[str]:
        """The names in `directory`, sorted; empty if there is no such directory."""

    def exists(self, path: str) -> bool: ...

    def size(self, path: str) -> int: ...

    def read(self, path: str, position: int, length: int) -> bytes:
        """Up to `length` bytes from `position`; fewer at the end of the file."""

    def append(self, path: str, data: bytes) -> None:
        """Adds to the end, all of it or nothing; makes the file if there is none."""

    def write(self, path: str, position: int, data: bytes) -> None:
        """Overwrites in place (not beyond the end by a gap)."""

    def truncate(self, path: str, size: int) -> None:
        """Cuts the file to `size` bytes; never makes it longer."""

    def replace(self, path: str, data: bytes) -> None:
        """Puts new contents in place of the whole file, atomically and durably."""

    def rename(self, old: str, new: str) -> None: ...

    def delete(self, path: str) -> None:
        """Removes a file or a directory with all in it; quiet if there is none."""

    def flush(self, path: str) -> None:
        """Makes a file durable, or every file below a directory."""

    def close(self) -> None:
        """Closes all open files, as when a process ends; the next use opens them again."""


def refuse(disk: Disk) -> None:
    """Fails as a full disk fails."""
    disk.failure = NO_ROOM
    raise OSError(errno.ENOSPC, "No space left on device")
