"""Classic groups whose coordinator dies: what the next one knows; see actors.py.

Each scenario is in two parts, with a `yield` between them.  There the coordinator is killed, and
another broker takes over with what is in the log.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from engine.wire import messages as m
from engine.wire.errors import Errors
from tests.conformance.probe.actors import Stage
from tests.conformance.probe.members import (
    LONG_MS,
    READS,
    SHORT_MS,
    Member,
    both_join,
    both_sync,
    describe,
    listed,
    pair,
    reading_of,
    wants,
)
from tests.conformance.probe.side import COMPACT

Failover = Callable[[Stage], Iterator[None]]


def stable(stage: Stage) -> Iterator[None]:
    """Members go on under their generation, as if nothing had happened."""
    one, two = pair(stage)
    one.commit(7, 2)
    late = Member(stage, "late")
    late.take_id()
    yield
    describe(stage)
    listed(stage, [], [])
    for member in (one, two):
        member.beat()
        member.sync()
        member.commit(8)
    stage.actor("admin").ask(reading_of(stage, 10))
    late.send_join()
    late.actor.hear()
    two.join()
    two.sync()
    one.send_join()
    two.beat_until(Errors.REBALANCE_IN_PROGRESS)
    two.send_join()
    two.joined()
    one.joined()
    both_sync(one, two)
    describe(stage)


def statics(stage: Stage) -> Iterator[None]:
    """Their names and timeouts are in the log."""
    one = Member(stage, "one", instance="a")
    two = Member(stage, "two", instance="b")
    one.join()
    one.sync(one)
    both_join(one, two)
    both_sync(one, two)
    yield
    describe(stage)
    old, two.id = two.id, ""
    two.send_join()
    two.joined()
    two.sync()
    new, two.id = two.id, old
    two.beat()
    two.id = new
    two.beat()
    one.id = ""
    one.send_join()
    one.joined()
    one.sync()
    two.leave()
    one.beat()


def several_protocols(stage: Stage) -> Iterator[None]:
    """Only the chosen protocol was stored, so a follower that offers two has changed."""
    offered = {"range": READS, "roundrobin": READS}
    one, two = pair(stage, protocols=offered)
    yield
    two.knock()
    two.actor.hears_nothing()
    one.beat_until(Errors.REBALANCE_IN_PROGRESS)
    one.send_join()
    one.joined()
    two.joined()


def in_a_join_phase(stage: Stage) -> Iterator[None]:
    """A newcomer that was not stored is gone; the generation before holds."""
    one, two = pair(stage)
    new = Member(stage, "new")
    new.knock()
    one.beat_until(Errors.REBALANCE_IN_PROGRESS)
    one.send_join()
    yield
    describe(stage)
    one.beat()
    two.beat()
    new.generation = one.generation
    new.beat()
    new.send_join()
    new.actor.hear()
    two.commit()


def in_a_sync_phase(stage: Stage) -> Iterator[None]:
    """The generation was counted and not stored: its members are ahead of the coordinator."""
    one, two = pair(stage)
    one.protocols = {"range": wants(COMPACT)}
    one.knock()
    two.beat_until(Errors.REBALANCE_IN_PROGRESS)
    two.send_join()
    two.joined()
    one.joined()
    two.send_sync()
    yield
    describe(stage)
    one.beat()
    one.sync(one, two)
    one.commit()
    two.generation -= 1
    two.beat()
    two.commit()


def left_behind(stage: Stage) -> Iterator[None]:
    """A group that its members have left, with its offsets."""
    one = Member(stage, "one")
    one.join()
    one.sync(one)
    one.commit(5, 1)
    one.leave()
    yield
    describe(stage)
    listed(stage, ["Empty"], [])
    stage.actor("admin").ask(reading_of(stage, 10))
    one.beat()
    one.id = ""
    one.join()


def nobodys(stage: Stage) -> Iterator[None]:
    """Offsets without a group record."""
    simple = Member(stage, "simple")
    simple.commit(5, 1)
    yield
    describe(stage)
    listed(stage, [], [])
    simple.commit(6)
    stage.actor("admin").ask(reading_of(stage, 10, everything=True))


def deleted(stage: Stage) -> Iterator[None]:
    simple = Member(stage, "simple")
    simple.commit(5, 1)
    stage.actor("admin").ask(m.DeleteGroupsRequest([stage.group]))
    yield
    describe(stage)
    listed(stage, [], [])
    stage.actor("admin").ask(reading_of(stage, 10))


def silent_afterwards(stage: Stage) -> Iterator[None]:
    """Each member has a full session from the moment of loading."""
    one, two = pair(stage, session_ms=5 * SHORT_MS, rebalance_ms=LONG_MS)
    yield
    one.beat()
    two.beat()
    deadline = time.monotonic() + 4 * 5 * SHORT_MS / 1000
    while one.beat_is(Errors.NONE) and time.monotonic() < deadline:
        time.sleep(0.1)
    one.join()
    two.beat()


FAILOVERS: dict[str, Failover] = {
    each.__name__: each
    for each in (
        stable, statics, several_protocols, in_a_join_phase, in_a_sync_phase, left_behind,
        nobodys, deleted, silent_afterwards,
    )
}  # fmt: skip
