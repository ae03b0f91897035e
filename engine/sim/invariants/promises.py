"""Promises must hold: acknowledged and read records stay, and a log starts where it should.

    acknowledged or read    found in the leader's log, as soon as one leads: the very record
    from then on            the last such batch is a promise, and every keeper's log is compared
                            with it there and below (engine/sim/invariants/chains.py)
    log start               no further on than a traced deletion

A deletion ends a promise, and a log that starts too late looks like a deletion.  So a log start
alone proves nothing.  The `deleted` trace line of a DeleteRecords or of retention must justify it,
on any replica: a follower that restarts at its leader's log start needs no line of its own.  An
acknowledgement names no epoch, and by the time it arrives another leader's record may be at its
offset; so the record's value is compared.
"""

from __future__ import annotations

from engine.records import batch
from engine.replication.partition import Partition
from engine.sim.invariants import stable
from engine.sim.invariants.books import Books, Heard, Violation
from engine.sim.invariants.chains import Chain, Link
from engine.sim.invariants.ledger import PLAIN


def delete(books: Books, node: int, replica: Partition | None, offset: int) -> None:
    """Takes in a deletion below `offset`; Violation if it takes uncommitted records."""
    if replica is not None and offset > replica.high_watermark:
        raise Violation(
            f"no loss: {books.name}: {node} deletes up to {offset}, above its high watermark "
            f"{replica.high_watermark}"
        )
    books.deleted_to = max(books.deleted_to, offset)


def check_log_start(books: Books, replica: Partition) -> None:
    """Checks a replica that leads or is in sync; others will take over their leader's start."""
    start = replica.log.log_start_offset
    if start > books.deleted_to:
        raise Violation(
            f"no loss: {books.name}: the log of {replica.node_id} starts at {start}, and nothing "
            f"was deleted from {books.deleted_to} on"
        )


def settle(
    books: Books, leader: Partition, chain: Chain, damaged: bool, forgot_epochs: bool
) -> None:
    """Finds what was acknowledged or read in the leader's log; from now on it must stay.

    With `forgot_epochs` an acknowledgement in a transaction may be of another batch, which has the
    same producer id, epoch and sequence.
    """
    for heard in books.unsettled:
        offset = heard.offset
        if offset < books.deleted_to:
            continue
        if forgot_epochs and heard.epoch < 0 and chain.ledger.state_of(offset) != PLAIN:
            continue
        link = chain.at(offset)
        if link is None or offset < leader.log.log_start_offset:
            raise Violation(
                f"no loss: {books.name}: offset {offset} was acknowledged or read, and "
                f"the leader {leader.node_id} does not hold it"
            )
        if heard.epoch < 0:
            if heard.value and not damaged:
                _check_value(books, leader, heard)
        elif heard.epoch != link[1]:
            raise Violation(
                f"no loss: {books.name}: offset {offset} was read as of epoch {heard.epoch}, and "
                f"is of epoch {link[1]} on the leader {leader.node_id}"
            )
        if heard.in_transaction:
            stable.check_read(books, chain.ledger, offset, heard.value)
        if books.promised is None or offset > books.promised[0]:
            books.promised = link
    books.unsettled.clear()


def settle_compacted(books: Books, leader: Partition, chain: Chain) -> None:
    """The same where records may be compacted away: only transactions are judged."""
    for heard in books.unsettled:
        if heard.in_transaction and heard.offset >= leader.log.log_start_offset:
            stable.check_read(books, chain.ledger, heard.offset, heard.value)
    books.unsettled.clear()


def _check_value(books: Books, leader: Partition, heard: Heard) -> None:
    for record in batch.decode(leader.log.read(heard.offset, 1)):
        there = (record.value or b"").decode(errors="replace")
        if record.offset == heard.offset and there != heard.value:
            raise Violation(
                f"no loss: {books.name}: {heard.value!r} was acknowledged at offset "
                f"{heard.offset}, where the leader {leader.node_id} holds {there!r}"
            )


def check_keeper(books: Books, keeper: Partition, chain: Chain, promised: Link) -> None:
    """Checks a member of the ISR or the ELR."""
    check_log_start(books, keeper)
    offset = promised[0]
    if offset >= books.deleted_to and chain.at(offset) != promised:
        raise Violation(
            f"no loss: {books.name}: offset {offset} of epoch {promised[1]} was acknowledged or "
            f"read, and {keeper.node_id}, in the ISR or ELR, does not hold it"
        )
