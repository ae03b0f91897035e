"""The world of notebook 08: one topic, one partition, and a producer named `shop`.

    world = cluster(minimum=2)
    shop(world, {"linger.ms": 0})
    send(world, "A", "B")
    finish(world)
    log(world)

The producer is the engine's own (engine/client), so that every decision leaves a line in the
trace; its times are in virtual time, and the same seed gives the same run.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from engine.client.producer import Load, Producer
from engine.client.settings import ProducerSettings
from engine.sim.world.world import World
from lessons.nb08_producers.fault_stages import log_of

TOPIC, NAME, BROKERS = "orders", "shop", (101, 102, 103)
SETTLED_S = 2.0
PLAIN: Mapping[str, Any] = {"enable.idempotence": False}


def cluster(minimum: int = 1, *, seed: int = 8, **config: Any) -> World:
    """Three brokers; `orders` is led by 101 and copied to 102 and 103.

    It is a copy of a world made before; only `seed`, which decides the delays, is its own.
    """
    world: World = pickle.loads(_made(minimum, tuple(config.items())))
    world.chance.seed(f"lesson/{seed}")
    return world


@cache
def _made(minimum: int, config: tuple[tuple[str, Any], ...]) -> bytes:
    world = World(seed=8, rewindable=False)
    configs = {"min.insync.replicas": minimum, **dict(config)}
    world.create_topic(TOPIC, assignment={0: list(BROKERS)}, config=configs)
    world.run(for_s=SETTLED_S)
    return pickle.dumps(world)


def shop(
    world: World,
    settings: Mapping[str, Any] | None = None,
    load: Load | None = None,
    *,
    name: str = NAME,
    checked: bool = True,
) -> Producer:
    """Adds a producer and lets it connect; `checked=False` takes settings that Kafka refuses."""
    given = ProducerSettings.of(settings, checked=checked)
    producer: Producer = world.add(name, Producer(name, BROKERS, given, load=load))
    if load is None:
        producer.metadata.add_topic(TOPIC)
        world.run(for_s=0.2)
    return producer


def send(world: World, *values: str, name: str = NAME, partition: int = 0) -> None:
    for value in values:
        world.tell(name, "send", TOPIC, value.encode(), None, partition)


def finish(world: World, for_s: float = 200, name: str = NAME) -> Producer:
    """Runs until nothing is pending."""
    world.run(until=lambda w: w.client(name).idle, for_s=for_s)
    found: Producer = world.client(name)
    return found


def log(world: World, on: int = 0) -> str:
    """What partition 0 holds, on its leader or on another broker."""
    return " ".join(log_of(world, TOPIC, on))


def lines(
    world: World, *kinds: str, name: str = NAME
) -> Iterable[tuple[float, str, dict[str, Any], str]]:
    """The producer's trace: milliseconds since the world began, kind, fields, why."""
    began = world.cluster.now - world.now_us
    for at, node, line in world.cluster.trace:
        if node == name and line.kind in kinds:
            yield (at - began) / 1000, line.kind, dict(line.fields), line.why


def outcome(error: str) -> str:
    """An answer in words: the protocol calls success NONE."""
    return "success" if error == "NONE" else error


def verdicts(producer: Producer) -> str:
    return ", ".join(f"{n} {kind}" for kind, n in producer.verdicts.count().items())
