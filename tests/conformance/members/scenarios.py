"""Lives of groups, whatever client their members are; each ends with the judgement of its stage.

A scenario that a killed broker is part of is a generator: it yields where the broker must die.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.conformance.members.crew import PARTITIONS, SHORT_SESSION_S, Stage


def members_come_and_go(stage: Stage, kind: str) -> None:
    """Join, commit, a second member, a static one that restarts, one that leaves."""
    one = stage.join(kind, "one")
    stage.shared(one)
    stage.commit(one, 4)
    two = stage.join(kind, "two")
    stage.shared(one, two)
    static = stage.join(kind, "static", instance="s")
    stage.shared(one, two, static)

    kept = static.owns
    others = one.said("given", "taken"), two.said("given", "taken")
    stage.leave(static)
    again = stage.join(kind, "again", instance="s")
    stage.until(lambda: again.owns == kept, f"the static member gets {kept} back")
    assert (one.said("given", "taken"), two.said("given", "taken")) == others

    stage.leave(two)
    stage.shared(one, again)
    stage.judge()


def a_member_freezes(stage: Stage, kind: str) -> None:
    """Its session ends, another takes over; back again, it cannot commit, and joins once more."""
    stage.session_s = SHORT_SESSION_S
    zombie = stage.join(kind, "zombie", alone=kind)
    stage.shared(zombie)
    stage.commit(zombie, 2)
    heir = stage.join(kind, "heir")
    stage.shared(zombie, heir)
    zombie.hold()  # so that it commits as what it was, and not when it has joined again
    with zombie.frozen():
        stage.shared(heir)
        stage.commit(heir, 4)
    stage.commit_in_vain(zombie, 3)
    had = zombie.said("taken", "lost")
    zombie.release()
    stage.until(lambda: zombie.said("taken", "lost") > had, "the zombie hears of its loss")
    if kind != "aiokafka":  # it has one callback for both
        assert zombie.said("lost") > 0
    stage.shared(zombie, heir)
    stage.judge()


def a_group_migrates(stage: Stage, kind: str, other: str) -> None:
    """From a classic member to one of the consumer protocol, and back."""
    one = stage.join(kind, "one")
    stage.shared(one)
    stage.commit(one, 4)
    assert stage.shown()["type"] == "classic"
    new = stage.join(other, "new")
    stage.shared(one, new)
    assert stage.shown()["type"] == "consumer"
    stage.leave(one)
    stage.shared(new)
    back = stage.join(kind, "back")
    stage.shared(new, back)
    stage.leave(new)
    stage.shared(back)
    assert stage.shown()["type"] == "classic"
    stage.judge()


REBALANCING = ("PreparingRebalance", "Assigning", "Reconciling")


def the_coordinator_dies_in_a_rebalance(stage: Stage, kind: str) -> Iterator[None]:
    """The first member holds up the rebalance until the broker is dead."""
    one = stage.join(kind, "one")
    stage.shared(one)
    stage.commit(one, 4)
    one.hold()
    two = stage.join(kind, "two")
    stage.until(lambda: stage.shown().get("state") in REBALANCING, "a rebalance is under way")
    assert len(one.owns) == PARTITIONS
    yield
    one.release()
    stage.shared(one, two)
    stage.leave(one)
    stage.shared(two)
    stage.commit(two, 6)
    stage.judge()
