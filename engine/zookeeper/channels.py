"""Requests from the controller to brokers: to each broker one at a time, until it has answered.

A broker must see the controller's decisions in the order in which they were made.  So there is a
queue for each broker; a request that was lost is sent again, before any later one.  Only when the
broker's registration is gone, or the controller resigns, the queue is dropped.

A controller that was paused for long still has its queues, and sends on when it wakes up.  Nothing
here can tell it that it is none any more: that is what the epoch in each request is for.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from engine.events import Answered, Outbox
from engine.zookeeper.messages import Order, Ordered

TIMEOUT_US = 30_000_000
"""controller.socket.timeout.ms of Kafka 3.9."""
RETRY_US = 100_000


@dataclass(frozen=True, slots=True)
class OrderRound:
    """Token of a request to a broker."""

    broker: int
    number: int


@dataclass(frozen=True, slots=True)
class OrderRetry:
    """Rings when a lost request is sent again."""

    broker: int


class Channels:
    """The queues of controller `node_id`, by broker."""

    def __init__(self, node_id: int, outbox: Outbox) -> None:
        self.node_id = node_id
        self.outbox = outbox
        self.queues: dict[int, deque[Order]] = {}
        self.sent: dict[int, int] = {}
        self.last_number = 0

    def put(self, broker: int, order: Order) -> None:
        self.queues.setdefault(broker, deque()).append(order)
        self.send(broker)

    def send(self, broker: int) -> None:
        """The first of the queue, unless a request is under way."""
        queue = self.queues.get(broker)
        if not queue or broker in self.sent:
            return
        self.last_number += 1
        self.sent[broker] = self.last_number
        self.outbox.cancel_timer(OrderRetry(broker))
        self.outbox.send(broker, OrderRound(broker, self.last_number), queue[0], TIMEOUT_US,
                         connection="controller")  # fmt: skip

    def answered(self, now: int, token: OrderRound, body: Answered) -> Order | None:
        """The request that was answered; None if it was lost, or is of the past."""
        if self.sent.get(token.broker) != token.number:
            return None
        if not isinstance(body, Ordered):
            self.sent.pop(token.broker)
            self.outbox.set_timer(OrderRetry(token.broker), now + RETRY_US)
            return None
        self.sent.pop(token.broker)
        order = self.queues[token.broker].popleft()
        self.send(token.broker)
        return order

    def drop(self, broker: int) -> None:
        """The broker is gone, or has registered again: it gets everything again then."""
        self.queues.pop(broker, None)
        self.sent.pop(broker, None)

    def drop_all(self) -> None:
        for broker in tuple(self.queues):
            self.drop(broker)
