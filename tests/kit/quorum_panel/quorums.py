"""Worlds with three controllers, in which the quorum's leader fails."""

from __future__ import annotations

from engine.sim.clients.clients import create_topics
from engine.sim.world.world import World

ORDERS = {0: [102, 103, 101]}
FORMER, NEXT = 200, 300
"""With this seed, 200 leads first; when it is isolated or dead, 300 follows."""


def made() -> World:
    """A world whose controllers are at rest, and have a topic."""
    world = World(seed=152, controllers=3, checked=False)
    world.create_topic("orders", assignment=ORDERS)
    world.run(for_s=0.5)
    return world


def killed() -> World:
    """The leader is killed, another one makes a topic, and the first one returns."""
    world = made()
    world.kill(FORMER)
    world.run(for_s=4)
    world.create_topic("payments")
    world.start(FORMER)
    world.run(for_s=2)
    return world


def parted() -> World:
    """The leader is cut off from the others, and writes on; then the links are healed."""
    world = made()
    world.cut(FORMER, 100)
    world.cut(FORMER, 300)
    world.post(create_topics("lost", 1, 3, None, None), 101)
    world.run(for_s=4)
    world.heal()
    world.run(for_s=2)
    return world
