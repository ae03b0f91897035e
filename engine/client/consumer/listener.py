"""What a consumer calls back in a rebalance, and what happens there.

    on_assigned   these are new: load their state, or seek
    on_revoked    these are about to go; commit now, for they are still ours
    on_lost       these are gone already: the group went on without us; a commit would be refused

All three are called inside `poll` (or `close`), so a consumer that does not poll is not called
back, and its group waits for it.  In an eager group everything is revoked before each rebalance and
everything assigned after it.  In a cooperative one, only what moves.

`on_revoked` may return offsets: they are committed, and the rebalance waits for the answer.  In the
Java client a listener calls commitSync for that.
"""

from __future__ import annotations

from typing import Protocol

from engine.client.consumer.subscription import OffsetAndMetadata
from engine.client.metadata import Place

Places = tuple[Place, ...]
Offsets = dict[Place, OffsetAndMetadata]


class RebalanceListener(Protocol):
    def on_assigned(self, now: int, places: Places) -> None: ...

    def on_revoked(self, now: int, places: Places) -> Offsets | None: ...

    def on_lost(self, now: int, places: Places) -> None: ...


class NoListener:
    """Does nothing."""

    def on_assigned(self, now: int, places: Places) -> None:
        return None

    def on_revoked(self, now: int, places: Places) -> Offsets | None:
        return None

    def on_lost(self, now: int, places: Places) -> None:
        return None
