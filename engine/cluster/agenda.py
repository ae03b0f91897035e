"""Coming events in order of time: messages on their way, timers, flushes.

    heap     (when, number, item) ...          the number keeps those of one moment in order
    timers   (node, token) -> number           setting a timer again makes its old entry void;
                                               LATE if it ran out while its node was paused
    calls    number -> Call                    an answered call makes its timeout void

A void entry is skipped when its time comes, and does not count as an event.  So it makes no
difference whether `prune` has removed it before.
"""

from __future__ import annotations

import heapq
from operator import itemgetter

from engine.cluster.items import Answer, Call, Item, NodeId, Ringing
from engine.events import Background, ClientDeadline, Token

PRUNE_AT = 1_000
LATE = -1


class Agenda:
    """The items are in engine/cluster/items.py."""

    def __init__(self) -> None:
        self.heap: list[tuple[int, int, Item]] = []
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

    def push(self, at: int, item: Item) -> int:
        """Schedules an item; returns its number."""
        self.sequence += 1
        heapq.heappush(self.heap, (at, self.sequence, item))
        return self.sequence

    def pop(self) -> tuple[int, Item] | None:
        """Removes the first item and gives its time and the item; None if it is void."""
        at, number, item = heapq.heappop(self.heap)
        return (at, item) if self._stands(number, item) else None

    def call(self, call: Call) -> int:
        """Remembers a call; returns its number."""
        self.sequence += 1
        self.calls[self.sequence] = call
        return self.sequence

    def set_timer(self, at: int, node: NodeId, token: Token) -> None:
        """Sets the timer of a token; an earlier setting of it becomes void."""
        self.timers[node, token] = self.push(at, Ringing(node, token))

    def put_off_deadlines(self, until: int) -> None:
        """Clients' deadlines that end before `until` end then, in their order."""
        for at, number, item in sorted(self.heap, key=itemgetter(0, 1)):
            if at >= until:
                break
            if not isinstance(item, Ringing) or not isinstance(item.token, ClientDeadline):
                continue
            known = self.timers.get((item.node, item.token))
            if known == (LATE if item.is_late else number):
                self.set_timer(until, item.node, item.token)

    @property
    def is_background_next(self) -> bool:
        """Whether what comes next can wait; not while nothing comes."""
        item = self.heap[0][2]
        return isinstance(item, Ringing) and isinstance(item.token, Background)

    def put_off_next(self, until: int) -> None:
        """The timer that comes next runs out then."""
        item = heapq.heappop(self.heap)[2]
        assert isinstance(item, Ringing), "only a timer is put off"
        self.set_timer(until, item.node, item.token)

    def drop_timers(self, node: NodeId) -> None:
        self.timers = {key: number for key, number in self.timers.items() if key[0] != node}

    def prune(self) -> None:
        """Removes void entries, once there may be many."""
        if len(self.heap) > 2 * self.size_after_pruning + PRUNE_AT:
            self.heap = [each for each in self.heap if self._stands(each[1], each[2])]
            heapq.heapify(self.heap)
            self.size_after_pruning = len(self.heap)

    def _stands(self, number: int, item: Item) -> bool:
        if isinstance(item, Ringing):
            return item.is_late or self.timers.get((item.node, item.token)) == number
        return not isinstance(item, Answer) or item.number in self.calls
