"""Takes a world to another event, or makes a second one of it.

How checkpoints and replay work together is told in engine/sim/world/timeline.py; how a world's
state gets into and out of a checkpoint, in engine/sim/world/saving.py.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from engine.cluster.cluster import Cluster
from engine.sim.world import saving
from engine.sim.world.tape import Done
from engine.sim.world.timeline import Timeline

if TYPE_CHECKING:
    from engine.sim.world.world import World


def go(world: World, timeline: Timeline, event: int, by_us: int = -1) -> None:
    """Restores the nearest checkpoint unless the world is nearer, and replays the rest.

    At the event itself, a world may stay whose clock has not gone past `by_us`.
    """
    known, state = timeline.before(event)
    there = event == world.events and world.now_us <= by_us
    if not there and not known <= world.events < event:
        if len(world.cluster.trace) > len(timeline.lines):
            timeline.lines = list(world.cluster.trace)
        restore(world, state)
        world.cluster.trace = deque(timeline.lines[: world.cluster.trace_count])
    while world.events < min(event, timeline.last_event):
        with suppress(Exception):  # it was raised when this happened first
            world.step()
    while world.events < event and world.step():
        pass


def undo(world: World, timeline: Timeline, done: Done, traced: int) -> None:
    """After a deed that raised: to the moment before it, when the trace had `traced` lines."""
    cluster = world.cluster
    for _ in range(cluster.trace_count - traced):
        cluster.trace.pop()
    go(world, timeline, done.event - 1)
    cluster.catch_up(done.after)
    cluster.now += done.at_us - world.now_us


def fork(world: World) -> World:
    """The same world at the same moment, and independent: nothing that changes is shared."""
    copy = type(world).__new__(type(world))
    vars(copy).update(vars(world))
    copy.tape = world.tape[: world.on_tape]
    copy.held = {"": Cluster.__new__(Cluster)}
    restore(copy, save(world))
    copy.cluster.trace = deque(world.cluster.trace)
    if world.timeline is not None:
        copy.timeline = world.timeline.fork()
        copy.timeline.cut(copy.events)
    return copy


def save(world: World) -> bytes:
    """The state that a checkpoint holds: all but the tape, the trace and the timeline."""
    parts = (world.invariants, world.chance, world.events, world.on_tape)
    nodes = world.cluster.nodes
    return saving.save(parts, {n: each for n, each in world.held.items() if not n or n in nodes})


def restore(world: World, state: bytes) -> None:
    parts, found = saving.load(state, world.held)
    world.invariants, world.chance, world.events, world.on_tape = parts
    world.held.update(found)
    world.cluster = found[""]
