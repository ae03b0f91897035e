"""A client's requests in virtual time, also while there is no controller."""

from __future__ import annotations

import pytest

from engine.sim.world.world import World
from kit.probes import virtual


def test_without_a_controller_clients_go_on_and_no_broker_takes_over() -> None:
    world = World(seed=1)
    world.create_topic("orders")
    world.run(for_s=1)
    leader = world.leader("orders", 0)
    world.kill(100)
    world.run(for_s=1)
    assert virtual.send(world, "orders", "A").error == "NONE"
    world.run(for_s=1)
    assert virtual.readable(world, "orders") == ["A"]
    world.kill(leader)
    world.run(for_s=20)
    assert world.leader("orders", 0) == leader
    world.start(100)
    world.run(until=lambda w: w.leader("orders", 0) not in (leader, -1), for_s=30)
    world.run(for_s=2)
    assert virtual.readable(world, "orders") == ["A"]


def test_a_world_without_a_node_says_how_to_go_on() -> None:
    world = World(seed=1)
    for node in (100, 101, 102, 103):
        world.kill(node)
    with pytest.raises(ValueError, match=r"world\.start\(100\)"):
        world.image()
