"""Going back where a world is not simply at an event: between two, or where something raised."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.cluster.items import Arriving
from engine.events import Effect, SetTimer
from engine.sim.campaign.mutants import Patch
from engine.sim.world import world as world_module
from engine.sim.world.timeline import Timeline
from engine.sim.world.world import World
from engine.wire import messages as m
from tests.engine.sim.loaded import reported


def test_an_action_right_after_an_event_without_effect_is_replayed_right_after_it() -> None:
    """A request that finds its broker dead is no event, and yet it draws a latency."""
    world = World(seed=3)
    world.create_topic("orders", partitions=6)
    world.load("orders")
    world.run(for_s=0.5)
    world.kill(102)
    found = 0
    while found < 3:
        at, _, item = world.cluster.agenda.heap[0]
        calls = world.cluster.agenda.calls
        call = calls.get(item.number) if isinstance(item, Arriving) else None
        if call is None or call.destination in world.cluster.nodes:
            world.step()
            continue
        event = world.events
        world.run(for_s=(at - world.cluster.now + 3) / 1e6)
        if world.events == event:
            found += 1
            world.post(m.MetadataRequest(topics=[]), 101)
    world.run(for_s=1)
    last, reported_then = world.events, world.trace_lines()
    world.goto(event=0)
    while world.events < last:  # a jump would begin at a checkpoint
        world.step()
    assert world.trace_lines() == reported_then


def test_a_client_after_going_back_gets_a_name_of_its_own() -> None:
    world = World(seed=1)
    world.create_topic("orders")
    first = world.load("orders")
    world.run(for_s=0.1)
    world.back(1)
    assert world.load("orders").name != first.name


def test_a_checkpoint_is_taken_after_the_invariants_have_looked() -> None:
    """Else an unclean election at a checkpoint is forgiven at the time of a later event."""

    def forgiven(checkpoint_at: int) -> World:
        def there(wants: Callable[..., bool], timeline: Timeline, event: int) -> bool:
            return event == checkpoint_at

        with Patch(Timeline, "wants_checkpoint", there).in_force():
            config = {"min.insync.replicas": 1, "unclean.leader.election.enable": "true"}
            world = World(seed=1)
            world.create_topic("orders", config=config)
            world.load("orders")
            world.reader("orders")
            world.run(for_s=1)
            leader = world.leader("orders", 0)
            others = [b for b in (101, 102, 103) if b != leader]
            for broker in others:
                world.kill(broker)
            world.run(for_s=4)
            world.kill(leader)
            world.start(others[0])
            world.run(for_s=4)
            assert world.invariants is not None
            return world

    straight = forgiven(-1)
    lines = [entry[2].kind for entry in straight.cluster.trace]
    assert straight.timeline is not None
    elected = straight.timeline.event_of_line(len(lines) - 1 - lines[::-1].index("elected"))
    world = forgiven(elected)
    last = world.events
    world.goto(event=0)
    world.goto(event=elected)
    assert world.invariants is not None
    assert world.invariants.seen == world.cluster.trace_count
    assert world.invariants.losses
    world.goto(event=last)
    assert straight.invariants is not None
    assert world.invariants is not None
    books = (straight.invariants.books["orders-0"], world.invariants.books["orders-0"])
    assert books[0].unclean_at == books[1].unclean_at


class Stumbles:
    """A client with a defect: a call out of the cluster's queue raises."""

    def __init__(self) -> None:
        self.steps = 0

    def start(self, now: int) -> list[Effect]:
        return [SetTimer(("stumble",), now + 300_000)]

    def step(self, now: int, event: object) -> list[Effect]:
        self.steps += 1
        raise ZeroDivisionError("a client's own mistake")


def test_what_a_client_raised_does_not_stop_a_replay() -> None:
    world = World(seed=1)
    world.create_topic("orders")
    world.load("orders")
    born = world.events
    client = world.add("stumbles", Stumbles())
    with pytest.raises(ZeroDivisionError):
        world.run(for_s=1)
    raised = world.events
    world.kill(103)
    world.run(for_s=1)
    before, last = reported(world), world.events
    world.goto(event=born)
    assert "stumbles" not in world.cluster.nodes
    world.goto(event=last)
    assert reported(world) == before
    assert client.steps == 1
    world.goto(event=raised - 1)
    with pytest.raises(ZeroDivisionError):
        world.step()
    assert world.events == raised


def test_an_earlier_time_between_the_same_two_events() -> None:
    """A action there is done at that time, however the world came there."""
    world = World(seed=1)
    world.run(for_s=5)
    world.goto(3.0)
    assert world.timeline is not None
    begun = world.timeline.at_us[world.events]
    event, next_at = world.events, world.next_at
    assert next_at is not None
    next_us = next_at - world_module.EPOCH_US
    assert next_us - begun > 3
    straight = world.fork()
    world.goto((next_us - 1) / 1e6)
    world.goto((begun + 1) / 1e6)
    assert (world.events, world.now_us) == (event, begun + 1)
    straight.goto(0.0)
    straight.goto((begun + 1) / 1e6)
    for each in (world, straight):
        each.kill(101)
        each.run(for_s=3)
    assert reported(world) == reported(straight)
    assert world.tape == straight.tape


def test_an_event_number_names_the_moment_of_the_event() -> None:
    world = World(seed=1)
    world.run(for_s=5)
    assert world.next_at is not None
    world.run(for_s=(world.next_at - world.cluster.now - 1) / 1e6)
    event, now_us = world.events, world.now_us
    world.goto(event=event)
    assert world.timeline is not None
    assert world.now_us == world.timeline.at_us[event] < now_us
