"""Opens the files of a log: finds its segments, recovers what is in doubt, replays what follows.

After a clean stop the segments are taken as they are; only the last batches are looked at, to find
the log's end.  After an unclean one every segment above the recovery point is read through
(`recovery` says what happens to damage).  A segment whose indexes are missing or contradict
themselves is read through in either case: they can always be rebuilt.

The leader epochs and the producers' states are then brought into line with what the log
really holds.

Simplified: a directory must be writable.  Where whole batches are missing at the end of a
segment, the segments behind it are dropped, so that no offset is skipped; Kafka drops them only if
it had to cut something.  Compaction leaves such holes too: a log that was compacted until less than
a minute before its broker died may lose segments that were whole.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from engine.records.batch import BatchHeader, CorruptBatch, Record, decode
from engine.storage import file_names, scan, swap
from engine.storage.disk import Disk
from engine.storage.leader_epochs import LeaderEpochs
from engine.storage.log_config import LogConfig
from engine.storage.offset_index import CorruptIndex
from engine.storage.producer_snapshots import ProducerSnapshots
from engine.storage.producer_states import ProducerStates
from engine.storage.recovery import Cut, RecoveryReport, count_intact
from engine.storage.segment import RELATIVE_OFFSET_MAX, Segment
from engine.storage.segments import Segments
from engine.storage.transaction_index import AbortedTransaction


@dataclass(frozen=True, slots=True)
class Checkpointed:
    """What the broker's checkpoints know of a log before it is opened."""

    clean: bool = False
    recovery_point: int = 0
    log_start_offset: int = 0
    first_dirty_offset: int = 0


