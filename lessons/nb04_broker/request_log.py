"""The request log of a real broker: one line for each request, with its client and its stages.

    with request_log.switched_on(real, 101, "till-4") as log:
        client.ask(producing("orders"))
        line = log.next()
        line.text, line.stages_ms["localTimeMs"]

The logger kafka.request.logger is silent by default.  Its level can be changed while the broker
runs (KIP-412).  A line is written when the whole answer is in the socket, so it may come a moment
after the answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.clusters import broker_log
from kit.clusters.broker_log import LogLines
from kit.clusters.interface import Cluster, ClusterError
from kit.probes.raw_client import RawClient
from kit.tables import Table

LOGGER, BROKER_LOGGER = "kafka.request.logger", 8
SET, DELETE = 0, 1
PATIENCE_S = 10.0
SHOWN = 340
"""Letters of a line that are shown: the header of the request, and the request."""
STAGES = {
    "requestQueueTimeMs": ("request queue", "waits for a request handler"),
    "localTimeMs": ("local", "a request handler works"),
    "remoteTimeMs": ("remote", "waits in purgatory"),
    "responseQueueTimeMs": ("response queue", "waits for its network thread"),
    "sendTimeMs": ("response send", "a network thread writes"),
}
"""The stages in their order: their names here, and what happens in them."""


@dataclass(frozen=True)
class Logged:
    """One line of the request log."""

    source: str
    text: str
    fields: Mapping[str, Any]

    @property
    def stages_ms(self) -> dict[str, float]:
        """The stages by Kafka's name, in milliseconds."""
        return {name: float(self.fields[name]) for name in STAGES}

    @property
    def longest(self) -> str:
        """The stage that took most of the time, by its name here."""
        stages_ms = self.stages_ms
        return STAGES[max(stages_ms, key=lambda name: stages_ms[name])][0]

    @property
    def beginning(self) -> str:
        """Where the line comes from, and the line, cut behind the request."""
        return f"# {self.source}\n{self.text[:SHOWN]} …\n"


@dataclass
class RequestLog:
    """The lines about one client at one broker; those from before it was made do not count."""

    cluster: Cluster
    broker: int
    client_id: str
    seen: int = field(init=False)

    def __post_init__(self) -> None:
        self.seen = len(self._found().lines)

    def next(self) -> Logged:
        """The line after the last one; WaitTimeout if it does not come."""

        def is_there(_: Cluster) -> bool:
            return len(self._found().lines) > self.seen

        self.cluster.wait_until(is_there, PATIENCE_S, "the line in the request log")
        found = self._found()
        text = found.lines[self.seen]
        self.seen += 1
        return Logged(found.source, text, parsed(text))

    def _found(self) -> LogLines:
        words = f"Completed {self.client_id}"
        return broker_log.find(self.cluster, self.broker, words, last=1_000_000)


def parsed(text: str) -> dict[str, Any]:
    """The JSON in a line of the request log."""
    found: dict[str, Any] = json.JSONDecoder().raw_decode(text, text.index("{"))[0]
    return found


@contextmanager
def switched_on(cluster: Cluster, broker: int, client_id: str) -> Iterator[RequestLog]:
    """Inside the block the broker logs its requests; the log shows those of one client."""
    _set_level(cluster, broker, SET, "DEBUG")
    try:
        yield RequestLog(cluster, broker, client_id)
    finally:
        _set_level(cluster, broker, DELETE, None)


def _set_level(cluster: Cluster, broker: int, operation: int, level: str | None) -> None:
    request = m.IncrementalAlterConfigsRequest
    entry = request.AlterableConfig(name=LOGGER, config_operation=operation, value=level)
    resource = request.AlterConfigsResource(
        resource_type=BROKER_LOGGER, resource_name=str(broker), configs=[entry]
    )
    with RawClient(cluster, broker, "admin") as client:
        answer = client.ask(request(resources=[resource], validate_only=False), 1)
    if code := answer.responses[0].error_code:
        raise ClusterError(
            f"Broker {broker} does not change the level of {LOGGER} ({Errors(code).name}): only "
            "a real broker has loggers."
        )


def stages(lines: Mapping[str, Logged], closing: str = "") -> Table:
    """The stages of some requests, side by side; a column for each."""
    rows = [
        (name, happens, *(f"{line.stages_ms[stage]:.2f} ms" for line in lines.values()))
        for stage, (name, happens) in STAGES.items()
    ]
    rows.append(("longest", "", *(line.longest for line in lines.values())))
    return Table("A request, stage by stage", ("stage", "what happens", *lines), rows, closing)
