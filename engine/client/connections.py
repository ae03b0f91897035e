"""A client's connections: one per broker, with a limit on the requests in flight.

    connecting ──ApiVersions answered──> ready ──lost, or an answer is late──> down
        ^                                                                        │
        └──────────────── reconnect.backoff.ms, doubling, is over ───────────────┘

Answers come back in the order of the requests, so a late answer holds up all behind it.  A request
that is not answered within `request.timeout.ms` therefore ends the connection, and every request in
flight there fails with REQUEST_TIMED_OUT.  If the connection ends for another reason, they fail
with NETWORK_EXCEPTION.  The client cannot know whether the broker has carried out any of them.

`max.in.flight.requests.per.connection` counts what has no answer yet.  With acks=0 no answer
comes, so nothing is ever in flight.

The ApiVersions answer says which versions a broker offers, and which features the cluster has
finalised; the answer with the highest epoch counts.

A producer needs one such set.  A consumer has a second one, named `coordinator`: a broker handles
the requests of a connection one after the other, so a heartbeat would wait behind a long fetch.

An answer may carry `throttle_time_ms`: a quota is exceeded.  The broker answers at once and then
stops reading from this connection for that time, so the client sends nothing there until the time
is over (KIP-219).  Otherwise requests would time out in a socket that is not read.

Simplified: the Java client also adds the throttle time to the request.timeout.ms of requests
already in flight; here those may time out.  Connecting is one step, the ApiVersions request, and
may take request.timeout.ms; the Java client first gives TCP the time of
socket.connection.setup.timeout.ms (10 s, after failures up to 30 s, give or take a fifth).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from engine.client.backoff import ExponentialBackoff
from engine.events import Answered, Outbox, Response
from engine.wire import messages as m
from engine.wire.errors import Errors
from engine.wire.structures import RequestMessage

_HERE = "client.connections.Connections"
DOWN, CONNECTING, READY = "down", "connecting", "ready"
API_VERSIONS = ("api-versions",)
Asked = RequestMessage[m.Message]
Purpose = tuple[Any, ...]
"""What a request was for: ("produce", batches, topic names by id), ("metadata",), …"""


@dataclass(frozen=True, slots=True)
class RequestToken:
    """Which request of which connection to a broker, counted since the producer began."""

    generation: int
    request: int
    connection: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of a request: a body, or the error that the connection ended with."""

    node: int
    purpose: Purpose
    sent_us: int
    body: Answered
    error: Errors = Errors.NONE


@dataclass(slots=True)
class Connection:
    state: str = DOWN
    failures: int = 0
    retry_at: int = 0
    muted_until: int = 0
    generation: int = 0
    in_flight: dict[int, tuple[Purpose, int, int]] = field(default_factory=dict)
    """By request number: its purpose, when it was sent, and when its answer is late."""

    def takes(self, now: int, in_flight_max: int) -> bool:
        """Whether one more request may be sent."""
        is_up = self.state == READY and now >= self.muted_until
        return is_up and len(self.in_flight) < in_flight_max


