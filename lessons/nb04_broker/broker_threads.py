"""The threads of a real broker: which there are, and how idle they are under a load.

    threads(real)                                   a table of the kinds
    idle_shares(real, seconds=3)                    how idle each kind was in that time
    total_times(real)                               how many requests, and how long they took

Both kinds of thread count the nanoseconds in which they had nothing to do.  The difference
of two readings, divided by the time between them, is the exact share of that time; the
well-known gauges are means over half a minute and more.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kit.clusters import broker_metrics, java_management
from kit.clusters.interface import Cluster
from kit.probes.raw_client import RawClient, addresses
from kit.probes.requests import one_batch, producing
from kit.tables import Table

KINDS = {
    "kafka-socket-acceptor-CLIENT-PLAINTEXT": "accepts connections of the clients' port",
    "kafka-network-thread-CLIENT-PLAINTEXT": "reads requests, writes answers: num.network.threads",
    "kafka-socket-acceptor-REPLICATION-PLAINTEXT": "accepts connections of the brokers' port",
    "kafka-network-thread-REPLICATION-PLAINTEXT": "the same for the brokers' port",
    "kafka-request-handler": "handles requests, an I/O thread: num.io.threads",
    "ExpirationReaper-Produce": "ends waits in the purgatory of Produce",
    "ExpirationReaper-Fetch": "ends waits in the purgatory of Fetch",
}
HANDLERS = "kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent"
NETWORK = "kafka.server:type=socket-server-metrics,listener=CLIENT,networkProcessor=*"
COUNT, WAITED = "Count", "io-wait-time-ns-total"
REQUESTS = "kafka.network:type=RequestMetrics"
TIMED = ("Produce", "FetchConsumer", "FetchFollower")
MEAN, HIGH, A_SECOND = "Mean", "99thPercentile", "OneMinuteRate"


def threads(cluster: Cluster) -> Table:
    """The threads of a broker that a request meets; of a local Kafka only."""
    found = broker_metrics.thread_names(cluster, cluster.brokers[0])
    rows = [(str(found.get(kind, 0)), kind, does) for kind, does in KINDS.items()]
    return Table("The threads that a request meets", ("threads", "kind", "what"), rows)


def idle_shares(cluster: Cluster, seconds: float) -> dict[str, float]:
    """Percent of the next `seconds` in which broker 101's threads were idle.

    `handlers` is the mean of the pool.  A connection belongs to one network thread, so these
    are named one by one: `network thread 0`, …
    """
    before, began = _idle_ns(cluster), time.monotonic()
    time.sleep(seconds)
    after, ended = _idle_ns(cluster), time.monotonic()
    took_ns = (ended - began) * 1e9
    return {name: min(100.0, 100 * (after[name] - before[name]) / took_ns) for name in after}


def _idle_ns(cluster: Cluster) -> dict[str, float]:
    provider: Any = cluster.provider  # type: ignore[attr-defined]
    beans = java_management.beans(provider.pid(101), [HANDLERS, NETWORK], (COUNT, WAITED))
    found = {"handlers": beans[HANDLERS][COUNT]}
    for name in sorted(beans):
        processor = re.search(r"networkProcessor=(\d+)", name)
        if processor:
            found[f"network thread {processor[1]}"] = beans[name][WAITED]
    return found


def total_times(cluster: Cluster) -> Table:
    """How many requests broker 101 has had in the last minute, and how long they took."""
    provider: Any = cluster.provider  # type: ignore[attr-defined]
    patterns = [
        f"{REQUESTS},name={name},request={kind}{more}"
        for kind in TIMED
        for name, more in (("TotalTimeMs", ""), ("RequestsPerSec", ",*"))
    ]
    beans = java_management.beans(provider.pid(101), patterns, (MEAN, HIGH, A_SECOND))
    rows = [(kind, *_times(kind, beans)) for kind in TIMED]
    columns = ("request", "RequestsPerSec, one minute", "TotalTimeMs, mean", "99th percentile")
    return Table("Requests at broker 101", columns, rows)


def _times(kind: str, beans: java_management.Beans) -> tuple[str, ...]:
    """Each version of a request has a rate of its own; the times are those of all."""
    rates = [
        each.get(A_SECOND, 0.0)
        for bean, each in beans.items()
        if "name=RequestsPerSec" in bean and f"request={kind}," in f"{bean},"
    ]
    total = beans.get(f"{REQUESTS},name=TotalTimeMs,request={kind}", {})
    times = (f"{total.get(name, 0.0):.1f} ms" for name in (MEAN, HIGH))
    return f"{sum(rates):.1f}", *times


def idle_table(shares: Mapping[str, Mapping[str, float]]) -> Table:
    """What `idle_shares` gave under some loads; empty where no broker has threads."""
    kinds = list(next(iter(shares.values()), {}))
    rows = [(load, *(f"{found[kind]:.0f} %" for kind in kinds)) for load, found in shares.items()]
    closing = "" if rows else "Threads need a local Kafka."
    return Table("Share of the time without work", ("load", *kinds), rows, closing)


def zeros() -> bytes:
    """10 MB in a gzip batch of some kilobytes: a broker decompresses all of it to check it."""
    return one_batch(*[bytes(200_000)] * 50, compression=1)


@contextmanager
def flood(
    cluster: Cluster, topic: str, value_bytes: int = 10, connections: int = 6, records: bytes = b""
) -> Iterator[None]:
    """Inside the block some connections write to 101 without a pause.

    Each request has one record of `value_bytes` bytes, or the batch `records`.
    """
    end, address = threading.Event(), addresses(cluster)[101]

    def write() -> None:
        with RawClient.at(address, "flood") as client:
            body = producing(topic, value_bytes, records=records)
            while not end.is_set():
                client.ask(body)

    pool = [threading.Thread(target=write, daemon=True) for _ in range(connections)]
    for each in pool:
        each.start()
    try:
        yield
    finally:
        end.set()
        for each in pool:
            each.join()
