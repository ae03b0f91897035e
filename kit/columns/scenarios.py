"""Faults of the control plane, to be played in every column.

Each is a scenario for `lab.columns`.  The engine and a real cluster of one design agree on all
their facts (tests/kit/columns/test_scenarios.py); where they do not, DECLARED says why.
"""

from __future__ import annotations

from collections.abc import Callable

from kit.both.differences import Difference
from kit.columns.side import Side
from kit.columns.stage import NONE, TOPIC

SESSION_S = 3.0
"""After that a broker that says nothing is out of service (kit/clusters/settings_table.py)."""


# -- the active controller


def controller_killed(side: Side) -> None:
    """It ends without a word."""
    former = side.active()
    side.kill(former)
    _another_than(side, former)
    side.note("created", side.create_topic("after"))


def controller_stopped(side: Side) -> None:
    """It shuts down in order."""
    former = side.active()
    side.stop(former)
    _another_than(side, former)
    side.note("created", side.create_topic("after"))


def controller_paused(side: Side) -> None:
    """A long garbage collection: the zombie goes on where it was, and must not decide."""
    former = side.active()
    side.pause(former)
    _another_than(side, former)
    side.resume(former)
    side.wait(lambda: not side.believes(former), "the zombie to resign")
    side.note("created", side.create_topic("after"))
    side.note("the zombie is active again", side.active() == former)


def controller_isolated(side: Side) -> None:
    """It is cut off from all other nodes.  Who finds out that it is deposed?"""
    former = side.active()
    side.isolate(former)
    _another_than(side, former)
    side.run(2 * SESSION_S)
    side.note("cut off, it takes itself for active", side.believes(former))
    side.note("created", side.create_topic("after"))
    side.heal()
    side.wait(lambda: not side.believes(former), "the former controller to resign")


def successor_killed(side: Side) -> None:
    """The controller dies, then the one that follows: of three, one is left."""
    first = side.active()
    side.kill(first)
    _another_than(side, first)
    second = side.active()
    side.kill(second)
    side.run(4 * SESSION_S)
    side.note("there is a third", side.active() not in (first, second, -1))
    side.note("created", side.create_topic("after") == NONE)


def topic_created_first(side: Side) -> None:
    """A topic is created, and at once the controller dies that has created it."""
    former = side.active()
    side.note("created before", side.create_topic("early"))
    side.kill(former)
    _another_than(side, former)
    side.wait(lambda: side.leader_epoch("early") >= 0, "the topic to be known")
    side.note("created after", side.create_topic("early"))


# -- the other nodes of the control plane


def standby_killed(side: Side) -> None:
    """A node that could have been active dies."""
    active, leader = side.active(), side.leader(TOPIC)
    side.kill(next(each for each in side.controllers if each not in (active, leader)))
    side.run(2 * SESSION_S)
    side.note("created", side.create_topic("after"))


def majority_lost(side: Side) -> None:
    """Two of the three nodes that keep the metadata die, and come back."""
    active = side.active()
    lost = [each for each in side.metadata_nodes if each != active][-2:]
    for each in lost:
        side.kill(each)
    side.wait(lambda: side.active() == -1, "the controller to be lost")
    side.note("created meanwhile", side.create_topic("meanwhile") == NONE)
    before = side.acknowledged()
    side.run(2)
    side.note("records are acknowledged meanwhile", side.acknowledged() > before)
    for each in lost:
        side.start(each)
    side.wait(lambda: side.active() != -1, "a controller")
    side.note("created", side.create_topic("after"))


# -- brokers, which the controller decides about


def broker_killed(side: Side) -> None:
    """The writer's leader dies."""
    victim, epoch = side.leader(TOPIC), side.leader_epoch(TOPIC)
    side.kill(victim)
    side.wait(lambda: side.leader(TOPIC) not in (victim, -1), "another leader")
    side.run(1)
    side.note("leader epochs passed", side.leader_epoch(TOPIC) - epoch)
    side.note("in the ISR", victim in side.isr(TOPIC))


def broker_stopped(side: Side) -> None:
    """The writer's leader shuts down in order."""
    victim, epoch = side.leader(TOPIC), side.leader_epoch(TOPIC)
    side.stop(victim)
    side.wait(lambda: not side.in_service(victim), "the broker to be out of service")
    side.run(1)
    side.note("leader epochs passed", side.leader_epoch(TOPIC) - epoch)
    side.note("another leads", side.leader(TOPIC) not in (victim, -1))


def broker_paused(side: Side) -> None:
    """The writer's leader is paused for longer than its session, and goes on."""
    victim = side.leader(TOPIC)
    side.pause(victim)
    side.wait(lambda: not side.in_service(victim), "the broker to be out of service")
    side.wait(lambda: side.leader(TOPIC) not in (victim, -1), "another leader")
    side.resume(victim)
    side.wait(lambda: side.in_service(victim), "the broker to be in service")
    side.wait(lambda: victim in side.isr(TOPIC), "the broker to be in sync")
    side.note("it leads again", side.leader(TOPIC) == victim)


def broker_isolated(side: Side) -> None:
    """The writer's leader is cut off, and clients still reach it."""
    victim = side.leader(TOPIC)
    side.isolate(victim)
    side.wait(lambda: side.leader(TOPIC) not in (victim, -1), "another leader")
    side.run(1)
    side.heal()
    side.wait(lambda: victim in side.isr(TOPIC), "the broker to be in sync")
    side.note("it leads again", side.leader(TOPIC) == victim)


def broker_cut_from_controller(side: Side) -> None:
    """A follower loses its link to the active controller alone."""
    active, leader = side.active(), side.leader(TOPIC)
    victim = next(each for each in side.brokers if each not in (active, leader))
    side.cut(victim, active)
    side.run(2 * SESSION_S)
    side.note("in service", side.in_service(victim))
    side.note("created", side.create_topic("after"))
    side.heal()
    side.wait(lambda: side.in_service(victim), "the broker to be in service")
    side.wait(lambda: victim in side.isr(TOPIC), "the broker to be in sync")


def _another_than(side: Side, former: int) -> None:
    side.wait(lambda: side.active() not in (former, -1), "another controller")


SCENARIOS: tuple[Callable[[Side], None], ...] = (
    controller_killed, controller_stopped, controller_paused, controller_isolated,
    successor_killed, topic_created_first, standby_killed, majority_lost,
    broker_killed, broker_stopped, broker_paused, broker_isolated, broker_cut_from_controller,
)  # fmt: skip
DECLARED: tuple[Difference, ...] = (
    Difference(
        "controller_isolated",
        "KRaft › created",
        "A real broker forwards requests to the controller that it has found once, until that "
        "connection ends. Over a silent link it waits for 30 s (controller.socket.timeout.ms). The "
        "engine's broker forwards to the leader that it knows now.",
    ),
)
"""What the engine and a real cluster of one design do not have in common: `KRaft › row`."""
