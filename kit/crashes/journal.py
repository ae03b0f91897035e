"""What the applications of one trial note, in a file that outlives them.

A note is one line, appended with one write: what a killed process had noted is there, and
applications that run at the same time may share the file.  Nothing is flushed to disk, because
only processes die here, not the machine.

    [microseconds, who, kind, *details]

who is `A1`: application A, in its first run; `A2` after its restart.  The kinds:

    polls     for the first time
    assigned  [[partition, committed offset]…]    revoked, lost  [partition…]
    got       [[partition, offset]…], µs since the last poll, thread
    start     partition, offset, thread, line     done    partition, offset, value
    inits, ready                                  aborted
    wrote     partition, offset, thread, line     undone  partition, offset, value
    ignored   partition, offset                   failed  partition, offset
    commit    number, [[partition, offset]…], listener that made it or "", thread, line
    settled   number, [[partition, offset]…], error
    seek      partition, offset, line             paused, resumed  [partition…]
    error     name                                line    statement, count
    crash     line                                freeze  partition, offset
    idle      [[partition, committed offset]…]    returned
    raised    type, text, line                    ended   how
    printed   text                                stuck
    refused   why the client refused its settings
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LARGEST = 150_000
"""Bytes; an application that notes more repeats itself without end."""


@dataclass(frozen=True, slots=True)
class Note:
    """One line of a journal."""

    at_us: int
    who: str
    kind: str
    details: tuple[Any, ...]


class Journal:
    """The writing end, for one application."""

    def __init__(self, path: Path, who: str) -> None:
        self.path, self.who = path, who
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def note(self, kind: str, *details: Any) -> None:
        now_us = time.monotonic_ns() // 1000
        line = json.dumps([now_us, self.who, kind, *details]) + "\n"
        if os.write(self._file, line.encode()) and os.fstat(self._file).st_size > LARGEST:
            os._exit(0)  # the driver finds a journal that is full

    def note_once(self, key: str, kind: str, *details: Any) -> bool:
        """The note, unless an application of this trial has made one with this key."""
        mark = self.path.with_suffix(".keys")
        with mark.open("a+") as keys:
            fcntl.flock(keys, fcntl.LOCK_EX)
            keys.seek(0)
            if json.dumps(key) in keys.read().splitlines():
                return False
            keys.write(json.dumps(key) + "\n")
            keys.flush()
            self.note(kind, *details)
        return True


class Reading:
    """The reading end: what has been noted so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: list[Note] = []
        self._rest = b""
        self._place = 0

    def look(self) -> list[Note]:
        """The notes since the last look."""
        if not self.path.exists():
            return []
        with self.path.open("rb") as file:
            file.seek(self._place)
            data = self._rest + file.read()
            self._place = file.tell()
        *lines, self._rest = data.split(b"\n")
        new = [_note(line) for line in lines]
        self.notes += new
        return new

    @property
    def is_full(self) -> bool:
        return self._place > LARGEST


def read(path: Path) -> list[Note]:
    """All notes of a trial that is over, in order of time."""
    reading = Reading(path)
    reading.look()
    return sorted(reading.notes, key=lambda note: note.at_us)


def _note(line: bytes) -> Note:
    at_us, who, kind, *details = json.loads(line)
    return Note(at_us, who, kind, tuple(details))
