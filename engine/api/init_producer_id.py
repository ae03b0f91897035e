"""InitProducerId (key 22): an identity for an idempotent producer (KIP-98).

Without a transactional id any broker answers with a fresh producer id and epoch 0.  A
producer that names an id and epoch it already has (KIP-360) gets a fresh id too, as in
Kafka when there is no transactional id.  An id without an epoch, or an epoch without an id, is an
invalid request.

Left out: transactional ids (TRANSACTIONAL_ID_AUTHORIZATION_FAILED until there is a coordinator).
"""

from __future__ import annotations

from engine.broker.broker import Broker
from engine.events import Request
from engine.wire import messages as m
from engine.wire.errors import Errors

NONE = -1
"""No id, or no epoch."""


def handle(broker: Broker, now: int, request: Request[m.InitProducerIdRequest]) -> None:
    transactional_id = request.body.transactional_id
    is_half = (request.body.producer_id == NONE) != (request.body.producer_epoch == NONE)
    if transactional_id is None and not is_half:
        broker.producer_ids.give(request, broker.lifecycle.epoch)
        return
    refused = transactional_id and not is_half
    error = Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED if refused else Errors.INVALID_REQUEST
    broker.outbox.reply(
        request, m.InitProducerIdResponse(error_code=error, producer_id=-1, producer_epoch=-1)
    )
