"""Producer ids for idempotent producers: blocks of a thousand from the controller.

An id must stay unique in the cluster forever, but a metadata record for each id would be
slow.  So a broker takes a block of ids and serves from it (KIP-730).  When the block is used
up, requests wait for the next one.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.events import Answered, Outbox, Request
from engine.metadata.active_controller import ActiveController
from engine.wire import messages as m
from engine.wire.errors import Errors

RETRY_US = 100_000


@dataclass(frozen=True, slots=True)
class BlockRequest:
    """Token of the request for the next block of ids."""


@dataclass(frozen=True, slots=True)
class BlockTimer:
    """Rings when the next attempt is due after a request that failed."""


class ProducerIds:
    """The broker's current block, `next_id` up to (not including) `block_end`."""

    def __init__(self, node_id: int, controller: ActiveController, outbox: Outbox) -> None:
        self.node_id = node_id
        self.controller = controller
        self.outbox = outbox
        self.broker_epoch = -1
        self.next_id = 0
        self.block_end = 0
        self.waiting: list[Request[m.InitProducerIdRequest]] = []
        self.asking = False

    def give(self, request: Request[m.InitProducerIdRequest], broker_epoch: int) -> None:
        """Answers InitProducerId with a fresh id and epoch 0, now or when a block has come."""
        self.broker_epoch = broker_epoch
        self.waiting.append(request)
        self._serve()

    def take(self, broker_epoch: int) -> int | None:
        """A fresh id for the transaction coordinator; None until a block has come."""
        self.broker_epoch = broker_epoch
        if self.next_id < self.block_end:
            self.next_id += 1
            return self.next_id - 1
        if not self.asking:
            self.ask()
        return None

    def _serve(self) -> None:
        while self.waiting and self.next_id < self.block_end:
            answer = m.InitProducerIdResponse(producer_id=self.next_id, producer_epoch=0)
            self.next_id += 1
            self.outbox.reply(self.waiting.pop(0), answer)
        if self.waiting and not self.asking:
            self.ask()

    def ask(self) -> None:
        """Asks the controller for a block."""
        self.asking = True
        body = m.AllocateProducerIdsRequest(broker_id=self.node_id, broker_epoch=self.broker_epoch)
        self.outbox.send(self.controller.id, BlockRequest(), body)

    def on_response(self, now: int, body: Answered) -> None:
        answer = m.AllocateProducerIdsResponse
        if not isinstance(body, answer) or body.error_code != Errors.NONE:
            self.outbox.set_timer(BlockTimer(), now + RETRY_US)
            return
        self.asking = False
        self.next_id = body.producer_id_start
        self.block_end = body.producer_id_start + body.producer_id_len
        self._serve()
