"""Damages batches on their way: one bit changes, so the checksum in the batch's header is wrong.

    with Shop(cluster, "orders") as shop:
        shop.send("A")
        shop.wait()
        in_the_next(shop, 1)
        shop.send("B", "C")     # both are under way, and only B's batch is damaged

The broker refuses such a batch alone (CORRUPT_MESSAGE, a retriable error) and handles the next
request of the same connection.  The producer still has the batch as it was, and sends it again.
For producers on sockets.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

from engine.client.producer import Producer
from engine.events import Effect, Event, Send
from engine.wire import messages as m
from lessons.nb08_producers.shop import Shop


def in_the_next(shop: Shop, batches: int) -> None:
    """Damages that many of the next batches.

    Raises ValueError for a shop in a world, where bytes cannot be changed on their way.
    """
    if shop.driver is None:
        raise ValueError("Only a producer on sockets can have a batch damaged on its way.")
    damaged: Any = FlippedBit(shop.producer, batches)
    shop.driver.client = damaged


class FlippedBit:
    """The producer; of its next `batches` Produce requests, the last bit of a batch is flipped."""

    def __init__(self, producer: Producer, batches: int) -> None:
        self.producer = producer
        self.batches = batches

    def start(self, now: int) -> list[Effect]:
        return self._leaving(self.producer.start(now))

    def step(self, now: int, event: Event) -> list[Effect]:
        return self._leaving(self.producer.step(now, event))

    def send(self, now: int, *record: Any) -> list[Effect]:
        return self._leaving(self.producer.send(now, *record))

    def flush(self, now: int) -> list[Effect]:
        return self._leaving(self.producer.flush(now))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.producer, name)

    def _leaving(self, effects: Sequence[Effect]) -> list[Effect]:
        return [self._damaged(effect) for effect in effects]

    def _damaged(self, effect: Effect) -> Effect:
        if self.batches and isinstance(effect, Send) and isinstance(effect.body, m.ProduceRequest):
            self.batches -= 1
            body: Any = deepcopy(effect.body)
            part = body.topic_data[0].partition_data[0]
            part.records = part.records[:-1] + bytes([part.records[-1] ^ 1])
            return replace(effect, body=body)
        return effect
