"""The course's transfer in a world: Alice pays, Bob is paid, and the offset is committed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.sim.world.world import World
from kit.transaction_panel import producers

SETTINGS = {"offsets.topic.num.partitions": 8, "transaction.state.log.num.partitions": 1}
GROUP = "ledger"
"""Its offsets are in partition 7 of 8."""


def bank(seed: int = 7, settings: Mapping[str, Any] | None = None) -> World:
    """A world with the topics, and a producer that is ready."""
    world = World(seed=seed, checked=False, settings=SETTINGS)
    world.create_topic("transfers")
    world.create_topic("accounts", partitions=8)
    producers.start(world, "app", "transfer", settings)
    assert producers.wait(world, "app")
    return world


def transfer(world: World, name: str = "app", amount: int = 10) -> None:
    """Everything up to the end: debit, credit, offset."""
    producers.act(world, "begin", name)
    producers.send(world, name, "accounts", f"Alice -{amount}", 0)
    world.run(for_s=0.1)
    producers.send(world, name, "accounts", f"Bob +{amount}", 1)
    world.run(for_s=0.1)
    producers.send_offsets(world, name, {("transfers", 0): 1}, GROUP)
    assert producers.wait(world, name)


def committed(seed: int = 7) -> World:
    """One transfer that commits."""
    world = bank(seed)
    transfer(world)
    producers.act(world, "commit", "app")
    assert producers.wait(world, "app")
    world.run(for_s=1)
    return world


def crashed(seed: int = 7) -> World:
    """One transfer that commits; another, whose producer dies; a second producer that does it."""
    world = committed(seed)
    producers.act(world, "begin", "app")
    producers.send(world, "app", "accounts", "Alice -20", 0)
    world.run(for_s=0.2)
    producers.act(world, "kill", "app")
    world.run(for_s=0.5)
    producers.start(world, "app-2", "transfer")
    assert producers.wait(world, "app-2")
    transfer(world, "app-2", 20)
    producers.act(world, "commit", "app-2")
    assert producers.wait(world, "app-2")
    world.run(for_s=1)
    return world
