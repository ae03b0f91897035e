"""A broker that cannot register stops, as Kafka's does; one that has registered stays."""

from __future__ import annotations

import pytest

from engine.sim.world.world import World

TIMEOUT_S = 5.0
SETTING = "initial.broker.registration.timeout.ms"


@pytest.fixture
def world() -> World:
    """A cluster that has just lost its only controller."""
    world = World(seed=1, settings={SETTING: int(TIMEOUT_S * 1000)})
    world.kill(100)
    return world


def restart(world: World) -> None:
    world.kill(101)
    world.start(101)


def test_a_broker_that_is_not_registered_in_time_stops(world: World) -> None:
    restart(world)
    world.run(for_s=TIMEOUT_S - 0.1)
    assert world.cluster.states[101] == "running"
    world.run(for_s=0.2)
    assert world.cluster.states[101] == "stopped"
    assert SETTING in world.trace_lines(("stopping",))[-1]


def test_a_broker_that_was_registered_outlives_the_timeout(world: World) -> None:
    world.run(for_s=3 * TIMEOUT_S)
    assert world.cluster.states[101] == "running"


def test_its_next_start_registers_and_serves(world: World) -> None:
    restart(world)
    world.run(for_s=TIMEOUT_S + 1)
    world.start(100)
    world.start(101)
    assert world.run(until=lambda w: not w.snapshot()["brokers"][101]["fenced"], for_s=20)
