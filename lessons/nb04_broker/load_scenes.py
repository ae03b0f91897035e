"""Scenarios of notebook 04 that read a broker's own timers: which stage is the slow one.

`stages` causes a wait in each stage in turn and reads the six timers before and
after.  Its table is the one to look at when a cluster is slow.  The metrics of a real broker
can be read from a local one only; elsewhere these scenarios say so.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from engine.wire.errors import Errors
from kit.both.outcomes import measured
from kit.clusters import broker_metrics
from kit.clusters.broker_metrics import STAGES, Requests
from kit.clusters.interface import Cluster
from kit.probes.raw_client import RawClient
from kit.probes.requests import fetching, first_partition, producing, records_in
from kit.tables import Table
from lessons.nb04_broker.quota_scenes import ONE_SIDE, RATE, limited, somebody
from lessons.nb04_broker.scenes import PATIENCE_S, TOPIC, placed

Seen = Mapping[str, Any]
TIMED = tuple(stage for stage in STAGES if stage != "ThrottleTimeMs")
MEGABYTE = 1_000_000
ALONE = "alone"
PRODUCE, FETCH = "Produce", "FetchConsumer"
SENDING = "ResponseSendTimeMs"
TICKS = os.sysconf("SC_CLK_TCK")


def _produce(
    cluster: Cluster,
    times: int,
    value_bytes: int = 100,
    acks: int = 1,
    name: str = "busy",
    topic: str = TOPIC,
) -> None:
    with RawClient(cluster, 101, name) as client:
        for _ in range(times):
            answer = first_partition(client.ask(producing(topic, value_bytes, acks)))
            assert answer.error_code == Errors.NONE, Errors(answer.error_code).name


@contextlib.contextmanager
def _slow_followers(cluster: Cluster) -> Iterator[None]:
    for follower in (102, 103):
        cluster.slow(101, follower, 25)
    try:
        yield
    finally:
        cluster.heal()


def stages(cluster: Cluster, seen: dict[str, dict[str, Requests]] | None = None) -> Seen:
    """Requests in six situations, and the times of their stages; one side at a time.

    The timers of each go into `seen`, by the name of the cluster, for a picture.
    """
    with ONE_SIDE:
        return _stages(cluster, seen)


def _stages(cluster: Cluster, seen: dict[str, dict[str, Requests]] | None) -> Seen:
    placed(cluster)
    alone = _placed_alone(cluster)
    _produce(cluster, 20)
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
    # One replica: in the engine, the same thread would serve the followers.
    _produce(cluster, 20, value_bytes=MEGABYTE, topic=alone)
    read("1 MB batches")
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
        "a slow reader: sending took": measured(table["a slow reader"].sums_ms[SENDING], "ms"),
    }


def _placed_alone(cluster: Cluster, topic: str = ALONE) -> str:
    """A topic of one partition that only 101 has."""
    cluster.create_topic(topic, assignment={0: [101]})
    with RawClient(cluster, 101, "first") as client:

        def is_led(_: Cluster) -> bool:
            return bool(first_partition(client.ask(producing(topic))).error_code == Errors.NONE)

        cluster.wait_until(is_led, PATIENCE_S, "its leader")
    return topic


def _read_slowly(cluster: Cluster) -> None:
    """A consumer that asks for megabytes and does not read its answer for a while."""
    with RawClient(cluster, 101, "slow") as client:
        client.shrink()
        request = fetching(ALONE, 0)
        request.max_bytes = 8 * MEGABYTE
        request.topics[0].partitions[0].partition_max_bytes = 8 * MEGABYTE
        client.send(request)
        client.socket.recv(1, socket.MSG_PEEK)  # now the answer is in flight, and stuck
        time.sleep(0.4)
        client.receive()


def _timers(cluster: Cluster) -> dict[str, Requests]:
    return broker_metrics.requests(cluster, 101, PRODUCE, FETCH)


def longest(row: Requests) -> str:
    """The stage in which a request spent most of its time."""
    return max(TIMED, key=row.mean_ms)


# -- what readers cost


def idle_readers(cluster: Cluster, readers: int = 100) -> Seen:
    """Readers at the end of a quiet log: where they wait, and what that costs."""
    placed(cluster)
    clients = [RawClient(cluster, 101, "idle") for _ in range(readers)]
    try:
        began, before = time.monotonic(), cpu_s(cluster)
        for _ in range(2):
            for client in clients:
                client.send(fetching(TOPIC, 0, max_wait_ms=500))
            answers = [client.receive() for client in clients]
        took, spent = time.monotonic() - began, cpu_s(cluster) - before
    finally:
        for client in clients:
            client.close()
    return {
        "each was answered, with nothing": all(a and not records_in(a[1]) for a in answers),
        "fetches of one reader": measured(2 / took, "a second"),
        "the broker's process was busy for": measured(100 * spent / took, "% of that time"),
    }


def pid(cluster: Cluster) -> int:
    """The process that serves broker 101."""
    provider: Any = cluster.provider  # type: ignore[attr-defined]
    return int(provider.pid() if cluster.name == "engine" else provider.pid(101))


def cpu_s(cluster: Cluster) -> float:
    """Processor time of broker 101's process so far (of all brokers, on the engine)."""
    fields = Path(f"/proc/{pid(cluster)}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def disk_read_bytes(cluster: Cluster) -> int:
    """Bytes that this process read from disk, without those from the page cache."""
    lines = Path(f"/proc/{pid(cluster)}/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["read_bytes"])


def tail_and_replay(cluster: Cluster) -> Seen:
    """Readers at the tail, then one from the beginning of a log that is on disk only."""
    placed(cluster)
    with RawClient(cluster, 101, "writer") as writer, RawClient(cluster, 101, "reader") as reader:
        for _ in range(16):
            writer.ask(producing(TOPIC, MEGABYTE // 2, acks=-1))
        at_start = disk_read_bytes(cluster)
        tail = _read_on(reader, 12)
        after_tail = disk_read_bytes(cluster)
        forget_pages(cluster)
        replayed = _read_on(reader, 0)
        after_replay = disk_read_bytes(cluster)
    return {
        "read at the tail": measured(tail / 1e6, "MB"),
        "of it from the disk": measured((after_tail - at_start) / 1e6, "MB"),
        "replayed after the pages were dropped": measured(replayed / 1e6, "MB"),
        "from the disk": measured((after_replay - after_tail) / 1e6, "MB"),
        "the tail came from memory": after_tail - at_start < MEGABYTE,
    }


def _read_on(reader: RawClient, offset: int) -> int:
    """Reads from an offset to the end of the log; returns how many bytes that was."""
    size = 0
    while True:
        answer = reader.ask(fetching(TOPIC, offset))
        if not records_in(answer):
            return size
        offset, size = offset + records_in(answer), size + _bytes(answer)


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
