"""The metadata log as plain data: its batches, and their records in words.

    {"base_offset": 13, "last_offset": 14, "epoch": 2, "kinds": ["topic", "partition"],
     "briefs": ["orders", "orders-0"], "values": ["topic orders created", "partition orders-0: …"]}

A batch is one change: its records are in the log together, or none of them is.  An active
controller of Kafka writes a NoOpRecord every half second when nothing happens; a run of them in one
epoch is one batch here, with one record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from engine.metadata.records import METADATA_DIRECTORY, decode_batches
from engine.records import batch
from engine.records.batch import HEADER_SIZE, BatchHeader, CorruptBatch
from engine.storage import file_names
from engine.wire.codec import MalformedMessage
from kit.probes.metadata_words import MetadataWords, Said
from kit.transaction_panel.logs import Readable, walk

QUIET = "quiet"
BATCHES_MOST = 48
"""So many of a log's newest batches are kept."""
NOT_READABLE = Said("other", "?", "(not readable)")
Stored = Mapping[str, Any]


def read(log: Readable, start: int, end: int, words: MetadataWords) -> list[Stored]:
    """The newest batches of a log between two offsets."""
    return folded(_stored(*each, words) for each in walk(log, start, end))


def folded(batches: Iterable[Stored]) -> list[Stored]:
    """The newest batches, with each run of quiet ones as one."""
    kept: list[Stored] = []
    for each in batches:
        last = kept[-1] if kept else None
        if last and is_quiet(last) and is_quiet(each) and last["epoch"] == each["epoch"]:
            kept[-1] = {**last, "last_offset": each["last_offset"]}
        else:
            kept.append(each)
    return kept[-BATCHES_MOST:]


def is_quiet(stored: Stored) -> bool:
    return all(kind == QUIET for kind in stored["kinds"])


def _stored(header: BatchHeader, data: bytes, position: int, words: MetadataWords) -> Stored:
    whole = data[position : position + header.size_in_bytes]
    try:
        said = [words.say(record) for _, record in decode_batches(whole)]
    except (CorruptBatch, MalformedMessage, IndexError, ValueError):
        said = [NOT_READABLE]
    return {
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "epoch": header.partition_leader_epoch,
        "kinds": [each.kind for each in said],
        "briefs": [each.brief for each in said],
        "values": [each.full for each in said],
    }


class LogFiles:
    """The metadata log in a controller's data directory, of the engine or of a Kafka.

    What was read is not read again, unless the log was cut: then its last known batch is no longer
    where it was.
    """

    def __init__(self, directory: Path, words: MetadataWords) -> None:
        self.folder = directory / METADATA_DIRECTORY
        self.words = words
        self._forget()

    def _forget(self) -> None:
        self.batches: list[Stored] = []
        self.start = 0
        self._file = ""
        self._known = (0, b"")  # the last batch: its place in the file, and its header
        self._size = 0

    def read(self) -> list[Stored]:
        """The newest batches; none if there is no log.  OSError if it cannot be read."""
        names = sorted(each.name for each in self.folder.glob(f"*{file_names.LOG}"))
        if not names:
            self._forget()
            return []
        self.start = int(names[0].removesuffix(file_names.LOG))
        if self._file not in names or not self._is_there(self._file):
            self._forget()
        for name in names[names.index(self._file) if self._file else 0 :]:
            if name != self._file:
                self._file, self._known, self._size = name, (0, b""), 0
            self.batches = folded([*self.batches, *self._fresh(name)])
        return self.batches

    def _is_there(self, name: str) -> bool:
        """Whether the file still has what was read of it."""
        with open(self.folder / name, "rb") as file:
            file.seek(self._known[0])
            return file.read(len(self._known[1])) == self._known[1]

    def _fresh(self, name: str) -> Iterator[Stored]:
        with open(self.folder / name, "rb") as file:
            file.seek(self._size)
            data, read_to = file.read(), self._size
        for header, position in batch.iterate(data):
            self._known = read_to + position, data[position : position + HEADER_SIZE]
            self._size = read_to + position + header.size_in_bytes
            yield _stored(header, data, position, self.words)
