"""The content of a log as a chain of hashes, so that one comparison covers two whole logs.

Every batch of every replica gets a *link*: a hash of its bytes and of the link before it.

    batch   [ 0..2, epoch 0 ]  [ 3..3, epoch 0 ]  [ 4..6, epoch 2 ]
    link     a = h(batch)       b = h(a, batch)    c = h(b, batch)

Two replicas agree on everything up to an offset exactly if they have the same link there,
so one comparison covers the whole history.  A chain is read from the log as it grows
and cut as the log is cut; nothing is read twice.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from engine.records import batch
from engine.records.batch import BatchHeader
from engine.sim.invariants.ledger import Ledger
from engine.storage.log import Log

READ_BYTES = 1 << 20
NO_SEQUENCE = -1
Link = tuple[int, int, bytes]
"""(last offset, leader epoch, hash) of one batch."""


class Numbered(NamedTuple):
    """A batch of an idempotent producer; its last offset, sequence and timestamp."""

    offset: int
    epoch: int
    sequence: int
    timestamp: int


@dataclass(slots=True)
class Chain:
    """One replica's log.  `producers` has what each producer id wrote, in the log's order.

    The log holds nothing below `start`, even if the links go further back.
    """

    links: list[Link] = field(default_factory=list)
    start: int = 0
    producers: dict[int, list[Numbered]] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)

    def at(self, offset: int) -> Link | None:
        """The batch that holds `offset`."""
        if offset < self.start:
            return None
        place = bisect_left(self.links, (offset,))
        return self.links[place] if place < len(self.links) else None

    def end(self, log: Log) -> int:
        """The first offset that is not in the chain yet."""
        return self.links[-1][0] + 1 if self.links else log.local_log_start_offset

    def cut(self, end_offset: int) -> None:
        """Forgets what is at or above `end_offset`."""
        while self.links and self.links[-1][0] >= end_offset:
            self.links.pop()
        for sent in self.producers.values():
            while sent and sent[-1].offset >= end_offset:
                sent.pop()
        self.ledger.cut(end_offset)
        self.start = min(self.start, end_offset)

    def restart_at(self, offset: int) -> None:
        """The log is empty now; its next record gets `offset`.

        The links stay if that offset follows them: they still say what came before.
        """
        self.cut(offset)
        if self.links and self.links[-1][0] + 1 != offset:
            self.links.clear()
        self.producers.clear()
        self.ledger = Ledger()
        self.start = offset

    def grow(
        self,
        log: Log,
        known: dict[tuple[int, int], bytes],
        damaged: bool = False,
        deleted_to: int = 0,
    ) -> Iterator[tuple[BatchHeader, Link]]:
        """Reads what is new in the log; gives each batch with its link before it is added.

        The first link of a log that starts above 0 cannot be computed: the log has lost the
        records below, or had others there.  So it comes from `known`, the other replicas' links
        by (last offset, epoch); if none has it, their link before it is used.  The same holds for
        a batch that fails its checksum in a log known to be `damaged`, and for a batch below
        `deleted_to`.  There a leader that dies may forget its log start, and the deleted records
        are back without their epochs, so a follower cannot tell that its own records differ
        (Kafka cuts the epochs with the log start, too).
        """
        while (start := self.end(log)) < log.log_end_offset:
            data = log.read(start, READ_BYTES)
            for header, position in batch.iterate(data):
                if header.last_offset < start:
                    continue
                key = (header.last_offset, header.partition_leader_epoch)
                forgotten_to = max(log.local_log_start_offset, deleted_to)
                first = not self.links or header.base_offset <= forgotten_to
                starts_late = first and header.base_offset > 0
                if key in known and (starts_late or (damaged and not is_intact(data, position))):
                    link = known[key]
                else:
                    before = self.links[-1][2] if self.links else _past(header, known)
                    content = data[position : position + header.size_in_bytes]
                    link = hashlib.blake2b(before + content, digest_size=16).digest()
                yield header, (*key, link)
                if not self.links:
                    self.start = header.base_offset
                self.links.append((*key, link))
                if header.producer_id >= 0:
                    self._number(header)
                    self.ledger.add(header, data, position)

    def _number(self, header: BatchHeader) -> None:
        """Notes a producer's batch; one without a number (a marker) keeps the last one."""
        sent = self.producers.setdefault(header.producer_id, [])
        sequence = header.last_sequence
        if sequence < 0:
            if not sent:
                return
            same_epoch = sent[-1].epoch == header.producer_epoch
            sequence = sent[-1].sequence if same_epoch else NO_SEQUENCE
        sent.append(
            Numbered(header.last_offset, header.producer_epoch, sequence, header.max_timestamp)
        )


def _past(first: BatchHeader, known: dict[tuple[int, int], bytes]) -> bytes:
    """The link before a log's first batch: that of the newest epoch that wrote that offset."""
    before = first.base_offset - 1
    for epoch in range(first.partition_leader_epoch, -1, -1):
        if (before, epoch) in known:
            return known[before, epoch]
    return b""


def is_intact(data: bytes, position: int) -> bool:
    try:
        batch.validate(data, position)
    except batch.CorruptBatch:
        return False
    return True
