"""Follows the records that were acknowledged to clients, and finds those that are lost.

An acknowledgement is a promise: this record is in the log, at this offset.  With acks=all
it is made when every in-sync replica has the record, with acks=1 when the leader alone has
it.  It is broken when a later leader does not hold the record there.  With its topic it ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kit.film.source import Frame
from kit.panel.scene import end_of, records

State = Mapping[str, Any]


@dataclass(frozen=True)
class Promise:
    """An acknowledged record: value, offset, and the producer's acks."""

    value: str
    offset: int
    acks: str


def promises(frames: Sequence[Frame], name: str) -> list[tuple[Promise, ...]]:
    """For each frame, what clients had been promised by then."""
    made: tuple[Promise, ...] = ()
    by_frame = []
    for frame in frames:
        for line in frame.lines:
            if line.kind == "topic-deleted" and line["topic"] == name.rpartition("-")[0]:
                made = ()
            elif line.kind == "acknowledged" and line.partition == name:
                fresh = [
                    Promise(value, line["offset"] + place, line["acks"])
                    for place, value in enumerate(line["values"])
                ]
                made = (*made, *fresh)
        by_frame.append(made)
    return by_frame


def lost(state: State | None, made: Sequence[Promise]) -> tuple[Promise, ...]:
    """Promised records that the present leader does not hold where they were promised."""
    log = (state or {}).get("logs", {}).get((state or {}).get("leader", -1))
    if log is None or "batches" not in log:
        return ()
    held, end = records(log), end_of(log)
    first = min(held, default=end)
    return tuple(
        promise
        for promise in made
        if promise.offset >= first and held.get(promise.offset, (0, ""))[1] != promise.value
    )
