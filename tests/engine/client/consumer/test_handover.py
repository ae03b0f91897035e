"""Partitions that leave a consumer while a listener's commit is under way."""

from __future__ import annotations

from engine.client.consumer.commits import COMMITTED, SYNC, Commit, Offsets
from engine.client.consumer.handover import Handover
from engine.client.consumer.listener import Places
from engine.client.consumer.subscription import OffsetAndMetadata, Subscription
from engine.events import Outbox

P = [("orders", index) for index in range(3)]


class SlowCommits:
    """A commit is done when the test says so."""

    def __init__(self) -> None:
        self.made: list[Commit] = []

    def start(self, now: int, offsets: Offsets, kind: str) -> Commit:
        self.made.append(Commit(len(self.made), offsets, kind, now))
        return self.made[-1]

    def answer(self) -> None:
        self.made[-1].verdict = COMMITTED


class Committing:
    def __init__(self) -> None:
        self.revoked: list[Places] = []

    def on_assigned(self, now: int, places: Places) -> None:
        return None

    def on_revoked(self, now: int, places: Places) -> Offsets | None:
        self.revoked.append(places)
        return {place: OffsetAndMetadata(1) for place in places}

    def on_lost(self, now: int, places: Places) -> None:
        return None


def made() -> tuple[Handover, Subscription, SlowCommits, Committing]:
    subscription, commits, listener = Subscription(), SlowCommits(), Committing()
    subscription.assign(tuple(P))
    return Handover(Outbox(), subscription, commits, listener), subscription, commits, listener


def test_a_partition_stays_ours_until_the_listeners_commit_is_answered() -> None:
    handover, subscription, commits, listener = made()
    assert not handover.give_back(1, (P[0],), "why")
    assert subscription.owned == tuple(P)
    assert not subscription.assigned[P[0]].is_fetchable
    assert commits.made[0].kind == SYNC
    commits.answer()
    assert handover.give_back(2, (P[0],), "why")
    assert subscription.owned == (P[1], P[2])
    assert listener.revoked == [(P[0],)]


def test_a_partition_that_is_added_meanwhile_gets_a_callback_of_its_own() -> None:
    handover, subscription, commits, listener = made()
    assert not handover.give_back(1, (P[0],), "why")
    commits.answer()
    assert not handover.give_back(2, (P[0], P[1]), "why")
    assert subscription.owned == (P[1], P[2])
    assert not handover.give_back(3, (P[1],), "why")
    commits.answer()
    assert handover.give_back(4, (P[1],), "why")
    assert listener.revoked == [(P[0],), (P[1],)]
    assert subscription.owned == (P[2],)
