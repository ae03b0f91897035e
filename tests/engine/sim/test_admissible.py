"""A action that cannot be done is refused in a sentence, and leaves no trace in the world."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from engine.events import Effect, SetTimer
from engine.sim.world.world import World
from engine.wire import messages as m
from engine.wire.errors import KafkaError


class Careless:
    """A client whose methods fail half-way."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def start(self, now: int) -> list[Effect]:
        return []

    def step(self, now: int, event: object) -> list[Effect]:
        return []

    def note(self, now: int, word: str) -> list[Effect]:
        self.done.append(word)
        return [SetTimer(("wake",), now + 1_000)]

    def fail(self, now: int) -> list[Effect]:
        self.done.append("half")
        raise ZeroDivisionError("a client's own mistake")


class FailsToStart(Careless):
    def start(self, now: int) -> list[Effect]:
        raise ZeroDivisionError("a client's own mistake")


class Slotted:
    __slots__ = ("done",)

    def __init__(self) -> None:
        self.done = 0

    def start(self, now: int) -> list[Effect]:
        return []


class HoldsALambda(Careless):
    def __init__(self) -> None:
        super().__init__()
        self.answer = lambda: 42


@pytest.fixture(scope="module")
def original() -> World:
    world = World(seed=1)
    world.create_topic("orders", config={"min.insync.replicas": 2})
    world.load("orders")
    world.add("careless", Careless())
    world.run(for_s=0.5)
    return world


@pytest.fixture
def world(original: World) -> World:
    return original.fork()


def reported(world: World) -> object:
    """All that can be seen of a world, its past and its known future."""
    trace, state = world.trace_lines(), world.snapshot(values=True, tail=1_000)
    return trace, state, world.events, world.last_event, world.tape[:], world.cluster.happened


def refusal(does: Callable[[], Any]) -> str:
    with pytest.raises(ValueError, match=r"\.$") as caught:
        does()
    return str(caught.value)


# -- names that are nobody's


def test_a_misspelt_method_leaves_the_world_as_it_was(world: World) -> None:
    before = reported(world)
    says = refusal(lambda: world.tell("producer-1", "sned"))
    assert "no method 'sned'" in says
    assert "finish" in says
    assert "step" not in says
    assert reported(world) == before
    world.kill(103)
    world.run(for_s=1)
    after, last = world.trace_lines(), world.events
    world.goto(event=10)
    world.goto(event=last)
    assert (world.trace_lines(), world.events) == (after, last)


@pytest.mark.parametrize(
    ("does", "parts"),
    [
        (lambda w: w.tell("shop", "send"), ("no node shop", "producer-1")),
        (lambda w: w.kill("101"), ("as a number: 101",)),
        (lambda w: w.kill(999), ("no node 999", "100, 101, 102, 103")),
        (lambda w: w.cut("shop", 101), ("no node shop", "producer-1")),
        (lambda w: w.add("producer-1", Careless()), ("'producer-1' already", "another name")),
        (lambda w: w.add("s", Slotted()), ("__slots__",)),
        (lambda w: w.add("l", HoldsALambda()), ("pickle", "lambda")),
        (lambda w: w.load("nope"), ("no topic 'nope'", "orders", "create_topic('nope')")),
        (lambda w: w.reader("nope"), ("no topic 'nope'",)),
        (lambda w: w.leader("nope", 0), ("no topic 'nope'",)),
        (lambda w: w.partition("orders", 7), ("no partition 7", "it has 0")),
        (lambda w: w.replica(101, "orders", 7), ("101 holds no replica of orders-7",)),
        (lambda w: w.replica(999, "orders", 0), ("no node 999",)),
        (lambda w: w.client("shop"), ("no node 'shop'", "producer-1")),
    ],
)
def test_a_name_that_does_not_exist(
    world: World, does: Callable[[World], Any], parts: tuple[str, ...]
) -> None:
    before = reported(world)
    says = refusal(lambda: does(world))
    for part in parts:
        assert part in says
    assert reported(world) == before


