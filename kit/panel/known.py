"""What each broker has known to be committed: its high watermark, kept across crashes.

A broker knows that a record is committed when its own high watermark is above it.  It writes
the high watermark to disk only now and then.  So after a crash it starts with an older one,
or with none, and moves it up again as its leader tells it more.  When such a log is
truncated, the question is what its broker had known before the crash.

A truncation ends the knowledge where it ends the log: a later record there is another one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kit.film.source import Frame, Snapshot
from kit.panel.scene import end_of, epoch_at, partition_of, records, same_topic

State = Mapping[str, Any]
Log = Mapping[str, Any]
Known = Mapping[int, int]
"""By replica: the offset below which it has known every record to be committed."""


def known(
    frames: Sequence[Frame], topic: str, partition: int, before: Known | None = None
) -> list[Known]:
    """For each frame, what the replicas had known by then; `before` is what they knew earlier."""
    by_frame: list[Known] = []
    past: Known = before or {}
    earlier: Snapshot = {}
    for frame in frames:
        now = partition_of(frame.snapshot, topic, partition)
        was = partition_of(earlier, topic, partition)
        if not same_topic(earlier, frame.snapshot, topic):
            past, was = {}, None
        logs = (now or {}).get("logs", {})
        old = (was or {}).get("logs", {})
        past = {
            replica: max(_stays(past.get(replica, 0), old.get(replica), log), mark_of(log))
            for replica, log in logs.items()
        }
        by_frame.append(past)
        earlier = frame.snapshot
    return by_frame


def _stays(mark: int, before: Log | None, log: Log) -> int:
    """The offset up to which a log still holds the records that were known."""
    if "log_end_offset" not in log:
        return mark
    same = before is not None and before.get("epochs") == log.get("epochs")
    if before is None or (same and end_of(before) <= end_of(log)):
        return min(mark, end_of(log))
    return min(mark, kept(before, log))


def kept(before: Log, log: Log) -> int:
    """The offset up to which a log is unchanged; its old end, if it was not truncated."""
    held, has = records(before), records(log)
    # truncated and grown again between two looks: the epochs show it
    replaced = [at for at in held if at in has and held[at][0] != has[at][0]]
    return min([end_of(before), end_of(log), *replaced])


def mark_of(log: Log) -> int:
    """A log's high watermark, 0 where its broker has not reported it."""
    return log.get("high_watermark") or 0


def committed(state: State, by: Known, replica: int, offsets: Sequence[int]) -> list[int]:
    """Those of a log's records that some replica, holding the same record, knew as committed."""
    logs = state.get("logs", {})
    log = logs.get(replica, {})
    marks = {each: max(by.get(each, 0), mark_of(logs[each])) for each in logs}
    return [
        offset
        for offset in offsets
        if any(
            marks[each] > offset and (each == replica or holds(logs[each], log, offset))
            for each in logs
        )
    ]


def holds(other: Log, log: Log, offset: int) -> bool:
    """Whether another log has the same record: the same epoch at the same offset."""
    return offset < end_of(other) and _epoch(other, offset) == _epoch(log, offset)


def _epoch(log: Log, offset: int) -> int:
    held = records(log)
    return held[offset][0] if offset in held else epoch_at(log, offset)
