"""One pass of the cleaner over one log, in small steps.

    INDEXING   read the dirty part, note the latest offset of each key        (offset_map)
    COPYING    read a group of segments, write what is left of it             (record_filter)
    SWAPPING   the new segment takes the place of the group                   (swap)
               ... the next group
    CLEANED    the log is clean up to where the map reached

The map is built from the dirty part alone, which is enough: the clean part has each key once, and
what replaces that record is dirty.  Copying begins at the start of the log, since the replaced
records may be anywhere below.

A step reads at most half of the I/O buffer, so a broker can serve its clients between two steps.
Appends go to the active segment, which a pass never touches.  When a truncation or a deletion
takes a segment that the pass counts on, it is given up, and another begins later.
"""

from __future__ import annotations

from enum import Enum

from engine.records.batch import BatchHeader, decode, iterate, read_header
from engine.records.outline import outline
from engine.storage.cleaner.cleaned_transactions import CleanedTransactions
from engine.storage.cleaner.groups import group
from engine.storage.cleaner.log_to_clean import LogToClean
from engine.storage.cleaner.offset_map import OffsetMap
from engine.storage.cleaner.record_filter import RecordFilter, last_records
from engine.storage.file_names import CLEANED
from engine.storage.segment import Segment


class Phase(Enum):
    """Where a pass is."""

    INDEXING = "indexing"
    COPYING = "copying"
    SWAPPING = "swapping"
    CLEANED = "cleaned"
    ABORTED = "aborted"


class Passed(Enum):
    """What has happened to it."""

    MAP_COMPLETE = "the map is full or the dirty part is read"
    GROUP_COPIED = "the group is copied"
    GROUP_SWAPPED = "the new segment is in place, and a group is left"
    ALL_SWAPPED = "the last group is in place"
    OVERTAKEN = "a segment of the pass was cut or deleted"


TRANSITIONS: dict[tuple[Phase, Passed], Phase] = {
    (Phase.INDEXING, Passed.MAP_COMPLETE): Phase.COPYING,
    (Phase.COPYING, Passed.GROUP_COPIED): Phase.SWAPPING,
    (Phase.SWAPPING, Passed.GROUP_SWAPPED): Phase.COPYING,
    (Phase.SWAPPING, Passed.ALL_SWAPPED): Phase.CLEANED,
    (Phase.INDEXING, Passed.OVERTAKEN): Phase.ABORTED,
    (Phase.COPYING, Passed.OVERTAKEN): Phase.ABORTED,
    (Phase.SWAPPING, Passed.OVERTAKEN): Phase.ABORTED,
}


