"""Rules of transactions and of compaction, broken one at a time; see mutants.py."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from engine.broker.transaction_verification import TransactionVerification, Verified
from engine.coordinators.offsets import Line, Offsets, PendingOffset, TransactionEnd
from engine.coordinators.transactions import (
    markers,
    transaction_coordinator,
)
from engine.coordinators.transactions import metadata as md
from engine.coordinators.transactions.metadata import TransactionMetadata
from engine.coordinators.transactions.transaction_shard import (
    Transaction,
    TransactionShard,
)
from engine.records.batch import BatchHeader
from engine.replication.partition import Partition
from engine.replication.reading import FetchTerms
from engine.sim.campaign.mutant import Mutant, Original, Patch
from engine.storage.cleaner.cleaned_transactions import CleanedTransactions
from engine.storage.cleaner.record_filter import RecordFilter
from engine.storage.log import Log
from engine.storage.producer_states import ProducerStates
from engine.storage.segments import Segments
from engine.storage.transaction_index import AbortedTransaction, TransactionIndex
from engine.wire.errors import Errors

# -- what readers rely on


def _at_the_high_watermark(original: Original, self: Log, high_watermark: int) -> int:
    return high_watermark


def _open_ones_only(original: Original, self: ProducerStates, high_watermark: int) -> int | None:
    return self.first_undecided_offset


def _not_in_order(original: Original, self: ProducerStates) -> int | None:
    """The youngest open transaction in place of the oldest."""
    return next(reversed(self._open.values()), None)


def _does_nothing(original: Original, *arguments: object) -> None:
    return None


def _reads_all(original: Original, self: FetchTerms, partition: Partition) -> int:
    limit = int(original(self, partition))
    return limit if self.from_follower else max(limit, partition.high_watermark)


def _none_aborted(original: Original, *arguments: object) -> list[AbortedTransaction]:
    return []


# -- who decides


def _same_epoch(original: Original, current: TransactionMetadata, *rest: Any) -> Any:
    after = original(current, *rest)
    if isinstance(after, Errors) or current.producer_epoch < 0:
        return after
    return replace(after, producer_epoch=current.producer_epoch)


def _all_but_one(original: Original, shard: TransactionShard, transaction: Transaction) -> None:
    original(shard, transaction)
    if len(transaction.awaiting) > 1 and not transaction.asked:
        transaction.awaiting.pop()


# -- what a leader takes


def _unverified(
    original: Original, self: TransactionVerification, now: int, transactional_id: str,
    producer: tuple[int, int], partitions: Any, kind: int, then: Verified,
) -> None:  # fmt: skip
    then.verified(now, dict.fromkeys(partitions, Errors.NONE))


def _counts_at_once(original: Original, self: Offsets, line: Line) -> None:
    original(self, line.record if isinstance(line, PendingOffset) else line)


def _counts_anyway(original: Original, self: Offsets, line: Line) -> None:
    """An abort counts like a commit."""
    original(self, replace(line, committed=True) if isinstance(line, TransactionEnd) else line)


# -- what the cleaner may take


def _all_are_committed(original: Original, self: CleanedTransactions, batch: BatchHeader) -> bool:
    original(self, batch)
    return False


def _markers_go(original: Original, self: RecordFilter, header: BatchHeader, data: bytes) -> bytes:
    kept = bytes(original(self, header, data))
    return b"" if header.is_control and header.next_offset != self.end_offset else kept


_ALL = (
    Mutant("stable-is-replicated", "the last stable offset passes open transactions",
           (Patch(Log, "last_stable_offset", _at_the_high_watermark),), "last stable offset"),
    Mutant("an-unreplicated-marker-counts", "a marker that may be lost ends its transaction",
           (Patch(ProducerStates, "first_unstable_offset", _open_ones_only),),
           "last stable offset"),
    Mutant("the-youngest-holds", "the last stable offset waits for the youngest transaction",
           (Patch(ProducerStates, "first_undecided_offset", _not_in_order),),
           "last stable offset"),
    Mutant("aborts-not-indexed", "an abort does not go into the transaction index",
           (Patch(TransactionIndex, "append", _does_nothing),), "aborted index"),
    Mutant("committed-reads-all", "a reader with read_committed reads to the high watermark",
           (Patch(FetchTerms, "limit", _reads_all),), "read_committed"),
    Mutant("aborted-not-named", "a fetch does not name the aborted transactions",
           (Patch(Segments, "aborted_transactions", _none_aborted),), "read_committed"),
    Mutant("a-fence-without-an-epoch", "a producer is fenced, and its epoch stays",
           (Patch(md, "fenced", _same_epoch),),
           ("idempotence", "whole", "verified", "hanging", "offsets", "decided")),
    Mutant("one-marker-too-few", "a transaction is complete with one marker missing",
           (Patch(markers, "_forget_deleted", _all_but_one),),
           ("hanging", "whole", "last stable offset", "idempotence", "verified")),
    Mutant("no-timeout", "no transaction times out",
           (Patch(transaction_coordinator, "abort_timed_out", _does_nothing),), "hanging"),
    Mutant("not-verified", "a leader does not ask whether a transaction is open",
           (Patch(TransactionVerification, "ask", _unverified),), "verified"),
    Mutant("offsets-at-once", "offsets count before their transaction is committed",
           (Patch(Offsets, "apply", _counts_at_once),), "offsets"),
    Mutant("aborted-offsets-count", "offsets of an aborted transaction count",
           (Patch(Offsets, "apply", _counts_anyway),), "offsets"),
    Mutant("aborted-records-replace", "for the cleaner an aborted record counts as the latest",
           (Patch(CleanedTransactions, "is_aborted", _all_are_committed),), "compaction"),
    Mutant("markers-go-first", "the cleaner takes markers before their records",
           (Patch(RecordFilter, "left_of", _markers_go),), "compaction"),
)  # fmt: skip
TRANSACTION_MUTANTS = tuple(replace(mutant, in_transactions=True) for mutant in _ALL)
