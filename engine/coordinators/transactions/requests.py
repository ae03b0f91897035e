"""What producers ask of their coordinator.

    InitProducerId       who am I?  Fences the producer before me, and aborts what it left open
    AddPartitionsToTxn   these partitions belong to my transaction
    EndTxn               commit it, or abort it

An id that is busy, with a record or with markers on their way, answers CONCURRENT_TRANSACTIONS,
and the client asks again.  That is also what InitProducerId answers after it has fenced: the open
transaction must be aborted first, and the next attempt gets the epoch.

A producer id comes from this broker's block.  If that is used up, the answer is
COORDINATOR_LOAD_IN_PROGRESS until the next block is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.coordinators.transactions import metadata as md
from engine.coordinators.transactions.metadata import TopicPartition, TransactionMetadata
from engine.coordinators.transactions.states import (
    PREPARED,
    EndProtocol,
    TransactionState,
    answer_to_end,
)
from engine.coordinators.transactions.transaction_shard import (
    Transaction,
    TransactionShard,
)
from engine.events import Stored
from engine.wire.errors import Errors, KafkaError


class ProducerIdSource(Protocol):
    """Where new producer ids come from."""

    def new_producer_id(self) -> int | None:
        """None while the next block of ids is on its way."""
        ...


def start_producer(
    shard: TransactionShard,
    ids: ProducerIdSource,
    now: int,
    transactional_id: str,
    timeout_ms: int,
    expected: tuple[int, int] | None,
    then: Stored,
) -> None:
    """InitProducerId; `expected` is the producer id and epoch that the client has (KIP-360)."""
    transaction = shard.by_id.get(transactional_id)
    if transaction is None:
        created = md.created(_new_id(ids), timeout_ms, now // 1000)
        transaction = shard.by_id[transactional_id] = Transaction(transactional_id, created)
    current = transaction.metadata
    if shard.is_busy(transaction):
        raise KafkaError(Errors.CONCURRENT_TRANSACTIONS)
    if not md.knows(current, expected):
        raise KafkaError(Errors.PRODUCER_FENCED)
    if current.state is TransactionState.ONGOING:
        fence(shard, ids, now, transaction, "InitProducerId: a producer starts", _Fenced(then))
        return
    new_id = _new_id(ids) if md.needs_new_id(current, expected) else md.NO_ID
    after = md.started(current, expected, new_id, timeout_ms, now // 1000)
    if isinstance(after, Errors):
        raise KafkaError(after)
    shard.change(now, transaction, after, "InitProducerId", then)


def add_partitions(
    shard: TransactionShard,
    now: int,
    transactional_id: str,
    producer: tuple[int, int],
    partitions: Sequence[TopicPartition],
    client_version: int,
    then: Stored,
) -> None:
    """AddPartitionsToTxn and AddOffsetsToTxn; the offsets' partition is one like all others."""
    transaction = _known(shard, transactional_id)
    current = transaction.metadata
    if shard.is_busy(transaction):
        raise KafkaError(Errors.CONCURRENT_TRANSACTIONS)
    _check(current, producer)
    is_open = current.state is TransactionState.ONGOING
    if is_open and all(each in current.partitions for each in partitions):
        then.stored(now, Errors.NONE)
        return
    after = md.with_partitions(current, partitions, client_version, now // 1000)
    shard.change(now, transaction, after, "AddPartitionsToTxn", then)


def verify_partitions(
    shard: TransactionShard,
    transactional_id: str,
    producer: tuple[int, int],
    partitions: Sequence[TopicPartition],
) -> list[Errors]:
    """Whether a leader may append what it got: is its partition in the transaction (KIP-890)?"""
    current = _known(shard, transactional_id).metadata
    _check(current, producer)
    if current.state in PREPARED:
        raise KafkaError(Errors.CONCURRENT_TRANSACTIONS)
    missing = Errors.TRANSACTION_ABORTABLE
    return [Errors.NONE if each in current.partitions else missing for each in partitions]


def end_transaction(
    shard: TransactionShard,
    ids: ProducerIdSource,
    now: int,
    transactional_id: str,
    producer: tuple[int, int],
    committed: bool,
    protocol: EndProtocol,
    then: Stored,
) -> None:
    """EndTxn: the decision, by the table `END_ANSWERS`."""
    transaction = _known(shard, transactional_id)
    current = transaction.metadata
    if shard.is_busy(transaction) and protocol is EndProtocol.EPOCH_BUMPED:
        raise KafkaError(Errors.CONCURRENT_TRANSACTIONS)  # its epoch may be about to change
    request = md.end_request(current, protocol, *producer, committed)
    if isinstance(request, Errors):
        raise KafkaError(request)
    if shard.is_busy(transaction):
        raise KafkaError(Errors.CONCURRENT_TRANSACTIONS)
    answer = answer_to_end(protocol, current.state, request)
    if isinstance(answer, Errors):
        if answer is not Errors.NONE:
            raise KafkaError(answer)
        then.stored(now, Errors.NONE)
        return
    needs_id = protocol is EndProtocol.EPOCH_BUMPED and current.is_exhausted
    new_id = _new_id(ids) if needs_id else md.NO_ID
    after = md.prepared(current, answer, protocol, new_id, now // 1000)
    shard.change(now, transaction, after, f"EndTxn: {answer}", then)


def fence(
    shard: TransactionShard,
    ids: ProducerIdSource,
    now: int,
    transaction: Transaction,
    why: str,
    then: Stored | None = None,
) -> None:
    """Bumps the epoch and aborts an open transaction; the producer's next request is refused."""
    current, version = transaction.metadata, shard.version
    needs_id = version >= md.EPOCH_BUMP_VERSION and current.is_exhausted
    new_id = _new_id(ids) if needs_id else md.NO_ID
    after = md.fenced(current, version, new_id, now // 1000)
    shard.change(now, transaction, after, why, then)


def _known(shard: TransactionShard, transactional_id: str) -> Transaction:
    transaction = shard.by_id.get(transactional_id)
    if transaction is None:
        raise KafkaError(Errors.INVALID_PRODUCER_ID_MAPPING)
    return transaction


def _check(current: TransactionMetadata, producer: tuple[int, int]) -> None:
    producer_id, epoch = producer
    if producer_id != current.producer_id:
        raise KafkaError(Errors.INVALID_PRODUCER_ID_MAPPING)
    if epoch != current.producer_epoch:
        raise KafkaError(Errors.PRODUCER_FENCED)


def _new_id(ids: ProducerIdSource) -> int:
    new_id = ids.new_producer_id()
    if new_id is None:
        raise KafkaError(Errors.COORDINATOR_LOAD_IN_PROGRESS)
    return new_id


@dataclass(slots=True, eq=False)
class _Fenced:
    """The producer that starts waits for the abort, and asks again."""

    then: Stored

    def stored(self, now: int, error: Errors) -> None:
        failed = error is not Errors.NONE
        self.then.stored(now, error if failed else Errors.CONCURRENT_TRANSACTIONS)
