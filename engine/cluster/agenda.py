"""What is to come: requests and answers on their way, timers, flushes, in order of time.

    heap     (when, number, item) …            the number keeps those of one moment in order
    timers   (node, token) -> number           setting a timer anew makes the old entry void;
                                               LATE if it ran out while its node stood still
    calls    number -> Call                    an answered call makes its time-out void

Void entries are passed over when their time comes.  They count as nothing that happened, so
that it makes no difference whether `prune` has taken them out before.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

from engine.cluster.muted_clients import Channel
from engine.cluster.network import NodeId
from engine.events import Envelope, Token

PRUNE_AT = 1_000
LATE = -1


@dataclass(slots=True)
class Call:
    """A Send that awaits its answer, from the destination's process of this incarnation.

    `channel` is the connection that it takes; None if it has one to itself.
    """

    sender: NodeId
    destination: int
    incarnation: int
    token: Token
    client_id: str
    channel: Channel | None
    envelope: Envelope | None = None


class Agenda:
    """Items are tuples that begin with their kind, such as ("timer", node, token)."""

    def __init__(self) -> None:
        self.heap: list[tuple[int, int, Any]] = []
        self.timers: dict[tuple[NodeId, Token], int] = {}
        self.calls: dict[int, Call] = {}
        self.sequence = 0
        self.size_after_pruning = 0

    @property
    def next_at(self) -> int | None:
        """When the next thing happens; None if nothing will."""
        while self.heap:
            at, number, item = self.heap[0]
            if self._stands(number, item):
                return at
            heapq.heappop(self.heap)
        return None

    def push(self, at: int, item: Any) -> int:
        """Puts an item down for a moment; gives its number."""
        self.sequence += 1
        heapq.heappush(self.heap, (at, self.sequence, item))
        return self.sequence

    def pop(self) -> tuple[int, Any] | None:
        """The first item and its moment; None if it is void."""
        at, number, item = heapq.heappop(self.heap)
        return (at, item) if self._stands(number, item) else None

    def call(self, call: Call) -> int:
        """Remembers a call; gives its number."""
        self.sequence += 1
        self.calls[self.sequence] = call
        return self.sequence

    def set_timer(self, at: int, node: NodeId, token: Token) -> None:
        self.timers[node, token] = self.push(at, ("timer", node, token))

    def drop_timers(self, node: NodeId) -> None:
        self.timers = {key: number for key, number in self.timers.items() if key[0] != node}

    def prune(self) -> None:
        """Takes out what is void, once there may be much of it."""
        if len(self.heap) > 2 * self.size_after_pruning + PRUNE_AT:
            self.heap = [each for each in self.heap if self._stands(each[1], each[2])]
            heapq.heapify(self.heap)
            self.size_after_pruning = len(self.heap)

    def _stands(self, number: int, item: Any) -> bool:
        if item[0] == "timer":
            return self.timers.get((item[1], item[2])) == number
        return item[0] != "answer" or item[1] in self.calls
