"""The panel tells of every fault that the simulator has."""

from __future__ import annotations

import pytest

from engine.sim.world.faults import KINDS, fault
from engine.sim.world.world import World
from kit.film.source import Line
from kit.panel.fault_story import tell_fault
from kit.panel.recording import CLUSTER_KINDS
from kit.panel.step_story import WEIGHTS

NODES = {0: (), 1: (102,), 2: (102, 103)}
OPTIONS = {"flip_bit": {"topic": "orders"}}
BEFORE = {"start": "kill", "resume": "pause"}


@pytest.fixture(scope="module")
def world() -> World:
    world = World(seed=1, checked=False)
    world.create_topic("orders")
    world.load("orders")
    world.run(for_s=0.5)
    return world


@pytest.mark.parametrize("kind", [each for each in KINDS if each != "heal"])
def test_a_fault_has_a_frame_and_a_sentence(world: World, kind: str) -> None:
    scene = world.fork()
    nodes = NODES[KINDS[kind].nodes[0]]
    if kind in BEFORE:
        scene.apply(fault(BEFORE[kind], *nodes))
    known = scene.cluster.trace_count
    scene.apply(fault(kind, *nodes, **OPTIONS.get(kind, {})))
    count = scene.cluster.trace_count - known
    lines = [
        Line(at, node, line.kind, line.partition, dict(line.fields), line.why, line.rule)
        for at, node, line in list(scene.cluster.trace)[-count:]
        if isinstance(node, int)
    ]
    reported = [line for line in lines if line.kind in CLUSTER_KINDS and tell_fault(line, lines)]
    assert reported, [line.kind for line in lines]
    assert all(line.kind in WEIGHTS for line in reported)
