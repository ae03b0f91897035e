"""One segment: a file of batches and its indexes.

    00042.log        [batch 42-44][batch 45-45][batch 46-61]...      append only
    00042.index           45 -> 211          61 -> 402               sparse
    00042.timeindex       t9 -> 45           t17 -> 61               sparse, rising
    00042.txnindex        only where a transaction was aborted

To read at an offset: binary search in the index, then from header to header to the batch
that contains it, then one read of whole batches.  Records are never looked at.  The
starts of recently appended batches are remembered, so a follower or consumer at the tail
needs no search at all.

Only the last segment of a log is written to.  It is rolled when it is full or old, and
old segments are deleted whole, or replaced whole by a cleaned one: no file is ever edited.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.records.batch import BatchHeader, Record, decode
from engine.storage import file_names, scan
from engine.storage.disk import Disk
from engine.storage.log_config import LogConfig
from engine.storage.offset_index import OffsetIndex
from engine.storage.time_index import NO_TIMESTAMP, TimeIndex
from engine.storage.transaction_index import TransactionIndex
from engine.wire.slices import SliceGone

REMEMBERED_MAX = 32
RELATIVE_OFFSET_MAX = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class FileSlice:
    """A part of a segment's file; nothing is read before `read`."""

    segment: Segment
    position: int
    length: int

    def __len__(self) -> int:
        return self.length

    def read(self, start: int = 0, length: int | None = None) -> bytes:
        """Up to `length` bytes from `start` on, all by default.

        SliceGone when the segment was deleted, or cut off below the slice's end.
        """
        rest = self.length - start
        length = rest if length is None else min(length, rest)
        segment = self.segment
        data = b""
        if self.position + self.length <= segment.size:
            data = segment.disk.read(segment.path, self.position + start, length)
        if len(data) != length:
            raise SliceGone(f"{segment.path} was cut off while it was being sent")
        return data


