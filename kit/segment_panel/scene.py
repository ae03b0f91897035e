"""Turns a replica, an opened batch and a look-up into plain data to draw and to read.

A segment of thousands of batches is drawn in fewer pieces than it has: neighbors that are too
narrow to be seen are one piece, and the piece says how many they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kit.segment_panel.batches import Opened
from kit.segment_panel.files import Moment
from kit.segment_panel.folder import Batch, File, OneSegment, Replica
from kit.segment_panel.lookups import LookUp, Step, entry
from kit.segment_panel.records import Field
from kit.segment_panel.source import Known
from kit.segment_panel.wording import name, size

PIECES_MOST = 160
ENTRIES_SHOWN = 9
TEXTS = ("key", "value", "header")


@dataclass(frozen=True, slots=True)
class Piece:
    """One or several neighboring batches in a segment's bar."""

    position: int
    size: int
    first: int
    last: int
    batches: int
    epoch: int
    codec: str
    is_control: bool


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in the log: an offset, and where that is in the files."""

    name: str
    offset: int
    segment: int
    position: int
    says: str


def pieces(segment: OneSegment, most: int = PIECES_MOST) -> list[Piece]:
    """A segment's batches; narrow neighbors of one epoch together."""
    least = segment.size / most
    found: list[Piece] = []
    for batch in segment.batches:
        header = batch.header
        before = found[-1] if found else None
        narrow = len(segment.batches) > most and before is not None and before.size < least
        if narrow and before is not None and before.epoch == header.partition_leader_epoch:
            found[-1] = Piece(
                before.position, before.size + batch.size, before.first, header.last_offset,
                before.batches + 1, before.epoch, before.codec,
                before.is_control and header.is_control,
            )  # fmt: skip
        else:
            found.append(_piece(batch))
    return found


def _piece(batch: Batch) -> Piece:
    header = batch.header
    return Piece(
        batch.position, batch.size, header.base_offset, header.last_offset, 1,
        header.partition_leader_epoch, batch.codec, header.is_control,
    )  # fmt: skip


def marks(replica: Replica, known: Known) -> list[Mark]:
    """Log start, high watermark and log end, by the broker's word or the files'."""
    start = replica.log_start if known.log_start is None else known.log_start
    watermark = replica.high_watermark if known.high_watermark is None else known.high_watermark
    whose = "checkpoint" if known.high_watermark is None else "broker"
    found = [
        _mark(replica, "log start", start, "nothing below may be read"),
        _mark(replica, "log end", replica.log_end, "the next record gets this offset"),
    ]
    if watermark is not None:
        said = f"committed up to here, by the {whose}'s word"
        if known.high_watermark is not None and replica.high_watermark not in (None, watermark):
            said += f"; its checkpoint still says {replica.high_watermark}"
        found.insert(1, _mark(replica, "high watermark", watermark, said))
    return found


def _mark(replica: Replica, title: str, offset: int, says: str) -> Mark:
    for segment in replica.segments:
        for batch in segment.batches:
            if batch.header.last_offset >= offset:
                return Mark(title, offset, segment.base_offset, batch.position, says)
    if not replica.segments:
        return Mark(title, offset, -1, 0, says)
    last = replica.segments[-1]
    return Mark(title, offset, last.base_offset, last.size - last.tail, says)


def facts(replica: Replica, known: Known) -> list[tuple[str, str]]:
    found = [("replica", known.role)] if known.role else []
    found += [("segments", str(len(replica.segments))), ("bytes", f"{replica.size:,}")]
    return found + [(mark.name, str(mark.offset)) for mark in marks(replica, known)]


# -- for the browser


def to_plain(
    replica: Replica, known: Known, chosen: OneSegment | None, opened: Opened | None
) -> dict[str, Any]:
    return {
        "facts": facts(replica, known),
        "segments": [_segment(segment) for segment in replica.segments],
        "others": [_file(file) for file in replica.others],
        "epochs": [list(each) for each in replica.epochs],
        "topic_id": replica.topic_id,
        "marks": [[m.name, m.offset, m.segment, m.position, m.says] for m in marks(replica, known)],
        "notes": list(replica.notes),
        "segment": chosen.base_offset if chosen else -1,
        "opened": _opened(opened) if opened else {},
    }


