"""Until there are transactions: a refusal that no client repeats."""

from __future__ import annotations

import pytest

from engine.sim.world.world import World
from engine.wire import messages as m
from engine.wire.errors import Errors

FINAL = Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


@pytest.fixture(scope="module")
def world() -> World:
    world = World(seed=5)
    world.create_topic("orders")
    return world


def test_no_broker_coordinates_a_transactional_id(world: World) -> None:
    answer = world.ask(m.FindCoordinatorRequest(key_type=1, coordinator_keys=["t"]), 101)
    assert [(each.error_code, each.node_id) for each in answer.coordinators] == [(FINAL, -1)]


def test_no_producer_id_is_given_to_one(world: World) -> None:
    ask = m.InitProducerIdRequest
    answer = world.ask(ask(transactional_id="t", transaction_timeout_ms=60_000), 101)
    assert (answer.error_code, answer.producer_id) == (Errors.NOT_COORDINATOR, -1)
    empty = world.ask(ask(transactional_id="", transaction_timeout_ms=60_000), 101)
    assert empty.error_code == Errors.INVALID_REQUEST
