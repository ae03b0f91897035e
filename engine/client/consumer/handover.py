"""Gives partitions back and takes new ones, with the application's listener in between.

Each partition that leaves the consumer goes through here, and each that comes: so `revoked`, `lost`
and `assigned` are the three trace lines from which a rebalance can be drawn.

    give back   the listener is called; if it wants offsets committed, the answer is awaited;
                only then does the partition leave `owned`
    take        the partition is in `owned` before the listener is called, so that it can seek
"""

from __future__ import annotations

from typing import Protocol

from engine.client.consumer.commits import SYNC, Commit, Offsets
from engine.client.consumer.listener import Places, RebalanceListener
from engine.client.consumer.subscription import Subscription, names
from engine.events import Outbox

_HERE = "client.consumer.handover.Handover"


class Starts(Protocol):
    """Where commits are begun: Commits."""

    def start(self, now: int, offsets: Offsets, kind: str) -> Commit: ...


class Handover:
    """One hand-over at a time; `waiting` is the commit that a listener asked for."""

    def __init__(self, outbox: Outbox, subscription: Subscription, commits: Starts,
                 listener: RebalanceListener) -> None:  # fmt: skip
        self.outbox = outbox
        self.subscription = subscription
        self.commits = commits
        self.listener = listener
        self.waiting: Commit | None = None
        self.going: Places = ()

    def give_back(self, now: int, places: Places, why: str) -> bool:
        """True when they are gone; until then, call it again."""
        if self.waiting is None and places:
            self.going = places
            for place in places:
                self.subscription.assigned[place].giving_back = True
            offsets = self.listener.on_revoked(now, places)
            self.waiting = self.commits.start(now, offsets or {}, SYNC)
        if self.waiting is not None and not self.waiting.is_done:
            return False
        if self.waiting is not None:
            self.waiting = None
            self._drop(self.going)
            gone = names(self.going)
            self.outbox.trace(f"{_HERE}.give_back", "revoked", why=why, partitions=gone)
        return not any(place in self.subscription.assigned for place in places)

    def lose(self, now: int, places: Places, why: str) -> None:
        """They are gone already."""
        if places:
            self.waiting = None
            self.listener.on_lost(now, places)
            self._drop(places)
            self.outbox.trace(f"{_HERE}.lose", "lost", why=why, partitions=names(places))

    def take(self, now: int, assigned: Places, generation: int) -> None:
        """Exactly these from now on."""
        added = tuple(place for place in assigned if place not in self.subscription.assigned)
        self.subscription.assign(assigned)
        for state in self.subscription.assigned.values():
            state.giving_back = False
        self.listener.on_assigned(now, added)
        self.outbox.trace(f"{_HERE}.take", "assigned", partitions=names(assigned),
                          new=names(added), generation=generation)  # fmt: skip

    def _drop(self, places: Places) -> None:
        kept = tuple(place for place in self.subscription.assigned if place not in places)
        self.subscription.assign(kept)