def _file(file: File) -> list[Any]:
    return [file.name, size(file.size), file.says]


def _segment(segment: OneSegment) -> dict[str, Any]:
    drawn = pieces(segment)
    return {
        "base": segment.base_offset,
        "next": segment.next_offset,
        "size": segment.size,
        "says": size(segment.size),
        "active": segment.is_active,
        "batches": len(segment.batches),
        "files": [_file(file) for file in segment.files],
        "pieces": [
            [p.position, p.size, p.first, p.last, p.batches, p.epoch, p.codec, p.is_control]
            for p in drawn
        ],
        "tail": segment.tail,
        "unwalked": segment.unwalked,
        "trouble": segment.trouble,
    }


def _opened(opened: Opened) -> dict[str, Any]:
    header = opened.header
    return {
        "position": opened.position,
        "size": opened.size,
        "first_offset": header.base_offset,
        "last_offset": header.last_offset,
        "count": header.records_count,
        "epoch": header.partition_leader_epoch,
        "codec": opened.codec,
        "before": opened.before,
        "after": opened.after,
        "from": opened.first,
        "to": opened.last,
        "trouble": opened.trouble,
        "stored": [_field(each) for each in opened.stored],
        "clear": [_field(each) for each in opened.clear],
    }


def _field(each: Field) -> list[Any]:
    """[name, tag, kind, start, end, value, says, hex, characters, record]"""
    characters = printable(each.data) if each.kind in TEXTS else ""
    return [each.name, each.tag, each.kind, each.start, each.end, each.value, each.says,
            each.data.hex(), characters, each.record]  # fmt: skip


def printable(data: bytes) -> str:
    """Each byte as a character, `·` for those that are none."""
    return "".join(chr(byte) if 32 <= byte < 127 else "·" for byte in data)


# -- a look-up


def lookup_to_plain(replica: Replica, found: LookUp) -> dict[str, Any]:
    return {
        "question": found.question,
        "answer": found.answer,
        "segment": found.segment,
        "position": found.position,
        "bytes_read": found.bytes_read,
        "steps": [_step(replica, step) for step in found.steps],
    }


def _step(replica: Replica, step: Step) -> dict[str, Any]:
    read = step.read
    plain: dict[str, Any] = {
        "kind": step.kind, "says": step.says, "segment": step.segment, "file": step.file,
        "position": step.position, "size": step.size, "slot": step.slot,
        "low": step.low, "high": step.high,
    }  # fmt: skip
    if read is not None:
        plain["read"] = [name(read.name), read.position, len(read.data)]
        if step.kind in ("probe", "entry"):
            plain["read"].append(read.data.hex(" "))
    if step.slot >= 0:
        plain["entries"] = list(_entries(replica, step))
        plain["of"] = _index(replica, step)[1]
    return plain


def _index(replica: Replica, step: Step) -> tuple[str, int, int]:
    """The path, the number of entries and the entry size of the index that a step reads."""
    segment = next(each for each in replica.log if each.base_offset == step.segment)
    if step.file.endswith(".timeindex"):
        return segment.time_index.path, segment.time_index.entries, 12
    return segment.offset_index.path, segment.offset_index.entries, 8


def _entries(replica: Replica, step: Step) -> Iterator[list[int]]:
    """The entries around a probe: [slot, key, value]."""
    path, count, width = _index(replica, step)
    moment: Moment = replica.moment
    first = max(0, min(step.slot - ENTRIES_SHOWN // 2, count - ENTRIES_SHOWN))
    for slot in range(first, min(count, first + ENTRIES_SHOWN)):
        data = moment.read(path, slot * width, width)
        yield [slot, *entry(data, step.segment)]
