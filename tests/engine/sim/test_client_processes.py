"""A client's process can be paused, resumed and killed, as a broker's can."""

from __future__ import annotations

import pytest

from engine.sim.world.world import World


def read_so_far(world: World, name: str) -> int:
    return world.client(name).positions[0].offset


def reading() -> World:
    world = World(seed=3)
    world.create_topic("orders")
    world.load("orders", period_us=20_000)
    world.reader("orders")
    world.run(for_s=1)
    return world


def test_a_paused_client_reads_nothing_and_goes_on_where_it_stood() -> None:
    world = reading()
    before = read_so_far(world, "consumer-2")
    assert before > 0
    world.pause("consumer-2")
    world.run(for_s=2)
    assert read_so_far(world, "consumer-2") == before
    world.resume("consumer-2")
    world.run(for_s=1)
    assert read_so_far(world, "consumer-2") >= before + 100


def test_a_killed_client_is_gone_and_comes_back_when_the_world_goes_back() -> None:
    world = reading()
    event = world.events
    world.kill("consumer-2")
    world.run(for_s=1)
    with pytest.raises(ValueError, match="no node 'consumer-2' now"):
        world.client("consumer-2")
    world.goto(event=event)
    assert read_so_far(world, "consumer-2") > 0


def test_the_worlds_own_client_stays() -> None:
    with pytest.raises(ValueError, match="there is no node admin"):
        reading().pause("admin")
