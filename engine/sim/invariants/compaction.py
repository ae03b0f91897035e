"""Judges what a pass of the cleaner has left of a log.

    survivors     each was there before: same offset, key and value; their order is the old one
    latest        the last record of each key is still there ...
    tombstones    ... unless it is a tombstone whose delete horizon had passed
    the range     no offset at or above the log's end, none twice

So a reader that begins at offset 0 builds the same table before and after.  The segments that the
pass has replaced are on the disk for a while (file.delete.delay.ms), which is what makes the
comparison possible.

Copies of a compacted log may differ from each other from the first pass on, so the checks that
compare bytes end there (engine/sim/invariants/invariants.py).  Keys of transactional records are
not judged here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engine.records.batch import BatchHeader, Record, decode
from engine.replication.partition import Partition
from engine.sim.invariants.books import Books, Violation
from engine.storage.segment import Segment


def judge(books: Books, replica: Partition, now_ms: int) -> None:
    """Compares the segments of the pass that has just ended with those that it replaced."""
    log = replica.log
    last_pass = max((at_ms for at_ms, _ in log.segments.retired), default=-1)
    replaced = [each for at_ms, each in log.segments.retired if at_ms == last_pass]
    before = list(_records(sorted(replaced, key=_base_offset)))
    after = list(_records(log.segments))
    where = f"compaction: {books.name} on {replica.node_id}"
    _check_survivors(where, before, after)
    present = {record.offset for _, record in after}
    for key, (header, record) in _latest(before, after).items():
        if record.offset in present:
            continue
        horizon_ms = header.delete_horizon_ms
        if record.value is not None:
            raise Violation(f"{where}: the latest record of {key!r}, at {record.offset}, is gone")
        if horizon_ms is None or horizon_ms > now_ms:
            raise Violation(f"{where}: the tombstone of {key!r} at {record.offset} went too early")


Kept = tuple[BatchHeader, Record]


def _check_survivors(where: str, before: list[Kept], after: list[Kept]) -> None:
    known = {record.offset: record for _, record in before}
    first_new = max(known, default=-1) + 1
    last = -1
    for _, record in after:
        if record.offset <= last:
            raise Violation(f"{where}: offset {record.offset} follows {last}")
        last = record.offset
        if record.offset < first_new and known.get(record.offset) != record:
            raise Violation(f"{where}: the record at {record.offset} is not what was there")


def _latest(before: list[Kept], after: list[Kept]) -> dict[bytes, Kept]:
    """The last record of each key that no transaction has written."""
    found: dict[bytes, Kept] = {}
    doubtful: dict[bytes, None] = {}
    for header, record in sorted((*before, *after), key=_offset):
        if record.key is None or header.is_control:
            continue
        if header.is_transactional:
            doubtful[record.key] = None
        if record.key not in found or record.offset > found[record.key][1].offset:
            found[record.key] = (header, record)
    return {key: kept for key, kept in found.items() if key not in doubtful}


def _records(segments: Iterable[Segment]) -> Iterator[Kept]:
    for segment in segments:
        for header, position in segment.headers(0):
            data = segment.disk.read(segment.path, position, header.size_in_bytes)
            for record in decode(data):
                yield header, record


def _offset(kept: Kept) -> int:
    return kept[1].offset


def _base_offset(segment: Segment) -> int:
    return segment.base_offset
