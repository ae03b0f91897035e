"""The Segment panel in plain words: for screen readers, terminals and notebooks without a kernel.

orders-0 on broker 101: replica leader · segments 2 · bytes 1,204 · log start 0 …
segment 0: offsets 0–19, 904 B in 4 batches
  0.log 904 B: batches · 0.index 16 B: 2 entries · …
batch 20–29 at position 0 of segment 20: 300 bytes, 10 records, not compressed
  bytes 0–7      00 00 00 00 00 00 00 14     base offset = 20
look-up of offset 27:
  1. The log has …
"""

from __future__ import annotations

from collections.abc import Iterator

from kit.film.words import plural
from kit.segment_panel.batches import Opened
from kit.segment_panel.folder import OneSegment, Replica
from kit.segment_panel.lookups import LookUp
from kit.segment_panel.records import Field
from kit.segment_panel.scene import facts
from kit.segment_panel.source import Known
from kit.segment_panel.wording import name, offsets, size

SEGMENTS_MOST = 12
BYTES_MOST = 16


def render(
    title: str,
    replica: Replica,
    known: Known,
    chosen: OneSegment | None,
    opened: Opened | None,
    found: LookUp | None,
) -> str:
    lines = [f"{title}: " + " · ".join(f"{key} {value}" for key, value in facts(replica, known))]
    left_out = len(replica.segments) - SEGMENTS_MOST
    if left_out > 0:
        lines.append(f"{plural(left_out, 'older segment')} left out")
    for segment in replica.segments[-SEGMENTS_MOST:]:
        lines += _segment(segment, segment == chosen)
    if replica.epochs:
        listed = ", ".join(f"epoch {epoch} from offset {start}" for epoch, start in replica.epochs)
        lines.append(f"leader-epoch-checkpoint: {listed}")
    lines += replica.notes
    if opened is not None and chosen is not None:
        lines += _opened(opened, chosen)
    if found is not None:
        lines += _lookup(found)
    return "\n".join(lines)


def _segment(segment: OneSegment, is_chosen: bool) -> Iterator[str]:
    held = (
        f"offsets {offsets(segment.base_offset, segment.next_offset - 1)}"
        if segment.batches
        else "empty"
    )
    active = ", active" if segment.is_active else ""
    batches = plural(len(segment.batches), "batch").replace("batchs", "batches")
    yield f"segment {segment.base_offset}{active}: {held}, {size(segment.size)} in {batches}"
    if segment.unwalked:
        yield f"  {segment.unwalked:,} bytes more hold batches that were not walked"
    if is_chosen or segment.is_active:
        files = (f"{name(file.name)} {size(file.size)}: {file.says}" for file in segment.files)
        yield "  " + " · ".join(files)


def _opened(opened: Opened, segment: OneSegment) -> Iterator[str]:
    header = opened.header
    packed = "not compressed"
    if opened.codec != "none":
        packed = f"{opened.codec}, {opened.before} bytes of records in {opened.after}"
    held = offsets(header.base_offset, header.last_offset)
    yield (
        f"batch {held} at position {opened.position} of segment {segment.base_offset}: "
        f"{opened.size} bytes, {plural(header.records_count, 'record')}, {packed}"
    )
    if opened.trouble:
        yield f"  damaged: {opened.trouble}"
    yield from map(_field, opened.stored)
    if opened.clear:
        yield "  the records, decompressed:"
        yield from map(_field, opened.clear)


def _field(each: Field) -> str:
    place = f"bytes {offsets(each.start, each.end - 1)}"
    data = each.data[:BYTES_MOST].hex(" ") + (" …" if each.end - each.start > BYTES_MOST else "")
    return f"  {place:<15}{data:<50} {each.name} = {each.value}"


def _lookup(found: LookUp) -> Iterator[str]:
    yield f"look-up of {found.question}: {found.bytes_read:,} bytes read"
    for number, step in enumerate(found.steps, 1):
        yield f"  {number}. {step.says}"
