"""Transactions as the cleaner comes past them: which records count, which markers may go.

    [A data][B data][A ABORT][B COMMIT]      A's record is dropped, as if it were replaced

The records of an aborted transaction are never read by a consumer in read_committed, so they do
not count as the latest of their key, and go.  A marker has to stay as long as one record of its
transaction does, or a reader would not know how that transaction ended.  When none is left, the
marker may go too, but like a tombstone it waits for delete.retention.ms: a reader that is in the
middle of the transaction may still need it.

Which transactions were aborted is in the segments' transaction indexes.  The cleaned segment gets
one of its own, with those whose marker stays.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.records import control
from engine.records.batch import BatchHeader, Record
from engine.records.control import ControlType
from engine.storage.transaction_index import AbortedTransaction


class CleanedTransactions:
    """What one walk has seen; `kept` are the aborted transactions whose marker stays.

    The walk begins at `start_offset`; transactions that have ended before it do not count.
    """

    def __init__(self, aborted: Iterable[AbortedTransaction], start_offset: int) -> None:
        self.kept: list[AbortedTransaction] = []
        lasting = [each for each in aborted if each.last_offset >= start_offset]
        self._waiting = sorted(lasting, key=_first_offset, reverse=True)
        self._aborted: dict[int, AbortedTransaction] = {}
        self._seen_of_aborted: dict[int, bool] = {}
        self._committed: dict[int, bool] = {}

    def is_aborted(self, batch: BatchHeader) -> bool:
        """Whether a data batch belongs to an aborted transaction."""
        self._begin_up_to(batch.last_offset)
        if not batch.is_transactional:
            return False
        if batch.producer_id in self._aborted:
            self._seen_of_aborted[batch.producer_id] = True
            return True
        self._committed[batch.producer_id] = True
        return False

    def may_go(self, batch: BatchHeader, records: list[Record]) -> bool:
        """Whether a control batch has outlived the records that it speaks of."""
        self._begin_up_to(batch.last_offset)
        if not records:
            return True  # an earlier pass has emptied it
        kind = control.control_type(records[0])
        if kind is ControlType.ABORT:
            transaction = self._aborted.pop(batch.producer_id, None)
            if transaction and self._seen_of_aborted.pop(batch.producer_id, False):
                self.kept.append(transaction)
                return False
            return True
        if kind is ControlType.COMMIT:
            return not self._committed.pop(batch.producer_id, False)
        return False

    def _begin_up_to(self, offset: int) -> None:
        while self._waiting and self._waiting[-1].first_offset <= offset:
            transaction = self._waiting.pop()
            self._aborted.setdefault(transaction.producer_id, transaction)


def _first_offset(transaction: AbortedTransaction) -> int:
    return transaction.first_offset
