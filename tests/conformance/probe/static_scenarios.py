"""Lives of static members (KIP-345), and members that leave in a batch."""

from __future__ import annotations

from engine.wire.errors import Errors
from tests.conformance.probe.actors import Scenario, Stage
from tests.conformance.probe.members import (
    READS,
    SHORT_MS,
    L,
    Member,
    both_join,
    both_sync,
    describe,
    wants,
)
from tests.conformance.probe.side import COMPACT


def static_restart(stage: Stage) -> None:
    """It comes back under its name; nothing rebalances, and the old id is fenced."""
    for version in (9, 8, 5):
        one, two = Member(stage, "one", instance="a"), Member(stage, "two", instance="b")
        one.join()
        one.sync(one)
        both_join(one, two)
        both_sync(one, two)
        for who in (two, one):
            old, who.id = who.id, ""
            who.send_join(version)
            who.joined()
            who.sync()
            new, who.id = who.id, old
            who.beat()
            who.commit()
            who.sync()
            who.send_join()
            who.actor.hear()
            who.leave()
            who.id = new
            who.beat()
        describe(stage)
        stage.actor("admin").ask(
            L(stage.group, members=[L.MemberIdentity("", "a"), L.MemberIdentity("", "b")])
        )


def static_restart_with_another_subscription(stage: Stage) -> None:
    one, two = Member(stage, "one", instance="a"), Member(stage, "two", instance="b")
    one.join()
    one.sync(one)
    both_join(one, two)
    both_sync(one, two)
    two.id, two.protocols = "", {"range": wants(COMPACT)}
    two.send_join()
    two.joined()
    two.sync()
    describe(stage)
    one.beat()


def static_restart_with_another_protocol(stage: Stage) -> None:
    """The choice of the protocol changes, so there is a rebalance after all."""
    one = Member(stage, "one", instance="a", protocols={"x": READS, "y": READS})
    one.join()
    one.sync(one)
    one.id, one.protocols = "", {"y": READS, "x": READS}
    one.send_join()
    one.joined()
    one.sync(one)
    describe(stage)


def static_restart_while_parked(stage: Stage) -> None:
    """The old life waits for an answer when the new one asks."""
    one, two = Member(stage, "one", instance="a"), Member(stage, "two", instance="b")
    one.join()
    two.knock()
    one.beat_until(Errors.REBALANCE_IN_PROGRESS)
    again = Member(stage, "two again", instance="b")
    again.send_join()
    two.actor.hear()
    again.actor.hears_nothing()
    one.send_join()
    one.joined()
    again.joined()
    again.send_sync()
    again.actor.hears_nothing()
    third = Member(stage, "two once more", instance="b")
    third.send_join()
    again.actor.hear()
    one.beat_until(Errors.REBALANCE_IN_PROGRESS)
    one.send_join()
    one.joined()
    third.joined()
    third.send_sync()
    one.sync(one, third)
    third.actor.hear()
    describe(stage)


def static_absent(stage: Stage) -> None:
    """A static member that misses a rebalance keeps its seat until its session is over."""
    one = Member(stage, "one", rebalance_ms=SHORT_MS)
    two = Member(stage, "two", instance="b", rebalance_ms=SHORT_MS, session_ms=6_000)
    one.join()
    one.sync(one)
    both_join(one, two)
    both_sync(one, two)
    one.send_join()
    one.joined()
    one.sync(one, two)
    two.beat()
    two.generation += 1
    two.beat()
    describe(stage)
    two.sync()


def leaving_in_a_batch(stage: Stage) -> None:
    """Each row of a LeaveGroup has its own verdict (KIP-345), with a reason or not (KIP-800)."""
    one, three = Member(stage, "one"), Member(stage, "three")
    two = Member(stage, "two", instance="b")
    one.join()
    one.sync(one)
    two.knock()
    three.take_id()
    row = L.MemberIdentity
    stage.actor("admin").ask(
        L(
            stage.group,
            members=[
                row(three.id, None, "why not"),
                row(three.id, None),
                row("nobody"),
                row("", "nobody"),
                row("", None),
                row(one.id, "b"),
                row(one.id, "nobody"),
                row("nobody", "b"),
                row(one.id),
                row(one.id),
                row("", "b", "time to go"),
            ],
        )
    )
    two.joined()
    describe(stage)
    stage.actor("admin").ask(L(stage.group, "nobody"), 2)
    stage.actor("admin").ask(L(stage.group, members=[]))


STATICS: tuple[Scenario, ...] = (
    static_restart, static_restart_with_another_subscription,
    static_restart_with_another_protocol, static_restart_while_parked, static_absent,
    leaving_in_a_batch,
)  # fmt: skip