class Segment:
    """The segment that begins at `base_offset`; `create` or load it before use.

    Its files may have a `suffix`, behind their usual names, and a `tag` behind the offset.
    """

    def __init__(
        self,
        disk: Disk,
        directory: str,
        base_offset: int,
        created_ms: int,
        suffix: str = "",
        tag: str = "",
    ) -> None:
        self.disk = disk
        self.base_offset = base_offset
        self.suffix = suffix
        self._stem = file_names.of_offset(directory, base_offset, tag)
        self.path = self._path(file_names.LOG)
        self.offset_index = OffsetIndex(disk, self._path(file_names.OFFSET_INDEX), base_offset)
        self.time_index = TimeIndex(disk, self._path(file_names.TIME_INDEX), base_offset)
        self.transaction_index = TransactionIndex(disk, self._path(file_names.TRANSACTION_INDEX))
        self.created_ms = created_ms
        self.size = 0
        self.max_timestamp = NO_TIMESTAMP
        self.max_timestamp_offset = base_offset  # last offset of the batch that has it
        self._first_timestamp: int | None = None
        self._not_indexed = 0  # bytes since the last index entry
        self._starts: dict[int, int] = {}  # base offset -> position, of the latest batches

    def _path(self, kind: str) -> str:
        return self._stem + kind + self.suffix

    def create(self) -> None:
        """Makes empty files; deletes leftovers of the same name."""
        self.delete()
        for path in (self.path, self.offset_index.path, self.time_index.path):
            self.disk.append(path, b"")

    def load(self) -> None:
        """Takes over the files of a cleanly closed segment; CorruptIndex, FileNotFoundError."""
        self.size = self.disk.size(self.path)
        self.offset_index.load()
        self.time_index.load()
        self.transaction_index.load()
        self.max_timestamp = self.time_index.last_timestamp
        self.max_timestamp_offset = self.time_index.last_offset

    # -- append

    def should_roll(self, config: LogConfig, batch: BatchHeader, now_ms: int) -> bool:
        """Whether `batch` belongs in a new segment: this one is full, or old, or too wide."""
        return (
            self.size > config.segment_bytes - batch.size_in_bytes
            or (self.size > 0 and self._waited_ms(batch, now_ms) > config.rolls_after_ms)
            or self.offset_index.is_full(config.segment_index_bytes)
            or self.time_index.is_full(config.segment_index_bytes)
            or batch.last_offset - self.base_offset > RELATIVE_OFFSET_MAX
        )

    def _waited_ms(self, batch: BatchHeader, now_ms: int) -> int:
        """By the records' own clock where they have one, so that replicas roll alike."""
        if self.first_timestamp >= 0:
            return batch.max_timestamp - self.first_timestamp
        return now_ms - self.created_ms

    @property
    def first_timestamp(self) -> int:
        """The largest timestamp of the first batch; -1 if there is none."""
        if self._first_timestamp is None:
            first = next(self.headers(0), None)
            self._first_timestamp = first[0].max_timestamp if first else NO_TIMESTAMP
        return self._first_timestamp

    def append(self, data: bytes, batches: Sequence[BatchHeader], index_interval: int) -> None:
        """Writes whole batches, whose headers are `batches`, with one write."""
        self.disk.append(self.path, data)
        for batch in batches:
            self.note(batch, index_interval)

    def note(self, batch: BatchHeader, index_interval: int) -> None:
        """Takes note of the next batch in the file: its size, timestamp and index entries."""
        position = self.size
        size = batch.batch_length + 12
        last_offset = batch.base_offset + batch.last_offset_delta
        if position == 0:
            self._first_timestamp = batch.max_timestamp
        if batch.max_timestamp > self.max_timestamp:
            self.max_timestamp = batch.max_timestamp
            self.max_timestamp_offset = last_offset
        if self._not_indexed > index_interval:
            self.offset_index.append(last_offset, position)
            self.time_index.maybe_append(self.max_timestamp, self.max_timestamp_offset)
            self._not_indexed = 0
        self._not_indexed += size
        self._remember(batch.base_offset, position)
        self.size = position + size

    def _remember(self, offset: int, position: int) -> None:
        starts = self._starts
        if len(starts) >= REMEMBERED_MAX:
            del starts[next(iter(starts))]
        starts[offset] = position

    def become_inactive(self) -> None:
        """Closes the time index with the largest timestamp; the segment is complete."""
        self._not_indexed = 0
        self.time_index.maybe_append(self.max_timestamp, self.max_timestamp_offset)

    # -- read

    def headers(self, position: int) -> Iterator[tuple[BatchHeader, int]]:
        return scan.headers(self.disk, self.path, position, self.size)

    def records(self, header: BatchHeader, position: int) -> list[Record]:
        """The records of the batch at `position`."""
        return decode(self.disk.read(self.path, position, header.size_in_bytes))

    def find(self, offset: int) -> tuple[int, BatchHeader | None]:
        """Position of the first batch that ends at or above `offset`; the size if none does.

        The header too, unless the position was remembered.
        """
        position = self._starts.get(offset)
        if position is not None:
            return position, None
        for header, position in self.headers(self.offset_index.lookup(offset)[1]):
            if header.base_offset + header.last_offset_delta >= offset:
                return position, header
        return self.size, None

    def slice(
        self, offset: int, bytes_max: int, limit_offset: int | None, at_least_one: bool
    ) -> FileSlice | None:
        """Whole batches from the one with `offset` on, in at most `bytes_max` bytes.

        With `at_least_one` the first comes even if it is larger.  The batch that contains
        `limit_offset`, and what follows it, stays out.  None: this segment ends below `offset`.
        """
        start, first = self.find(offset)
        if start == self.size:
            return None
        end = self.size if limit_offset is None else self.find(limit_offset)[0]
        if end <= start:
            return FileSlice(self, start, 0)
        if end - start > bytes_max:
            end = self._last_boundary(start, start + max(bytes_max, 0))
            if end == start and at_least_one:
                end += (first or next(self.headers(start))[0]).size_in_bytes
        return FileSlice(self, start, end - start)

    def _last_boundary(self, start: int, at_most: int) -> int:
        """The end of the last batch that fits between two positions."""
        boundary = max(start, self.offset_index.position_below(at_most))
        next_offset = None
        for header, position in self.headers(boundary):
            if position + header.size_in_bytes > at_most:
                break
            boundary = position + header.size_in_bytes
            next_offset = header.next_offset
        if next_offset is not None:
            self._remember(next_offset, boundary)  # this reader's next fetch
        return boundary

    def last_offset(self) -> int:
        """Of the last whole batch; the base offset less one when there is none."""
        last = self.base_offset - 1
        for header, _ in self.headers(self.offset_index.last_position):
            last = header.last_offset
        return last

    # -- time

    def offset_for_timestamp(
        self, timestamp: int, start_offset: int
    ) -> tuple[int, int, int] | None:
        """(offset, timestamp, epoch) of the first record from `start_offset` with that time or
        later."""
        known_offset = max(self.time_index.lookup(timestamp)[1], start_offset)
        for header, position in self.headers(self.offset_index.lookup(known_offset)[1]):
            if header.max_timestamp < timestamp or header.last_offset < start_offset:
                continue
            for record in self.records(header, position):
                if record.timestamp >= timestamp and record.offset >= start_offset:
                    return record.offset, record.timestamp, header.partition_leader_epoch
        return None

    def record_of_max_timestamp(self) -> tuple[int, int, int] | None:
        """(offset, timestamp, epoch) of the first record with the largest timestamp."""
        begin, _ = self.find(self.max_timestamp_offset)
        for header, position in self.headers(begin):
            if header.max_timestamp != self.max_timestamp:
                continue
            for record in self.records(header, position):
                if record.timestamp == self.max_timestamp:
                    return record.offset, record.timestamp, header.partition_leader_epoch
        return None

    # -- truncate, delete

    def truncate_to(self, offset: int) -> int:
        """Cuts at the batch that contains `offset`; the new end offset, at most `offset`.

        Batches are not split: cutting inside one takes all of it.
        """
        position, header = self.find(offset)
        if position < self.size:
            header = header or next(self.headers(position))[0]
            offset = min(offset, header.base_offset)
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.transaction_index.truncate_to(offset)
        self.disk.truncate(self.path, position)
        self.size = position
        self._starts = {o: p for o, p in self._starts.items() if p < position}
        self.find_max_timestamp()
        return offset

    def find_max_timestamp(self) -> None:
        """From the last entry of the time index, and the batches behind it."""
        if self.size == 0:
            self._first_timestamp = None
        self.max_timestamp = self.time_index.last_timestamp
        self.max_timestamp_offset = self.time_index.last_offset
        indexed = self.offset_index.lookup(self.max_timestamp_offset)[1]
        for header, _ in self.headers(indexed):
            if header.max_timestamp > self.max_timestamp:
                self.max_timestamp = header.max_timestamp
                self.max_timestamp_offset = header.last_offset
        self._not_indexed = 0

    def reset(self) -> None:
        """Forgets all but the bytes, as recovery does before it notes every batch again."""
        self.size = 0
        self.max_timestamp = NO_TIMESTAMP
        self.max_timestamp_offset = self.base_offset
        self._first_timestamp = None
        self._not_indexed = 0
        self._starts = {}
        self.offset_index.reset()
        self.time_index.reset()
        self.transaction_index.reset()

    def change_suffix(self, suffix: str) -> None:
        """Renames the files, the batches first; slices of them can still be read."""
        before = {kind: self._path(kind) for kind in file_names.OF_A_SEGMENT}
        self.suffix = suffix
        for kind, old in before.items():
            if self.disk.exists(old):
                self.disk.rename(old, self._path(kind))
        self.path = self._path(file_names.LOG)
        self.offset_index.path = self._path(file_names.OFFSET_INDEX)
        self.time_index.path = self._path(file_names.TIME_INDEX)
        self.transaction_index.path = self._path(file_names.TRANSACTION_INDEX)

    def files(self) -> list[str]:
        """The paths of its files; the transaction index only if there is one."""
        paths = [self.path, self.offset_index.path, self.time_index.path]
        return [*paths, self.transaction_index.path] if self.transaction_index.size else paths

    def delete(self) -> None:
        self.size = self.transaction_index.size = 0
        for kind in file_names.OF_A_SEGMENT:
            self.disk.delete(self._path(kind))
