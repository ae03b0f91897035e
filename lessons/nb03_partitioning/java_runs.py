"""Kafka's own Java producer on either side: what only it can show.

One JVM for each side answers all questions (JavaClient.java).  Without Java and the jars, one row
says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.client.partitioners import murmur2, murmur2_partition
from kit import jars
from kit.both.outcomes import measured
from kit.clusters.interface import Cluster
from kit.probes.java_client import JavaProgram

SOURCE = Path(__file__).with_name("JavaClient.java")
ROUND_ROBIN = "partitioner.class=org.apache.kafka.clients.producer.RoundRobinPartitioner"
METRICS = ("record-send-rate", "request-rate", "request-size-avg", "batch-size-avg",
           "record-queue-time-avg", "request-latency-avg", "outgoing-byte-rate",
           "records-per-request-avg")  # fmt: skip
UNITS = ("records/s", "requests/s", "bytes", "bytes", "ms", "ms", "bytes/s", "records")
PARTITIONS = 6
Seen = Mapping[str, Any]


def asked(cluster: Cluster) -> Seen:
    """Java's choices of a partition, what send() does when it must wait, callbacks and metrics."""
    cluster.create_topic("orders", partitions=PARTITIONS)
    cluster.create_topic("three", partitions=3)
    cluster.create_topic("far", assignment={n: [103] for n in range(12)})
    try:
        with JavaProgram(SOURCE, cluster.bootstrap) as java:
            return {
                "where records go": _choices(java),
                "what send() does": _waits(java),
                "a silent leader, 64 KiB of memory": _full(cluster, java),
                "callbacks": _calls(java),
                "sockets": _sockets(java),
                **_metrics(java),
            }
    except jars.JarsMissing as missing:
        return {"the Java client": str(missing)}


def _choices(java: JavaProgram) -> dict[str, Any]:
    keys = [f"order-{n}" for n in range(200)]
    by_java = [int(p) for p in java.ask("partitions", "orders", "", *keys)]
    hashes = [int(h) & 0xFFFFFFFF for h in java.ask("hash", *keys)]
    circled = Counter(java.ask("partitions", "three", ROUND_ROBIN, *["a"] * 12))
    ignored = java.ask(
        "partitions", "three", "partitioner.ignore.keys=true,linger.ms=50", *keys[:12]
    )
    sticky = java.ask("partitions", "orders", "linger.ms=50", *["-"] * 20)
    vip = java.ask(
        "partitions", "orders", "partitioner.class=VipFirst", "vip-1", "vip-2", *keys[:50]
    )
    rule = [1 + murmur2_partition(key.encode(), PARTITIONS - 1) for key in keys[:50]]
    return {
        "hashes that equal murmur2 by hand": sum(
            murmur2(k.encode()) == h for k, h in zip(keys, hashes, strict=True)
        ),
        "partitions that equal murmur2 by hand": sum(
            murmur2_partition(k.encode(), PARTITIONS) == p
            for k, p in zip(keys, by_java, strict=True)
        ),
        "20 records without a key: partitions": len(set(sticky)),
        "RoundRobinPartitioner, key a 12 times": sorted(circled.values()),
        "partitioner-ignore-keys, 12 keys: partitions": len(set(ignored)),
        "own partitioner: vip, others as by hand": [
            sorted({*vip[:2]}), [int(p) for p in vip[2:]] == rule,
        ],
    }  # fmt: skip


def _waits(java: JavaProgram) -> dict[str, Any]:
    answer, send_ms, why, thread, listing, list_ms = java.ask("no metadata")
    error, flag = java.ask("interrupted")
    constructed, sent, requests = java.ask("serializers", "orders")
    return {
        "to an unknown topic": f"{answer}, which fails with {why}",
        "that took": measured(float(send_ms), "ms"),
        "its callback ran in": thread,
        "partitionsFor() without a broker": f"throws {listing}",
        "it took": measured(float(list_ms), "ms"),
        "interrupted": f"throws {error}, flag {flag}",
        "no key-serializer": constructed,
        "a key of a wrong type": f"{sent}, {requests} sent",
    }


def _full(cluster: Cluster, java: JavaProgram) -> dict[str, Any]:
    java.ask("small buffer", "far")
    cluster.pause(103)
    try:
        taken, error, after_ms, free = java.ask("full buffer", "far")
    finally:
        cluster.resume(103)
    return {
        "records taken, batch-size 16 KiB": int(taken),
        "the next one": error,
        "after": measured(float(after_ms), "ms"),
        "buffer-available-bytes then": int(free),
    }


def _calls(java: JavaProgram) -> dict[str, Any]:
    threads, count, ordered, later = java.ask("callbacks", "orders")
    slow, apart = java.ask("slow callback", "orders")
    return {
        "the thread": threads,
        "how many, of 200": int(count),
        "in the order of the offsets": ordered == "true",
        "send() returned before them": later == "true",
        "50 ms in each": measured(float(slow), "records/s"),
        "50 ms in another thread": measured(float(apart), "records/s"),
    }


def _sockets(java: JavaProgram) -> dict[str, Any]:
    plain, system = java.ask("sockets", "orders")
    return {
        "SO_RCVBUF and SO_SNDBUF, by default": plain,
        "SO_SNDBUF with -1": measured(float(system.split()[1]), "bytes"),
    }


def _metrics(java: JavaProgram) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    java.ask("metrics", "orders", "5")  # a client is slow at first
    for linger in ("0", "50"):
        found = java.ask("metrics", "orders", linger)
        seen[f"linger-ms {linger}"] = {
            metric: measured(float(value), unit)
            for metric, value, unit in zip(METRICS, found, UNITS, strict=True)
        }
    return seen
