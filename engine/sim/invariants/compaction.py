"""Judges what a pass of the cleaner has left of a log.

    survivors     each was there before: same offset, key and value; their order is the old one
    latest        the last record of each key is still there ...
    tombstones    ... unless it is a tombstone whose delete horizon had passed
    the range     no offset at or above the log's end, none twice
    transactions  a record that an aborted transaction has written does not count as the latest;
                  one of an open transaction stays; a record that stays keeps its marker, and its
                  entry in the aborted index

So a reader that begins at offset 0 builds the same table before and after.  The segments that the
pass has replaced are on the disk for a while (file.delete.delay.ms), which is what makes the
comparison possible.

Copies of a compacted log may differ from each other from the first pass on, so the checks that
compare bytes end there (engine/sim/invariants/invariants.py).  How a transaction has ended is read
from the segments as they were before the pass (ledger.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile

from engine.records.batch import BatchHeader, Record, decode
from engine.replication.partition import Partition
from engine.sim.invariants.books import Books, Violation
from engine.sim.invariants.ledger import ABORTED, COMMITTED, OPEN, Ledger
from engine.storage.segment import Segment


def judge(books: Books, replica: Partition, now_ms: int) -> None:
    """Compares the segments of the pass that has just ended with those that it replaced."""
    log = replica.log
    newest_first = log.segments.retired[::-1]  # a clock may go back: the highest time may be older
    replaced = [
        each for _, each in takewhile(lambda each: each[0] == newest_first[0][0], newest_first)
    ]
    before = list(_batches(sorted(replaced, key=_base_offset)))
    after = list(_batches(log.segments))
    where = f"compaction: {books.name} on {replica.node_id}"
    old, new = _records(before), _records(after)
    _check_survivors(where, old, new)
    ledger, present = _ledger([*before, *_behind(before, after)]), _offsets(new)
    for key, (header, record) in _latest(old, new, ledger).items():
        if record.offset in present:
            continue
        horizon_ms = header.delete_horizon_ms
        if record.value is not None:
            raise Violation(f"{where}: the latest record of {key!r}, at {record.offset}, is gone")
        if horizon_ms is None or horizon_ms > now_ms:
            raise Violation(f"{where}: the tombstone of {key!r} at {record.offset} went too early")
    _check_transactions(where, replica, old, new, ledger)


Batch = tuple[BatchHeader, bytes]
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


def _latest(before: list[Kept], after: list[Kept], ledger: Ledger) -> dict[bytes, Kept]:
    """The last committed record of each key."""
    found: dict[bytes, Kept] = {}
    for header, record in sorted((*before, *after), key=_offset):
        if record.key is None or header.is_control:
            continue
        if header.is_transactional and ledger.state_of(record.offset) != COMMITTED:
            continue
        if record.key not in found or record.offset > found[record.key][1].offset:
            found[record.key] = (header, record)
    return found


def _check_transactions(
    where: str, replica: Partition, before: list[Kept], after: list[Kept], ledger: Ledger
) -> None:
    """What is left of a transaction still has its marker, and its entry in the aborted index."""
    present = _offsets(after)
    for header, record in before:
        if not header.is_transactional or header.is_control or record.offset in present:
            continue
        if ledger.state_of(record.offset) == OPEN:
            raise Violation(f"{where}: the record at {record.offset} is gone, and not decided yet")
    left = _ledger(_batches(replica.log.segments))
    indexed = [each for segment in replica.log.segments for each in segment.transaction_index]
    for header, record in after:
        if not header.is_transactional or header.is_control:
            continue
        was, state = ledger.state_of(record.offset), left.state_of(record.offset)
        if state != was:
            raise Violation(
                f"{where}: the record at {record.offset} was {was}, and without its marker it is "
                f"{state}"
            )
        is_named = any(
            each.producer_id == header.producer_id
            and each.first_offset <= record.offset <= each.last_offset
            for each in indexed
        )
        if is_named != (state == ABORTED):
            raise Violation(
                f"{where}: the record at {record.offset} is {state}, and the aborted index "
                f"{'names' if is_named else 'does not name'} it"
            )


def _ledger(batches: Iterable[Batch]) -> Ledger:
    ledger = Ledger()
    for header, data in batches:
        ledger.add(header, data, 0)
    return ledger


def _behind(before: list[Batch], after: list[Batch]) -> list[Batch]:
    """What the pass has not touched."""
    end = max((header.next_offset for header, _ in before), default=0)
    return [each for each in after if each[0].base_offset >= end]


def _batches(segments: Iterable[Segment]) -> Iterator[Batch]:
    for segment in segments:
        for header, position in segment.headers(0):
            yield header, segment.disk.read(segment.path, position, header.size_in_bytes)


def _records(batches: Iterable[Batch]) -> list[Kept]:
    return [(header, record) for header, data in batches for record in decode(data)]


def _offsets(kept: Iterable[Kept]) -> dict[int, None]:
    return dict.fromkeys(record.offset for _, record in kept)


def _offset(kept: Kept) -> int:
    return kept[1].offset


def _base_offset(segment: Segment) -> int:
    return segment.base_offset
