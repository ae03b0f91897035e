"""A group on its way between the classic and the consumer protocol, both ways; see actors.py."""

from __future__ import annotations

import time

from engine.wire import consumer_protocol
from engine.wire import messages as m
from tests.conformance.probe.actors import Scenario, Stage
from tests.conformance.probe.consumers import Consumer, described, without_interval
from tests.conformance.probe.members import SHOWN_S, both_join, describe, reading_of
from tests.conformance.probe.members import Member as Classic
from tests.conformance.probe.side import TOPIC


def share(*partitions: int) -> bytes:
    part = m.ConsumerProtocolAssignment.TopicPartition
    rows = [part(TOPIC, list(partitions))] if partitions else []
    return consumer_protocol.encode(m.ConsumerProtocolAssignment(rows), 1)


def classic_pair(stage: Stage) -> tuple[Classic, Classic]:
    """Two classic members of a stable group that really share the topic."""
    one, two = Classic(stage, "one"), Classic(stage, "two")
    one.join()
    hand_out(one, {one: share(0, 1)})
    both_join(one, two)
    two.send_sync()
    hand_out(one, {one: share(0), two: share(1)})
    two.actor.hear()
    return one, two


def hand_out(leader: Classic, shares: dict[Classic, bytes]) -> None:
    s = m.SyncGroupRequest
    given = [s.SyncGroupRequestAssignment(each.id, what) for each, what in shares.items()]
    leader.actor.ask(s(leader.stage.group, leader.generation, leader.id, leader.instance,
                       leader.kind, leader.protocol, given))  # fmt: skip


def upgrade(stage: Stage) -> None:
    """A consumer joins a classic group; the classic members go on with what they have."""
    without_interval(stage)
    one, two = classic_pair(stage)
    one.commit(5)
    new = Consumer(stage, "new")
    new.join()
    described(stage)
    describe(stage)
    one.beat()
    one.sync()
    two.join()
    two.sync()
    two.beat()
    one.join()
    one.sync()
    one.commit(6)
    one.beat()
    new.beat()
    two.beat()
    one.actor.ask(reading_of(stage, 10, everything=True))
    described(stage)


def upgrade_in_mid_rebalance(stage: Stage) -> None:
    """JoinGroup requests that wait are answered REBALANCE_IN_PROGRESS."""
    without_interval(stage)
    one, two = classic_pair(stage)
    late = Classic(stage, "late")
    late.knock()
    late.actor.hears_nothing()
    new = Consumer(stage, "new")
    new.join()
    late.actor.hear()
    for each in (one, two):
        each.beat()
        each.join()
        each.sync()


def downgrade(stage: Stage) -> None:
    """The last consumer leaves, and the group is classic again."""
    without_interval(stage)
    one = Classic(stage, "one")
    one.join()
    hand_out(one, {one: share(0, 1)})
    new = Consumer(stage, "new")
    new.join()
    one.beat()
    one.join()
    one.sync()
    new.beat()
    new.leave()
    one.beat()
    one.join()
    hand_out(one, {one: share(0, 1)})
    described(stage)
    describe(stage)


def a_classic_member_joins(stage: Stage) -> None:
    without_interval(stage)
    new = Consumer(stage, "new")
    new.join()
    old = Classic(stage, "old")
    old.join()
    old.sync()
    old.beat()
    new.beat()
    new.beat()
    old.beat()
    old.join()
    old.sync()
    old.beat()
    other = Classic(stage, "other", kind="connect")
    other.send_join()
    other.actor.hear()
    old.generation += 1
    old.beat()
    old.generation -= 1
    old.leave()
    new.beat()
    described(stage)


def static_change_of_protocol(stage: Stage) -> None:
    """One static member, to the new protocol and back; its group goes with it."""
    without_interval(stage)
    old = Classic(stage, "old", instance="a")
    old.join()
    hand_out(old, {old: share(0, 1)})
    new = Consumer(stage, "new", instance="a")
    new.join()
    described(stage)
    old.beat()
    back = Classic(stage, "back", instance="a")
    back.join()
    back.sync()
    back.beat()
    time.sleep(SHOWN_S)
    describe(stage)


def an_empty_group_changes_its_protocol(stage: Stage) -> None:
    without_interval(stage)
    new = Consumer(stage, "new")
    new.join()
    new.commit(3, 1)
    new.leave()
    old = Classic(stage, "old")
    old.join()
    hand_out(old, {old: share(0, 1)})
    time.sleep(SHOWN_S)
    describe(stage)
    old.leave()
    new.join()
    described(stage)
    new.actor.ask(reading_of(stage, 10, everything=True))


MIGRATIONS: tuple[Scenario, ...] = (
    upgrade, upgrade_in_mid_rebalance, downgrade, a_classic_member_joins,
    static_change_of_protocol, an_empty_group_changes_its_protocol,
)  # fmt: skip
