"""Which log is cleaned next, and which part of it.

                first dirty offset        first uncleanable offset
                        v                          v
    [ clean segments ...][ dirty segments .........][ too young ...][ active segment ]
      one record per key    not yet looked at

The dirty part ends at the first of three: the active segment, the last stable offset (so no open
transaction is in it), a segment with a record younger than min.compaction.lag.ms.  A log is due
when more than min.cleanable.dirty.ratio of its bytes are dirty: cleaning reads the clean part too,
so it pays only when there is much to gain.  max.compaction.lag.ms makes it due in any case once a
dirty segment is that old (KIP-354).  Of all logs that are due the dirtiest is next.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.storage.log import Log
from engine.storage.segment import Segment


@dataclass(frozen=True, slots=True)
class LogToClean:
    """A log with the range of offsets that a pass would clean, and why it is due."""

    log: Log
    first_dirty_offset: int
    first_uncleanable_offset: int
    clean_bytes: int
    dirty_bytes: int
    overdue_ms: int
    """By how much max.compaction.lag.ms has passed; 0 if it has not."""

    @property
    def dirty_ratio(self) -> float:
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total if total else 0.0

    @property
    def is_due(self) -> bool:
        if self.overdue_ms > 0 and self.dirty_bytes > 0:
            return True
        return self.dirty_ratio > self.log.config.min_cleanable_dirty_ratio


def filthiest(logs: Iterable[LogToClean]) -> LogToClean | None:
    """The log that is due and has the largest dirty ratio, the first of several; None if none."""
    return max((each for each in logs if each.is_due), key=_dirty_ratio, default=None)


def _dirty_ratio(log: LogToClean) -> float:
    return log.dirty_ratio


def log_to_clean(log: Log, last_stable_offset: int, now_ms: int) -> LogToClean:
    """What there is to clean in a log as of now."""
    first_dirty = log.first_dirty_offset
    if not log.log_start_offset <= first_dirty <= log.log_end_offset:
        first_dirty = log.log_start_offset  # deleted or truncated past what was cleaned
    wanted = max(first_dirty, _first_uncleanable(log, first_dirty, last_stable_offset, now_ms))
    inactive = _inactive_from(log, wanted)
    end = (inactive[0] if inactive else log.segments.active).base_offset
    return LogToClean(
        log,
        first_dirty,
        end,
        _size(log.segments.between(0, first_dirty)),
        _size(log.segments.between(min(first_dirty, end), end)),
        _overdue_ms(log, first_dirty, now_ms),
    )


def _first_uncleanable(log: Log, first_dirty: int, last_stable_offset: int, now_ms: int) -> int:
    """A pass never goes beyond this offset."""
    bounds = [last_stable_offset, log.segments.active.base_offset]
    lag_ms = log.config.min_compaction_lag_ms
    if lag_ms > 0:
        young = (s for s in _inactive_from(log, first_dirty) if s.max_timestamp > now_ms - lag_ms)
        bounds += [segment.base_offset for segment in young][:1]
    return min(bounds)


def _overdue_ms(log: Log, first_dirty: int, now_ms: int) -> int:
    deadline = now_ms - log.config.max_compaction_lag_ms
    if deadline <= 0:
        return 0
    times = [segment.first_timestamp for segment in _inactive_from(log, first_dirty)]
    oldest = min((time for time in times if time > 0), default=deadline)
    return max(deadline - oldest, 0)


def _inactive_from(log: Log, offset: int) -> list[Segment]:
    """All but the active segment, from the one with `offset` on."""
    return log.segments.between(offset, log.segments.active.base_offset)


def _size(segments: list[Segment]) -> int:
    return sum(segment.size for segment in segments)
