"""The transactional ids of one partition of `__transaction_state`, as a state machine.

    log         t1: Ongoing, orders-0 | t2: PrepareCommit | t1: Ongoing, orders-0 orders-1 | ...
    by_id       what the last *replicated* record of each id says
    pending     the record of an id that is written and not replicated yet: the id is busy, and
                other requests get CONCURRENT_TRANSACTIONS

A change takes effect when its record is replicated, and only then is it answered or acted on.
A marker above all: had a coordinator sent a commit marker and lost the record that says so, its
successor would abort the other partitions.

A write that is late stays pending, because it is in the log and will take effect.  Kafka
forgets it, and its memory may then differ from its log.

A new coordinator finishes what it finds decided: every id in PrepareCommit or PrepareAbort gets
its markers again.  An open transaction stays open; its producer goes on, or its time runs out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from engine.coordinators.runtime.shard import Shard
from engine.coordinators.transactions.metadata import TopicPartition, TransactionMetadata
from engine.coordinators.transactions.states import PREPARED
from engine.coordinators.transactions.transaction_records import TransactionRecord
from engine.events import Stored
from engine.metadata.features import TRANSACTION_FEATURE

AT_ONCE = 0
"""A time that is past: the timer rings before anything else happens."""

_HERE = "coordinators.transactions.transaction_shard.TransactionShard"


@dataclass(frozen=True, slots=True)
class MarkerTimer:
    """The markers of a prepared transaction are to be sent, or sent again."""

    partition: int
    transactional_id: str


@dataclass(slots=True, eq=False)
class Transaction:
    """A transactional id: what holds, and where markers are missing.

    `asked` are the partitions whose marker is on its way, by the number of the request.
    `stopped` says why no more markers are sent.
    """

    id: str
    metadata: TransactionMetadata
    awaiting: list[TopicPartition] = field(default_factory=list)
    asked: dict[int, list[TopicPartition]] = field(default_factory=dict)
    stopped: str = ""


class TransactionShard:
    """The state machine behind `log`."""

    def __init__(self, log: Shard[TransactionRecord, TransactionShard]) -> None:
        self.log = log
        self.outbox = log.host.outbox
        self.by_id: dict[str, Transaction] = {}
        self.coordinator_epoch = -1
        self.last_round = 0

    @property
    def version(self) -> int:
        """The finalised transaction.version."""
        return self.log.host.metadata.features.get(TRANSACTION_FEATURE, 0)

    # -- what the runtime asks of a state machine

    def replay(self, record: TransactionRecord) -> None:
        if record.metadata is None:
            self.by_id.pop(record.transactional_id, None)
        else:
            self.by_id[record.transactional_id] = Transaction(
                record.transactional_id, record.metadata
            )

    def replicated(self, record: TransactionRecord) -> None:
        transaction = self.by_id[record.transactional_id]
        before, after = transaction.metadata, record.metadata
        if after is None:
            del self.by_id[record.transactional_id]
            self.outbox.trace(
                f"{_HERE}.replicated", "transaction", self.log.name, record.why,
                id=transaction.id, before=str(before.state), state="Dead",
            )  # fmt: skip
            return
        transaction.metadata = after
        self.outbox.trace(
            f"{_HERE}.replicated", "transaction", self.log.name, record.why,
            id=transaction.id, before=str(before.state), state=str(after.state),
            producer_id=after.producer_id, epoch=after.producer_epoch,
            partitions=[f"{topic}-{index}" for topic, index in after.partitions],
        )  # fmt: skip
        if after.state in PREPARED:
            self.begin_markers(transaction)

    def loaded(self, now: int) -> None:
        partition = self.log.host.replicas.partition(self.log.topic.name, self.log.index)
        self.coordinator_epoch = -1 if partition is None else partition.leader_epoch
        decided = [each for each in self.by_id.values() if each.metadata.state in PREPARED]
        self.outbox.trace(
            f"{_HERE}.loaded", "transactions-loaded", self.log.name,
            "its leader coordinates, and finishes what is decided",
            ids=len(self.by_id), decided=[each.id for each in decided],
            coordinator_epoch=self.coordinator_epoch, end=self.log.loaded_end,
        )  # fmt: skip
        for transaction in decided:
            self.begin_markers(transaction)

    def unloaded(self, now: int) -> None:
        for transaction in self.by_id.values():
            self.outbox.cancel_timer(MarkerTimer(self.log.index, transaction.id))

    # -- changes

    def pending(self, transaction: Transaction) -> TransactionRecord | None:
        """The record of this id that is on its way."""
        records = self.log.on_their_way()
        return next((each for each in records if each.transactional_id == transaction.id), None)

    def is_busy(self, transaction: Transaction) -> bool:
        """Whether a change is under way; markers are part of one."""
        return transaction.metadata.state in PREPARED or self.pending(transaction) is not None

    def begin_markers(self, transaction: Transaction) -> None:
        """Every partition lacks its marker.

        A timer that rings at once sends them: here an append has just ended, and the next one,
        which completes a transaction without partitions, must not begin inside of it.
        """
        transaction.awaiting = list(transaction.metadata.partitions)
        transaction.asked, transaction.stopped = {}, ""
        self.outbox.set_timer(MarkerTimer(self.log.index, transaction.id), AT_ONCE)

    def change(
        self,
        now: int,
        transaction: Transaction,
        metadata: TransactionMetadata | None,
        why: str,
        then: Stored | None = None,
    ) -> None:
        """Writes the next value of an id, or its removal; `then` hears how it ended."""
        assert self.pending(transaction) is None, f"{transaction.id} is busy"
        record = TransactionRecord(transaction.id, metadata, min(self.version, 1), why)
        self.log.store(now, [record], then)

    # -- showing

    def snapshot(self) -> dict[str, dict[str, object]]:
        """The transactional ids, as plain data."""
        return {
            transaction.id: {
                "coordinator": self.log.host.node_id,
                "coordinator_epoch": self.coordinator_epoch,
                "state": str(transaction.metadata.state),
                "pending": _state_of(self.pending(transaction)),
                "producer_id": transaction.metadata.producer_id,
                "producer_epoch": transaction.metadata.producer_epoch,
                "next_producer_id": transaction.metadata.next_producer_id,
                "timeout_ms": transaction.metadata.timeout_ms,
                "start_ms": transaction.metadata.start_ms,
                "version": transaction.metadata.client_version,
                "partitions": _by_topic(transaction.metadata.partitions),
                "awaiting_markers": _by_topic(transaction.awaiting),
            }
            for _, transaction in sorted(self.by_id.items())
        }


def _state_of(record: TransactionRecord | None) -> str | None:
    if record is None:
        return None
    return "Dead" if record.metadata is None else str(record.metadata.state)


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    by_topic: dict[str, list[int]] = {}
    for topic, index in partitions:
        by_topic.setdefault(topic, []).append(index)
    return by_topic
