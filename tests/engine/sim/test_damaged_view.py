"""A world whose bits have changed can still be looked at: what is damaged is shown as such."""

from __future__ import annotations

import pytest

from engine.cluster.snapshot import DAMAGED
from engine.sim.world.world import World


@pytest.fixture(scope="module")
def original() -> World:
    world = World(seed=1)
    world.create_topic("orders", config={"min.insync.replicas": 2})
    world.load("orders")
    world.run(for_s=0.5)
    return world


@pytest.fixture
def world(original: World) -> World:
    return original.fork()


def test_a_damaged_batch_is_shown_at_its_place(world: World) -> None:
    before = world.snapshot(values=True, tail=1_000)["topics"]["orders"]["partitions"][0]["logs"]
    world.flip_bit(101, "orders", 0, offset=2)
    after = world.snapshot(values=True, tail=1_000)["topics"]["orders"]["partitions"][0]["logs"]
    assert after[102] == before[102]
    for then, now in zip(before[101]["batches"], after[101]["batches"], strict=True):
        if then["base_offset"] <= 2 <= then["last_offset"]:
            assert now == {**then, "values": [DAMAGED]}
        else:
            assert now == then


def test_a_damaged_batch_differs_from_one_that_is_not(world: World, original: World) -> None:
    world.flip_bit(101, "orders", 0, offset=2)
    replica = original.diff(world).partitions["orders-0"].replicas[101]
    here, there = replica.records[2]
    assert here is not None
    assert there == (here[0], DAMAGED)
    assert all(there[1] == DAMAGED for _, there in replica.records.values())
    assert f"{DAMAGED} (epoch {here[0]}) there" in original.diff(world).text


def test_a_world_can_be_looked_at_wherever_a_bit_has_changed(original: World) -> None:
    for offset in range(original.replica(101, "orders", 0).log.log_end_offset):
        world = original.fork()
        world.flip_bit(101, "orders", 0, offset)
        assert DAMAGED in str(world.snapshot(values=True, tail=1_000))
        assert DAMAGED in world.diff(original).text
