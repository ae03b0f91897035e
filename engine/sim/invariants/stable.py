"""What readers with read_committed rely on, in every replica: judged by the replica's ledger.

    last stable offset    not above the high watermark, and where the oldest transaction begins that
                          is open or whose marker is not replicated
    aborted index         the aborted transactions of the log, each once, and no others
    read                  a record that such a reader was given is committed

A replica that has read its log again, or was cut, may have forgotten that the marker of an ended
transaction is above its high watermark.  Kafka forgets it, too (ProducerStateManager keeps no such
transaction in its snapshots).  Then the last stable offset may be past that transaction, and
only an open one holds it.  The same is true where a high watermark went back, as a follower's does
when its new leader was started with an older checkpoint: what the higher one passed is forgotten.
"""

from __future__ import annotations

from engine.replication.partition import Partition
from engine.sim.invariants.books import Books, Violation
from engine.sim.invariants.ledger import ABORTED, OPEN, Ledger


def judge(books: Books, replica: Partition, ledger: Ledger) -> None:
    """Compares what the replica keeps with its ledger; both know the whole log."""
    _check_last_stable_offset(books, replica, ledger)
    count = len(ledger.ended) and ledger.ended[-1].marker
    if books.indexed.get(replica.node_id) != count and not books.is_compacted:
        _check_index(books, replica, ledger)
        books.indexed[replica.node_id] = count


def _check_last_stable_offset(books: Books, replica: Partition, ledger: Ledger) -> None:
    high_watermark, stable = replica.high_watermark, replica.last_stable_offset
    where = f"last stable offset: {books.name} on {replica.node_id}: it is {stable}"
    if stable > high_watermark:
        raise Violation(f"{where}, above the high watermark {high_watermark}")
    highest = max(high_watermark, books.highest.get(replica.node_id, 0))
    if not ledger.entries:
        return
    begins = [each.offset for each in ledger.open.values()]
    least = ledger.first_unstable(high_watermark)
    most = ledger.first_unstable(highest)
    if replica.node_id in books.reread:
        most = min(begins, default=None)
    start = replica.log.log_start_offset
    bounds = [
        min(high_watermark if each is None else max(each, start), high_watermark)
        for each in (least, most)
    ]
    if least is not None and least < start:
        return  # where the transaction began is deleted
    if books.is_compacted:
        bounds[0] = start  # of an ended transaction the cleaner may have removed the first record
    if not bounds[0] <= stable <= bounds[1]:
        raise Violation(
            f"{where}, and the oldest transaction that is not over begins at {most}; the high "
            f"watermark is {high_watermark}"
        )


def _check_index(books: Books, replica: Partition, ledger: Ledger) -> None:
    start = replica.log.log_start_offset
    wanted = {
        each.marker: (each.producer_id, each.first)
        for each in ledger.ended
        if each.is_aborted and each.marker >= start
    }
    found = {
        each.last_offset: (each.producer_id, each.first_offset)
        for segment in replica.log.segments
        for each in segment.transaction_index
        if each.last_offset >= start
    }
    for marker in dict.fromkeys((*wanted, *found)):
        begins = [each[marker][1] for each in (wanted, found) if marker in each]
        if min(begins) >= start and wanted.get(marker) != found.get(marker):
            raise Violation(
                f"aborted index: {books.name} on {replica.node_id}: for the marker at {marker} it "
                f"has {found.get(marker)}, and the log {wanted.get(marker)} (producer id, first "
                f"offset)"
            )


def check_read(books: Books, ledger: Ledger, offset: int, value: str) -> None:
    """A reader with read_committed was given this record."""
    state = ledger.state_of(offset)
    if state in (ABORTED, OPEN):
        raise Violation(
            f"read_committed: {books.name}: {value!r} at offset {offset} was read, and its "
            f"transaction is {state}"
        )
