"""What recovery finds and repairs when a log is opened after an unclean stop.

    recovery point: flushed up to here, trusted
          v
    ......|####|####|####|##        cut here: the last batch is torn
                         ^

Every batch above the recovery point is read and its checksum verified; indexes, leader
epochs and producers' states are rebuilt on the way.  At the first batch that is not
intact the log ends: it is cut there, as Kafka does, because offsets must have no hole.

A power loss leaves a batch torn at the very end; it was never acknowledged as flushed.
Damage with intact batches *behind* it is another matter (a flipped bit, a bad sector):
those batches are lost as well.  Kafka says so in one line of its log; here
`RecoveryReport` tells the operator what was cut and how many good batches went with it.
Other replicas still have the records, and a follower fetches them again.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.records.batch import HEADER_SIZE, MAGIC, CorruptBatch, read_header, validate
from engine.storage import scan
from engine.storage.disk import Disk

SEARCH_MAX = 4 << 20
_MAGIC_AT = 16


@dataclass(frozen=True, slots=True)
class Cut:
    """Bytes taken off the end of a segment, or whole segments behind it.

    `batches_behind` counts the intact batches beyond the damage: 0 for a torn tail.
    """

    path: str
    position: int
    offset: int
    cut_bytes: int
    batches_behind: int
    why: str

    @property
    def is_torn_tail(self) -> bool:
        return self.batches_behind == 0

    def __str__(self) -> str:
        what = "a torn tail" if self.is_torn_tail else "a corrupt middle"
        lost = "" if self.is_torn_tail else f", {self.batches_behind} intact batches behind it"
        return (
            f"{self.path}: {what} at offset {self.offset}, position {self.position}: "
            f"{self.cut_bytes} bytes cut{lost} ({self.why})"
        )


@dataclass(frozen=True, slots=True)
class RecoveryReport:
    """How opening a log went.  `rebuilt` lists the segments whose indexes were rebuilt."""

    unclean: bool = False
    batches_checked: int = 0
    cuts: tuple[Cut, ...] = ()
    rebuilt: tuple[str, ...] = ()

    @property
    def cut_bytes(self) -> int:
        return sum(cut.cut_bytes for cut in self.cuts)

    def __str__(self) -> str:
        if not self.unclean:
            return "closed cleanly"
        return "; ".join(map(str, self.cuts)) or f"{self.batches_checked} batches intact"


def count_intact(disk: Disk, path: str, position: int, offset: int, end: int) -> int:
    """How many intact batches with offsets above `offset` there are from `position` on.

    A damaged batch's length may itself be wrong, so the first one is searched for byte by
    byte, as far as SEARCH_MAX.
    """
    found = _first_intact(disk.read(path, position, min(SEARCH_MAX, end - position)), offset)
    count = 0
    if found is None:
        return count
    try:
        for _ in scan.intact(disk, path, position + found, end):
            count += 1
    except CorruptBatch:
        pass
    return count


def _first_intact(data: bytes, offset: int) -> int | None:
    """Where in `data` an intact batch with an offset above `offset` begins."""
    magic_at = _MAGIC_AT
    while (magic_at := data.find(MAGIC, magic_at)) >= 0:
        at = magic_at - _MAGIC_AT
        magic_at += 1
        if len(data) - at < HEADER_SIZE:
            break
        header = read_header(data, at)
        if header.base_offset <= offset or header.size_in_bytes > len(data) - at:
            continue
        try:
            validate(data, at)
            return at
        except CorruptBatch:
            continue
    return None
