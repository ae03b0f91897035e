"""Lives of classic groups: generations, votes, pending members, timeouts."""

from __future__ import annotations

import time

from engine.wire import messages as m
from engine.wire.errors import Errors
from tests.conformance.probe.actors import Scenario, Stage
from tests.conformance.probe.members import (
    LONG_MS,
    READS,
    SHORT_MS,
    SHOWN_S,
    L,
    Member,
    both_join,
    both_sync,
    deletion,
    describe,
    listed,
    pair,
    wants,
)
from tests.conformance.probe.side import COMPACT, TOPIC

# -- generations


def states(stage: Stage) -> None:
    """What is answered in each state of a group."""
    one, two = Member(stage, "one"), Member(stage, "two")
    describe(stage)
    one.join()
    time.sleep(SHOWN_S)
    describe(stage)
    one.beat()
    one.commit()
    one.sync(one)
    describe(stage)
    one.commit()
    two.knock()
    one.beat_until(Errors.REBALANCE_IN_PROGRESS)
    describe(stage)
    for each in (["PreparingRebalance"], ["stable"], ["Empty", "preparingrebalance"]):
        listed(stage, each, [])
    one.beat()
    one.commit()
    one.sync(one)
    two.actor.hears_nothing()
    one.send_join()
    one.joined()
    two.joined()
    describe(stage)
    listed(stage, ["CompletingRebalance"], ["classic"])
    listed(stage, [], ["consumer"])
    two.beat()
    two.commit()
    both_sync(one, two)
    describe(stage)
    two.sync()
    one.generation -= 1
    one.beat()
    one.commit()
    one.sync(one)
    two.leave()
    two.beat()
    one.generation += 1
    one.beat()
    one.send_join()
    one.joined()
    one.leave()
    describe(stage)
    listed(stage, ["Empty"], ["CLASSIC"])
    one.beat()
    one.commit()


def joins_again(stage: Stage) -> None:
    """A JoinGroup that repeats the last one, and one that changes something."""
    one, two = pair(stage)
    two.join()
    two.sync()
    two.protocols = {"range": wants(TOPIC, COMPACT)}
    both_join(one, two)
    two.join()  # unchanged in CompletingRebalance
    one.join()
    two.send_sync()
    two.actor.hears_nothing()
    one.protocols = {"range": wants(COMPACT)}
    one.send_join()
    two.actor.hear()  # the parked SyncGroup
    two.send_join()
    two.joined()
    one.joined()
    one.send_sync(one, two)
    two.sync()
    one.actor.hear()
    describe(stage)
    one.send_join()  # the leader, unchanged
    two.beat_until(Errors.REBALANCE_IN_PROGRESS)
    two.send_join()
    two.joined()
    one.joined()


def a_missing_share(stage: Stage) -> None:
    """The leader forgets a member, and gives something to one that there is not."""
    one, two = Member(stage, "one"), Member(stage, "two")
    one.join()
    both_join(one, two)
    stranger = Member(stage, "stranger")
    stranger.id = "stranger"
    one.sync(one, stranger)
    two.sync()
    describe(stage)


def the_leader_leaves(stage: Stage) -> None:
    one, two = pair(stage)
    one.leave()
    two.beat()
    two.join()
    two.sync(two)
    describe(stage)


def a_parked_member_leaves(stage: Stage) -> None:
    """It waits for the others, and somebody takes it out."""
    one, two = pair(stage)
    two.protocols = {"range": wants(COMPACT)}
    two.knock()
    one.beat_until(Errors.REBALANCE_IN_PROGRESS)
    stage.actor("admin").ask(L(stage.group, members=[L.MemberIdentity(two.id)]))
    two.joined()
    one.join()
    one.sync(one)
    describe(stage)


# -- votes


def votes(stage: Stage) -> None:
    """Of the protocols that all members have, the one that most like best."""
    one = Member(stage, "one", protocols={"x": READS, "y": READS, "z": READS})
    two = Member(stage, "two", protocols={"y": READS, "x": READS, "w": READS})
    three = Member(stage, "three", protocols={"y": READS, "x": READS})
    one.join()
    one.sync(one)
    two.knock()
    one.beat_until(Errors.REBALANCE_IN_PROGRESS)
    three.knock()
    one.send_join()
    for each in (one, two, three):
        each.joined()
    two.send_sync()
    three.send_sync()
    one.sync(one, two, three)
    two.actor.hear()
    three.actor.hear()
    describe(stage)
    for protocols in ({"w": READS}, {"z": READS}, {}):
        Member(stage, "four", protocols=protocols or {"": b""}).send_join()
        stage.actor("four").hear()
    Member(stage, "four", kind="connect", protocols={"x": READS}).send_join()
    stage.actor("four").hear()
    two.protocol = "x"
    two.sync()


def another_kind(stage: Stage) -> None:
    """A group that is not of consumers, and consumers once it is empty."""
    one = Member(stage, "one", kind="connect", protocols={"sessioned": b"?"})
    one.join()
    one.sync(one)
    describe(stage)
    listed(stage, [], [])
    stage.actor("admin").ask(deletion(stage, TOPIC, 0))
    one.commit()
    one.leave()
    describe(stage)
    stage.actor("admin").ask(deletion(stage, TOPIC, 0))
    two = Member(stage, "two")
    two.join()
    two.sync(two)
    describe(stage)


