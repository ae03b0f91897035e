"""What notebook 05 asks of a broker that does not know how it stands.

fencing.write_to(world, 101, "all", 5)        five records, one a second: the answers of 101
fencing.standing(world, "it starts", 103)     a row: what 103 has read, and who hears of 103
"""

from __future__ import annotations

from engine.sim.world.world import World
from engine.wire.errors import Errors
from kit.probes import requests, virtual
from lessons.nb05_the_control_plane import ensemble

TOPIC = "orders"
TIMEOUT_MS = 1_500
PATIENCE_S = 3
STANDING = ("", "metadata read", "fenced", "ISR", "101 names to clients")
"""The columns of `standing`."""


def write_to(world: World, broker: int, acks: str, records: int) -> list[str]:
    """A client that takes `broker` for the leader writes a record a second: the answers."""
    asked = []
    for number in range(records):
        body = virtual.produce_request(world, TOPIC, (f"record {number}",), acks, TIMEOUT_MS)
        asked.append(world.post(body, broker))
        world.run(for_s=1)
    world.run(for_s=PATIENCE_S)
    return [_error(world.answer(each)) for each in asked]


def _error(answer: object) -> str:
    if answer is None:
        return "no answer"
    return Errors(requests.first_partition(answer).error_code).name


def standing(world: World, moment: str, broker: int) -> tuple[str, ...]:
    """How far a running broker has the metadata log, and what the cluster makes of it."""
    read = world.cluster.nodes[broker].metadata.offset
    end = world.cluster.nodes[100].log.end_offset
    isr, named = virtual.isr(world, TOPIC), ensemble.named_by(world, 101)
    fenced = "yes" if world.is_fenced(broker) else "no"
    return (
        moment,
        f"{read} of {end}",
        fenced,
        *(" ".join(map(str, each)) for each in (isr, named)),
    )
