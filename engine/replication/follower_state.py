"""What a leader knows about one of its followers.

A follower tells the leader how far it has come by asking for the next record: a Fetch
at offset 7 says "I hold everything below 7".  So the leader learns of a follower's
progress one fetch late.

In sync does not mean level.  A follower counts as caught up at the moment of a fetch
that reached the leader's end as it was then, *or* as it was at the fetch before: under
steady load it never reaches the moving end, yet it is never far behind.  Only a
follower that has not been caught up for replica.lag.time.max.ms falls out of sync
(KIP-16).

A follower at the leader's end has nothing to say about this partition, and its fetches do not
name it.  Its session says when it fetched last (engine/replication/fetch_sessions.py), so an
idle partition costs nothing at a fetch.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.metadata.image import BrokerImage
from engine.replication.fetch_sessions import FetchedPartition

UNKNOWN_OFFSET = -1


@dataclass(slots=True)
class FollowerState:
    """Offsets are log offsets; times are microseconds.

    `broker_epoch` is that of the last fetch: None before the first, -1 if it named none.
    `idle` is the follower's part of a fetch session while both are level and nothing moves.
    """

    broker_id: int
    log_end_offset: int = UNKNOWN_OFFSET
    log_start_offset: int = UNKNOWN_OFFSET
    broker_epoch: int | None = None
    last_caught_up_us: int = 0
    last_fetch_us: int = 0
    leader_end_at_last_fetch: int = 0
    idle: FetchedPartition | None = None

    @property
    def caught_up_us(self) -> int:
        """When it was last caught up, by a fetch that named the partition or by one since."""
        if self.idle is None:
            return self.last_caught_up_us
        return max(self.last_caught_up_us, self.idle.last_fetch_us)

    def wake(self) -> None:
        """The leader's log moves: from now on, only a fetch that names the partition counts."""
        if self.idle is not None:
            self.last_caught_up_us = self.caught_up_us
            self.last_fetch_us = max(self.last_fetch_us, self.idle.last_fetch_us)
            self.idle = None

    def reset(self, now: int, leader_end_offset: int, in_sync: bool) -> None:
        """A new leader epoch begins: nothing is known but membership of the ISR."""
        self.log_end_offset = UNKNOWN_OFFSET
        self.log_start_offset = UNKNOWN_OFFSET
        self.broker_epoch = None
        self.idle = None
        self.last_caught_up_us = now if in_sync else 0
        self.last_fetch_us = now if in_sync else 0
        self.leader_end_at_last_fetch = leader_end_offset if in_sync else 0

    def fetched(
        self,
        now: int,
        offset: int,
        log_start_offset: int,
        leader_end_offset: int,
        broker_epoch: int,
    ) -> None:
        """Takes note of a fetch at `offset` while the leader's log ended at `leader_end_offset`."""
        self.wake()
        if offset >= leader_end_offset:
            self.last_caught_up_us = max(self.last_caught_up_us, now)
        elif offset >= self.leader_end_at_last_fetch:
            self.last_caught_up_us = max(self.last_caught_up_us, self.last_fetch_us)
        self.log_end_offset = offset
        self.log_start_offset = log_start_offset
        self.leader_end_at_last_fetch = leader_end_offset
        self.last_fetch_us = now
        self.broker_epoch = broker_epoch

    def is_caught_up(self, now: int, leader_end_offset: int, max_lag_us: int) -> bool:
        level = self.log_end_offset == leader_end_offset
        return level or now - self.caught_up_us <= max_lag_us

    def may_join(self, broker: BrokerImage | None) -> bool:
        """The broker is alive in our image, and it is the incarnation that fetches (KIP-903)."""
        if broker is None or broker.fenced or broker.in_controlled_shutdown:
            return False
        return self.broker_epoch in (-1, broker.epoch)
