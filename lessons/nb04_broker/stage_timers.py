"""Reads a broker's six stage timers before and after a step, and keeps the difference.

    timers = StageTimers(cluster, 101)
    ...requests...
    timers.read("followers far away", "Produce")
    timers.seen["followers far away"].mean_ms("RemoteTimeMs")

A broker's timers count since it started.  So the time of some requests is the difference of
two readings (kit/clusters/broker_metrics.py).
"""

from __future__ import annotations

import threading
from typing import Any

from kit.clusters import broker_metrics
from kit.clusters.broker_metrics import STAGES, Requests
from kit.clusters.interface import Cluster
from kit.probes.requests import fetching

TIMED = tuple(stage for stage in STAGES if stage != "ThrottleTimeMs")
KINDS = ("Produce", "FetchConsumer")
ONE_SIDE = threading.Lock()
"""The two sides are timed one after the other, because they share a machine."""


class StageTimers:
    """`seen` has the requests of each step by its name."""

    def __init__(self, cluster: Cluster, broker: int) -> None:
        self.cluster, self.broker = cluster, broker
        self.seen: dict[str, Requests] = {}
        self._earlier = self._now()

    def read(self, step: str, kind: str = "Produce") -> Requests:
        """The requests of one kind since the last reading."""
        later = self._now()
        self.seen[step] = later[kind] - self._earlier[kind]
        self._earlier = later
        return self.seen[step]

    def _now(self) -> dict[str, Requests]:
        return broker_metrics.requests(self.cluster, self.broker, *KINDS)


def longest(requests: Requests) -> str:
    """The stage in which these requests spent most of their time."""
    return max(TIMED, key=requests.mean_ms)


def large_fetch(topic: str, size: int) -> Any:
    """A consumer's Fetch that may bring up to `size` bytes."""
    request = fetching(topic, 0)
    request.max_bytes = request.topics[0].partitions[0].partition_max_bytes = size
    return request
