"""Back, forth and aside: the same future byte for byte, or another if something else is done."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from engine.sim.campaign.mutants import MUTANTS, Patch
from engine.sim.invariants.invariants import Violation
from engine.sim.world import world as world_module
from engine.sim.world.difference import Parting
from engine.sim.world.run import Run
from engine.sim.world.timeline import CHECKPOINTS_MAX, SPACING, Timeline
from engine.sim.world.world import World
from engine.wire import messages as m
from tests.engine.sim.loaded import reported

EVENTS = 5_000


def loaded(seed: int = 3) -> World:
    """5,000 events: load, a cut-off leader, a clean stop, a broker without power."""
    world = World(seed)
    world.create_topic("orders", partitions=2, config={"min.insync.replicas": 2})
    world.load("orders", idempotent=True)
    world.reader("orders")
    world.run(for_s=1)
    world.isolate(world.leader("orders", 0))
    world.run(for_s=2.5)
    world.heal()
    world.lose_power(102, torn=True)
    world.run(for_s=0.7)
    world.start(102)
    world.run(events=EVENTS - world.events)
    return world


@pytest.fixture(scope="module")
def original() -> World:
    return loaded()


@pytest.fixture
def world(original: World) -> World:
    return original.fork()


@contextmanager
def counted_steps() -> Iterator[list[int]]:
    """How many events are played, replayed ones included."""
    steps = [0]

    def counted(step: Callable[..., bool], world: World, *arguments: int | None) -> bool:
        steps[0] += 1
        return step(world, *arguments)

    with Patch(Run, "step", counted).in_force():
        yield steps


def test_a_step_back_and_forth_is_nowhere_else(world: World) -> None:
    before = reported(world)
    for _ in range(3):
        world.back()
        assert world.events < EVENTS
        world.step()
        assert reported(world) == before


@pytest.mark.parametrize("event", [0, 1, 499, 500, 501, 1_234, 3_000, 4_999])
def test_the_future_is_replayed_byte_for_byte(world: World, event: int) -> None:
    before = reported(world)
    actions = world.tape[:]
    world.goto(event=event)
    assert world.events == event
    assert world.trace_lines() == before[0][: len(world.trace_lines())]
    while world.events < EVENTS:
        world.step()
    assert reported(world) == before
    assert world.tape == actions


def test_every_way_there_leads_to_the_same_place(world: World) -> None:
    """Events, seconds, back and forth past checkpoints: the state pickles the same."""
    world.goto(event=1_700)
    here = reported(world)
    at_s = world.now_us / 1e6
    world.goto(event=20)
    world.goto(event=1_700)
    assert reported(world) == here
    world.goto(event=4_000)
    world.back(2_300)
    assert reported(world) == here
    world.goto(0.0)
    world.goto(at_s)
    assert world.trace_lines() == here[0]


def test_seconds_name_the_last_event_before_them(world: World) -> None:
    world.goto(2.0)
    assert world.now_us == 2_000_000
    assert world.next_at is not None
    assert world.next_at - world_module.EPOCH_US > 2_000_000


def test_the_future_can_be_run_into_as_well_as_stepped_into(world: World) -> None:
    before = reported(world)
    world.goto(event=800)
    world.run(for_s=1.3)
    world.run(until=lambda w: w.events >= 3_500)
    world.goto(event=EVENTS)
    assert reported(world) == before


def test_time_beyond_the_end_is_played_for_the_first_time(world: World) -> None:
    other = world.fork()
    world.goto(world.now_us / 1e6 + 0.5)
    other.run(for_s=0.5)
    assert reported(world) == reported(other)
    assert world.events > EVENTS


def test_something_else_cuts_the_old_future_off(world: World) -> None:
    world.goto(event=1_000)
    assert world.last_event == EVENTS
    actions = [done for done in world.tape if done.event <= 1_000]
    world.kill(103)
    assert world.last_event == world.events == 1_001
    assert world.tape[:-1] == actions
    assert str(world.tape[-1].action) == "kill 103"
    world.run(for_s=3)
    assert world.cluster.states[103] == "killed"
    new = reported(world)
    world.back(700)
    world.goto(event=world.last_event)
    assert reported(world) == new


def test_what_is_held_stays_in_the_world(world: World) -> None:
    cluster, producer = world.cluster, world.client("producer-1")
    made = producer.made
    world.goto(event=1_000)
    assert world.cluster is cluster
    assert world.client("producer-1") is producer
    assert 0 < producer.made < made
    world.goto(event=EVENTS)
    assert producer.made == made


def test_a_client_that_is_not_born_yet_is_born_again() -> None:
    world = World(1)
    world.create_topic("orders")
    producer = world.load("orders")
    born = world.events
    world.run(for_s=1)
    made = producer.made
    world.goto(event=born - 1)
    assert "producer-1" not in world.cluster.nodes
    world.goto(event=world.last_event)
    assert world.client("producer-1") is producer
    assert producer.made == made
    world.goto(event=born - 1)
    other = world.load("orders", period_us=1_000)
    world.run(for_s=1)
    assert world.client("producer-1") is other
    assert other.made > 10 * made


def test_questions_and_answers_are_replayed() -> None:
    world = World(2)
    world.create_topic("orders")
    number = world.post(m.DescribeClusterRequest(), 101)
    assert world.answer(number) is None
    asked = world.events
    world.run(for_s=1)
    answer = world.answer(number)
    assert answer is not None
    world.goto(event=asked - 1)
    assert world.answer(number) is None
    world.goto(event=world.last_event)
    assert world.answer(number) == answer
    assert [str(done.action) for done in world.tape] == [
        "ask 101 CreateTopics",
        "ask 101 DescribeCluster",
    ]


def test_an_order_to_a_client_is_replayed() -> None:
    world = World(2)
    world.create_topic("orders")
    producer = world.load("orders")
    world.run(for_s=0.5)
    world.tell("producer-1", "finish")
    world.run(for_s=1)
    made = producer.made
    assert producer.idle
    world.back(100)
    world.goto(event=world.last_event)
    assert producer.idle
    assert producer.made == made


def test_a_fork_has_a_past_of_its_own(world: World) -> None:
    before = reported(world)
    other = world.fork()
    other.goto(event=700)
    other.kill(101)
    other.run(for_s=1)
    assert reported(world) == before
    assert other.client("producer-1") is not world.client("producer-1")
    other.goto(event=700)
    world.goto(event=700)
    assert reported(other) == reported(world)


def test_a_fork_with_another_rule_goes_on_by_that_rule(world: World) -> None:
    world.goto(event=700)
    other = world.fork(rule="to-high-watermark")
    assert [str(done.action) for done in other.tape][-1] == "rule to-high-watermark"
    node = other.cluster.nodes[102]
    rules = {node.replicas.rule.name, *(f.rule.name for f in node.replicas.fetchers.values())}
    assert rules == {"to-high-watermark"}
    assert world.cluster.nodes[102].replicas.rule.name == "fetch-divergence"
    other.kill(103)
    other.start(103)
    assert other.cluster.nodes[103].replicas.rule.name == "to-high-watermark"
    other.goto(event=500)
    assert other.cluster.nodes[102].replicas.rule.name == "fetch-divergence"
    with pytest.raises(ValueError, match="there are to-high-watermark"):
        world.fork(rule="kip-4711")


def test_a_fork_can_follow_what_was_done_to_the_other(world: World) -> None:
    world.goto(event=700)
    other = world.fork()
    other.follow([done for done in world.tape if done.event > 700])
    world.goto(event=EVENTS)
    other.goto(event=EVENTS)
    assert reported(other) == reported(world)
    assert not world.diff(other)


def test_the_difference_of_two_endings(world: World) -> None:
    world.goto(event=1_200)
    other = world.fork()
    other.kill(103)
    other.run(for_s=3)
    world.run(for_s=3)
    difference = world.diff(other)
    assert difference.parting is not None
    assert difference.parting.events[1] == 1_201
    assert "killed" in difference.parting.lines[1]
    assert difference.parting.at == "event 1201"
    assert Parting((1_204, 1_201), ("", "")).at == "event 1204 here, 1201 there"
    assert difference.actions[1][0].endswith("kill 103")
    replica = difference.partitions["orders-0"].replicas[103]
    assert replica.fields["role"][1] == "offline"
    _, end = replica.fields["log_end_offset"]
    assert end is None
    assert min(replica.records.values(), key=str)[1] is None
    assert "kill 103" in difference.text
    assert "on 103" in difference.text


def test_worlds_of_one_seed_do_not_differ(world: World) -> None:
    difference = world.diff(world.fork())
    assert not difference
    assert difference.text == "the same story so far"


def test_a_world_pickles_with_its_past(world: World) -> None:
    world.goto(event=2_000)
    copy: World = pickle.loads(pickle.dumps(world))
    assert copy.last_event == EVENTS
    copy.goto(event=EVENTS)
    world.goto(event=EVENTS)
    assert reported(copy) == reported(world)
    assert copy.client("producer-1") is copy.cluster.nodes["producer-1"]
    copy.back(300)
    assert copy.client("producer-1").made < world.client("producer-1").made


def test_a_violation_is_raised_once_and_can_be_gone_back_before() -> None:
    with MUTANTS["high-watermark-falls"].in_force():
        world = World(1)
        world.create_topic("orders")
        world.load("orders")
        world.run(for_s=1)
        world.kill(103)
        world.lose_power(102)
        world.start(102)
        with pytest.raises(Violation):
            world.run(for_s=20)
        broken = world.events
        world.back(10)
        world.goto(event=broken)
        assert world.events == broken
        world.back()
        with pytest.raises(Violation):
            world.step()


# -- the price


@pytest.mark.parametrize("event", [EVENTS - 1, 3_333, 1_001, 0])
def test_no_jump_replays_more_than_the_spacing(world: World, event: int) -> None:
    with counted_steps() as steps:
        world.goto(event=event)
        assert steps[0] < SPACING
        world.goto(event=EVENTS)
        assert steps[0] < 2 * SPACING


def test_checkpoints_are_bounded() -> None:
    timeline = Timeline()
    for event in range(1, 300 * SPACING):
        timeline.note(event, 0)
        if not timeline.checkpoints or timeline.wants_checkpoint(event):
            timeline.keep(event, b"")
    assert CHECKPOINTS_MAX / 2 <= len(timeline.checkpoints) <= CHECKPOINTS_MAX
    gaps = [
        b[0] - a[0] for a, b in zip(timeline.checkpoints, timeline.checkpoints[1:], strict=False)
    ]
    assert max(gaps) <= timeline.spacing


def test_a_world_needs_a_broker_and_a_time_that_ends() -> None:
    with pytest.raises(ValueError, match=r"at least one broker, not 0; 3 is usual\."):
        World(1, brokers=0)
    with pytest.raises(ValueError, match="inf is no time to run"):
        World(1).run(for_s=float("inf"))


def test_a_world_without_checkpoints_says_so() -> None:
    world = World(1, rewindable=False)
    with pytest.raises(ValueError, match="rewindable=True"):
        world.back()


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ({}, "either seconds or event="),
        ({"t_s": -1.0}, "begins at 0"),
        ({"t_s": float("inf")}, "inf is no time to run or to go to"),
        ({"t_s": float("nan")}, "nan is no time"),
    ],
)
def test_nowhere_to_go(world: World, where: dict[str, float], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        world.goto(**where)  # type: ignore[arg-type]
