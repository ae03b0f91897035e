"""Kafka's own Java producer on either side: what only it can show.

One JVM for each side answers all questions (JavaClient.java).  Without Java and the jars, one row
says so.  `charts` draws the producer's own metrics under several loads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import nan
from pathlib import Path
from typing import Any

from engine.client.partitioners import murmur2_partition
from kit import jars
from kit.both.outcomes import measured
from kit.clusters.interface import Cluster
from kit.drawings.chart import Chart
from kit.probes.clients import in_sync, name
from kit.probes.java_client import JavaProgram
from lessons.nb03_partitioning.measure import PATIENCE_S, producer

SOURCE = Path(__file__).with_name("JavaClient.java")
ROUND_ROBIN = "partitioner.class=org.apache.kafka.clients.producer.RoundRobinPartitioner"
RATES = ("record-send-rate", "request-rate", "outgoing-byte-rate")
SIZES = ("batch-size-avg", "request-size-avg")
TIMES = ("record-queue-time-avg", "request-latency-avg")
METRICS = (*RATES, *SIZES, *TIMES)
PARTITIONS = 6
MAX_BLOCK_MS = 400
"""As JavaClient.java sets it."""
LINGERS_MS = (0, 5, 20)
AWAY_MS = 50
TIMED = (*(f"linger {ms}" for ms in LINGERS_MS), "slow follower")
IN_SYNC = (101, 102, 103)
SPREAD = "linger 20, 12 partitions of one leader"
LOADS = ("linger 0", "linger 20", "round robin", "flat out", "flat out to 12 partitions")
STEADY = ("400", "1000", "100")
"""Records, microseconds from one to the next, bytes of each."""
FLAT_OUT = ("1000", "0", "1000")
Seen = Mapping[str, Any]
Loads = dict[str, dict[str, float]]
"""The producer's metrics by load."""


def asked(cluster: Cluster, loads: Loads) -> Seen:
    """Java's settings, its choices of a partition, what send() does when it must wait, callbacks,
    sockets, and the size of its requests.

    `loads` gets its metrics.
    """
    cluster.create_topic("orders", partitions=PARTITIONS)
    cluster.create_topic("three", partitions=3)
    cluster.create_topic("far", assignment={n: [103] for n in range(12)})
    cluster.create_topic("two", assignment={0: [101, 102]})
    cluster.create_topic("strict", assignment={0: [*IN_SYNC]}, config={"min.insync.replicas": 2})
    try:
        with JavaProgram(SOURCE, cluster.bootstrap) as java:
            count, *required = java.ask("settings")
            return {
                "where records go": _choices(java),
                f"send() and max-block-ms {MAX_BLOCK_MS}": _waits(cluster, java),
                "settings, and those without a default": [int(count), *required],
                "serializers": _serializers(java),
                "callbacks": _calls(java),
                "sockets": _sockets(java),
                "request-size-avg": _measure(cluster, java, loads),
                "a record that needs two replicas in sync": _verdicts(cluster, java),
            }
    except jars.JarsMissing as missing:
        return {"the Java client": str(missing)}


def _choices(java: JavaProgram) -> dict[str, Any]:
    keys = [f"order-{n}" for n in range(2_000)]
    by_java = java.ask("partitions", "orders", "", *keys[:200])
    vip = java.ask(
        "partitions", "orders", "partitioner.class=VipFirst", "vip-1", "vip-2", *keys[:50]
    )
    ignoring = "partitioner.ignore.keys=true,batch.size=1000,linger.ms=50"

    def counts(settings: str, used: Sequence[str]) -> list[int]:
        return sorted(Counter(java.ask("partitions", "three", settings, *used)).values())

    return {
        "of 200 keys, where murmur2 by hand says": _by_hand(keys[:200], by_java),
        "12 records with key a": counts("", ["a"] * 12),
        "the same with RoundRobinPartitioner": counts(ROUND_ROBIN, ["a"] * 12),
        "12 and 2,000 keys ignored: partitions": [
            len(counts(ignoring, keys[:12])), len(counts(ignoring, keys)),
        ],
        "own partitioner: vip, others as by hand": [
            sorted({*vip[:2]}), _by_hand(keys[:50], vip[2:], but_first=1) == 50,
        ],
    }  # fmt: skip


def _by_hand(keys: Sequence[str], partitions: Sequence[str], but_first: int = 0) -> int:
    """How many keys are where their hash puts them, behind the first so many partitions."""
    count = PARTITIONS - but_first
    return sum(
        int(partition) == but_first + murmur2_partition(key.encode(), count)
        for key, partition in zip(keys, partitions, strict=True)
    )


def _waits(cluster: Cluster, java: JavaProgram) -> dict[str, Any]:
    send_ms, unknown, free, thread, listing, list_ms = java.ask("no metadata")
    java.ask("small buffer", "far")
    cluster.pause(103)
    try:
        taken, full, full_ms, left = java.ask("full buffer", "far")
    finally:
        cluster.resume(103)
    error, flag = java.ask("interrupted")
    return {
        "unknown topic: its future fails": unknown.partition(" after ")[0],
        "its callback ran in": thread,
        "silent leader, 64 KiB: records taken": int(taken),
        "the next one: its future fails": full.partition(" within ")[0],
        "buffer-available-bytes in the two cases": [int(free), int(left)],
        "no broker: partitionsFor() throws": listing,
        "each of the three waits so long": all(
            float(ms) > 0.9 * MAX_BLOCK_MS for ms in (send_ms, full_ms, list_ms)
        ),
        "interrupted: send() throws": f"{error}, flag {flag}",
    }


