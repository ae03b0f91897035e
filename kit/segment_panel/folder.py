"""What is in a replica's folder: segments, the batches in them, and the files beside them.

`look` reads a folder at one moment.  It walks from batch header to batch header, with the engine's
own walk, and decodes no record.  Damage is part of the picture: a tail without a whole batch, bytes
that are no batch, an index that contradicts itself are said, and what can be read is shown.

A log may be rolled, cut or deleted while it is looked at.  Then the look is repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from engine.records import compression
from engine.records.batch import HEADER_SIZE, BatchHeader, CorruptBatch
from engine.storage import checkpoints, file_names, leader_epochs, producer_snapshots
from engine.storage.file_names import OFFSET_INDEX, PRODUCER_SNAPSHOT, TIME_INDEX
from engine.storage.offset_index import CorruptIndex
from engine.storage.segment import Segment
from engine.storage.segments import Segments
from engine.storage.transaction_index import TransactionIndex
from engine.wire import uuids
from engine.wire.errors import KafkaError
from kit.film.words import plural
from kit.segment_panel.files import ENTRY_SIZES, Moment, Readable

ATTEMPTS = 3
BATCHES_MOST = 20_000
"""In one segment; those behind are counted in bytes only."""
ABORTED_LISTED = 3
PASSING = {
    file_names.CLEANED: "being written by the cleaner",
    file_names.SWAP: "about to take the place of the old file",
    file_names.DELETED: "deleted soon",
}
"""What a file's last ending says of it."""
CHECKPOINTS = (checkpoints.LOG_STARTS, checkpoints.HIGH_WATERMARKS)
T = TypeVar("T")


class Vanished(Exception):
    """The files changed under the reader, several times."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of the folder; `of` is its segment's base offset, None for the whole log's."""

    name: str
    size: int
    says: str
    of: int | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch by its header."""

    position: int
    header: BatchHeader

    @property
    def size(self) -> int:
        return self.header.size_in_bytes

    @property
    def codec(self) -> str:
        number = self.header.compression
        return compression.NAMES[number] if number < len(compression.NAMES) else f"codec {number}"


@dataclass(frozen=True, slots=True)
class OneSegment:
    """A segment; `trouble` is a sentence about damage, `tail` the bytes behind the last batch.

    `unwalked` are whole batches' bytes that were not looked at, because there are too many.
    """

    base_offset: int
    size: int
    is_active: bool
    files: tuple[File, ...]
    batches: tuple[Batch, ...]
    tail: int = 0
    unwalked: int = 0
    trouble: str = ""

    @property
    def name(self) -> str:
        return f"{self.base_offset:020d}{file_names.LOG}"

    @property
    def next_offset(self) -> int:
        return self.batches[-1].header.next_offset if self.batches else self.base_offset


@dataclass(frozen=True)
class Replica:
    """A folder at one moment; `log` lets the engine's code search in it."""

    directory: str
    moment: Moment
    segments: tuple[OneSegment, ...]
    log: Segments
    others: tuple[File, ...] = ()
    epochs: tuple[tuple[int, int], ...] = ()
    topic_id: str = ""
    log_start: int = 0
    high_watermark: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def log_end(self) -> int:
        return self.segments[-1].next_offset if self.segments else self.log_start

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self.segments)

    def segment(self, base_offset: int) -> OneSegment | None:
        return next((each for each in self.segments if each.base_offset == base_offset), None)


def look(base: Readable, directory: str) -> Replica:
    """Reads the folder `directory`, its data directory's checkpoints too; Vanished, and OSError."""
    for _ in range(ATTEMPTS):
        try:
            return _look(base, directory)
        except FileNotFoundError as error:
            missing = str(error)
    raise Vanished(f"{directory} changes faster than it can be read; {missing} was there, and went")


def _look(base: Readable, directory: str) -> Replica:
    moment = Moment(base, directory, also=CHECKPOINTS)
    names = moment.list(directory)
    bases = file_names.offsets(names, file_names.LOG)
    notes: list[str] = []
    searched = [_opened(moment, directory, base_offset, notes) for base_offset in bases]
    walked = [_walked(moment, segment, segment is searched[-1]) for segment in searched]
    for segment in searched:
        if segment is searched[-1] or not segment.time_index.entries:
            segment.find_max_timestamp()  # its time index has not been closed
    notes += [f"{each.name}: {each.trouble}" for each in walked if each.trouble]
    nothing: list[tuple[int, int]] = []
    epochs = _or_note(notes, nothing, lambda: _epochs(moment, directory))
    topic_id = _or_note(notes, None, lambda: checkpoints.read_topic_id(moment, directory))
    start, watermark = (
        _or_note(notes, None, partial(_checkpointed, moment, path, directory))
        for path in CHECKPOINTS
    )
    return Replica(
        directory,
        moment,
        tuple(walked),
        Segments(moment, directory, searched),
        tuple(_others(moment, directory, bases)),
        tuple(epochs),
        uuids.to_text(topic_id) if topic_id else "",
        max([start or 0, *bases[:1]]),
        watermark,
        tuple(notes),
    )


