"""The broker's cleaner: chooses the filthiest compacted log, cleans it, and rests.

    asleep      no compacted log has more than its active segment
    at work     a pass over one log, step by step                  engine/storage/cleaner
    at rest     nothing is due; looks again after log.cleaner.backoff.ms

Each of log.cleaner.threads is at work on a log of its own.  How far each log is clean is kept in
`cleaner-offset-checkpoint`, and the leader and its followers clean their copies each in its own
time: afterwards their files differ, and they hold the same latest record of each key.

A log is cleaned up to its last stable offset, so what may still be cut or aborted is not touched.
The cleaner also applies retention to compacted logs when it has nothing else to do with them, as
Kafka's does: it is what deletes old records where cleanup.policy is compact,delete.

After a disk error or a corrupt batch a log is not cleaned again before the broker restarts.

Simplified: a dedupe buffer too small for one key is traced, where Kafka does not start; a thread
is a timer, and a step reads 64 KiB at most, so that clients are served in between; Kafka reads
half of log.cleaner.io.buffer.size at once.  The cleaner looks for its first work every
replica.high.watermark.checkpoint.interval.ms, and deletes replaced files when it rests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.events import Outbox
from engine.replication.log_directory import LogDirectory
from engine.replication.partition import Partition
from engine.settings import Settings
from engine.storage.cleaner.cleaning import Cleaning, Phase
from engine.storage.cleaner.log_to_clean import LogToClean, filthiest, log_to_clean
from engine.storage.cleaner.offset_map import OffsetMap
from engine.wire.errors import CorruptBatch

BUFFER_MAX = (1 << 31) - 1
READ_MAX = 64 * 1024
STEP_US = 10_000
"""From one step to the next."""
Key = tuple[str, int]
_HERE = "replication.log_cleaner.LogCleaner"


@dataclass(frozen=True, slots=True)
class CleanerTimer:
    """The next step of one of log.cleaner.threads."""

    thread: int


def retain(outbox: Outbox, now: int, partition: Partition) -> None:
    """Deletes the old segments that retention.ms, retention.bytes or the log start give up."""
    if partition.delete_old_segments(now):
        rule = "storage.retention.deletable"
        start = partition.log.log_start_offset
        outbox.trace(rule, "deleted", partition.name, "retention", to=start)


class LogCleaner:
    """Cleans the compacted logs among `partitions`."""

    def __init__(
        self,
        settings: Settings,
        outbox: Outbox,
        partitions: Mapping[Key, Partition],
        directory: LogDirectory,
    ) -> None:
        self.settings = settings
        self.outbox = outbox
        self.partitions = partitions
        self.directory = directory
        self.passes: dict[int, tuple[Key, Cleaning]] = {}
        """What each thread is at work on."""
        self.awake: dict[int, None] = {}
        """Threads whose timer is set."""
        self.uncleanable: dict[Key, str] = {}
        """Logs that could not be cleaned, and why."""

    def is_cleaning(self, key: Key) -> bool:
        return any(key == each for each, _ in self.passes.values())

    def wake(self, now: int) -> None:
        """Sets the timers if there may be something to clean and they are not set."""
        if not self.settings["log.cleaner.enable"] or not self._has_work():
            return
        for thread in range(self.settings["log.cleaner.threads"]):
            if thread not in self.awake:
                self._set_timer(thread, now)

    def on_timer(self, now: int, thread: int) -> None:
        """Does one step, or looks for a log to clean."""
        del self.awake[thread]
        if thread in self.passes:
            moved = self._step(now, thread)
            self._set_timer(thread, now + self._pause_us(moved))
            return
        if thread >= self.settings["log.cleaner.threads"] or not self._has_work():
            return
        if self._choose(now, thread):
            self._set_timer(thread, now)
            return
        if thread == 0:
            self._tidy(now)
        backoff_us = self.settings["log.cleaner.backoff.ms"] * 1000
        self._set_timer(thread, now + max(backoff_us, STEP_US))

    def release(self, key: Key) -> None:
        """Gives up on a log that is no longer here."""
        self.uncleanable.pop(key, None)
        for thread, (each, cleaning) in [*self.passes.items()]:
            if each == key:
                cleaning.abort()
                del self.passes[thread]

    def close(self) -> None:
        """The broker stops: no pass goes on."""
        for key, _ in [*self.passes.values()]:
            self.release(key)

    def _set_timer(self, thread: int, at: int) -> None:
        self.awake[thread] = None
        self.outbox.set_timer(CleanerTimer(thread), at)

    def _has_work(self) -> bool:
        """Whether a compacted log has a segment besides the active one, or files to delete."""
        return any(
            (each.log.config.is_compacted and len(each.log.segments) > 1)
            or each.log.segments.retired
            for each in self.partitions.values()
        )

    # -- choose

    def _choose(self, now: int, thread: int) -> bool:
        """Begins a pass over the filthiest log that is due; False if none is."""
        logs = {
            id(each.log): key
            for key, each in self.partitions.items()
            if each.log.config.is_compacted
            and key not in self.uncleanable
            and not self.is_cleaning(key)
        }
        target = filthiest(
            log_to_clean(each.log, each.log.last_stable_offset(each.high_watermark), now // 1000)
            for each in self.partitions.values()
            if id(each.log) in logs
        )
        if target is None:
            return False
        threads = self.settings["log.cleaner.threads"]
        buffer_size = min(self.settings["log.cleaner.dedupe.buffer.size"] // threads, BUFFER_MAX)
        try:
            offsets = OffsetMap(buffer_size, self.settings["log.cleaner.io.buffer.load.factor"])
        except ValueError as error:
            self.outbox.trace(f"{_HERE}.on_timer", "cleaning-failed", "", str(error))
            return False
        io_buffer_size = min(self.settings["log.cleaner.io.buffer.size"] // threads, 2 * READ_MAX)
        key = logs[id(target.log)]
        self.passes[thread] = (key, Cleaning(target, offsets, now, io_buffer_size))
        self._report("cleaning", key, target, target.first_uncleanable_offset)
        return True

    # -- work

    def _step(self, now: int, thread: int) -> int:
        """The pass's next step; how many bytes it has read and written."""
        key, cleaning = self.passes[thread]
        before, phase = cleaning.bytes_moved, cleaning.phase
        try:
            cleaning.step()
        except (OSError, CorruptBatch) as error:
            self.uncleanable[key] = str(error)
            del self.passes[thread]
            self.outbox.trace(
                f"{_HERE}.on_timer", "cleaning-failed", f"{key[0]}-{key[1]}", str(error)
            )
            return 0
        if phase is Phase.SWAPPING or cleaning.phase is not phase:
            self._trace_passed(key, cleaning, phase)
        if cleaning.is_over:
            del self.passes[thread]
            if cleaning.phase is Phase.CLEANED:
                self._cleaned(key, cleaning)
        return cleaning.bytes_moved - before

    def _trace_passed(self, key: Key, cleaning: Cleaning, phase: Phase) -> None:
        """What the phase that is over has made, and how large it is."""
        name, rule = f"{key[0]}-{key[1]}", "storage.cleaner.cleaning.Cleaning.step"
        if cleaning.phase is Phase.ABORTED:
            why = "a segment of the pass was cut or deleted"
            self.outbox.trace(rule, "cleaning-aborted", name, why)
        elif phase is Phase.INDEXING:
            why = "its map has the latest offset of each key that is dirty"
            keys, end = len(cleaning.offsets), cleaning.end_offset
            self.outbox.trace(rule, "mapped", name, why, keys=keys, end=end)
        elif phase is Phase.COPYING:
            kept, of = cleaning.filter.records_kept, cleaning.filter.records_read
            why = "the records that stay are in a new segment"
            self.outbox.trace(rule, "copied", name, why, kept=kept, read=of)
        else:
            why = "the new segment is in the place of the old ones"
            segments = len(cleaning.log.segments)
            self.outbox.trace(rule, "swapped", name, why, segments=segments)

    def _cleaned(self, key: Key, cleaning: Cleaning) -> None:
        self._report(
            "cleaned",
            key,
            cleaning.target,
            cleaning.end_offset,
            now_ms=cleaning.now_ms,
            bytes_before=cleaning.bytes_read,
            bytes_after=cleaning.bytes_kept,
            records_before=cleaning.filter.records_read,
            records_after=cleaning.filter.records_kept,
        )
        self._checkpoint()

    def _report(self, kind: str, key: Key, target: LogToClean, end: int, **fields: object) -> None:
        """The dirty range, and why this log."""
        why = f"{target.dirty_ratio:.0%} of its bytes were dirty"
        if target.overdue_ms:
            why += f"; max.compaction.lag.ms has passed by {target.overdue_ms} ms"
        self.outbox.trace("storage.cleaner.log_to_clean.filthiest", kind, f"{key[0]}-{key[1]}", why,
                          begin=target.first_dirty_offset, end=end,
                          dirty_ratio=round(target.dirty_ratio, 3), **fields)  # fmt: skip

    def _pause_us(self, moved: int) -> int:
        """Until the next step: longer if log.cleaner.io.max.bytes.per.second asks for it."""
        rate: float = self.settings["log.cleaner.io.max.bytes.per.second"]
        return max(STEP_US, int(moved * 1_000_000 / max(rate, 1)))

    # -- rest

    def _tidy(self, now: int) -> None:
        """Retention of compacted logs, replaced files that are old enough, the checkpoint."""
        for key, partition in self.partitions.items():
            log = partition.log
            log.segments.delete_retired(now // 1000 - log.config.file_delete_delay_ms)
            if log.config.is_compacted and not self.is_cleaning(key):
                retain(self.outbox, now, partition)
        self._checkpoint()

    def _checkpoint(self) -> None:
        try:
            self.directory.checkpoint_cleaned(self.partitions)
        except OSError as error:
            rule = "replication.log_directory.LogDirectory.checkpoint_cleaned"
            self.outbox.trace(rule, "checkpoint-failed", "", str(error))
