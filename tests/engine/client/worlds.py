"""A small cluster with one partition, a producer and a reader on it."""

from __future__ import annotations

from typing import Any

from engine.client.producer import Load, Producer
from engine.client.settings import ProducerSettings
from engine.events import Trace
from engine.records import batch
from engine.sim.world.world import World

FAST = {"request.timeout.ms": 1_000, "delivery.timeout.ms": 20_000}


def world(**options: Any) -> World:
    made = World(seed=options.pop("seed", 5), **options)
    made.create_topic("orders", assignment={0: [101, 102, 103]}, config={"min.insync.replicas": 2})
    return made


def produce(in_world: World, load: Load | None = None, **settings: Any) -> Producer:
    """Adds a producer named `shop`; settings with underscores for dots."""
    given = {**FAST, **{name.replace("_", "."): value for name, value in settings.items()}}
    producer = Producer("shop", (101, 102, 103), ProducerSettings.of(given), load=load)
    in_world.add("shop", producer)
    found: Producer = in_world.client("shop")
    return found


def send(in_world: World, *values: str) -> None:
    for value in values:
        in_world.tell("shop", "send", "orders", value.encode(), None, 0)


def finish(in_world: World, for_s: float = 60) -> Producer:
    assert in_world.run(until=lambda w: w.cluster.nodes["shop"].idle, for_s=for_s)
    found: Producer = in_world.cluster.nodes["shop"]
    return found


def log(in_world: World, on: int = 0, topic: str = "orders") -> list[str]:
    """The values in partition 0's log on its leader, or on another broker."""
    broker = on or in_world.leader(topic, 0)
    replica = in_world.cluster.nodes[broker].replicas.partitions[topic, 0]
    data = replica.log.read(0, 1 << 24)
    return [(record.value or b"").decode() for record in batch.decode_all(data)]


def lines(in_world: World, kind: str) -> list[tuple[int, dict[str, Any], str]]:
    """The producer's trace lines of one kind: microseconds, fields, why."""
    return [
        (at, dict(line.fields), line.why)
        for at, node, line in in_world.cluster.trace
        if node == "shop" and isinstance(line, Trace) and line.kind == kind
    ]
