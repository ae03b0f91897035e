"""EndTxn (key 26): commit my transaction, or abort it (KIP-98).

The answer comes when the decision is replicated.  The markers follow, so a read_committed reader
may still wait for a moment after the producer has heard that its commit is done.

    v2      PRODUCER_FENCED instead of INVALID_PRODUCER_EPOCH
    v5      the client acts by transaction.version 2 (KIP-890): the epoch is bumped, and the
            answer has the producer id and the epoch to go on with
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.broker.broker import Broker
from engine.coordinators.transactions.metadata import NO_EPOCH, NO_ID
from engine.coordinators.transactions.requests import end_transaction
from engine.coordinators.transactions.states import EndProtocol
from engine.coordinators.transactions.transaction_shard import TransactionShard
from engine.events import Outbox, Request
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

BUMPS_EPOCH = 5


def handle(broker: Broker, now: int, request: Request[m.EndTxnRequest]) -> None:
    body = request.body
    shard, error = broker.transactions.shard_of(now, body.transactional_id)
    waiting = Waiting(broker.outbox, request, shard)
    if shard is None:
        waiting.stored(now, error)
        return
    is_new = request.version >= BUMPS_EPOCH
    protocol = EndProtocol.EPOCH_BUMPED if is_new else EndProtocol.EPOCH_STAYS
    producer = body.producer_id, body.producer_epoch
    try:
        end_transaction(
            shard, broker, now, body.transactional_id, producer, body.committed, protocol, waiting
        )
    except KafkaError as refused:
        waiting.stored(now, refused.code)


@dataclass(slots=True)
class Waiting:
    """Answers once the decision is replicated."""

    outbox: Outbox
    request: Request[m.EndTxnRequest]
    shard: TransactionShard | None

    def stored(self, now: int, error: Errors) -> None:
        if error is Errors.PRODUCER_FENCED and self.request.version < 2:
            error = Errors.INVALID_PRODUCER_EPOCH
        producer_id, epoch = NO_ID, NO_EPOCH
        if error is Errors.NONE and self.shard is not None:
            transaction = self.shard.by_id[self.request.body.transactional_id]
            producer_id, epoch = transaction.metadata.next_identity
        self.outbox.reply(
            self.request,
            m.EndTxnResponse(error_code=error, producer_id=producer_id, producer_epoch=epoch),
        )
