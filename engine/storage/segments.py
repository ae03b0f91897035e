"""The segments of one log in order: finds the right one, and goes on to the next.

    0...4710 | 4711...9002 | 9003...      base offsets 0, 4711, 9003
                    ^ offset 5000: the last segment that begins at or below it

There is always at least one; the last is the active one.  A read is answered out of one
segment, as in Kafka: the reader comes back for more.  A segment may hold nothing at or
above an offset in its range (compaction removes records, offsets stay), and
then the next segment is read.

Simplified: a look-up by time goes on, too, where compaction has left no record in the first
segment.  Kafka ends there and finds nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from engine.storage.disk import Disk
from engine.storage.file_names import DELETED
from engine.storage.segment import FileSlice, Segment
from engine.storage.transaction_index import AbortedTransaction


class Segments:
    """Ordered by base offset; number 0 is the oldest."""

    def __init__(self, disk: Disk, directory: str, segments: list[Segment]) -> None:
        self.disk = disk
        self.directory = directory
        self._segments = segments
        self.retired: list[tuple[int, Segment]] = []
        """When they were replaced (ms), and the segments: no longer part of the log."""

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    def __getitem__(self, number: int) -> Segment:
        return self._segments[number]

    @property
    def active(self) -> Segment:
        return self._segments[-1]

    @property
    def size_in_bytes(self) -> int:
        return sum(segment.size for segment in self._segments)

    @property
    def base_offsets(self) -> list[int]:
        return [segment.base_offset for segment in self._segments]

    def create(self, base_offset: int, now_ms: int) -> Segment:
        """A new active segment, empty."""
        segment = Segment(self.disk, self.directory, base_offset, now_ms)
        segment.create()
        self._segments.append(segment)
        return segment

    def delete(self, number: int) -> Segment:
        segment = self._segments.pop(number)
        segment.delete()
        return segment

    def from_offset(self, offset: int) -> list[Segment]:
        """The segment that holds `offset`, and all behind it."""
        return self._segments[self._number_of(offset) :]

    def between(self, offset: int, end: int) -> list[Segment]:
        """The segment that holds `offset`, and those behind it that begin below `end`."""
        if offset >= end:
            return []
        return [each for each in self.from_offset(offset) if each.base_offset < end]

    def replace(self, old: list[Segment], new: Segment) -> None:
        """Puts `new` in the place of neighbors; the files are the caller's business."""
        number = self._segments.index(old[0])
        assert self._segments[number : number + len(old)] == old, "neighbors, in order"
        self._segments[number : number + len(old)] = [new]

    def retire(self, segment: Segment, now_ms: int) -> None:
        """Keeps a replaced segment's files for those that are reading them."""
        for _, before in [each for each in self.retired if each[1].path == segment.path + DELETED]:
            before.delete()
        segment.change_suffix(DELETED)
        self.retired.append((now_ms, segment))

    def delete_retired(self, up_to_ms: int) -> None:
        """Deletes the files of segments that were replaced at that time or before."""
        for at_ms, segment in self.retired:
            if at_ms <= up_to_ms:
                segment.delete()
        self.retired = [each for each in self.retired if each[0] > up_to_ms]

    def _number_of(self, offset: int) -> int:
        if offset >= self._segments[-1].base_offset:
            return len(self._segments) - 1
        return max(bisect_right(self._segments, offset, key=_base_offset) - 1, 0)

    def end_of(self, number: int, log_end_offset: int) -> int:
        """The offset at which a segment's range ends: where the next begins."""
        if number + 1 < len(self._segments):
            return self._segments[number + 1].base_offset
        return log_end_offset

    # -- read; a `limit_offset` of None is the log's end

    def slice(
        self, offset: int, max_bytes: int, limit_offset: int | None, at_least_one: bool
    ) -> FileSlice | None:
        """None if there is nothing at `offset`."""
        for number in range(self._number_of(offset), len(self._segments)):
            limit = self._limit_in(number, limit_offset)
            found = self._segments[number].slice(offset, max_bytes, limit, at_least_one)
            if found is not None:
                return found
        return None

    def bytes_between(self, offset: int, limit_offset: int | None) -> int:
        total = 0
        for number in range(self._number_of(offset), len(self._segments)):
            segment = self._segments[number]
            if limit_offset is not None and segment.base_offset >= limit_offset:
                break
            start = segment.find(offset)[0] if segment.base_offset < offset else 0
            limit = self._limit_in(number, limit_offset)
            end = segment.size if limit is None else segment.find(limit)[0]
            total += max(end - start, 0)
        return total

    def aborted_transactions(
        self, found: FileSlice, log_end_offset: int
    ) -> list[AbortedTransaction]:
        """Those that touch the slice.

        As in Kafka, the offset index says where the slice ends, so a few behind it may be among
        them.  A consumer that gets them early keeps them until it is there.
        """
        number = self._segments.index(found.segment)
        offset = next(found.segment.headers(found.position))[0].base_offset
        end = found.segment.offset_index.offset_above(found.position + found.length)
        if end is None:
            end = self.end_of(number, log_end_offset)
        transactions: list[AbortedTransaction] = []
        for segment in self._segments[number:]:
            more, is_complete = segment.transaction_index.collect(offset, end)
            transactions += more
            if is_complete:
                break
        return transactions

    def _limit_in(self, number: int, limit_offset: int | None) -> int | None:
        """The limit for one segment; None when all of it is below."""
        if limit_offset is None or number + 1 == len(self._segments):
            return limit_offset
        return None if self._segments[number + 1].base_offset <= limit_offset else limit_offset

    def offset_for_timestamp(
        self, timestamp: int, start_offset: int
    ) -> tuple[int, int, int] | None:
        """(offset, timestamp, epoch) of the first record from `start_offset` at that time or later.

        As in Kafka, only the first segment with such a record is searched: when DeleteRecords has
        moved the start past that record, the answer is None.
        """
        for segment in self._segments:
            if segment.max_timestamp >= timestamp:
                return segment.offset_for_timestamp(timestamp, start_offset)
        return None

    def max_timestamp(self) -> tuple[int, int, int] | None:
        """(offset, timestamp, epoch) of the first record with the largest timestamp."""
        return max(self._segments, key=_max_timestamp).record_of_max_timestamp()


def _base_offset(segment: Segment) -> int:
    return segment.base_offset


def _max_timestamp(segment: Segment) -> int:
    return segment.max_timestamp