class LogLoader:
    """Opens one log; used once."""

    def __init__(
        self,
        disk: Disk,
        directory: str,
        config: LogConfig,
        now_ms: int,
        known: Checkpointed,
        epochs: LeaderEpochs,
    ) -> None:
        self.disk = disk
        self.directory = directory
        self.config = config
        self.now_ms = now_ms
        self.known = known
        self.epochs = epochs
        self.batches_checked = 0
        self.cuts: list[Cut] = []
        self.rebuilt: list[str] = []

    def load(self) -> tuple[list[Segment], int, int]:
        """(segments, log start offset, log end offset); there is at least one segment."""
        segments = self._load_segments(self._base_offsets())
        start = self.known.log_start_offset
        end = segments[-1].last_offset() + 1 if segments else start
        if segments and end < start:
            self._delete(segments, 0, "the log ends below its checkpointed start")
            segments = []
        if not segments:
            segments = [Segment(self.disk, self.directory, start, self.now_ms)]
            segments[0].create()
            end = start
        if not self.config.remote_storage_enable:  # or what is below is in the tier
            start = max(start, segments[0].base_offset)
        self.epochs.truncate_from_end(end)
        self.epochs.truncate_from_start(start)
        return segments, start, end

    @property
    def report(self) -> RecoveryReport:
        return RecoveryReport(
            not self.known.clean, self.batches_checked, tuple(self.cuts), tuple(self.rebuilt)
        )

    def _base_offsets(self) -> list[int]:
        swap.finish(self.disk, self.directory)
        names = self.disk.list(self.directory)
        bases = file_names.offsets(names, file_names.LOG)
        for suffix in file_names.OF_A_SEGMENT[1:]:
            for orphan in [o for o in file_names.offsets(names, suffix) if o not in bases]:
                self.disk.delete(file_names.of_offset(self.directory, orphan, suffix))
        return bases

    def _load_segments(self, bases: list[int]) -> list[Segment]:
        first_in_doubt = len(bases)
        if not self.known.clean:
            first_in_doubt = max(bisect_right(bases, self.known.recovery_point) - 1, 0)
        segments = [Segment(self.disk, self.directory, base, self.now_ms) for base in bases]
        for number, segment in enumerate(segments):
            if number < first_in_doubt:
                try:
                    segment.load()
                    continue
                except (CorruptIndex, FileNotFoundError):
                    self.rebuilt.append(segment.path)
            damages = len(self.cuts)
            end = self._recover(segment, segments[:number])
            why = "it lies behind the damage" if len(self.cuts) > damages else ""
            if not why and number >= first_in_doubt and self._has_hole(bases, number, end):
                why = f"the records from {end} on are missing before it"
            if why:
                self._delete(segments, number + 1, why)
                return segments[: number + 1]
        return segments

    def _has_hole(self, bases: list[int], number: int, end: int) -> bool:
        """Whole batches are missing at a segment's end, a hole that only compaction may leave."""
        if number + 1 == len(bases) or self.config.is_compacted:
            return False
        return end < bases[number + 1] and self.known.first_dirty_offset < bases[number + 1]

    def _recover(self, segment: Segment, before: list[Segment]) -> int:
        """Reads all of a segment and cuts it at the first damage; gives where its offsets end.

        The transaction index is written again as well: which transactions were open at the
        segment's start, the segments before it say.
        """
        size = self.disk.size(segment.path)
        segment.reset()
        next_offset = segment.base_offset
        why = ""
        producers: ProducerStates | None = None
        try:
            for header, data in scan.intact(self.disk, segment.path, 0, size):
                if header.base_offset < next_offset:
                    raise CorruptBatch(f"offset {header.base_offset} follows {next_offset - 1}")
                if header.last_offset - segment.base_offset > RELATIVE_OFFSET_MAX:
                    raise CorruptBatch(f"offset {header.last_offset} is out of its range")
                segment.note(header, self.config.index_interval_bytes)
                if header.is_transactional:
                    producers = producers or self._producers_at(segment.base_offset, before)
                    _note(producers, segment, header, data)
                if header.partition_leader_epoch > self.epochs.latest:
                    self.epochs.assign(header.partition_leader_epoch, header.base_offset)
                next_offset = header.next_offset
                self.batches_checked += 1
        except CorruptBatch as error:
            why = str(error.message)
        segment.become_inactive()
        if why:
            valid = segment.size
            behind = count_intact(self.disk, segment.path, valid + 1, next_offset, size)
            self.cuts.append(Cut(segment.path, valid, next_offset, size - valid, behind, why))
            self.disk.truncate(segment.path, valid)
        return next_offset

    def _producers_at(self, offset: int, segments: list[Segment]) -> ProducerStates:
        """The producers' states at `offset`, from a snapshot and the segments below it."""
        producers = ProducerStates()
        start = self.known.log_start_offset
        begin = ProducerSnapshots(self.disk, self.directory).read(producers, start, offset)
        if segments:
            replay(producers, Segments(self.disk, self.directory, segments), begin, offset)
        return producers

    def _delete(self, segments: list[Segment], first: int, why: str) -> None:
        """Deletes the segments from number `first` on, the last one first."""
        for segment in reversed(segments[first:]):
            size = self.disk.size(segment.path)
            behind = count_intact(self.disk, segment.path, 0, -1, size)
            self.cuts.append(Cut(segment.path, 0, segment.base_offset, size, behind, why))
            segment.delete()


def replay(producers: ProducerStates, segments: Segments, from_offset: int, to_offset: int) -> None:
    """Notes every idempotent batch in a range of offsets, as if it were appended now."""
    for segment in segments.from_offset(from_offset):
        begin, _ = segment.find(max(from_offset, segment.base_offset))
        for header, position in segment.headers(begin):
            if header.base_offset >= to_offset:
                break
            if header.producer_id < 0:
                continue
            if not header.is_control:
                producers.note(header)
                continue
            for record in segment.records(header, position):
                producers.note_marker(header, record)


def _note(
    producers: ProducerStates, segment: Segment, header: BatchHeader, data: memoryview
) -> None:
    if not header.is_control:
        producers.note(header)
        return
    for record in decode(data):
        note_end(producers, segment, header, record)


def note_end(
    producers: ProducerStates, segment: Segment, batch: BatchHeader, record: Record
) -> None:
    """Notes a marker; an abort goes into the segment's transaction index."""
    ended = producers.note_marker(batch, record)
    if ended is None or not ended.aborted:
        return
    stable = producers.first_undecided_offset
    segment.transaction_index.append(
        AbortedTransaction(
            ended.producer_id,
            ended.first_offset,
            ended.last_offset,
            ended.last_offset + 1 if stable is None else stable,
        )
    )
