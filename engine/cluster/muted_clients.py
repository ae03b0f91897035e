"""Muted clients: what a throttled client sends waits until its time is up (KIP-219).

Before KIP-219 a broker held the *answer* back.  A client that gave up waiting sent again,
and the broker had more to do, not less.  Since Kafka 2.0 the answer goes out at once and
says how long the channel will be deaf:

    request ──▶ answer, throttle_time_ms=800 ──▶ 800 ms of silence ──▶ next request is read

Over TCP, `engine.server.connection` stops reading its socket.  Between the nodes of a cluster
(a simulated client is one) messages travel as objects; this is the same deafness for
them.  What arrives is kept in order and handed over one by one when the time is up, since
the first of them may bring the next mute.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from engine.cluster.network import NodeId


class MutedClients:
    """For each pair of node and client that is muted: until when, and what waits."""

    def __init__(self) -> None:
        self.until_us: dict[tuple[NodeId, NodeId], int] = {}
        self.held: dict[tuple[NodeId, NodeId], deque[Any]] = {}
        self.passing: Any = None

    def begin(self, node: NodeId, client: NodeId, until_us: int) -> bool:
        """Mutes a client; True if the caller must arrange for `end` at that time."""
        pair = (node, client)
        known = pair in self.held
        self.until_us[pair] = max(until_us, self.until_us.get(pair, 0))
        self.held.setdefault(pair, deque())
        return not known

    def hold(self, node: NodeId, client: NodeId, item: Any) -> bool:
        """True if `item` has to wait; it is kept here then."""
        waiting = self.held.get((node, client))
        if waiting is None or item is self.passing:
            self.passing = None
            return False
        waiting.append(item)
        return True

    def end(self, now: int, node: NodeId, client: NodeId) -> tuple[int | None, Any]:
        """When to call again, if at all, and the item that may pass now, if any."""
        pair = (node, client)
        if pair not in self.held:
            return None, None
        if self.until_us[pair] > now:
            return self.until_us[pair], None
        if not self.held[pair]:
            del self.held[pair], self.until_us[pair]
            return None, None
        self.passing = self.held[pair].popleft()
        return now, self.passing

    def forget(self, node: NodeId) -> None:
        """A process is gone, and its connections with it."""
        for pair in [each for each in self.held if node in each]:
            del self.held[pair], self.until_us[pair]