class Cleaning:
    """A pass over `target`; call `step` until `is_over`.  `now` in microseconds."""

    def __init__(
        self, target: LogToClean, offsets: OffsetMap, now: int, io_buffer_size: int = 524_288
    ) -> None:
        assert target.dirty_bytes > 0, "there is nothing to clean"
        log = self.log = target.log
        self.target = target
        self.offsets = offsets
        self.phase = Phase.INDEXING
        self.end_offset = target.first_dirty_offset
        """The log is clean up to here, once the pass is over."""
        self.bytes_read = self.bytes_kept = 0
        """Of the segments that are replaced, and of the new ones."""
        self.bytes_moved = 0
        """Read and written so far, for the map too."""
        self.now_ms = now // 1000
        self._read_max = max(io_buffer_size // 2, 1)
        end = target.first_uncleanable_offset
        self._whole = [(each, each.size) for each in log.segments.between(0, end)]
        self._aborted = [each for segment in log.segments for each in segment.transaction_index]
        start = target.first_dirty_offset
        self._transactions = CleanedTransactions(self._aborted, start)
        self.filter = self._filter()
        self._sources = log.segments.between(start, end)
        self._position = self._sources[0].offset_index.lookup(start)[1]
        self._groups: list[list[Segment]] = []
        self._cleaned: Segment | None = None

    @property
    def is_over(self) -> bool:
        return self.phase in (Phase.CLEANED, Phase.ABORTED)

    def step(self) -> None:
        """One read, or one swap."""
        if not self._is_whole():
            self._pass(Passed.OVERTAKEN)
            self.abort()
        elif self.phase is Phase.INDEXING:
            self._index()
        elif self.phase is Phase.COPYING:
            self._copy()
        elif self.phase is Phase.SWAPPING:
            self._swap()

    def abort(self) -> None:
        """Gives the pass up; what was swapped so far stays."""
        self.phase = Phase.ABORTED
        if self._cleaned is not None:
            self._cleaned.delete()
            self._cleaned = None

    def _pass(self, passed: Passed) -> None:
        self.phase = TRANSITIONS[self.phase, passed]

    def _is_whole(self) -> bool:
        present = {id(segment) for segment in self.log.segments}
        return all(id(each) in present and each.size == size for each, size in self._whole)

    # -- build the map

    def _index(self) -> None:
        if not self._sources:
            self._complete()
            return
        source = self._sources[0]
        data = self._read(source)
        for header, position in iterate(data):
            if not self._index_batch(header, data, position):
                self._complete()
                return
        if self._position >= source.size:
            del self._sources[0]
            self._position = 0
            ahead = self._sources[0].base_offset if self._sources else 0
            self.offsets.latest_offset = (ahead or self.target.first_uncleanable_offset) - 1

    def _index_batch(self, header: BatchHeader, data: bytes, position: int) -> bool:
        """False when the map is full."""
        start = self.target.first_dirty_offset
        if header.is_control:
            self._transactions.may_go(header, decode(data, position))
        elif not self._transactions.is_aborted(header):
            put = self.offsets.put
            for offset, key, _, _, _ in outline(data, position).records:
                if key is not None and offset >= start and not put(key, offset):
                    return False
        if header.last_offset >= start:
            self.offsets.latest_offset = header.last_offset
        return True

    def _complete(self) -> None:
        self.end_offset = self.offsets.latest_offset + 1
        segments = self.log.segments.between(0, self.end_offset)
        end = self.target.first_uncleanable_offset
        self._groups = group(segments, self.log.config, end)
        self._transactions = CleanedTransactions(self._aborted, 0)
        self._pass(Passed.MAP_COMPLETE)
        self._begin_group()

    # -- copy what is left

    def _begin_group(self) -> None:
        first, last = self._groups[0][0], self._groups[0][-1]
        self._cleaned = Segment(
            first.disk, self.log.directory, first.base_offset, last.created_ms, CLEANED
        )
        self._cleaned.create()
        self._sources = [*self._groups[0]]
        self._position = 0
        read, kept = self.filter.records_read, self.filter.records_kept
        self.filter = self._filter()
        self.filter.records_read, self.filter.records_kept = read, kept

    def _filter(self) -> RecordFilter:
        return RecordFilter(
            self.offsets,
            self._transactions,
            self.now_ms,
            self.log.config.delete_retention_ms,
            self.target.first_uncleanable_offset,
            last_records(self.log.producers),
        )

    def _copy(self) -> None:
        assert self._cleaned is not None
        source = self._sources[0]
        data = self._read(source)
        left: list[bytes] = []
        for header, position in iterate(data):
            kept = self.filter.left_of(header, data[position : position + header.size_in_bytes])
            if kept:
                left.append(kept)
        if left:
            headers = [read_header(batch) for batch in left]
            data = b"".join(left)
            self._cleaned.append(data, headers, self.log.config.index_interval_bytes)
            self.bytes_moved += len(data)
        for transaction in self._transactions.kept:
            self._cleaned.transaction_index.append(transaction)
        self._transactions.kept.clear()
        if self._position >= source.size:
            del self._sources[0]
            self._position = 0
            if not self._sources:
                self._pass(Passed.GROUP_COPIED)

    def _swap(self) -> None:
        """The new segment is durable before an old one goes."""
        assert self._cleaned is not None
        new, old = self._cleaned, self._groups.pop(0)
        new.become_inactive()
        for path in new.files():
            new.disk.flush(path)
        self.bytes_read += sum(segment.size for segment in old)
        self.bytes_kept += new.size
        self._whole = [each for each in self._whole if each[0] not in old]
        self.log.replace_segments(new, old, self.now_ms)
        self._whole.append((new, new.size))
        self._cleaned = None
        if self._groups:
            self._pass(Passed.GROUP_SWAPPED)
            self._begin_group()
        else:
            self.log.first_dirty_offset = self.end_offset
            self._pass(Passed.ALL_SWAPPED)

    # -- read

    def _read(self, source: Segment) -> bytes:
        """The next whole batches of a segment, and at least one."""
        rest = source.size - self._position
        data = source.disk.read(source.path, self._position, min(self._read_max, rest))
        if data and (size := read_header(data).size_in_bytes) > len(data):
            data = source.disk.read(source.path, self._position, size)
        whole = 0
        for header, position in iterate(data):
            whole = position + header.size_in_bytes
        self._position += whole
        self.bytes_moved += whole
        return data[:whole]
