"""The same seed gives the same trace, byte by byte, whatever else differs."""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from engine.sim.world.world import World

ROOT = Path(__file__).parents[3]
TELL = "from tests.engine.sim.test_determinism import digest; print(digest(5))"


def eventful(seed: int, encoded: bool = False) -> World:
    """A cluster under load that loses a leader, a link and some power."""
    world = World(seed, encoded=encoded)
    world.create_topic("orders", partitions=2, config={"min.insync.replicas": 2})
    world.load("orders", period_us=10_000, idempotent=True)
    world.reader("orders")
    world.run(for_s=0.5)
    world.isolate(world.leader("orders", 0))
    world.run(for_s=2.5)
    world.heal()
    world.lose_power(world.leader("orders", 1))
    world.run(for_s=2)
    return world


def tell(world: World) -> str:
    return "\n".join(world.trace_lines())


def digest(seed: int) -> str:
    return hashlib.sha256(tell(eventful(seed)).encode()).hexdigest()


@pytest.fixture(scope="module")
def original() -> str:
    return digest(5)


def test_twice_in_this_process(original: str) -> None:
    assert digest(5) == original


def test_another_seed_is_another_story(original: str) -> None:
    assert digest(6) != original


@pytest.mark.parametrize("hash_seed", ["0", "4711"])
def test_in_another_process_with_other_hashes(original: str, hash_seed: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    reported = subprocess.run(
        [sys.executable, "-c", TELL], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert reported.stdout.strip() == original, reported.stderr


def test_messages_as_bytes_make_no_difference() -> None:
    assert tell(eventful(5, encoded=True)) == tell(eventful(5))


@pytest.mark.full
def test_a_fork_goes_on_like_the_original() -> None:
    world = eventful(7)
    copy = world.fork()
    for each in (world, copy):
        each.start(next(b for b in each.cluster.spec.brokers if b not in each.cluster.nodes))
        each.run(for_s=3)
    assert tell(copy) == tell(world)
    assert copy.snapshot(values=True) == world.snapshot(values=True)


def test_a_fork_is_independent() -> None:
    world = eventful(7)
    copy = world.fork()
    before = tell(world)
    copy.run(for_s=1)
    assert tell(world) == before
    assert tell(copy) != before


def test_a_world_pickles_equal_in_mid_flight() -> None:
    """Pickling what was unpickled gives the same state again, at many moments."""
    world = eventful(8)
    for _ in range(5):
        world.run(events=37)
        copy = world.fork()
        assert pickle.loads(pickle.dumps(copy)).snapshot(values=True) == world.snapshot(values=True)
        world, ahead = copy, world
        ahead.run(events=100)
        world.run(events=100)
        assert tell(ahead) == tell(world)
