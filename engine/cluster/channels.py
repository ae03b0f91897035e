"""Channels: the requests of one connection are handled one after the other.

A client may send many requests without waiting.  A broker handles them one at a time: from
the moment it has read one until it has sent the answer, the channel is *muted*, and further
requests stay in the socket's buffer.

    A ──▶ handled ──────── answer
    B ──▶ waits ─────────────┴─ handled ── answer, throttle_time_ms=800
    C ──▶ waits ───────────────────────────────┴─ 800 ms of silence ─ handled ── answer

So answers come in the order of the requests.  With acks=all, the next batch of a connection
is appended when the last one is replicated: several requests in flight save the trip to the
broker, not the wait for its followers.  Other connections do not wait.

A client over its quota is answered at once, and its channel stays muted for
throttle_time_ms (KIP-219).  Before Kafka 2.0 a broker held the *answer* back.  A client that
gave up waiting sent again, and the broker had more to do, not less.

A client has one connection to each broker.  A broker has several to the controller: one each
for ISR changes, the metadata log and forwarded requests.  On a single one, an ISR change would
wait behind a long poll.  So a sender names the connection (`connection` in engine/events.py).
When it learns that a connection is lost, it opens a new one.  Requests that had arrived on the
old one are still handled in order: they are in the broker's buffer, and the broker does not
check whether the sender still waits.

`Channel` is the rule.  `engine.server.connection` has one for its socket; `Channels` keeps one
for each connection between the nodes of a cluster, where messages travel as objects.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from engine.events import Source, Token


@dataclass(slots=True, eq=False)
class Channel:
    """What has arrived on one connection, in order; muted while a request is handled."""

    waiting: deque[Any] = field(default_factory=deque)
    is_muted: bool = False
    is_lost: bool = False
    """The sender has heard that the connection ended."""

    def take(self) -> Any:
        """The next request, which mutes the channel; None if there is none, or it is muted."""
        if self.is_muted or not self.waiting:
            return None
        self.is_muted = True
        return self.waiting.popleft()

    def unmute(self) -> None:
        """The answer is sent, and the throttle time, if any, is over."""
        self.is_muted = False


class Channels:
    """The open connections between nodes, and which request came on which."""

    def __init__(self) -> None:
        self.open: dict[tuple[Source, Source, str], Channel] = {}
        self.handled: dict[tuple[Source, Token], Channel] = {}
        """By node and number of a request that this node has taken up and not answered."""

    def between(self, sender: Source, destination: Source, name: str) -> Channel:
        """The connection of this name; opens it if there is none, or if it was lost."""
        way = (sender, destination, name)
        channel = self.open.get(way)
        if channel is None or channel.is_lost:
            channel = self.open[way] = Channel()
        return channel

    def forget(self, node: Source) -> None:
        """Removes the connections of a process that is gone."""
        self.open = {way: each for way, each in self.open.items() if node not in way[:2]}
        self.handled = {key: each for key, each in self.handled.items() if key[0] != node}
