"""The transactions of one replica's log, counted again from its bytes.

The engine keeps what readers need: where the last stable offset is, which transactions were
aborted.  This ledger works out the same from the batches alone, so that the two can be compared.

    offset    70     71     72     73     74
              A1     B1     A2     abort  B2        open: B from 71, ended: A 70-73, aborted
                                   of A

It is cut where the log is cut.  It keeps nothing else of the engine's.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple

from engine.records import batch, control
from engine.records.batch import BatchHeader
from engine.records.control import ControlType

COMMITTED, ABORTED, OPEN, PLAIN = "committed", "aborted", "open", "plain"
"""The state of a record; `plain` is written without a transaction."""


class Entry(NamedTuple):
    """A transactional batch, or a marker; `ends` is COMMITTED or ABORTED in a marker."""

    offset: int
    last_offset: int
    producer_id: int
    epoch: int
    ends: str = ""


class Ended(NamedTuple):
    """A transaction from its first record to its marker."""

    producer_id: int
    epoch: int
    first: int
    marker: int
    is_aborted: bool


@dataclass(slots=True)
class Ledger:
    """`open` has the first offset of each open transaction by producer id."""

    entries: list[Entry] = field(default_factory=list)
    open: dict[int, Entry] = field(default_factory=dict)
    ended: list[Ended] = field(default_factory=list)

    def add(self, header: BatchHeader, data: bytes, position: int) -> None:
        """Takes in the next batch of the log."""
        if not header.is_transactional:
            return
        ends = ""
        if header.is_control:
            ends = _end_in(data, position)
            if not ends:
                return
        self._take(
            Entry(
                header.base_offset, header.last_offset, header.producer_id, header.producer_epoch,
                ends,
            )
        )  # fmt: skip

    def _take(self, entry: Entry) -> None:
        self.entries.append(entry)
        if not entry.ends:
            self.open.setdefault(entry.producer_id, entry)
            return
        first = self.open.pop(entry.producer_id, None)
        if first is not None:
            is_aborted = entry.ends == ABORTED
            self.ended.append(
                Ended(entry.producer_id, first.epoch, first.offset, entry.offset, is_aborted)
            )

    def cut(self, end_offset: int) -> None:
        """Forgets what is at or above `end_offset`."""
        kept = [each for each in self.entries if each.last_offset < end_offset]
        if len(kept) == len(self.entries):
            return
        self.entries, self.open, self.ended = [], {}, []
        for each in kept:
            self._take(each)

    def first_unstable(self, high_watermark: int) -> int | None:
        """Where the oldest transaction begins that is open, or whose marker is not replicated."""
        starts = [each.offset for each in self.open.values()]
        for each in reversed(self.ended):
            if each.marker < high_watermark:
                break
            starts.append(each.first)
        return min(starts, default=None)

    def state_of(self, offset: int) -> str:
        """COMMITTED, ABORTED or OPEN; PLAIN for what no transaction has written."""
        place = bisect_right(self.entries, offset, key=_offset) - 1
        if place < 0:
            return PLAIN
        entry = self.entries[place]
        if entry.ends or offset > entry.last_offset:
            return PLAIN
        for later in self.entries[place + 1 :]:
            if later.producer_id == entry.producer_id and later.ends:
                return later.ends
        return OPEN


def _end_in(data: bytes, position: int) -> str:
    """What a marker says; empty if the cleaner has emptied it, or a bit has changed."""
    try:
        records = batch.decode(data, position)
        if not records:
            return ""
        is_commit = control.control_type(records[0]) is ControlType.COMMIT
    except batch.CorruptBatch:
        return ""
    return COMMITTED if is_commit else ABORTED


def _offset(entry: Entry) -> int:
    return entry.offset
