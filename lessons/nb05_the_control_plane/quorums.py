"""How many members of a quorum may be away, asked of both designs by taking them away.

quorums.survives("ZooKeeper", 3)    members are killed, started, shut down and restarted in turn
"""

from __future__ import annotations

from engine.sim.world.world import World
from engine.wire.errors import KafkaError

SETTLED_S = 3
"""For an election among the members that are left."""
BACK_S = 3
"""For a member that returns, and for a broker that waits to ask again."""


def survives(design: str, members: int) -> tuple[str, ...]:
    """What such a quorum decides while members are away; the columns of the notebook's table."""
    world = _world(design, members)
    ids = world.cluster.spec.ensemble or world.cluster.spec.controllers
    killed = 0
    for member in ids:
        world.kill(member)
        if not _decides(world):
            break
        killed += 1
    _start(world, member)
    again = _decides(world)
    _start(world, *ids)
    world.stop(ids[0])
    world.kill(ids[1])
    in_maintenance = _decides(world)
    _start(world, *ids)
    refused = 0
    for each in ids:
        world.stop(each)
        refused += not _decides(world)
        _start(world, each)
    return (str(killed), _yes(again), _yes(in_maintenance), f"{refused} of {members}")


def _world(design: str, members: int) -> World:
    options = ({"control_plane": "zookeeper", "ensemble": members} if design == "ZooKeeper"
               else {"controllers": members})  # fmt: skip
    return World(seed=3, brokers=1, checked=False, rewindable=False, **options)


def _decides(world: World) -> bool:
    """Whether a topic can be created, once the members that are left had time to elect."""
    world.run(for_s=SETTLED_S)
    try:
        world.create_topic(f"at-{world.now_us}", replicas=1)
    except KafkaError:
        return False
    return True


def _start(world: World, *members: int) -> None:
    for member in members:
        world.start(member)
    world.run(for_s=BACK_S)


def _yes(answer: bool) -> str:
    return "yes" if answer else "no"