class Connections:
    """All of them.  `on_response` gives the answers that one event brings, in order."""

    def __init__(self, outbox: Outbox, timeout_us: int, in_flight_max: int,
                 backoff: ExponentialBackoff, name: str = "") -> None:  # fmt: skip
        self.outbox = outbox
        self.name = name
        self.timeout_us = timeout_us
        self.in_flight_max = in_flight_max
        self.backoff = backoff
        self.nodes: dict[int, Connection] = {}
        self.sent = 0
        self.turn = 0
        self.offered: dict[int, dict[int, int]] = {}
        """By broker and API key: the latest version that the broker takes."""
        self.features: dict[str, int] = {}
        self.features_epoch = -1

    def node(self, number: int) -> Connection:
        return self.nodes.setdefault(number, Connection())

    # -- requests

    def is_ready(self, now: int, number: int) -> bool:
        """Whether a request may go there now; starts to connect if the broker is down."""
        node = self.node(number)
        if node.state == DOWN and now >= node.retry_at:
            node.state = CONNECTING
            self.outbox.trace(f"{_HERE}.is_ready", "connecting", broker=number)
            body = m.ApiVersionsRequest(
                client_software_name="kafka-inside-out", client_software_version="1"
            )
            self._send(now, number, API_VERSIONS, body, True, self.timeout_us)
        return node.takes(now, self.in_flight_max)

    def any_ready(self, now: int, numbers: tuple[int, ...]) -> int | None:
        """The ready broker with the least in flight; if none is ready, connects to the next."""
        free = [n for n in numbers if self.node(n).takes(now, self.in_flight_max)]
        if free:
            return min(free, key=lambda n: len(self.node(n).in_flight))
        if any(self.node(n).state == CONNECTING for n in numbers):
            return None
        for step in range(len(numbers)):
            number = numbers[(self.turn + step) % len(numbers)]
            if self.node(number).state == DOWN and now >= self.node(number).retry_at:
                self.turn += step + 1
                self.is_ready(now, number)
                return None
        return None

    def send(
        self,
        now: int,
        number: int,
        purpose: Purpose,
        body: Asked,
        answered: bool = True,
        timeout_us: int = 0,
        version_max: int | None = None,
    ) -> None:
        """A request to a ready broker; without `answered` nothing is expected back.  A timeout
        of 0 is request.timeout.ms."""
        timeout_us = timeout_us or self.timeout_us
        self._send(now, number, purpose, body, answered, timeout_us, version_max)

    def _send(
        self, now: int, number: int, purpose: Purpose, body: Asked, answered: bool,
        timeout_us: int, version_max: int | None = None,
    ) -> None:  # fmt: skip
        self.sent += 1
        if answered:
            self.node(number).in_flight[self.sent] = (purpose, now, now + timeout_us)
        token = RequestToken(self.node(number).generation, self.sent, self.name)
        self.outbox.send(
            number, token, body, timeout_us, connection=self.name, version_max=version_max
        )

    # -- answers

    def on_response(self, now: int, response: Response) -> list[Answer]:
        """The answers that a response brings: for a lost connection, one per request in flight."""
        node, token = self.node(response.source), response.token
        if not isinstance(token, RequestToken) or token.generation != node.generation:
            return []  # of a connection that is gone
        request = token.request
        if response.body is None:
            late_at = node.in_flight.get(request, (API_VERSIONS, now, now + 1))[2]
            return self._lose(now, response.source, now >= late_at)
        if request not in node.in_flight:
            return []  # of acks=0
        purpose, sent_us, _ = node.in_flight.pop(request)
        throttled_us = getattr(response.body, "throttle_time_ms", 0) * 1000
        node.muted_until = max(node.muted_until, now + throttled_us)
        if purpose == API_VERSIONS:
            node.state, node.failures = READY, 0
            if isinstance(response.body, m.ApiVersionsResponse):
                self._learn(response.source, response.body)
            return []
        return [Answer(response.source, purpose, sent_us, response.body)]

    def _learn(self, number: int, body: m.ApiVersionsResponse) -> None:
        self.offered[number] = {each.api_key: each.max_version for each in body.api_keys}
        if body.finalized_features_epoch > self.features_epoch:
            self.features_epoch = body.finalized_features_epoch
            self.features = {each.name: each.max_version_level for each in body.finalized_features}

    def _lose(self, now: int, number: int, late: bool) -> list[Answer]:
        """The connection is gone; `late` if that is because an answer is overdue.

        It gives an answer even if nothing was in flight, so that the client learns of the loss.
        """
        node = self.node(number)
        error = Errors.REQUEST_TIMED_OUT if late else Errors.NETWORK_EXCEPTION
        lost = [
            Answer(number, purpose, sent_us, None, error)
            for purpose, sent_us, _ in node.in_flight.values()
        ]
        node.in_flight = {}
        node.generation += 1
        node.state = DOWN
        node.retry_at = now + self.backoff.wait_us(node.failures)
        node.failures += 1
        why = "an answer is late" if late else "the broker is gone, or closed the connection"
        self.outbox.trace(f"{_HERE}._lose", "disconnected", why=why, broker=number,
                          in_flight=len(lost))  # fmt: skip
        return lost or [Answer(number, API_VERSIONS, now, None, error)]

    def is_waiting(self) -> bool:
        """Whether any answer is awaited."""
        return any(node.in_flight for node in self.nodes.values())

    def retry_at(self) -> list[int]:
        """When lost brokers may be tried again, and when muted ones take requests again."""
        lost = [node.retry_at for node in self.nodes.values() if node.state == DOWN]
        return lost + [node.muted_until for node in self.nodes.values() if node.state == READY]
