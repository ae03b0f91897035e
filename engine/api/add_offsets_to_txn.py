"""AddOffsetsToTxn (key 25): my transaction will store this group's offsets (KIP-98).

Offsets are records in the group's partition of `__consumer_offsets`, so that partition joins the
transaction and gets a marker like all others.

    v2      PRODUCER_FENCED instead of INVALID_PRODUCER_EPOCH
    v4      TRANSACTION_ABORTABLE may be an answer (KIP-890)

With transaction.version 2 clients do not send it: TxnOffsetCommit adds the partition.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.broker.broker import Broker
from engine.coordinators.offsets_topic import OFFSETS_TOPIC, partition_count, partition_for
from engine.coordinators.transactions.requests import add_partitions
from engine.events import Outbox, Request
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError


def handle(broker: Broker, now: int, request: Request[m.AddOffsetsToTxnRequest]) -> None:
    body, waiting = request.body, Waiting(broker.outbox, request)
    partitions = partition_count(broker.metadata, broker.settings)
    where = OFFSETS_TOPIC, partition_for(body.group_id, partitions)
    shard, error = broker.transactions.shard_of(now, body.transactional_id)
    if shard is None:
        waiting.stored(now, error)
        return
    producer = body.producer_id, body.producer_epoch
    try:
        add_partitions(shard, now, body.transactional_id, producer, [where], 0, waiting)
    except KafkaError as refused:
        waiting.stored(now, refused.code)


@dataclass(slots=True)
class Waiting:
    """Answers once the partition is in the transaction's record."""

    outbox: Outbox
    request: Request[m.AddOffsetsToTxnRequest]

    def stored(self, now: int, error: Errors) -> None:
        if error is Errors.PRODUCER_FENCED and self.request.version < 2:
            error = Errors.INVALID_PRODUCER_EPOCH
        self.outbox.reply(self.request, m.AddOffsetsToTxnResponse(error_code=error))