def _opened(moment: Moment, directory: str, base_offset: int, notes: list[str]) -> Segment:
    """The engine's segment over these files; without its indexes if they are damaged."""
    segment = Segment(moment, directory, base_offset, 0)
    try:
        segment.load()
        return segment
    except CorruptIndex as error:
        segment = Segment(moment, directory, base_offset, 0)
        segment.size = moment.size(segment.path)
        which = str(error).rpartition("/")[2]
        notes.append(f"{which} contradicts itself: a look-up begins at the segment's start.")
        return segment


def _walked(moment: Moment, segment: Segment, is_active: bool) -> OneSegment:
    batches: list[Batch] = []
    end, trouble, unwalked = 0, "", 0
    try:
        for header, position in segment.headers(0):
            if len(batches) == BATCHES_MOST:
                unwalked = segment.size - end
                break
            batches.append(Batch(position, header))
            end = position + header.size_in_bytes
    except CorruptBatch as error:
        trouble = str(error.message).rpartition(": ")[2]
    tail = segment.size - end - unwalked
    if trouble:
        trouble = f"{trouble}: damage, and {plural(tail, 'byte')} from there on cannot be walked."
    elif tail:
        trouble = _torn(moment, segment, end, tail, is_active)
    if trouble:
        segment.size = end  # the engine's searches end before the damage
    return OneSegment(
        segment.base_offset,
        end + tail + unwalked,
        is_active,
        tuple(_files_of(moment, segment)),
        tuple(batches),
        tail,
        unwalked,
        trouble,
    )


def _torn(moment: Moment, segment: Segment, end: int, tail: int, is_active: bool) -> str:
    wanted = ""
    if tail >= HEADER_SIZE:
        length = int.from_bytes(moment.read(segment.path, end + 8, 4), "big", signed=True)
        wanted = f" of the {length + 12} that its header promises"
    why = " It is being written, or it is torn" if is_active else " It is torn"
    return (
        f"a batch begins at {end} and is not whole: {plural(tail, 'byte')}{wanted}.{why}; "
        "a broker that starts after a crash cuts it off."
    )


# -- the files


def _files_of(moment: Moment, segment: Segment) -> Iterator[File]:
    stem = segment.path[: -len(file_names.LOG)]
    for path in (p for p in _all(moment) if p.startswith(stem)):
        size, suffix = moment.size(path), path[len(stem) :]
        yield File(path.rpartition("/")[2], size, _says(moment, path, suffix), segment.base_offset)


def _all(moment: Moment) -> list[str]:
    return [f"{moment.directory}/{name}" for name in moment.list(moment.directory)]


def _says(moment: Moment, path: str, suffix: str) -> str:
    size = moment.size(path)
    if suffix in (OFFSET_INDEX, TIME_INDEX):
        entries = plural(size // ENTRY_SIZES[suffix], "entry").replace("entrys", "entries")
        spare = moment.reserved.get(path, 0)
        return entries + (f", and {spare:,} bytes of zeros kept for more" if spare else "")
    if suffix == PRODUCER_SNAPSHOT:
        try:
            known = producer_snapshots.decode(moment.read(path, 0, size))
        except producer_snapshots.CorruptSnapshot as error:
            return f"damaged: {error}"
        return f"what was known of {plural(len(known), 'producer')}"
    if suffix == file_names.TRANSACTION_INDEX:
        return _aborted(moment, path)
    if suffix == file_names.LOG:
        return "batches"
    return PASSING.get(f".{suffix.rpartition('.')[2]}", "")


def _aborted(moment: Moment, path: str) -> str:
    index = TransactionIndex(moment, path)
    try:
        index.load()
        found = list(index)
    except CorruptIndex:
        return "damaged: its entries contradict themselves"
    listed = ", ".join(
        f"{each.first_offset}–{each.last_offset} of producer {each.producer_id}"
        for each in found[:ABORTED_LISTED]
    )
    more = ", …" if len(found) > ABORTED_LISTED else ""
    return f"{plural(len(found), 'aborted transaction')}: offsets {listed}{more}"


def _others(moment: Moment, directory: str, bases: list[int]) -> Iterator[File]:
    """Files of the whole log, and leftovers of segments that are gone."""
    for name in moment.list(directory):
        stem, dot, suffix = name.partition(".")
        if dot and stem.isdigit() and int(stem) in bases:
            continue
        path = f"{directory}/{name}"
        said = {
            leader_epochs.FILE_NAME: "epoch, and the first offset written in it",
            checkpoints.PARTITION_METADATA: "the topic's id",
        }.get(name) or _says(moment, path, dot + suffix)
        yield File(name, moment.size(path), said)


# -- the checkpoints


def _epochs(moment: Moment, directory: str) -> list[tuple[int, int]]:
    return checkpoints.read_epochs(moment, f"{directory}/{leader_epochs.FILE_NAME}")


def _checkpointed(moment: Moment, path: str, directory: str) -> int | None:
    """What one of the data directory's checkpoints says of this log."""
    topic, _, index = directory.rpartition("-")
    return checkpoints.read_offsets(moment, path).get((topic, int(index)))


def _or_note(notes: list[str], otherwise: T, read: Callable[[], T]) -> T:
    """What `read` gives, or a note about the file that is damaged."""
    try:
        return read()
    except KafkaError as error:
        notes.append(str(error.message))
        return otherwise
