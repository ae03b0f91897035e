"""Runs a world under a recorder's eyes, from its beginning or into another future.

The recorder works on a copy: the learner's own world stays where it is.  After each event it looks
(`look`) and keeps a frame if something worth showing has happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from engine.sim.scripts.quiet import is_quiet
from engine.sim.world.faults import Fault
from engine.sim.world.run import EPOCH_US
from engine.sim.world.tape import Add, Done
from engine.sim.world.world import World
from kit.film.source import Frame

SETTLE_US = 5_000_000
"""How long a branch may go on after what it branched from has ended, to come to rest."""


class Recorder(Protocol):
    """A world of its own, and what is kept of it."""

    world: World

    def look(self) -> None:
        """Keeps what the last event has changed."""


def from_the_beginning(world: World) -> World:
    """A copy of a world at its first event, which will do again what it did."""
    past = world.fork()
    if world.timeline is not None:
        past.goto(event=0)
    return past


def without_future(world: World, event: int) -> World:
    """A copy of a world at an event, from which anything may follow."""
    past = world.fork()
    past.goto(event=event)
    return past.fork()


def step(recorder: Recorder) -> bool:
    """Handles one event; False if no event is left."""
    alive = recorder.world.step()
    recorder.look()
    return alive


def run(recorder: Recorder, until_us: int) -> None:
    """Handles the events up to that time, and sets the cluster's clock to it."""
    world = recorder.world
    while (at := world.next_at) is not None and at <= until_us and step(recorder):
        pass
    world.run(for_s=max(0, until_us - world.cluster.now) / 1e6)


def run_to_event(recorder: Recorder, event: int) -> None:
    while recorder.world.events < event and step(recorder):
        pass


def settle(recorder: Recorder, until_us: int) -> None:
    """Runs until that time, and then until the cluster is quiet, if that is soon."""
    run(recorder, until_us)
    cluster = recorder.world.cluster
    while recorder.world.cluster.now < until_us + SETTLE_US and not is_quiet(cluster):
        if not step(recorder):
            break


def continued(past: Sequence[Frame], until: Frame, future: Sequence[Frame]) -> list[Frame]:
    """The frames of a past up to `until`, from which the future was recorded, and the future's."""
    kept = [frame for frame in past if frame.number <= until.number]
    added = (replace(frame, number=len(kept) + place) for place, frame in enumerate(future[1:]))
    return [*kept, *added]


def apply(recorder: Recorder, fault: Fault) -> None:
    """Injects a fault now, and forgets what was to come after this moment."""
    recorder.world.apply(fault)
    recorder.look()


def follow(recorder: Recorder, tape: Iterable[Done]) -> None:
    """Does each action at its own time, or now if that is past."""
    for done in tape:
        world = recorder.world
        if done.at_us > world.now_us:
            run(recorder, EPOCH_US + done.at_us)
        world.follow([replace(done, at_us=max(done.at_us, world.now_us))])
        recorder.look()


def possible(recorder: Recorder, tape: Iterable[Done]) -> Iterator[Done]:
    """The actions that still make sense: not those on a client that is gone by then."""
    for done in tape:
        action = done.action
        concerned = [action.name] if hasattr(action, "name") else getattr(action, "nodes", ())
        names = [each for each in concerned if isinstance(each, str)]
        there = all(name in recorder.world.cluster.nodes for name in names)
        if not names or there != isinstance(action, Add):
            yield done
