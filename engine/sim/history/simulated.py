"""The history of simulated clients.

The clients keep their own books: the load of the simulator (engine/sim/clients.py), its
consumer (engine/sim/consumer.py), and the teachable producer (engine/client/producer.py).
This module reads them once a run is over.  A send that still waits is unknown.

    check(history_in(world, at_end=True))
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from engine.sim.history.operations import UNKNOWN, VERDICTS, History, Operation, Reached, Send

if TYPE_CHECKING:
    from engine.sim.clients import Producer
    from engine.sim.consumer import Consumer


def history_in(world: Any, at_end: bool = False) -> History:
    """What all clients of a world did, in its own time; see `history_of` for `at_end`."""
    nodes = [node for name, node in world.cluster.nodes.items() if isinstance(name, str)]
    producers = [node for node in nodes if hasattr(node, "sends") or hasattr(node, "history")]
    consumers = [node for node in nodes if hasattr(node, "operations")]
    told = history_of(producers, consumers, at_end)
    began_us = world.cluster.now - world.now_us
    return History(tuple(_since(began_us, each) for each in told.operations))


def history_of(
    producers: Iterable[Any], consumers: Iterable[Consumer], at_end: bool = False
) -> History:
    """What these clients did.  A producer is a load or a teachable one.

    With `at_end`, the run is over and calm, and every consumer stands at the end of its
    partitions: what none of them has seen is not there.
    """
    operations: list[Operation] = []
    for producer in producers:
        operations += sends_of(producer) if hasattr(producer, "sends") else _load(producer)
    last_us = max((each.ended_us for each in operations if isinstance(each, Send)), default=0)
    for consumer in consumers:
        operations += consumer.operations
        last_us = max(last_us, *(each.at_us for each in consumer.operations), 0)
        if at_end:
            operations += [
                Reached(last_us + 1, consumer.name, consumer.topic, index, position.offset)
                for index, position in consumer.positions.items()
            ]
    return History(tuple(operations))


def sends_of(producer: Any) -> list[Send]:
    """What a teachable producer sent, in its order."""
    return [
        Send(sent.made_us, producer.name, sent.topic, sent.partition, sent.text,
             _verdict(sent.verdict), sent.offset, sent.done_us)
        for sent in producer.sends
    ]  # fmt: skip


def _load(producer: Producer) -> list[Send]:
    return [
        Send(sent.first_sent_us, producer.name, producer.topic, index, sent.value,
             _verdict(sent.verdict), sent.offset, sent.ended_us)
        for index, batches in producer.history.items()
        for sent in batches
    ]  # fmt: skip


def _verdict(verdict: str) -> str:
    return verdict if verdict in VERDICTS else UNKNOWN


def _since(began_us: int, operation: Operation) -> Operation:
    if isinstance(operation, Send) and operation.ended_us >= 0:
        operation = replace(operation, ended_us=operation.ended_us - began_us)
    return replace(operation, at_us=operation.at_us - began_us)
