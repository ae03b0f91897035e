"""InitProducerId (key 22): an identity for an idempotent or a transactional producer (KIP-98).

Without a transactional id any broker answers with a fresh producer id and epoch 0.  A
producer that names an id and epoch it already has (KIP-360) gets a fresh id too, as in
Kafka when there is no transactional id.  An id without an epoch, or an epoch without an id, is an
invalid request.

With a transactional id the coordinator answers: the same producer id as last time with a higher
epoch, which fences the last producer of that name.  If that one left a transaction open, it is
aborted first, and the answer is CONCURRENT_TRANSACTIONS until it is.

    v3      the producer's id and epoch, to recover from an error (KIP-360)
    v4      PRODUCER_FENCED instead of INVALID_PRODUCER_EPOCH

Left out: two-phase commit, version 6 (KIP-939).
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.broker.broker import Broker
from engine.coordinators.transactions.metadata import NO_EPOCH, NO_ID
from engine.coordinators.transactions.requests import start_producer
from engine.coordinators.transactions.transaction_shard import TransactionShard
from engine.events import Outbox, Request
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError


def handle(broker: Broker, now: int, request: Request[m.InitProducerIdRequest]) -> None:
    body, waiting = request.body, Waiting(broker.outbox, request)
    if (body.producer_id == NO_ID) != (body.producer_epoch == NO_EPOCH):
        waiting.stored(now, Errors.INVALID_REQUEST)
    elif body.transactional_id is None:
        broker.producer_ids.give(request, broker.lifecycle.epoch)
    else:
        try:
            _start(broker, now, body, body.transactional_id, waiting)
        except KafkaError as refused:
            waiting.stored(now, refused.code)


def _start(
    broker: Broker, now: int, body: m.InitProducerIdRequest, name: str, waiting: Waiting
) -> None:
    longest_ms = broker.settings["transaction.max.timeout.ms"]
    if name and not 0 < body.transaction_timeout_ms <= longest_ms:
        raise KafkaError(Errors.INVALID_TRANSACTION_TIMEOUT)
    shard, error = broker.transactions.shard_of(now, name)
    if shard is None:
        raise KafkaError(error)
    named = body.producer_id, body.producer_epoch
    waiting.shard = shard
    expected = None if body.producer_id == NO_ID else named
    start_producer(shard, broker, now, name, body.transaction_timeout_ms, expected, waiting)


@dataclass(slots=True)
class Waiting:
    """Answers once the epoch is replicated."""

    outbox: Outbox
    request: Request[m.InitProducerIdRequest]
    shard: TransactionShard | None = None

    def stored(self, now: int, error: Errors) -> None:
        if error is Errors.PRODUCER_FENCED and self.request.version < 4:
            error = Errors.INVALID_PRODUCER_EPOCH
        answer = m.InitProducerIdResponse(error_code=error, producer_id=-1, producer_epoch=-1)
        if error is Errors.NONE and self.shard is not None:
            metadata = self.shard.by_id[self.request.body.transactional_id or ""].metadata
            answer.producer_id = metadata.producer_id
            answer.producer_epoch = metadata.producer_epoch
        self.outbox.reply(self.request, answer)
