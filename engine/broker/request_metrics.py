"""Request metrics: where the time of each request went, stage by stage.

In Kafka, network threads read the sockets, a queue leads to the I/O threads that handle
requests, and another queue leads back.  Six timers show which stage is slow
(kafka.network:RequestMetrics).  This engine has one thread, an event loop, in which these
moments separate the same six stages:

    Kafka                 here
    RequestQueueTimeMs    frame complete and decoded ... its step begins
    LocalTimeMs           the broker's step: validate, append to the log, or read it
    RemoteTimeMs          step over ... answer made (purgatory; 0 if made in the step)
    ResponseQueueTimeMs   answer made ... its bytes are being written
    ResponseSendTimeMs    encoding, and handing the bytes to the operating system
    ThrottleTimeMs        how long the client is muted afterwards

Only a driver with a clock measures: `engine.server.server`.  A connection has one request under
way at a time, so its name finds the request again.

A response counts as sent when the operating system has all of it.  This stage also reads a
Fetch answer's records from their file, as Kafka's sendfile does.

Simplified: there are counts and sums, no percentiles; followers' fetches arrive without a
socket, so only their local time is measured.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field

from engine.events import AnyRequest, Event, Reply, Request
from engine.plain import Plain
from engine.wire.framing import API_NAMES

LOCAL, MUTED, SENDING = "LocalTimeMs", "ThrottleTimeMs", "ResponseSendTimeMs"
TOTAL = "TotalTimeMs"
STAGES = (
    "RequestQueueTimeMs",
    LOCAL,
    "RemoteTimeMs",
    MUTED,
    "ResponseQueueTimeMs",
    SENDING,
)
KEPT_TIMELINES = 200
_READ, _BEGUN, _DONE, _ANSWERED, _WRITING, _WRITTEN = range(6)


@dataclass(slots=True)
class Timeline:
    """One request's moments in nanoseconds of the driver's clock: read, begun, done,
    answered, writing, written."""

    api: str
    client_id: str
    correlation_id: int
    request_bytes: int
    moments: list[int]
    throttle_ms: int = 0
    response_bytes: int = 0

    def stages_ms(self) -> dict[str, float]:
        """The six stages."""
        at = self.moments
        # An answer that was made within the step did not wait.
        local_end = min(at[_DONE], at[_ANSWERED])
        return dict(
            zip(
                STAGES,
                (
                    (at[_BEGUN] - at[_READ]) / 1e6,
                    (local_end - at[_BEGUN]) / 1e6,
                    (at[_ANSWERED] - local_end) / 1e6,
                    float(self.throttle_ms),
                    (at[_WRITING] - at[_ANSWERED]) / 1e6,
                    (at[_WRITTEN] - at[_WRITING]) / 1e6,
                ),
                strict=True,
            )
        )

    def as_data(self) -> Plain:
        """Plain data for the control socket; moments in microseconds since the first."""
        return {
            "api": self.api,
            "client_id": self.client_id,
            "correlation_id": self.correlation_id,
            "request_bytes": self.request_bytes,
            "response_bytes": self.response_bytes,
            "moments_us": [(each - self.moments[0]) / 1e3 for each in self.moments],
            "stages_ms": self.stages_ms(),
        }


@dataclass(slots=True)
class ApiTimes:
    """All requests of one API at one broker."""

    count: int = 0
    sums_ms: dict[str, float] = field(default_factory=lambda: dict.fromkeys(STAGES, 0.0))

    def add(self, stages: dict[str, float]) -> None:
        self.count += 1
        for name, value in stages.items():
            self.sums_ms[name] += value

    def as_data(self) -> Plain:
        """The number of requests, and the sum of each stage."""
        return {"count": self.count, "sums_ms": dict(self.sums_ms)}


class RequestMetrics:
    """What the server measures; `Cluster.meter` tells it when steps begin and end."""

    def __init__(self) -> None:
        self.under_way: dict[str, Timeline] = {}
        self.apis: dict[tuple[int, str], ApiTimes] = {}
        self.timelines: dict[int, deque[Timeline]] = {}
        self.step_began_ns = 0
        self.spent_us: dict[int, int] = {}

    def read(self, connection: str, request: AnyRequest, correlation_id: int) -> None:
        """A request has been read from its socket."""
        name = api_name(request)
        now = time.perf_counter_ns()
        self.under_way[connection] = Timeline(
            name, request.client_id, correlation_id, request.size, [now] * 6
        )

    def begins(self, node: int | str, event: Event) -> None:
        """A step of a node begins."""
        if isinstance(event, Request):
            self.step_began_ns = time.perf_counter_ns()
            timeline = self.under_way.get(event.source)  # type: ignore[arg-type]
            if timeline is not None:
                timeline.moments[_BEGUN] = self.step_began_ns

    def ends(self, node: int | str, event: Event) -> None:
        """The same step is over."""
        if not isinstance(event, Request):
            return
        now = time.perf_counter_ns()
        timeline = self.under_way.get(event.source)  # type: ignore[arg-type]
        if timeline is not None:
            timeline.moments[_DONE] = now
        elif isinstance(node, int):
            times = self.apis.setdefault((node, api_name(event)), ApiTimes())
            times.add(dict.fromkeys(STAGES, 0.0) | {LOCAL: (now - self.step_began_ns) / 1e6})

    def answered(self, reply: Reply) -> None:
        """A step has made the answer."""
        timeline = self.under_way.get(reply.destination)  # type: ignore[arg-type]
        if timeline is not None:
            timeline.moments[_ANSWERED] = time.perf_counter_ns()
            timeline.throttle_ms = reply.mute_ms

    def writing(self, connection: str) -> None:
        timeline = self.under_way.get(connection)
        if timeline is not None:
            timeline.moments[_WRITING] = time.perf_counter_ns()

    def written(
        self, node: int, connection: str, response_bytes: int, was_slow: bool = False
    ) -> int:
        """The operating system has the answer; returns the request's thread time in µs.

        Waiting for a client that is slow to read costs no thread time.
        """
        timeline = self.under_way.pop(connection, None)
        if timeline is None:
            return 0
        timeline.moments[_WRITTEN] = time.perf_counter_ns()
        timeline.response_bytes = response_bytes
        stages = timeline.stages_ms()
        self.apis.setdefault((node, timeline.api), ApiTimes()).add(stages)
        self.timelines.setdefault(node, deque(maxlen=KEPT_TIMELINES)).append(timeline)
        spent_us = int((stages[LOCAL] + (0 if was_slow else stages[SENDING])) * 1000)
        self.spent_us[node] = self.spent_us.get(node, 0) + spent_us
        return spent_us

    def lost(self, connection: str) -> None:
        """The client is gone; its request is not counted."""
        self.under_way.pop(connection, None)

    # -- looking

    def of(self, node: int, api: str) -> Plain:
        return self.apis.get((node, api), ApiTimes()).as_data()

    def last(self, node: int, client_id: str | None = None, api: str = "") -> list[Plain]:
        """The last timelines, oldest first, of one client id or API or of all."""
        return [
            each.as_data()
            for each in self.timelines.get(node, ())
            if client_id in (None, each.client_id) and api in ("", each.api)
        ]


def api_name(request: AnyRequest) -> str:
    """Kafka's name for the kind of request; Fetch has one for consumers, one for followers."""
    name = API_NAMES[request.body.API_KEY]
    if name != "Fetch":
        return name
    return "FetchFollower" if isinstance(request.source, int) else "FetchConsumer"
