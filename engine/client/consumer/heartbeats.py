"""Heartbeats: what keeps a member in its group, beside `poll`.

    every heartbeat.interval.ms     Heartbeat; the answer also says that a rebalance has begun
    session.timeout.ms no answer    the coordinator must have moved: find it again
    max.poll.interval.ms no poll    leave the group by ourselves

In the Java client a thread of its own does this.  So a member stays in its group while the
application works on its records for a minute, which no heartbeat sent from `poll` could do.  But a
thread that lives says nothing about the loop: an application that hangs would keep its
partitions forever.  Hence max.poll.interval.ms (KIP-62).  A process that stands still altogether
(SIGSTOP, a long collection of garbage) sends no heartbeats; the coordinator removes it after
session.timeout.ms.
"""

from __future__ import annotations

from engine.client.connections import Answer
from engine.client.consumer.classic_requests import heartbeat
from engine.client.consumer.commits import Identity
from engine.client.consumer.coordinator import Coordinator
from engine.client.consumer.settings import ConsumerSettings
from engine.events import Outbox
from engine.wire import messages as m
from engine.wire.errors import Errors

_HERE = "client.consumer.heartbeats.Heartbeats"
BEAT = "beat"


class Heartbeats:
    """Three clocks, in microseconds."""

    def __init__(
        self, outbox: Outbox, settings: ConsumerSettings, coordinator: Coordinator
    ) -> None:
        self.outbox = outbox
        self.settings = settings
        self.coordinator = coordinator
        self.beat_at = 0
        self.heard_at = 0
        self.poll_until = 0

    def enable(self, now: int) -> None:
        """A generation begins."""
        self.beat_at = now + self.settings.heartbeat_interval_ms * 1000
        self.heard_at = now
        self.polled(now)

    def polled(self, now: int) -> None:
        self.poll_until = now + self.settings.max_poll_interval_ms * 1000

    @property
    def session_until(self) -> int:
        """A coordinator that was just found gets the whole time."""
        since = max(self.heard_at, self.coordinator.found_at)
        return since + self.settings.session_timeout_ms * 1000

    def is_poll_overdue(self, now: int) -> bool:
        return now >= self.poll_until and self.coordinator.is_ready(now)

    def is_due(self, now: int) -> bool:
        """Time for a heartbeat, and the coordinator is there."""
        if not self.coordinator.is_ready(now):
            return False
        if now >= self.session_until:
            self.coordinator.unknown("session timed out without receiving a heartbeat response")
            return False
        return now >= self.beat_at

    def send(self, now: int, identity: Identity) -> None:
        self.beat_at = now + self.settings.heartbeat_interval_ms * 1000
        body = heartbeat(self.settings, identity)
        self.coordinator.send(now, BEAT, body, identity)

    def heard(self, now: int, answer: Answer) -> Errors:
        """The error in an answer, NONE if all is well."""
        body = answer.body
        error = Errors(body.error_code) if isinstance(body, m.HeartbeatResponse) else answer.error
        self.coordinator.check(error)
        if error in (Errors.NONE, Errors.REBALANCE_IN_PROGRESS):
            self.heard_at = now
        else:
            self.beat_at = now + self.settings.retry_backoff_ms * 1000
        generation = answer.purpose[1].generation
        self.outbox.trace(f"{_HERE}.heard", "heartbeat answered", error=error.name,
                          generation=generation)  # fmt: skip
        return error

    def next_at(self) -> list[int]:
        return [self.beat_at, self.session_until, self.poll_until]
