"""Scenarios of notebook 04 that read a broker's own timers: which stage is the slow one.

`stages` causes a wait in one stage after the other and reads the six timers before and
after; it is the table that one would look at when a cluster is slow.  The metrics of a real
broker are read from a local one only; elsewhere these scenarios say so.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from kit.both.outcomes import measured
from kit.clusters import broker_metrics
from kit.clusters.broker_metrics import STAGES, TOTAL, Requests
from kit.clusters.interface import Cluster
from kit.lessons.nb04 import TOPIC, placed
from kit.lessons.nb04_quotas import RATE, limited, somebody
from kit.lessons.raw_client import RawClient, fetching, producing
from kit.tables import Table

Seen = Mapping[str, Any]
TIMED = tuple(stage for stage in STAGES if stage != "ThrottleTimeMs")
MEGABYTE = 1_000_000
PRODUCE, FETCH = "Produce", "FetchConsumer"
SENDING = "ResponseSendTimeMs"
TICKS = os.sysconf("SC_CLK_TCK")


def _produce(
    cluster: Cluster, times: int, value_bytes: int = 100, acks: int = 1, name: str = "busy"
) -> None:
    with RawClient(cluster, 101, name) as client:
        for _ in range(times):
            client.ask(producing(TOPIC, value_bytes, acks))


def _many_at_once(cluster: Cluster) -> None:
    """Eight clients, each with one large batch after the other."""

    def work(_: int) -> None:
        _produce(cluster, 5, MEGABYTE // 2)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


@contextlib.contextmanager
def _slow_followers(cluster: Cluster) -> Iterator[None]:
    for follower in (102, 103):
        cluster.slow(101, follower, 25)
    try:
        yield
    finally:
        cluster.heal()


def stages(cluster: Cluster, seen: dict[str, dict[str, Requests]] | None = None) -> Seen:
    """Requests in seven situations, and what became of their stages.

    The timers of each go into `seen`, by the name of the cluster: for a picture.
    """
    placed(cluster)
    _produce(cluster, 20, acks=-1)
    table: dict[str, Requests] = {}
    earlier = _timers(cluster)

    def read(name: str, kind: str = PRODUCE) -> None:
        nonlocal earlier
        later = _timers(cluster)
        table[name] = later[kind] - earlier[kind]
        earlier = later

    _produce(cluster, 50)
    read("acks=1")
    _produce(cluster, 20, acks=-1)
    read("acks=all")
    with _slow_followers(cluster):
        _produce(cluster, 6, acks=-1)
    read("followers 25 ms away")
    _produce(cluster, 10, value_bytes=MEGABYTE)
    read("1 MB batches")
    _many_at_once(cluster)
    read("a crowd")
    name = somebody()
    with limited(cluster, {"client-id": name}, producer_byte_rate=RATE):
        _produce(cluster, 1, value_bytes=11 * RATE, name=name)
    read("over its quota")
    _read_slowly(cluster)
    read("a slow reader", FETCH)
    if seen is not None:
        seen[cluster.name] = table
    return {
        "acks=1: waited for others": table["acks=1"].mean_ms("RemoteTimeMs") > 1,
        "followers 25 ms away: the longest stage": longest(table["followers 25 ms away"]),
        "over its quota: throttled": table["over its quota"].mean_ms("ThrottleTimeMs") > 100,
        "large batches: local time, compared with small ones": measured(
            _local(table, "1 MB batches") / max(_local(table, "acks=1"), 1e-3), "times"
        ),
        "a slow reader: sending took long": table["a slow reader"].sums_ms[SENDING] > 150,
        "99 % of all Produce requests took less than": measured(
            earlier[PRODUCE].p99_ms[TOTAL], "ms"
        ),
        "the handlers": handlers(cluster),
    }


def _read_slowly(cluster: Cluster) -> None:
    """A consumer that asks for megabytes and does not read its answer for a while."""
    with RawClient(cluster, 101, "slow") as client:
        client.shrink()
        request = fetching(TOPIC, 0)
        request.max_bytes = 8 * MEGABYTE
        request.topics[0].partitions[0].partition_max_bytes = 8 * MEGABYTE
        client.send(request)
        time.sleep(0.3)
        client.receive()


def _timers(cluster: Cluster) -> dict[str, Requests]:
    return broker_metrics.requests(cluster, 101, PRODUCE, FETCH)


def _local(table: Mapping[str, Requests], name: str) -> float:
    return table[name].mean_ms("LocalTimeMs")


def longest(row: Requests) -> str:
    """The stage in which a request spent most of its time."""
    return max(TIMED, key=row.mean_ms)


def handlers(cluster: Cluster, for_s: float = 0.4) -> Seen:
    """How much of its time a broker does nothing for clients: at rest, and under load."""
    placed(cluster)
    at_rest = _idle_share(cluster, lambda: time.sleep(for_s))
    loaded = _idle_share(cluster, lambda: _many_at_once(cluster))
    return {
        "idle at rest": measured(100 * at_rest, "%"),
        "idle under load": measured(100 * loaded, "%"),
    }


def _idle_share(cluster: Cluster, work: Callable[[], None]) -> float:
    """Of the time that `work` takes, what the handlers had nothing to do."""
    before = broker_metrics.idle_s(cluster, 101)
    work()
    after = broker_metrics.idle_s(cluster, 101)
    return min(1.0, (after[1] - before[1]) / (after[0] - before[0]))


# -- what readers cost


def idle_readers(cluster: Cluster) -> Seen:
    """Readers at the end of a quiet log: fetches a second, and the broker's own time."""
    placed(cluster)
    seen: dict[str, Any] = {}
    for readers in (1, 10, 100):
        clients = [RawClient(cluster, 101, "idle") for _ in range(readers)]
        try:
            fetches, cpu_s = _poll_for(cluster, clients, rounds=2)
        finally:
            for client in clients:
                client.close()
        seen[f"{readers}: fetches per reader in two polls"] = fetches / readers
        seen[f"{readers}: process time of a poll"] = measured(1e6 * cpu_s / fetches, "us")
    return seen


