"""What was sent to a process that is gone, or stands still."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.items import Durable, Flushing
from engine.sim.campaign.mutants import Patch
from engine.sim.clients.clients import create_topics
from engine.sim.world.world import World
from engine.wire import messages as m
from tests.engine.sim.loaded import loaded


def given(world: World, for_s: float) -> list[tuple[str, int, str]]:
    """What nodes are given: the item's class, the node, the class of the event's body."""
    reported: list[tuple[str, int, str]] = []

    def noted(give: Callable[..., object], *arguments: Any) -> object:
        _, node, item, event = arguments
        reported.append((type(item).__name__, node, type(getattr(event, "body", None)).__name__))
        return give(*arguments)

    with Patch(Cluster, "_give", noted).in_force():
        world.run(for_s=for_s)
    return reported


def test_a_request_to_the_old_process_is_nothing_to_the_new_one() -> None:
    world = loaded()
    lost = world.post(m.ListGroupsRequest(), 101)
    world.kill(101)
    asked = world.post(
        m.DescribeClusterRequest(), 101
    )  # the process that listens when this arrives
    world.start(101)
    bodies = [body for _, node, body in given(world, 0.1) if node == 101]
    assert "ListGroupsRequest" not in bodies
    assert "DescribeClusterRequest" in bodies
    assert lost in world.client("admin").answers
    assert world.answer(lost) is None
    assert world.answer(asked) is not None


def test_a_connection_to_a_broker_that_does_not_listen_is_refused() -> None:
    world = loaded()
    world.kill(101)
    asked = world.post(m.DescribeClusterRequest(), 101)
    world.run(for_s=0.1)
    assert asked in world.client("admin").answers
    assert world.answer(asked) is None


@pytest.mark.parametrize("encoded", [False, True])
def test_what_had_come_to_a_paused_process_is_done_though_its_sender_gave_up(encoded: bool) -> None:
    world = World(11, encoded=encoded)
    world.run(for_s=1)
    world.cut("admin", 102)
    world.pause(101)
    waiting = [world.post(m.ListGroupsRequest(), broker) for broker in (101, 102)]
    world.run(for_s=31)
    assert [world.client("admin").answers[number] for number in waiting] == [None, None]
    world.resume(101)
    world.heal()
    reported = given(world, 0.1)
    assert ("Received", 101, "ListGroupsRequest") in reported
    assert [node for _, node, body in reported if body == "ListGroupsRequest"] == [101]
    assert world.answer(waiting[0]) is None
    assert world.ask(m.ListGroupsRequest(), 101) is not None


def test_what_had_come_to_a_process_is_gone_with_it() -> None:
    world = loaded()
    world.pause(101)
    world.post(m.ListGroupsRequest(), 101)
    world.run(for_s=0.1)
    world.resume(101)
    world.kill(101)
    world.start(101)
    assert "ListGroupsRequest" not in [body for _, _, body in given(world, 0.1)]


def test_a_record_can_be_written_after_its_producer_has_given_up() -> None:
    world = loaded(acks=1, period_us=200_000, delivery_timeout_us=1)
    world.pause(101)
    world.run(until=lambda w: "unknown" in _verdicts(w), for_s=20)
    value = next(sent.value for sent in world.client("producer-1").history[0]
                 if sent.verdict == "unknown")  # fmt: skip
    world.resume(101)
    world.run(for_s=0.0001)
    log = world.replica(101, "orders", 0).log
    assert value.encode() in log.read(0, 1 << 20)


def _verdicts(world: World) -> list[str]:
    return [sent.verdict for sent in world.client("producer-1").history[0]]


def test_a_flush_that_ended_while_its_process_stood_still_is_no_news_to_the_next_one() -> None:
    world = loaded()
    world.post(create_topics("returns", 1, 3, None, None), 101)
    assert world.run(until=lambda w: _flushes(w) != [], for_s=2)
    node = _flushes(world)[0]
    world.pause(node)
    world.run(for_s=0.1)
    waiting = world.cluster.processes.paused[node]
    assert any(isinstance(item, Durable) for item in waiting)
    world.resume(node)
    world.kill(node)
    world.start(node)
    reported = [(kind, to) for kind, to, _ in given(world, 0.0005)]
    assert reported
    assert ("Durable", node) not in reported


def _flushes(world: World) -> list[int]:
    """Whose disk is at work."""
    heap = world.cluster.agenda.heap
    return [item.node for _, _, item in heap if isinstance(item, Flushing)]
