"""Judges each batch that a log appends.

    log matching     no replica holds other bytes at this (offset, epoch) or below, except
                     where records were deleted or compacted
    epochs           they only grow in a log, and its replica has heard of every one
    idempotence      a producer's numbers follow each other

A producer id's log looks like this, no matter what was sent again or came late:

    (epoch, sequence)   (0, 5)  (0, 6)  (0, 7)  |  (1, 0)  (1, 1)
    may begin anywhere ^                        ^ a new epoch begins at 0

Its epoch never falls: a producer with an older one is a zombie (KIP-360).  A producer may begin
anywhere again once it may have been forgotten: after producer.id.expiration.ms, or when all that
it wrote has been deleted.  Markers have an epoch and no number.  What a group coordinator writes
for a transaction has the epoch of its producer, and a number that does not count.
"""

from __future__ import annotations

from engine.coordinators.offsets_topic import OFFSETS_TOPIC
from engine.records.batch import BatchHeader
from engine.replication.partition import Partition
from engine.sim.invariants.books import Books, Violation
from engine.sim.invariants.chains import Chain

SEQUENCES = 1 << 31


def judge(
    books: Books, replica: Partition, chain: Chain, damaged: bool, fenced: bool, now: int
) -> None:
    """Adds what is new in the replica's log to its chain; Violation if it may not be there.

    `fenced` unless the truncation rule lets fetches name no epoch.
    """
    name, node = books.name, replica.node_id
    for header, link in chain.grow(replica.log, books.known, damaged, books.deleted_to):
        offset, epoch, content = link
        known = books.known.setdefault((offset, epoch), content)
        if known != content and not books.is_compacted:
            raise Violation(
                f"log matching: {name} on {node} holds other bytes than another "
                f"replica at or below offset {offset} of epoch {epoch}"
            )
        if chain.links and epoch < chain.links[-1][1]:
            raise Violation(f"epochs: {name} on {node}: it falls at offset {offset}")
        if fenced and epoch > replica.leader_epoch:
            raise Violation(
                f"epochs: {name} on {node}, in epoch {replica.leader_epoch}, holds a "
                f"record of epoch {epoch} at offset {offset}"
            )
        is_data = header.is_transactional and not header.is_control
        if replica.is_leader and is_data and header.producer_id not in chain.ledger.open:
            opening = (header.base_offset, header.producer_id, header.producer_epoch)
            books.openings.append(opening)
        if header.producer_id >= 0 and not books.is_compacted:
            _check_producer(books, replica, chain, header, now)


def _check_producer(
    books: Books, replica: Partition, chain: Chain, header: BatchHeader, now: int
) -> None:
    sent = chain.producers.get(header.producer_id)
    if not sent:
        return
    last = sent[-1]
    idle_ms = now // 1000 - last.timestamp
    if last.offset < books.deleted_to or idle_ms >= replica.log.config.producer_id_expiration_ms:
        return
    where = (
        f"idempotence: {books.name} on {replica.node_id} holds sequence {header.base_sequence} of "
        f"producer {header.producer_id} at offset {header.base_offset}"
    )
    if header.producer_epoch < last.epoch:
        raise Violation(f"{where}, of epoch {header.producer_epoch} after epoch {last.epoch}")
    if header.base_sequence < 0 or books.key[0] == OFFSETS_TOPIC:
        return
    if header.producer_epoch > last.epoch:
        if header.base_sequence != 0:
            raise Violation(f"{where}, the first of epoch {header.producer_epoch}")
    elif header.base_sequence != (last.sequence + 1) % SEQUENCES:
        raise Violation(f"{where}, after {last.sequence}")
