"""A node's own timers and gauges, in one shape for the engine and for local Kafka.

    stages = broker_metrics.requests(cluster, 101, "Produce", "FetchConsumer")
    stages["Produce"].count, stages["Produce"].mean_ms("RemoteTimeMs")

For each kind of request Kafka keeps six stage timers since the broker started, each with
count and mean.  The difference of two readings gives the exact mean of the time between:

    before = …; work(); after = …; after["Produce"] - before["Produce"]

A controller counts what it knows of the cluster:

    broker_metrics.controllers(cluster, 100, 200)[100]["ActiveControllerCount"]

A remote or composed cluster does not show its metrics; it raises NotOffered.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from engine.broker.request_metrics import STAGES, TOTAL
from kit.clusters import java_management
from kit.clusters.engine import EngineProvider
from kit.clusters.interface import Cluster, NotOffered
from kit.clusters.java_processes import JavaProcesses
from kit.clusters.kafka_cluster import KafkaCluster

__all__ = [
    "EVENT_QUEUE", "STAGES", "TOTAL", "Gauges", "Requests", "controllers", "event_queue",
    "gauges", "requests", "thread_names",
]  # fmt: skip

_REQUESTS = "kafka.network:type=RequestMetrics,name=*,request={}"
# PurgatorySize counts what is done and not yet purged, too.
_DELAYED = (
    "kafka.server:type=DelayedOperationPurgatory,name=NumDelayedOperations,delayedOperation={}"
)
_QUEUE = "kafka.network:type=RequestChannel,name=RequestQueueSize"
_HANDLERS = "kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent"
_NETWORK = "kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent"
_CONTROLLER = "kafka.controller:type=KafkaController,name="
_THREADS = "java.lang:type=Threading"
EVENT_QUEUE = "EventQueueTimeMs"
_EVENT_QUEUE = f"kafka.controller:type=ControllerEventManager,name={EVENT_QUEUE}"


@dataclass(frozen=True)
class Requests:
    """All requests of one kind at one node: how many, and the sums of their stages."""

    count: int
    sums_ms: dict[str, float]

    def __sub__(self, earlier: Requests) -> Requests:
        sums = {name: total - earlier.sums_ms[name] for name, total in self.sums_ms.items()}
        return Requests(self.count - earlier.count, sums)

    def mean_ms(self, stage: str) -> float:
        # The difference of two large sums may be slightly off zero.
        return max(0.0, round(self.sums_ms[stage] / self.count, 4)) if self.count else 0.0


@dataclass(frozen=True)
class Gauges:
    """What waits at a broker now; idle shares (0 to 1) are None where they are not measured."""

    delayed_produce: int
    delayed_fetch: int
    request_queue: int
    handlers_idle: float | None = None
    network_idle: float | None = None


def requests(cluster: Cluster, broker: int, *kinds: str) -> dict[str, Requests]:
    """The timers of Kafka's kinds of requests: Produce, FetchConsumer, FetchFollower, …"""
    provider = _provider(cluster)
    if isinstance(provider, EngineProvider):
        reported = {kind: provider.request_metrics(broker, kind) for kind in kinds}
        return {kind: Requests(each["count"], each["sums_ms"]) for kind, each in reported.items()}
    patterns = [_REQUESTS.format(kind) for kind in kinds]
    beans = java_management.beans(provider.pid(broker), patterns, ("Count", "Mean"))
    return {kind: _from_beans(kind, beans) for kind in kinds}


def _from_beans(kind: str, beans: java_management.Beans) -> Requests:
    timers = {
        stage: beans.get(f"kafka.network:type=RequestMetrics,name={stage},request={kind}", {})
        for stage in (*STAGES, TOTAL)
    }
    sums = {name: each.get("Count", 0) * each.get("Mean", 0) for name, each in timers.items()}
    count = int(timers[TOTAL].get("Count", 0))
    del sums[TOTAL]
    return Requests(count, sums)


def gauges(cluster: Cluster, broker: int) -> Gauges:
    """What is delayed, what is queued, and how idle the threads are."""
    provider = _provider(cluster)
    if isinstance(provider, EngineProvider):
        reported = provider.gauges(broker)
        return Gauges(
            reported["delayed produce"], reported["delayed fetch"], reported["unread requests"]
        )
    kinds = [_DELAYED.format(kind) for kind in ("Produce", "Fetch")]
    wanted = [*kinds, _QUEUE, _HANDLERS, _NETWORK]
    beans = java_management.beans(provider.pid(broker), wanted)
    produce, fetch, queue = (int(beans[name]["Value"]) for name in wanted[:3])
    # A ratio over the broker's whole life says little, so operators watch the last minute's.
    handlers = min(1.0, beans[_HANDLERS].get("OneMinuteRate", 0.0))
    return Gauges(produce, fetch, queue, handlers, beans[_NETWORK].get("Value"))


def controllers(cluster: Cluster, *nodes: int) -> dict[int, dict[str, int]]:
    """By node, the counts of a controller by Kafka's names; none of a node that is a broker."""
    provider = _provider(cluster)
    with ThreadPoolExecutor(len(nodes)) as readers:  # of Java nodes, each reading starts a JVM
        return dict(zip(nodes, readers.map(partial(_counts, provider), nodes), strict=True))


def _counts(provider: EngineProvider | JavaProcesses, node: int) -> dict[str, int]:
    if isinstance(provider, EngineProvider):
        is_controller = provider.nodes()[node].is_controller
        return provider.controller_metrics(node) if is_controller else {}
    # JmxTool refuses to find nothing, so it is also asked for what each JVM has.
    wanted = [f"{_CONTROLLER}*", _THREADS]
    beans = java_management.beans(provider.pid(node), wanted, ("Value", "ThreadCount"))
    return {
        bean.removeprefix(_CONTROLLER): int(each["Value"])
        for bean, each in beans.items()
        if bean.startswith(_CONTROLLER) and ",broker=" not in bean
    }


def event_queue(cluster: Cluster, controller: int) -> Requests:
    """The events that a Java controller has handled, and their time in its queue (EVENT_QUEUE)."""
    provider = _provider(cluster)
    if isinstance(provider, EngineProvider):
        raise NotOffered("The engine's controller has no queue: an event is a step.")
    bean = java_management.beans(provider.pid(controller), [_EVENT_QUEUE], ("Count", "Mean"))
    timer = bean.get(_EVENT_QUEUE, {})
    count = int(timer.get("Count", 0))
    return Requests(count, {EVENT_QUEUE: count * timer.get("Mean", 0.0)})


def thread_names(cluster: Cluster, broker: int) -> dict[str, int]:
    """A Java broker's threads by kind, numbers and ids left out of their names."""
    provider = _provider(cluster)
    if isinstance(provider, EngineProvider):
        raise NotOffered("The engine is one thread: there is nothing to list.")
    kinds: dict[str, int] = {}
    for name in java_management.threads(provider.pid(broker)):
        kind = re.sub(r"-\d+", "", name.removeprefix("data-plane-"))
        kinds[kind] = kinds.get(kind, 0) + 1
    return kinds


def _provider(cluster: Cluster) -> EngineProvider | JavaProcesses:
    provider = cluster.provider if isinstance(cluster, KafkaCluster) else None
    if isinstance(provider, EngineProvider | JavaProcesses):
        return provider
    raise NotOffered(
        f"The {cluster.name} cluster does not show its metrics here: "
        "lab.engine() and lab.local() do."
    )
