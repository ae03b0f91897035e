"""A partition's log: numbered batches in segments, written at one end.

    log start offset                                   log end offset (next to write)
          v                                                  v
    [ segment 0 ............][ segment 4711 ...][ active segment ]
      deleted whole, by age                       appended to

The leader gives each batch its offsets and its epoch, in place, and writes it with a
single append; followers write the very same bytes.  From then on a batch is never
changed; the cleaner of a compacted log writes new segments.  Beside the records a log keeps
three things that can be rebuilt from them: the indexes, the leader epochs, and the producers'
states.

The log does not know who leads, what is committed or who may read; `engine.replication.partition`
does.

After a write has failed (disk full, say) the log takes no more appends until it is opened
again: what is on disk and what is in memory may differ.  Simplified: compression.type is
always `producer`; retention deletes files at once, without file.delete.delay.ms, so a slow client
that is being sent a part of one loses its connection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.records.batch import BatchHeader, assign, decode, iterate, read_header, validate
from engine.storage import checkpoints, retention, swap
from engine.storage.disk import Disk
from engine.storage.leader_epochs import LeaderEpochs
from engine.storage.log_config import LOG_APPEND_TIME, LogConfig
from engine.storage.log_loader import Checkpointed, LogLoader, note_end, replay
from engine.storage.log_validator import Origin, validate_append
from engine.storage.producer_snapshots import ProducerSnapshots
from engine.storage.producer_states import ProducerState, ProducerStates
from engine.storage.segment import FileSlice, Segment
from engine.storage.segments import Segments
from engine.storage.transaction_index import AbortedTransaction
from engine.wire.errors import Errors, KafkaError

NO_APPEND_TIME = -1
NO_EPOCH = -1
UNKNOWN = (-1, -1, -1)


@dataclass(frozen=True, slots=True)
class AppendInfo:
    """The result of an append; for a `duplicate`, the result of the first append."""

    base_offset: int
    last_offset: int
    log_append_time_ms: int = NO_APPEND_TIME
    duplicate: bool = False


class Log:
    """The log in `directory` of `disk`; `now` in microseconds, as everywhere in the engine.

    `known` is what the broker's checkpoints say; without it all of the log is checked.
    """

    def __init__(
        self,
        disk: Disk,
        directory: str,
        config: LogConfig,
        now: int,
        known: Checkpointed | None = None,
    ) -> None:
        self.disk = disk
        self.directory = directory
        self.config = config
        self.epochs = LeaderEpochs(disk, directory)
        self._now_ms = now // 1000
        known = known or Checkpointed()
        loader = LogLoader(disk, directory, config, self._now_ms, known, self.epochs)
        segments, self.log_start_offset, self.log_end_offset = loader.load()
        self.segments = Segments(disk, directory, segments)
        self.recovered = loader.report
        self.recovery_point = min(known.recovery_point, self.log_end_offset)
        self.first_dirty_offset = min(known.first_dirty_offset, self.log_end_offset)
        self.highest_remote_offset = -1
        self.producers = ProducerStates()
        self.snapshots = ProducerSnapshots(disk, directory)
        self.snapshots.keep_only(self.segments.base_offsets, self.log_end_offset)
        self._rebuild_producers()
        self.remove_expired_producers(now)
        self._failure = ""

    @property
    def latest_epoch(self) -> int:
        """-1 for a log that has never had one."""
        return self.epochs.latest

    @property
    def local_log_start_offset(self) -> int:
        """Where the segments here begin; what is below it and in the log is in the tier alone."""
        return max(self.log_start_offset, self.segments[0].base_offset)

    @property
    def size_in_bytes(self) -> int:
        return self.segments.size_in_bytes

    # -- append

    def append_as_leader(
        self,
        buffer: bytes,
        leader_epoch: int,
        now: int,
        origin: Origin = "client",
        guard: int | None = None,
        marker_bumps: bool = False,
    ) -> AppendInfo:
        """Appends one batch with the next offsets and this epoch.

        Raises KafkaError with the code for the producer.  A batch of an idempotent
        producer that is already here is not appended again (`duplicate`).

        With a `guard` (NO_GUARD is never right) a batch that opens a transaction must have been
        verified under it.  `marker_bumps`: a marker's epoch is later than its transaction's.
        """
        now_ms = self._now_ms = now // 1000
        header, largest = validate_append(buffer, self.config, now_ms, origin, self.directory)
        buffer = buffer[: header.size_in_bytes]
        if header.producer_id >= 0:
            if origin == "client" and (known := self.producers.find_duplicate(header)):
                return AppendInfo(
                    known.first_offset, known.last_offset, known.timestamp, duplicate=True
                )
            if guard is not None and header.is_transactional and not header.is_control:
                self.producers.check_guard(header, guard)
            self.producers.check(header, check_sequence=origin == "client")
            if header.is_control:
                self.producers.check_marker(header, decode(buffer)[0], marker_bumps)
        append_time = now_ms if self.config.message_timestamp_type == LOG_APPEND_TIME else None
        base_offset = self.log_end_offset
        data = assign(buffer, base_offset, leader_epoch, append_time, largest)
        self._append(data, [read_header(data)])
        return AppendInfo(
            base_offset,
            self.log_end_offset - 1,
            NO_APPEND_TIME if append_time is None else append_time,
        )

    def append_as_follower(self, buffer: bytes) -> AppendInfo:
        """Appends a leader's batches as they are; an incomplete last one is left out.

        CorruptBatch for a damaged one, OFFSET_OUT_OF_RANGE for offsets that are already here.
        """
        headers: list[BatchHeader] = []
        next_offset = self.log_end_offset
        for header, position in iterate(buffer):
            validate(buffer, position)
            overlaps = header.base_offset < next_offset
            if overlaps and (headers or not self._restart_inside(header)):
                raise KafkaError(
                    Errors.OFFSET_OUT_OF_RANGE,
                    f"offset {header.base_offset} was fetched, but the log ends at {next_offset}",
                )
            headers.append(header)
            next_offset = header.next_offset
        base_offset = headers[0].base_offset if headers else self.log_end_offset
        self._append(buffer[: sum(header.size_in_bytes for header in headers)], headers)
        return AppendInfo(base_offset, self.log_end_offset - 1)

    def _restart_inside(self, first: BatchHeader) -> bool:
        """An empty log that starts within the leader's first batch takes all of that batch."""
        start = self.log_start_offset
        if self.log_end_offset != start or first.last_offset < start:
            return False
        self.truncate_fully_and_start_at(first.base_offset)
        self.log_start_offset = start
        return True

    def _append(self, data: bytes, batches: Sequence[BatchHeader]) -> None:
        """Writes batches with final offsets and epochs: all at once, unless a roll is due."""
        if self._failure:
            raise KafkaError(Errors.KAFKA_STORAGE_ERROR, self._failure)
        if not batches:
            return
        try:
            if self.log_end_offset == self.log_start_offset:
                checkpoints.flush_topic_id(self.disk, self.directory)
            room = self.config.segment_bytes - self.segments.active.size
            if len(data) <= room and not self._should_roll(batches[-1]):
                self._write(data, batches)
                return
            begin = 0
            for batch in batches:
                if self._should_roll(batch):
                    self.roll(batch.base_offset)
                end = begin + batch.size_in_bytes
                self._write(data[begin:end], (batch,))
                begin = end
        except OSError as error:
            self._failure = (
                f"writing to {self.directory} failed ({error.strerror or error}): "
                "make room on the disk and restart the broker"
            )
            raise KafkaError(Errors.KAFKA_STORAGE_ERROR, self._failure) from error

    def _write(self, data: bytes, batches: Sequence[BatchHeader]) -> None:
        for batch in batches:
            if batch.partition_leader_epoch not in (NO_EPOCH, self.epochs.latest):
                self.epochs.assign(batch.partition_leader_epoch, batch.base_offset)
        self.segments.active.append(data, batches, self.config.index_interval_bytes)
        self.log_end_offset = batches[-1].next_offset
        for batch in batches:
            if batch.producer_id < 0:
                continue
            if batch.is_control:
                self._note_marker(batch)
            else:
                self.producers.note(batch)

    def _note_marker(self, batch: BatchHeader) -> None:
        active = self.segments.active
        found = active.slice(batch.base_offset, 0, None, at_least_one=True)
        for record in decode(found.read() if found else b""):
            note_end(self.producers, active, batch, record)

    def _should_roll(self, batch: BatchHeader) -> bool:
        return self.segments.active.should_roll(self.config, batch, self._now_ms)

    def roll(self, base_offset: int = 0) -> None:
        """Begins a new active segment at the log's end, or at `base_offset` if that is higher.

        The complete segment is flushed, as in Kafka: a power loss takes records of the active
        segment only.  A snapshot of the producers' states is written too, so the next recovery has
        less to read.
        """
        base_offset = max(base_offset, self.log_end_offset)
        if base_offset == self.segments.active.base_offset:
            return  # empty so far: it is the new segment
        self.segments.active.become_inactive()
        self.segments.create(base_offset, self._now_ms)
        self.snapshots.take(self.producers, base_offset)
        self._flush(self.segments.from_offset(self.recovery_point)[:-1], base_offset)

    # -- read

    def read(
        self,
        offset: int,
        max_bytes: int,
        limit_offset: int | None = None,
        at_least_one: bool = True,
    ) -> bytes:
        """The bytes of `slice`."""
        found = self.slice(offset, max_bytes, limit_offset, at_least_one)
        return found.read() if found else b""

    def slice(
        self,
        offset: int,
        max_bytes: int,
        limit_offset: int | None = None,
        at_least_one: bool = True,
    ) -> FileSlice | None:
        """Whole batches from the one with `offset` on, out of one segment; None if none.

        At most `max_bytes`, unless `at_least_one` and the first is larger; nothing of the
        batch that contains `limit_offset`, and nothing beyond.  The first batch may begin
        below `offset`: a client skips what it did not ask for.
        """
        start = self.local_log_start_offset
        if not start <= offset <= self.log_end_offset:
            raise KafkaError(
                Errors.OFFSET_OUT_OF_RANGE,
                f"offset {offset} is not within {start}..{self.log_end_offset}",
            )
        limit = self._below_end(limit_offset)
        if offset >= (self.log_end_offset if limit is None else limit):
            return None
        return self.segments.slice(offset, max_bytes, limit, at_least_one)

    def bytes_between(self, offset: int, limit_offset: int | None = None) -> int:
        """How many bytes there are to read; a fetch compares them with its min_bytes."""
        return self.segments.bytes_between(offset, self._below_end(limit_offset))

    def last_stable_offset(self, high_watermark: int) -> int:
        """The first offset that a reader with read_committed must not see yet."""
        unstable = self.producers.first_unstable_offset(high_watermark)
        if unstable is None:
            return high_watermark
        return min(max(unstable, self.log_start_offset), high_watermark)

    def aborted_transactions(self, found: FileSlice) -> list[AbortedTransaction]:
        """Those that touch a slice, and perhaps some close behind it."""
        return self.segments.aborted_transactions(found, self.log_end_offset)

    def _below_end(self, limit_offset: int | None) -> int | None:
        """The limit; None if it is not below the log's end."""
        if limit_offset is None or limit_offset >= self.log_end_offset:
            return None
        return limit_offset

    def offset_for_timestamp(self, timestamp_ms: int) -> tuple[int, int, int] | None:
        """(offset, timestamp, epoch) of the first record with this timestamp or a later one."""
        return self.segments.offset_for_timestamp(timestamp_ms, self.log_start_offset)

    def max_timestamp(self) -> tuple[int, int, int]:
        """(offset, timestamp, epoch) of the record with the largest; (-1, -1, -1) if empty."""
        return self.segments.max_timestamp() or UNKNOWN

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """(epoch, end offset) of the largest epoch up to `epoch`; (-1, -1) when unknown."""
        return self.epochs.end_offset_for(epoch, self.log_end_offset)

    # -- forget: the end, everything, the beginning

    def truncate_to(self, offset: int) -> int:
        """Drops all batches that reach `offset` or beyond; the new log end offset.

        A batch is not split, so the log may end below `offset`.

        Simplified: it ends where that batch began.  In Kafka the batch goes too, but the log end
        offset is `offset`: no record has the offsets between.
        """
        assert offset >= 0, "an offset is not negative"
        if offset >= self.log_end_offset:
            self.epochs.truncate_from_end(self.log_end_offset)
            return self.log_end_offset
        if offset < self.segments[0].base_offset:
            self.truncate_fully_and_start_at(offset)
            return offset
        while self.segments.active.base_offset > offset:
            self._delete_segment(len(self.segments) - 1)
        end = self.log_end_offset = self.segments.active.truncate_to(offset)
        self.log_start_offset = min(self.log_start_offset, end)
        self.recovery_point = min(self.recovery_point, end)
        self.first_dirty_offset = min(self.first_dirty_offset, self.segments.active.base_offset)
        self.epochs.truncate_from_end(end)
        self._rebuild_producers()
        return end

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Deletes everything; the next record gets `offset`."""
        while self.segments:
            self._delete_segment(len(self.segments) - 1)
        self.segments.create(offset, self._now_ms)
        self.log_start_offset = self.log_end_offset = offset
        self.recovery_point = min(self.recovery_point, offset)
        self.first_dirty_offset = min(self.first_dirty_offset, offset)
        self.epochs.clear()
        self._rebuild_producers()

    def restart_behind_tier(
        self, offset: int, epochs: Sequence[tuple[int, int]], producers: dict[int, ProducerState]
    ) -> None:
        """Deletes everything here; what is below `offset` is in the tier, and stays in the log.

        Epochs and producers are what the tier says of the log below that offset.
        """
        start = self.log_start_offset
        self.truncate_fully_and_start_at(offset)
        self.log_start_offset = min(start, offset)
        for epoch, begin in epochs:
            self.epochs.assign(epoch, begin)
        self.epochs.truncate_from_start(self.log_start_offset)
        self.producers.restore(producers)
        self.snapshots.take(self.producers, offset)

    def advance_log_start(self, offset: int) -> None:
        """Forgets what is below `offset`; segments wholly below it are deleted."""
        if offset > self.log_end_offset:
            raise KafkaError(
                Errors.OFFSET_OUT_OF_RANGE,
                f"the log cannot start at {offset}; it ends at {self.log_end_offset}",
            )
        if offset <= self.log_start_offset:
            return
        self.log_start_offset = offset
        self.epochs.truncate_from_start(offset)
        self._delete_below_start()

    def delete_old_segments(self, now: int, high_watermark: int | None = None) -> int:
        """Applies retention.ms and retention.bytes; how many segments were deleted.

        Of a log in a tier, local retention, and the log start stays where it is.
        """
        self._now_ms = now // 1000
        count = retention.deletable(
            self.segments,
            self.config,
            self._now_ms,
            self.log_start_offset,
            self.log_end_offset,
            self.log_end_offset if high_watermark is None else high_watermark,
            self.highest_remote_offset if self.config.remote_storage_enable else None,
        )
        if count == len(self.segments):
            self.roll()
        if self.config.remote_storage_enable:
            for _ in range(count):
                self._delete_segment(0)
        elif count:
            start = max(self.segments[count].base_offset, self.log_start_offset)
            self.log_start_offset = start
            self.epochs.truncate_from_start(start)
            self._delete_below_start()
        return count

    def replace_segments(self, new: Segment, old: list[Segment], now_ms: int) -> None:
        """A cleaned segment takes the place of old ones (`engine.storage.swap`)."""
        swap.replace(self.segments, new, old, now_ms)
        for segment in old[1:]:
            self.snapshots.delete(segment.base_offset)

    def remove_expired_producers(self, now: int) -> int:
        return self.producers.remove_expired(now // 1000, self.config.producer_id_expiration_ms)

    def _delete_below_start(self) -> None:
        while len(self.segments) > 1 and self.segments[1].base_offset <= self.log_start_offset:
            self._delete_segment(0)

    def _delete_segment(self, number: int) -> None:
        self.snapshots.delete(self.segments.delete(number).base_offset)

    def _rebuild_producers(self) -> None:
        """From the latest snapshot and the batches behind it."""
        begin = self.snapshots.load(self.producers, self.log_start_offset, self.log_end_offset)
        replay(self.producers, self.segments, begin, self.log_end_offset)

    # -- durability

    def flush(self) -> None:
        """Makes all records durable."""
        if self.recovery_point < self.log_end_offset:
            self._flush(self.segments.from_offset(self.recovery_point), self.log_end_offset)

    def _flush(self, segments: Sequence[Segment], up_to: int) -> None:
        for segment in segments:
            for path in segment.files():
                self.disk.flush(path)
        self.mark_flushed(up_to)

    def mark_flushed(self, offset: int) -> None:
        """A driver has flushed the directory when the log ended at `offset`."""
        self.recovery_point = max(self.recovery_point, min(offset, self.log_end_offset))

    def close(self) -> None:
        """Writes what shortens the next start, and flushes; the log is not used afterwards."""
        self.segments.active.become_inactive()
        if self.log_end_offset > self.log_start_offset:
            self.snapshots.take(self.producers, self.log_end_offset)
        self.flush()
        self.disk.flush(self.directory)

    def delete(self) -> None:
        for segment in (*self.segments, *(each for _, each in self.segments.retired)):
            segment.size = 0  # a reader stops here, even if a new file takes the name
        self.disk.delete(self.directory)
