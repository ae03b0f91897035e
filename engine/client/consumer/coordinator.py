"""Where the group's coordinator is, and the connection to it.

The coordinator of a group is the leader of one partition of __consumer_offsets, chosen by the hash
of the group id.  Any broker can say which one that is (FindCoordinator).  The consumer asks when it
begins, and again when the coordinator is *unknown*: its connection is lost, it is silent for longer
than the session timeout, or it says NOT_COORDINATOR or COORDINATOR_NOT_AVAILABLE.

The consumer has a connection to it beside the one that it fetches over.  On one connection a
heartbeat would wait behind a Fetch that the broker holds for fetch.max.wait.ms.

A new coordinator reads the group from __consumer_offsets.  Until it has (error
COORDINATOR_LOAD_IN_PROGRESS), the client asks it again; members and their generation survive.
"""

from __future__ import annotations

from engine.client.backoff import ExponentialBackoff
from engine.client.connections import READY, Answer, Asked, Connections
from engine.client.metadata import Metadata
from engine.events import Outbox
from engine.wire import messages as m
from engine.wire.errors import Errors

_HERE = "client.consumer.coordinator.Coordinator"
FIND = "find-coordinator"
NAME = "coordinator"
"""Of the connection."""
MOVED = (Errors.NOT_COORDINATOR, Errors.COORDINATOR_NOT_AVAILABLE)


class Coordinator:
    """`node` is None while it is unknown; `error` is what the next `poll` must report."""

    def __init__(self, outbox: Outbox, group: str, bootstrap: tuple[int, ...], metadata: Metadata,
                 brokers: Connections, own: Connections,
                 backoff: ExponentialBackoff) -> None:  # fmt: skip
        self.outbox = outbox
        self.group = group
        self.bootstrap = bootstrap
        self.metadata = metadata
        self.brokers = brokers
        self.own = own
        self.backoff = backoff
        self.node: int | None = None
        self.asking = False
        self.attempts = 0
        self.ask_at = 0
        self.found_at = 0
        self.error = ""

    # -- using it

    def is_ready(self, now: int) -> bool:
        """Whether a request may go to it; else finds it, or connects to it."""
        if self.node is None:
            self.find(now)
            return False
        return self.own.is_ready(now, self.node)

    def send(
        self, now: int, what: str, body: Asked, note: object = None, timeout_us: int = 0
    ) -> None:
        assert self.node is not None
        self.own.send(now, self.node, (what, note), body, timeout_us=timeout_us)

    def unknown(self, why: str) -> None:
        """It is not the coordinator, or cannot be reached: find it again."""
        if self.node is not None:
            self.outbox.trace(f"{_HERE}.unknown", "coordinator unknown", why=why, broker=self.node)
            self.node = None

    def check(self, error: Errors) -> None:
        """Takes in an error of any answer from it."""
        if error in MOVED:
            self.unknown(error.name)

    def lost(self) -> None:
        """Its connection has ended."""
        if self.node is not None and self.own.node(self.node).state != READY:
            self.unknown("the connection is lost")

    # -- finding it

    def find(self, now: int) -> None:
        if self.asking or now < self.ask_at:
            return
        broker = self.brokers.any_ready(now, tuple(self.metadata.nodes) or self.bootstrap)
        if broker is None:
            return
        self.asking = True
        body = m.FindCoordinatorRequest(key_type=0, coordinator_keys=[self.group])
        self.brokers.send(now, broker, (FIND, None), body)

    def heard(self, now: int, answer: Answer) -> None:
        self.asking = False
        self.ask_at = now + self.backoff.wait_us(self.attempts)
        self.attempts += 1
        body = answer.body
        if not isinstance(body, m.FindCoordinatorResponse):
            self.metadata.want()
            return
        found = body.coordinators[0] if body.coordinators else body
        error = Errors(found.error_code)
        if error:
            self.outbox.trace(f"{_HERE}.heard", "coordinator unknown", why=error.name)
            if not error.retriable:
                self.error = error.name
            return
        self.attempts = 0
        self.ask_at = now
        self.found_at = now
        self.node = found.node_id
        self.metadata.nodes[found.node_id] = (found.host, found.port)
        self.outbox.trace(f"{_HERE}.heard", "coordinator", broker=self.node)
        self.own.is_ready(now, self.node)

    def next_at(self) -> list[int]:
        waits = [self.ask_at] if self.node is None and not self.asking else []
        return waits + self.own.retry_at()
