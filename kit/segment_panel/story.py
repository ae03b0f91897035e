"""One sentence on the batch in view, or on what is there in its place."""

from __future__ import annotations

from kit.film.words import plural
from kit.segment_panel.batches import Opened
from kit.segment_panel.folder import OneSegment, Replica
from kit.segment_panel.wording import offsets

GONE = "That batch is no longer there: the log was cut, or its segment deleted."
EMPTY = "The log is **empty**: its files are there, and hold no batch."


def caption(
    broker: int, replica: Replica, segment: OneSegment | None, opened: Opened | None
) -> str:
    """Words in `**` are stressed."""
    if not replica.segments:
        return f"Broker {broker} has **no folder** of this partition at this moment."
    if segment is None:
        return GONE
    if opened is not None:
        return _batch(opened)
    if segment.trouble:
        return f"Segment {segment.base_offset}: **{segment.trouble}**"
    return GONE if segment.batches else EMPTY


def _batch(opened: Opened) -> str:
    header = opened.header
    whole = (
        f"Batch {offsets(header.base_offset, header.last_offset)}: "
        f"{plural(header.records_count, 'record')} in {opened.size} bytes, at position "
        f"{opened.position} of its segment, written in leader epoch "
        f"{header.partition_leader_epoch}."
    )
    if opened.trouble:
        return f"{whole} **Damaged**: {opened.trouble}."
    if header.is_control:
        return f"{whole} It is a **control batch**: no consumer hands it to an application."
    if opened.codec == "none" or not opened.before:
        return whole
    saved = 1 - opened.after / opened.before
    words = f"saved {saved:.0%}" if saved > 0 else f"cost {-saved:.0%}"
    return (
        f"{whole} {opened.codec.capitalize()} made {opened.after} of {opened.before} bytes of "
        f"records: it **{words}**."
    )
