"""A fleet that reports positions for a second, with settings of the learner's choice.

Trucks send 500 positions in a second of virtual time, keyed by truck, to six partitions on three
brokers.  The producer is 2 ms away from each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.records import batch
from engine.sim.world.world import World
from kit.probes.own_producer import OwnProducer
from lessons.nb03_partitioning.payloads import positions, truck_of

TOPIC, PARTITIONS, RECORDS, EVERY_S, AWAY_MS = "positions", 6, 500, 0.002, 2


@dataclass(frozen=True)
class Drive:
    """What a second cost: requests, bytes in the log against plain ones, and the slowest waits."""

    requests: int
    share: float
    p99_ms: float
    acknowledged: int


def drive(settings: Mapping[str, Any], seed: int = 3) -> Drive:
    """One second of the fleet with these settings."""
    world = World(seed=seed, rewindable=False, checked=False)
    replicas = {n: [101 + n % 3] for n in range(PARTITIONS)}
    world.create_topic(TOPIC, assignment=replicas)
    producer = OwnProducer(world, TOPIC, settings)
    for broker in (101, 102, 103):
        world.slow(broker, producer.name, ms=AWAY_MS)
    for position in positions(RECORDS, seed):
        producer.send(position, key=truck_of(position))
        world.run(for_s=EVERY_S)
    producer.wait(5)
    waits = sorted(producer.waits_ms)
    plain = sum(len(position) for position in positions(RECORDS, seed))
    return Drive(
        producer.requests,
        _stored_bytes(world, replicas) / plain,
        waits[len(waits) * 99 // 100] if waits else float("inf"),
        producer.verdicts.count("acknowledged"),
    )


def _stored_bytes(world: World, replicas: Mapping[int, list[int]]) -> int:
    """The size of all batches in the leaders' logs."""
    logs = [world.replica(brokers[0], TOPIC, index).log for index, brokers in replicas.items()]
    data = (log.read(0, 1 << 24) for log in logs)
    return sum(header.size_in_bytes for each in data for header, _ in batch.iterate(each))
