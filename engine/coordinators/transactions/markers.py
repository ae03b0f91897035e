"""Markers: the decision travels to every partition of the transaction.

    PrepareCommit is replicated --> WriteTxnMarkers to each leader --> all done: CompleteCommit

A partition that does not answer is asked again for as long as it takes, wherever its leader is by
then.  So the transaction's outcome does not depend on which brokers are up; only the time does,
until readers see it.

    NONE                              this partition is done
    the partition is gone             done too: there is nothing left to mark
    NOT_LEADER_OR_FOLLOWER, time-out  later again, to the leader that metadata names then
    TRANSACTION_COORDINATOR_FENCED    another coordinator has the id: stop
    INVALID_PRODUCER_EPOCH            a later epoch was there: stop

A marker may be written twice, when its answer was lost.  The second one ends nothing.

Simplified: a request carries the markers of one transaction; Kafka puts those of several
transactions for one broker together.  So here each request has a connection of its own, and no
transaction waits until another's markers are replicated.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.coordinators.transactions.metadata import (
    TopicPartition,
    TransactionMetadata,
    completed,
)
from engine.coordinators.transactions.states import PREPARED, TransactionState
from engine.coordinators.transactions.transaction_shard import (
    MarkerTimer,
    Transaction,
    TransactionShard,
)
from engine.coordinators.transactions.transactions_topic import leader_of
from engine.events import Answered
from engine.wire import messages as m
from engine.wire.errors import Errors

RETRY_US = 100_000
_HERE = "coordinators.transactions.markers"
_WRITTEN = (Errors.NONE, Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT, Errors.UNSUPPORTED_VERSION)
_STOP = (Errors.TRANSACTION_COORDINATOR_FENCED, Errors.INVALID_PRODUCER_EPOCH)


@dataclass(frozen=True, slots=True)
class MarkerRound:
    """Token of WriteTxnMarkers: which transaction of which shard, and which of its requests."""

    partition: int
    coordinator_epoch: int
    transactional_id: str
    number: int


def send(shard: TransactionShard, now: int, transaction: Transaction) -> None:
    """Asks every leader whose marker is missing and not on its way; completes if none is."""
    metadata = transaction.metadata
    if metadata.state not in PREPARED or transaction.stopped or shard.pending(transaction):
        return
    if not shard.log.settle(now):
        _later(shard, now, transaction)  # what was loaded may still be lost
        return
    _forget_deleted(shard, transaction)
    if not transaction.awaiting:
        done = _Completion(shard, transaction)
        after = completed(metadata, now // 1000)
        shard.change(now, transaction, after, "every partition has its marker", done)
        return
    by_leader, leaderless = _by_leader(shard, transaction)
    for leader, partitions in by_leader.items():
        shard.last_round += 1
        transaction.asked[shard.last_round] = partitions
        token = MarkerRound(
            shard.log.index, shard.coordinator_epoch, transaction.id, shard.last_round
        )
        request = _request(shard, metadata, partitions)
        shard.outbox.send(leader, token, request, connection=None)
    if leaderless:
        _later(shard, now, transaction)


def answered(shard: TransactionShard, now: int, token: MarkerRound, body: Answered) -> None:
    """A leader wrote its markers, refused some, or was lost."""
    transaction = shard.by_id.get(token.transactional_id)
    if transaction is None or token.coordinator_epoch != shard.coordinator_epoch:
        return
    asked = transaction.asked.pop(token.number, None)
    if asked is None:
        return
    errors = _errors(body)
    for each in asked:
        error = errors.get(each, Errors.REQUEST_TIMED_OUT)
        if error in _WRITTEN:
            transaction.awaiting.remove(each)
        elif error in _STOP:
            transaction.stopped = error.name
            shard.outbox.trace(
                f"{_HERE}.answered", "markers-stopped", f"{each[0]}-{each[1]}", error.name,
                id=transaction.id, epoch=transaction.metadata.producer_epoch,
            )  # fmt: skip
        else:
            shard.outbox.trace(
                f"{_HERE}.answered", "marker-refused", f"{each[0]}-{each[1]}",
                f"{error.name}: it is sent again", id=transaction.id,
            )  # fmt: skip
    if not transaction.awaiting:
        send(shard, now, transaction)
    elif not transaction.asked:
        _later(shard, now, transaction)


def _errors(body: Answered) -> dict[TopicPartition, Errors]:
    if not isinstance(body, m.WriteTxnMarkersResponse):
        return {}
    return {
        (topic.name, each.partition_index): Errors(each.error_code)
        for marker in body.markers
        for topic in marker.topics
        for each in topic.partitions
    }


def _forget_deleted(shard: TransactionShard, transaction: Transaction) -> None:
    """A partition that metadata does not name (any more); one that is asked may still answer."""
    on_their_way = [each for asked in transaction.asked.values() for each in asked]
    gone = [each for each in transaction.awaiting if not _exists(shard, each)]
    for topic, index in gone:
        if (topic, index) in on_their_way:
            continue
        transaction.awaiting.remove((topic, index))
        shard.outbox.trace(
            f"{_HERE}.send", "marker-dropped", f"{topic}-{index}", "the topic is gone",
            id=transaction.id,
        )  # fmt: skip


def _exists(shard: TransactionShard, place: TopicPartition) -> bool:
    topic = shard.log.host.metadata.topic(place[0])
    return topic is not None and place[1] in topic.partitions


def _by_leader(
    shard: TransactionShard, transaction: Transaction
) -> tuple[dict[int, list[TopicPartition]], bool]:
    """What is missing and not on its way, by leader; and whether some partition has none."""
    on_their_way = [each for asked in transaction.asked.values() for each in asked]
    by_leader: dict[int, list[TopicPartition]] = {}
    leaderless = False
    for each in transaction.awaiting:
        if each in on_their_way:
            continue
        leader = leader_of(shard.log.host.metadata, *each)
        if leader is None:
            leaderless = True
        else:
            by_leader.setdefault(leader, []).append(each)
    return by_leader, leaderless


def _request(
    shard: TransactionShard, metadata: TransactionMetadata, partitions: list[TopicPartition]
) -> m.WriteTxnMarkersRequest:
    by_topic: dict[str, list[int]] = {}
    for topic, index in partitions:
        by_topic.setdefault(topic, []).append(index)
    marker = m.WriteTxnMarkersRequest.WritableTxnMarker(
        producer_id=metadata.producer_id,
        producer_epoch=metadata.producer_epoch,
        transaction_result=metadata.state is TransactionState.PREPARE_COMMIT,
        topics=[
            m.WriteTxnMarkersRequest.WritableTxnMarkerTopic(*each) for each in by_topic.items()
        ],
        coordinator_epoch=shard.coordinator_epoch,
        transaction_version=metadata.client_version,
    )
    return m.WriteTxnMarkersRequest(markers=[marker])


def _later(shard: TransactionShard, now: int, transaction: Transaction) -> None:
    shard.outbox.set_timer(MarkerTimer(shard.log.index, transaction.id), now + RETRY_US)


@dataclass(slots=True, eq=False)
class _Completion:
    """The last record of a transaction; it is written again if it did not reach the log."""

    shard: TransactionShard
    transaction: Transaction

    def stored(self, now: int, error: Errors) -> None:
        if error is not Errors.NONE and self.shard.pending(self.transaction) is None:
            _later(self.shard, now, self.transaction)
