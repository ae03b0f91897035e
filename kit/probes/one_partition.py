"""The world of notebook 06 and its judge: one topic, one partition, some replicas.

    world = cluster(minimum=2)
    send(world, TOPIC, "A")

Each experiment starts a world of its own from a seed, breaks it in one way, and reports the
client's answers and the replicas' logs.  No result is written down beforehand: change a
setting and the table changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine.sim.world.world import World
from kit.probes.virtual import ends, isr

Condition = Callable[[World], bool]
TOPIC = "orders"
SETTLED_S = 2.0
"""After this a new topic's followers fetch without pause; the first fetch may come too early."""


def cluster(
    replicas: Sequence[int] = (101, 102, 103),
    *,
    minimum: int = 1,
    brokers: int = 3,
    seed: int = 6,
    settings: dict[str, Any] | None = None,
    checked: bool = True,
    **config: Any,
) -> World:
    """A world with the topic `orders` of one partition, its followers fetching."""
    world = World(seed, brokers, settings, checked=checked)
    configs = {"min.insync.replicas": minimum, **config}
    world.create_topic(TOPIC, assignment={0: list(replicas)}, config=configs)
    world.run(for_s=SETTLED_S)
    return world


def halted(broker: int) -> Condition:
    """Its process has ended."""
    return lambda world: broker not in world.cluster.nodes


def left(broker: int) -> Condition:
    """It is out of the ISR."""
    return lambda world: broker not in isr(world, TOPIC)


def committed(offset: int) -> Condition:
    """The record at this offset is below the leader's high watermark."""
    return lambda world: ends(world, TOPIC)[101][1] > offset


def listed(brokers: Sequence[int]) -> str:
    return " ".join(map(str, brokers)) or "none"
