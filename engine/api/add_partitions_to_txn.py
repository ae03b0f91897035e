"""AddPartitionsToTxn (key 24): these partitions belong to my transaction (KIP-98).

Before its first record to a partition, a producer tells the coordinator.  The coordinator must
know every partition that will need a marker, even if the producer is never heard of again.

    v0-3    one transaction, from a client
    v4      several transactions, from a broker: a leader adds or verifies what a producer has
            sent to it (KIP-890); `verify_only` adds nothing
    v2, v5  PRODUCER_FENCED, TRANSACTION_ABORTABLE instead of older errors

If one topic or partition does not exist, none is added: the others say OPERATION_NOT_ATTEMPTED.

Simplified: a broker's request about no transaction gets an empty answer; Kafka 4.3.1 never
answers it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.broker.broker import Broker
from engine.coordinators.transactions.metadata import TopicPartition
from engine.coordinators.transactions.requests import add_partitions, verify_partitions
from engine.events import Outbox, Request
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

AddRequest = m.AddPartitionsToTxnRequest
AddResponse = m.AddPartitionsToTxnResponse
TopicResult = AddResponse.AddPartitionsToTxnTopicResult
PartitionResult = AddResponse.AddPartitionsToTxnPartitionResult
FROM_BROKERS = 4
TRANSACTION_VERSION_2 = 2
"""A broker adds partitions only for clients that act by it."""


def handle(broker: Broker, now: int, request: Request[m.AddPartitionsToTxnRequest]) -> None:
    transactions = _transactions(request)
    waiting = Waiting(broker.outbox, request, [None] * len(transactions))
    for place, each in enumerate(transactions):
        _one(broker, now, each, Row(waiting, place, each))
    waiting.reply_if_complete()


def refuse(
    request: Request[m.AddPartitionsToTxnRequest], code: Errors, message: str | None
) -> m.AddPartitionsToTxnResponse:
    waiting = Waiting(Outbox(), request, [])
    waiting.rows += [_alike(each, code) for each in _transactions(request)]
    return waiting.answer()


def _transactions(
    request: Request[m.AddPartitionsToTxnRequest],
) -> Sequence[AddRequest.AddPartitionsToTxnTransaction]:
    body = request.body
    if request.version >= FROM_BROKERS:
        return body.transactions
    return [
        AddRequest.AddPartitionsToTxnTransaction(
            transactional_id=body.v3_and_below_transactional_id,
            producer_id=body.v3_and_below_producer_id,
            producer_epoch=body.v3_and_below_producer_epoch,
            topics=body.v3_and_below_topics,
        )
    ]


def _one(
    broker: Broker, now: int, asked: AddRequest.AddPartitionsToTxnTransaction, row: Row
) -> None:
    named = [(topic.name, index) for topic in asked.topics for index in topic.partitions]
    partitions = list(dict.fromkeys(named))
    exist = [_exists(broker, *each) for each in partitions]
    if not all(exist):
        unknown, others = Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.OPERATION_NOT_ATTEMPTED
        errors = [others if each else unknown for each in exist]
        row.fill(_each(asked.transactional_id, partitions, errors))
        return
    producer = asked.producer_id, asked.producer_epoch
    shard, error = broker.transactions.shard_of(now, asked.transactional_id)
    if shard is None:
        row.stored(now, error)
        return
    version = TRANSACTION_VERSION_2 if row.waiting.request.version >= FROM_BROKERS else 0
    try:
        if asked.verify_only:
            errors = verify_partitions(shard, asked.transactional_id, producer, partitions)
            row.fill(_each(asked.transactional_id, partitions, errors))
        else:
            add_partitions(shard, now, asked.transactional_id, producer, partitions, version, row)
    except KafkaError as refused:
        row.stored(now, refused.code)


def _exists(broker: Broker, topic: str, index: int) -> bool:
    image = broker.metadata.topic(topic)
    return image is not None and index in image.partitions


@dataclass(slots=True)
class Waiting:
    """The answer, which goes out when each transaction has its result."""

    outbox: Outbox
    request: Request[m.AddPartitionsToTxnRequest]
    rows: list[AddResponse.AddPartitionsToTxnResult | None]
    is_listed: bool = False

    def reply_if_complete(self) -> None:
        """Called once all are asked, and then by each late one."""
        self.is_listed = True
        if None not in self.rows:
            self.outbox.reply(self.request, self.answer())

    def answer(self) -> m.AddPartitionsToTxnResponse:
        rows = [each for each in self.rows if each is not None]
        if self.request.version >= FROM_BROKERS:
            return AddResponse(results_by_transaction=rows)
        topics = [topic for row in rows for topic in row.topic_results]
        return AddResponse(results_by_topic_v3_and_below=topics)


@dataclass(slots=True)
class Row:
    """One transaction of the request."""

    waiting: Waiting
    place: int
    asked: AddRequest.AddPartitionsToTxnTransaction

    def stored(self, now: int, error: Errors) -> None:
        if error is Errors.PRODUCER_FENCED and self.waiting.request.version < 2:
            error = Errors.INVALID_PRODUCER_EPOCH
        self.fill(_alike(self.asked, error))

    def fill(self, result: AddResponse.AddPartitionsToTxnResult) -> None:
        self.waiting.rows[self.place] = result
        if self.waiting.is_listed:
            self.waiting.reply_if_complete()


def _alike(
    asked: AddRequest.AddPartitionsToTxnTransaction, error: Errors
) -> AddResponse.AddPartitionsToTxnResult:
    """The same for all that was named, row by row."""
    rows = [
        TopicResult(each.name, [PartitionResult(index, error) for index in each.partitions])
        for each in asked.topics
    ]
    return AddResponse.AddPartitionsToTxnResult(asked.transactional_id, rows)


def _each(
    transactional_id: str, partitions: Sequence[TopicPartition], errors: Sequence[Errors]
) -> AddResponse.AddPartitionsToTxnResult:
    """Each partition once, with an error of its own."""
    by_topic: dict[str, TopicResult] = {}
    for (topic, index), error in zip(partitions, errors, strict=True):
        result = by_topic.setdefault(topic, TopicResult(name=topic))
        result.results_by_partition.append(PartitionResult(index, error))
    return AddResponse.AddPartitionsToTxnResult(transactional_id, list(by_topic.values()))
