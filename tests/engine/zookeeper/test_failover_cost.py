"""A new controller reads everything first: the time to take over grows with the partitions."""

from __future__ import annotations

import pytest

from engine.sim.world.world import World


def made(partitions: int, **costs: int) -> World:
    settings = {"preloaded.partitions": partitions, **costs}
    world = World(seed=1, control_plane="zookeeper", checked=False, rewindable=False,
                  settings=settings)  # fmt: skip
    assert world.run(until=lambda w: bool(w.trace_lines(("controller-ready",))), for_s=100)
    return world


def takeover_ms(world: World, kind: str) -> float:
    """From the election to the first trace line of this kind."""
    at = {line.kind: us for us, _, line in reversed(world.cluster.trace)}
    return (at[kind] - at["controller"]) / 1000


def test_reading_everything_takes_140_us_a_partition() -> None:
    few, many = (takeover_ms(made(each), "loaded") for each in (100, 2_100))
    assert many - few == pytest.approx(2_000 * 0.140, rel=0.1)


def test_the_cost_is_a_setting() -> None:
    slow, fast = (takeover_ms(made(1_000, **{"cost.read.us": us}), "loaded") for us in (400, 0))
    assert slow - fast == pytest.approx(400, rel=0.1)


def test_when_the_controller_dies_its_partitions_are_read_and_written_besides() -> None:
    world = made(900)
    world.kill(world.cluster.controller.node_id)
    assert world.run(until=lambda w: len(w.trace_lines(("controller-ready",))) == 2, for_s=30)
    at = {kind: [us for us, _, line in world.cluster.trace if line.kind == kind][-1]
          for kind in ("controller", "loaded", "controller-ready")}  # fmt: skip
    loading, acting = at["loaded"] - at["controller"], at["controller-ready"] - at["loaded"]
    # It had a replica of each: 900 are read and written, and the 300 that it led once more.
    assert acting / 1000 == pytest.approx(1_200 * (0.140 + 0.160), rel=0.15)
    assert loading / 1000 == pytest.approx(900 * 0.140, rel=0.15)
    leaders = {p.leader for p in world.partitions("preloaded-0").values()}
    assert len(leaders) == 2
    assert all(not node.replicas.partitions for node in map(world.cluster.nodes.get, leaders))