def _serializers(java: JavaProgram) -> dict[str, Any]:
    key, value, sent, requests, *coded = java.ask("serializers", "orders")
    return {
        "no key-serializer, no value-serializer": [key, value],
        "a key of a wrong type: send() throws": f"{sent}, {requests} sent",
        "7 as string, int, long": coded,
    }


def _calls(java: JavaProgram) -> dict[str, Any]:
    threads = java.ask("callbacks", "orders")[0]
    slow, apart = java.ask("slow callback", "orders")
    return {
        "the thread": threads,
        "50 ms in each": measured(float(slow), "records/s"),
        "50 ms in another thread": measured(float(apart), "records/s"),
    }


def _verdicts(cluster: Cluster, java: JavaProgram) -> dict[str, Any]:
    """What a callback gets for one record: with three replicas in sync, and with one of the three.

    Two brokers stand still until they have left the ISR, so the leader refuses the record.
    """
    leader, *others = IN_SYNC
    made = producer(cluster, {"acks": "all", "retries": 0})

    def python() -> str:
        heard: list[tuple[Any, Any]] = []
        made.produce("strict", "x", on_delivery=lambda e, m: heard.append((e, m)))
        made.flush(PATIENCE_S)
        ((error, message),) = heard
        words = "None" if error is None else name(error)
        return f"{words}, offset {message.offset()}"

    def both() -> dict[str, str]:
        error, offset = java.ask("one callback", "strict")
        return {"onCompletion": f"{error}, offset {offset}", "on_delivery": python()}

    whole = both()
    for broker in others:
        cluster.pause(broker)
    try:
        cluster.wait_until(in_sync("strict", leader))
        alone = both()
    finally:
        for broker in others:
            cluster.resume(broker)
    return {f"{way}, with three; with one": f"{whole[way]}; {alone[way]}" for way in whole}


def _sockets(java: JavaProgram) -> dict[str, Any]:
    plain, system = java.ask("sockets", "orders")
    receive, send = (float(size) for size in system.split())
    return {
        "SO_RCVBUF and SO_SNDBUF, by default": plain,
        "SO_RCVBUF with -1": measured(receive, "bytes"),
        "SO_SNDBUF with -1": measured(send, "bytes"),
    }


# -- the producer's metrics


def _measure(cluster: Cluster, java: JavaProgram, loads: Loads) -> dict[str, Any]:
    """Fills `loads`; gives the average size of a request where batching and partitions grow."""

    def run(load: str, topic: str, settings: str, how: Sequence[str]) -> None:
        found = java.ask("metrics", topic, settings, *how)
        loads[load] = {
            metric: float(value) or nan for metric, value in zip(METRICS, found, strict=True)
        }

    run("linger 5", "orders", "linger.ms=5", ("200", *STEADY[1:]))  # a client is slow at first
    for linger in LINGERS_MS:
        run(f"linger {linger}", "orders", f"linger.ms={linger}", STEADY)
    run(LOADS[2], "orders", f"linger.ms=20,{ROUND_ROBIN}", STEADY)
    run(SPREAD, "far", f"linger.ms=20,{ROUND_ROBIN}", STEADY)
    run(LOADS[3], "two", "linger.ms=5", FLAT_OUT)
    run(LOADS[4], "far", "linger.ms=5", FLAT_OUT)
    if cluster.offers("slow"):
        cluster.slow(101, 102, AWAY_MS)
        try:
            settings = "linger.ms=5,acks=all,max.in.flight.requests.per.connection=1"
            run("slow follower", "two", settings, STEADY)
        finally:
            cluster.heal()
    return {
        load: measured(loads[load]["request-size-avg"], "bytes")
        for load in ("linger 0", "linger 20", SPREAD)
    }


def charts(clusters: Mapping[str, Loads]) -> list[Chart]:
    """The metrics by `linger.ms` and by load: of a real Kafka, or of the engine if it ran alone."""
    ran = {name: loads for name, loads in clusters.items() if loads}
    if not ran:
        return []
    name, loads = min(ran.items(), key=lambda side: side[0] == "engine")

    def series(
        metrics: Sequence[str], places: Mapping[int, str]
    ) -> dict[str, list[tuple[float, float]]]:
        return {
            metric: [(at, loads[load][metric]) for at, load in places.items() if load in loads]
            for metric in metrics
        }

    lingers = {linger: f"linger {linger}" for linger in LINGERS_MS}
    side = "engine" if name == "engine" else "Kafka"
    return [
        Chart(f"1,000 records of 100 bytes a second ({side})", series(RATES, lingers),
              "linger.ms", "a second", log_y=True),
        Chart(f"How long they take ({side})", series(TIMES, dict(enumerate(TIMED))),
              _numbered(TIMED), "ms", "bars"),
        Chart(f"Batches and requests ({side})", series(SIZES, dict(enumerate(LOADS))),
              _numbered(LOADS), "bytes", "bars", log_y=True),
    ]  # fmt: skip


def _numbered(loads: Sequence[str]) -> str:
    return ", ".join(f"{number} {load}" for number, load in enumerate(loads))
