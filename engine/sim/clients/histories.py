"""The history of simulated clients.

The clients record what they do: the load of the simulator (engine/sim/clients/clients.py), its
consumer (engine/sim/clients/consumer.py), and the teachable producer (engine/client/producer.py).
This module reads them once a run is over.  A send that still waits is unknown.

    check(history_in(world, at_end=True))
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from engine.sim.history.operations import UNKNOWN, VERDICTS, History, Operation, Reached, Send

if TYPE_CHECKING:
    from engine.sim.clients.clients import Producer
    from engine.sim.clients.consumer import Consumer


def history_in(world: Any, at_end: bool = False) -> History:
    """What all clients of a world did, in its own time; see `history_of` for `at_end`.

    It also compares each end with the world: a cut-off consumer may take a wrong offset for it.
    """
    nodes = [node for name, node in world.cluster.nodes.items() if isinstance(name, str)]
    producers = [node for node in nodes if hasattr(node, "sends") or hasattr(node, "history")]
    consumers = [node for node in nodes if hasattr(node, "operations")]
    whole = history_of(producers, consumers, at_end)
    began_us = world.cluster.now - world.now_us
    kept = (each for each in whole.operations
            if not isinstance(each, Reached) or _is_the_end(world, each))  # fmt: skip
    return History(tuple(_since(began_us, each) for each in kept))


def history_of(
    producers: Iterable[Any], consumers: Iterable[Consumer], at_end: bool = False
) -> History:
    """What these clients did.  A producer is a load or a teachable one.

    With `at_end`, the run is over and calm.  Then a consumer that has read up to the last high
    watermark that it received has reached the end: what it has not seen is not there.  One that
    still reads, or asks where to go on, says nothing about the end.
    """
    operations: list[Operation] = []
    for producer in producers:
        operations += sends_of(producer) if hasattr(producer, "sends") else _load(producer)
    readers = list(consumers)
    for consumer in readers:
        operations += consumer.operations
    if at_end:
        last_us = max((max(each.at_us, getattr(each, "ended_us", 0)) for each in operations),
                      default=0)  # fmt: skip
        operations += [
            Reached(last_us + 1, consumer.name, consumer.topic, index, position.offset)
            for consumer in readers
            for index, position in consumer.positions.items()
            if position.is_at_end
        ]
    return History(tuple(operations))


def _is_the_end(world: Any, reached: Reached) -> bool:
    """Whether the leader would give a consumer this offset as the end."""
    place = reached.topic, reached.partition
    if reached.topic not in world.image().topic_ids:
        return False
    leader = world.cluster.nodes.get(world.leader(*place))
    replica = leader.replicas.partitions.get(place) if leader is not None else None
    return replica is not None and reached.offset == replica.high_watermark


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