def nothing_readable(stage: Stage) -> None:
    """A consumer whose subscription cannot be read counts as subscribed to everything."""
    one = Member(stage, "one", protocols={"range": b"\0"})
    one.join()
    one.sync(one)
    one.commit()
    stage.actor("admin").ask(deletion(stage, TOPIC, 0))
    one.leave()
    stage.actor("admin").ask(deletion(stage, TOPIC, 0))


def offsets_of_topics_in_use(stage: Stage) -> None:
    """Only a topic that no member reads can lose its offsets."""
    simple = Member(stage, "simple")
    simple.commit()
    one = Member(stage, "one", protocols={"range": wants(COMPACT)})
    one.join()
    stage.actor("admin").ask(deletion(stage, COMPACT, 0))
    one.sync(one)
    simple.commit()
    stage.actor("admin").ask(deletion(stage, COMPACT, 0))
    stage.actor("admin").ask(deletion(stage, TOPIC, 0, 1))
    stage.actor("admin").ask(m.DeleteGroupsRequest([stage.group]))


# -- pending members


def pending(stage: Stage) -> None:
    """An id that was handed out holds up a rebalance until it joins, leaves or is too late."""
    one, two, three = Member(stage, "one"), Member(stage, "two"), Member(stage, "three")
    two.take_id()
    time.sleep(SHOWN_S)
    describe(stage)
    listed(stage, [], [])
    one.take_id()
    one.send_join()
    one.joined()  # the first rebalance waits for its delay only
    one.sync(one)
    describe(stage)
    three.knock()
    one.beat_until(Errors.REBALANCE_IN_PROGRESS)
    one.send_join()
    one.actor.hears_nothing()
    two.beat()
    two.commit()
    two.leave()
    one.joined()
    three.joined()
    two.leave()
    two.send_join()
    two.actor.hear()


def pending_too_long(stage: Stage) -> None:
    one, three = Member(stage, "one"), Member(stage, "three")
    two = Member(stage, "two", session_ms=SHORT_MS)
    one.join()
    one.sync(one)
    two.take_id()
    three.knock()
    one.beat_until(Errors.REBALANCE_IN_PROGRESS)
    one.send_join()
    one.actor.hears_nothing()
    one.joined()
    three.joined()
    two.send_join()
    two.actor.hear()


def pending_in_an_empty_group(stage: Stage) -> None:
    one = Member(stage, "one")
    one.take_id()
    stage.actor("admin").ask(m.DeleteGroupsRequest([stage.group]))
    describe(stage)
    one.send_join()
    one.actor.hear()


# -- timeouts


def silent(stage: Stage) -> None:
    """A member that says nothing for its session loses its seat."""
    one, two = Member(stage, "one"), Member(stage, "two", session_ms=SHORT_MS)
    two.join()
    two.sync(two)
    one.knock()
    time.sleep(0.2)
    two.beat()
    one.joined()
    two.beat()
    two.commit()
    two.send_join()
    two.actor.hear()
    one.sync(one)
    describe(stage)


def all_silent(stage: Stage) -> None:
    one = Member(stage, "one", session_ms=SHORT_MS)
    one.join()
    one.sync(one)
    time.sleep(2 * SHORT_MS / 1000)
    describe(stage)
    one.beat()
    one.id, one.session_ms = "", LONG_MS  # so nothing more happens while others act
    one.join()


def late_for_the_rebalance(stage: Stage) -> None:
    """It sends heartbeats, and does not join within the rebalance timeout."""
    one, two = pair(stage, rebalance_ms=SHORT_MS)
    one.protocols = {"range": wants(COMPACT)}
    one.knock()
    two.beat_until(Errors.REBALANCE_IN_PROGRESS)
    one.actor.hears_nothing()
    one.joined()
    two.beat()
    two.commit()
    two.sync()
    two.send_join()
    two.actor.hear()
    one.sync(one)
    describe(stage)


def no_sync(stage: Stage) -> None:
    """It joins and does not ask for its assignment."""
    one = Member(stage, "one", rebalance_ms=SHORT_MS)
    two = Member(stage, "two", rebalance_ms=SHORT_MS)
    one.join()
    both_join(one, two)
    one.sync(one, two)
    describe(stage)
    one.beat_until(Errors.REBALANCE_IN_PROGRESS)
    two.beat()
    one.join()
    one.sync(one)
    describe(stage)


def no_assignment(stage: Stage) -> None:
    """The leader joins and does not assign: a follower's SyncGroup waits, then has to join."""
    one = Member(stage, "one", rebalance_ms=SHORT_MS)
    two = Member(stage, "two", rebalance_ms=SHORT_MS)
    one.join()
    both_join(one, two)
    two.send_sync()
    two.actor.hear()
    one.beat()
    two.join()
    two.sync(two)
    describe(stage)


MEMBERS: tuple[Scenario, ...] = (
    states, joins_again, a_missing_share, the_leader_leaves, a_parked_member_leaves,
    votes, another_kind, nothing_readable, offsets_of_topics_in_use,
    pending, pending_too_long, pending_in_an_empty_group,
    silent, all_silent, late_for_the_rebalance, no_sync, no_assignment,
)  # fmt: skip