def _poll_for(cluster: Cluster, clients: list[RawClient], rounds: int) -> tuple[int, float]:
    """So many long polls of 100 ms by each client: how many, and the processor's time."""
    before, fetches = cpu_s(cluster), 0
    for _ in range(rounds):
        for client in clients:
            client.send(fetching(TOPIC, 0, max_wait_ms=100))
        fetches += sum(client.receive() is not None for client in clients)
    return fetches, cpu_s(cluster) - before


def pid(cluster: Cluster) -> int:
    """The process that serves broker 101."""
    provider: Any = cluster.provider  # type: ignore[attr-defined]
    return int(provider.pid() if cluster.name == "engine" else provider.pid(101))


def cpu_s(cluster: Cluster) -> float:
    """Processor time of broker 101's process so far (of all brokers, on the engine)."""
    fields = Path(f"/proc/{pid(cluster)}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def disk_read_bytes(cluster: Cluster) -> int:
    """What that process made the disk deliver, not counting what the page cache had."""
    lines = Path(f"/proc/{pid(cluster)}/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["read_bytes"])


def tail_and_replay(cluster: Cluster) -> Seen:
    """Readers at the tail, then one from the beginning of a log that is on disk only."""
    placed(cluster)
    with RawClient(cluster, 101, "writer") as writer, RawClient(cluster, 101, "reader") as reader:
        for _ in range(16):
            writer.ask(producing(TOPIC, MEGABYTE // 2, acks=-1))
        at_start = disk_read_bytes(cluster)
        tail = sum(_bytes(reader.ask(fetching(TOPIC, offset))) for offset in range(12, 16))
        after_tail = disk_read_bytes(cluster)
        forget_pages(cluster)
        began = time.monotonic()
        replayed = sum(_bytes(reader.ask(fetching(TOPIC, offset))) for offset in range(8))
        took = time.monotonic() - began
        after_replay = disk_read_bytes(cluster)
    return {
        "read at the tail": measured(tail / 1e6, "MB"),
        "of it from the disk": measured((after_tail - at_start) / 1e6, "MB"),
        "replayed after the pages were dropped": measured(replayed / 1e6, "MB"),
        "from the disk": measured((after_replay - after_tail) / 1e6, "MB"),
        "the replay took": measured(took * 1000, "ms"),
        "the tail came from memory": after_tail - at_start < MEGABYTE,
    }


def what_readers_cost(cluster: Cluster) -> Seen:
    """Readers with nothing to read, at the tail, and from the beginning."""
    return {"idle readers": idle_readers(cluster), "tail and replay": tail_and_replay(cluster)}


def _bytes(answer: Any) -> int:
    return sum(len(part.records or b"") for topic in answer.responses for part in topic.partitions)


def forget_pages(cluster: Cluster) -> None:
    """Flushes the log's files and asks the system to drop them from its page cache."""
    data = cluster.provider.nodes()[101].data_dir  # type: ignore[attr-defined]
    for file in Path(data).glob(f"{TOPIC}-0/*.log"):
        handle = os.open(file, os.O_RDONLY)
        try:
            os.fsync(handle)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(handle)


# -- a real broker's threads

KINDS = {
    "kafka-socket-acceptor-CLIENT-PLAINTEXT": "accepts connections of the clients' port",
    "kafka-network-thread-CLIENT-PLAINTEXT": "reads requests, writes answers: num.network.threads",
    "kafka-socket-acceptor-REPLICATION-PLAINTEXT": "accepts connections of the brokers' port",
    "kafka-network-thread-REPLICATION-PLAINTEXT": "the same for the brokers' port",
    "kafka-request-handler": "handles requests, an I/O thread: num.io.threads",
    "ExpirationReaper-Produce": "ends waits in the purgatory of Produce",
    "ExpirationReaper-Fetch": "ends waits in the purgatory of Fetch",
}


def threads(cluster: Cluster) -> Table:
    """The threads of broker 101 that a request meets; of a local Kafka only."""
    found = broker_metrics.thread_names(cluster, 101)
    rows = [(str(found.get(kind, 0)), kind, does) for kind, does in KINDS.items()]
    gauges = broker_metrics.gauges(cluster, 101)
    closing = (
        f"Network threads idle now: {100 * (gauges.network_idle or 0):.0f} %, "
        f"handlers in the last minute: {100 * (gauges.handlers_idle or 0):.0f} %."
    )
    return Table(
        "A request's way through a real broker", ("threads", "kind", "what"), rows, closing
    )