def test_a_topic_is_created_while_a_broker_is_paused() -> None:
    world = World(seed=1)
    world.pause(101)
    world.create_topic("orders", replicas=2, assignment={0: [102, 103]})
    assert world.leader("orders", 0) == 102


def test_who_is_down_is_named_with_what_brings_it_back(world: World) -> None:
    world.kill(101)
    assert "world.start(101)" in refusal(lambda: world.replica(101, "orders", 0))
    world.kill(102)
    world.pause(103)
    assert "world.resume(103)" in refusal(lambda: world.create_topic("more"))
    world.kill(103)
    assert "world.start(101)" in refusal(lambda: world.create_topic("more"))
    world.kill(100)
    assert "world.start(100)" in refusal(lambda: world.leader("orders", 0))


def test_no_broker_answers_whether_a_topic_is_made() -> None:
    world = World(seed=1)
    for broker in (101, 102, 103):
        world.cut("admin", broker)
    with pytest.raises(KafkaError, match="no broker answered"):
        world.create_topic("orders")


def test_a_request_may_go_to_a_broker_that_does_not_exist(world: World) -> None:
    assert world.ask(m.DescribeClusterRequest(), -1) is None


# -- actions that fail half-way


def test_an_action_that_raises_leaves_no_event(world: World) -> None:
    client = world.client("careless")
    world.run(for_s=0.012)
    before = reported(world)
    with pytest.raises(ZeroDivisionError):
        world.tell("careless", "fail")
    assert reported(world) == before
    assert world.client("careless") is client
    assert client.done == []
    other = world.fork()
    world.tell("careless", "note", "whole")
    world.run(for_s=0.5)
    other.tell("careless", "note", "whole")
    other.run(for_s=0.5)
    assert client.done == ["whole"]
    assert reported(world) == reported(other)
    world.goto(event=10)
    world.goto(event=other.events)
    assert world.trace_lines() == other.trace_lines()
    assert client.done == ["whole"]


def test_an_action_that_raises_costs_no_future(world: World) -> None:
    world.kill(103)
    world.run(for_s=0.5)
    after, last = world.trace_lines(), world.events
    world.back(30)
    with pytest.raises(ZeroDivisionError):
        world.add("fails", FailsToStart())
    assert "fails" not in world.cluster.nodes
    assert (world.events, world.last_event) == (last - 30, last)
    world.goto(event=last)
    assert world.trace_lines() == after
    assert world.cluster.states[103] == "killed"


def test_a_client_can_be_added_after_one_that_failed(world: World) -> None:
    with pytest.raises(ZeroDivisionError):
        world.add("fails", FailsToStart())
    client = world.add("fails", Careless())
    world.tell("fails", "note", "here")
    assert client.done == ["here"]


def test_a_world_that_cannot_go_back_keeps_what_broke_it() -> None:
    world = World(seed=1, rewindable=False)
    world.add("careless", Careless())
    with pytest.raises(ZeroDivisionError):
        world.tell("careless", "fail")
    assert str(world.tape[-1].action) == "tell careless fail"
    assert world.tape[-1].event == world.events


# -- the same actions in another world


def test_actions_of_one_instant_are_followed_one_by_one() -> None:
    """Resume and kill at once: what waited for the paused broker must not come in between."""
    for seed in range(6):
        world = World(seed)
        world.create_topic("orders", config={"min.insync.replicas": 2})
        world.load("orders")
        world.run(for_s=1)
        leader = world.leader("orders", 0)
        other, begun = world.fork(), world.events
        world.pause(leader)
        world.run(for_s=0.4)
        world.resume(leader)
        world.kill(leader)
        world.run(for_s=1)
        other.follow([done for done in world.tape if done.event > begun])
        other.run(for_s=(world.now_us - other.now_us) / 1e6)
        assert reported(other) == reported(world), seed


def test_a_client_is_not_replaced_by_one_of_the_same_name(world: World) -> None:
    other = world.fork()
    begun = world.events
    world.load("orders")
    mine = other.load("orders", acks=1)
    says = refusal(lambda: other.follow([done for done in world.tape if done.event > begun]))
    assert f"{mine.name!r} already" in says
    assert other.client(mine.name) is mine
    assert mine.acks == 1
