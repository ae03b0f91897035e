"""Kafka's own Java consumer on either side: what only it can show.

One JVM for each side answers a table's questions (JavaConsumer.java).  Without Java and the jars,
one row says so.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer

from engine.coordinators.offsets import OffsetRecord
from kit import jars
from kit.both.outcomes import measured
from kit.clusters.interface import Cluster
from kit.probes import clients, group_log
from kit.probes.java_client import JavaProgram
from lessons.nb10_offsets.reading import PATIENCE_S, TOPIC, numbered, write

SOURCE = Path(__file__).with_name("JavaConsumer.java")
ALL = [101, 102, 103]
REPLICAS = {0: ALL}
WAITING = 1_200
LARGE, LARGE_BYTES = "large", 200_000
SHARED, THREADS = "shared", "java-threads"
JOINS, COMMITS, POLLS_MS = "java-joins", "java-commits", 14_000
LIMIT_MS = "1500"
CLOCK_MS = 5
"""The client's clock counts whole milliseconds."""
BY_DURATION = "by_duration:PT1H"
LEAVES_WITHIN_S = 10.0
"""Less than session.timeout.ms: a member that is gone by then has left by itself."""
Seen = Mapping[str, Any]


def calls(cluster: Cluster) -> Seen:
    """Polls, threads and records of the Java client."""
    cluster.create_topic(TOPIC, assignment=REPLICAS)
    cluster.create_topic(LARGE, assignment=REPLICAS)
    cluster.create_topic(SHARED, assignment=dict.fromkeys(range(6), ALL))
    _describe(cluster)
    write(cluster, TOPIC, numbered(WAITING - 1, start=1))
    for _ in range(3):  # a batch each
        write(cluster, LARGE, ["x" * LARGE_BYTES])
    try:
        with JavaProgram(SOURCE, cluster.bootstrap) as java:
            return {
                "one poll": _poll(java),
                "the records of each poll": _polls(java),
                "a record": _record(java),
                "a group": _joins(cluster, java),
                "auto-commit, the defaults": _commits(cluster, java),
                "threads": _threads(cluster, java),
            }
    except jars.JarsMissing as missing:
        return {"the Java client": str(missing)}


def _describe(cluster: Cluster) -> None:
    """Offset 0 is a record with a key and a header."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    headers: list[Any] = [("source", "web")]
    producer.produce(TOPIC, "order-0", "customer-1", partition=0, headers=headers)
    producer.flush(PATIENCE_S)


def _poll(java: JavaProgram) -> Seen:
    idle, zero, ready = java.ask("waits", TOPIC)
    first, took, following, last = java.ask("wakeup", TOPIC)
    return {
        "of 300 ms, of 0 ms, nothing to read": [idle, zero],
        "of 60 s, records wait": ready,
        "of 60 s, wakeup after 0.3 s": first,
        "ended after": measured(float(took), "ms"),
        "wakeup, then poll": f"{following}; the poll after it: {last}",
    }


def _polls(java: JavaProgram) -> Seen:
    tiny = "max.partition.fetch.bytes=100,fetch.max.bytes=100"
    counts, fetched = java.ask("polls", TOPIC, "")
    return {
        "1,200 wait, the default": counts,
        "records-per-request-avg": measured(float(fetched), "records"),
        "three of 200 kB, fetch limits of 100 bytes": java.ask("polls", LARGE, tiny)[0],
    }


def _joins(cluster: Cluster, java: JavaProgram) -> Seen:
    java.ask("subscribed", TOPIC, JOINS)
    before = _members(cluster, JOINS)
    java.ask("joined")
    after = _members(cluster, JOINS)
    java.ask("left")
    return {"members after subscribe, and after polls": [before, after]}


def _commits(cluster: Cluster, java: JavaProgram) -> Seen:
    """Of a consumer that polls a record at a time, from the group's records of its commits.

    A commit inside `poll` covers earlier polls only, so that of `close` is the one of all records.
    """
    count = int(java.ask("commits by itself", TOPIC, COMMITS, str(POLLS_MS))[0])
    written = group_log.records(cluster, COMMITS)
    commits = [
        each.committed for each in written if isinstance(each, OffsetRecord) and each.committed
    ]
    between = [
        (later.commit_timestamp_ms - earlier.commit_timestamp_ms) / 1_000
        for earlier, later in pairwise(commits)
    ]
    return {
        f"commits in {POLLS_MS // 1_000} s of polls, and by close": [
            sum(each.offset < count for each in commits),
            sum(each.offset == count for each in commits),
        ],
        "between the first two": measured(between[0], "s"),
    }


def _threads(cluster: Cluster, java: JavaProgram) -> Seen:
    return {
        "a consumer, called by two threads": java.ask("second thread", TOPIC)[0],
        "a producer of eight, records acknowledged": int(java.ask("shared producer", SHARED)[0]),
        "a consumer in each of three, partitions": java.ask("three threads", SHARED),
        "members after SIGTERM, with a hook": _terminated(cluster, java),
    }


def _terminated(cluster: Cluster, java: JavaProgram) -> int:
    """Ends the program by SIGTERM; its group's members when it has ended."""
    java.process.terminate()
    java.process.wait(PATIENCE_S)
    ends = time.monotonic() + LEAVES_WITHIN_S
    while (left := _members(cluster, THREADS)) and time.monotonic() < ends:
        time.sleep(0.1)
    return left


def _members(cluster: Cluster, group: str) -> int:
    return len(cluster.snapshot()["groups"].get(group, {}).get("members", ()))


def _record(java: JavaProgram) -> Seen:
    place, epoch, key, value, headers, stamp, producers = java.ask("fields", TOPIC)
    return {
        "its place": f"{place}, leader epoch {epoch}",
        "key, value, header, timestamp": [key, value, headers, stamp],
        "its producer's id or sequence number": producers or "nothing",
    }


def refusals(cluster: Cluster) -> Seen:
    """Where the Java client refuses a setting or a call, and what comes out of poll."""
    cluster.create_topic(TOPIC, assignment=REPLICAS)
    write(cluster, TOPIC, numbered(100))
    try:
        with JavaProgram(SOURCE, cluster.bootstrap) as java:
            return {
                "before a request": _before(cluster, java),
                "out of poll": _out_of_poll(java),
                "no broker": _no_broker(java),
                f"{BY_DURATION} starts at": int(java.ask("starts", TOPIC, BY_DURATION)[0]),
                "SO_RCVBUF and SO_SNDBUF": _buffers(java),
            }
    except jars.JarsMissing as missing:
        return {"the Java client": str(missing)}


def _before(cluster: Cluster, java: JavaProgram) -> Seen:
    subscribed, read, committed = java.ask("no group", TOPIC)
    missing = java.ask("deserializers", TOPIC)[0]
    own = {"bootstrap.servers": cluster.bootstrap, "log_level": 0}
    policies = [{"group.id": "g", "auto.offset.reset": each} for each in ("none", BY_DURATION)]
    return {
        "no bootstrap.servers, no key.deserializer": [java.ask("no bootstrap")[0], missing],
        "heartbeats every 50 s, a session of 45 s": java.ask("late heartbeats")[0],
        "no group.id: subscribe, commit": [subscribed, committed],
        "no group.id: assign and poll": read,
        "assign after subscribe": java.ask("exclusive", TOPIC)[0],
        "confluent-kafka: no group.id, none, by_duration": [
            _made(own | each) for each in ({}, *policies)
        ],
    }


def _made(settings: Mapping[str, Any]) -> str:
    """The exception of confluent-kafka's constructor, with Kafka's name where it has one."""
    try:
        Consumer(dict(settings)).close()
    except KafkaException as failure:
        return clients.name(failure.args[0])
    except ValueError as failure:
        return type(failure).__name__
    return "made"


def _out_of_poll(java: JavaProgram) -> Seen:
    _, error, at, _, still, skipped = java.ask("deserializers", TOPIC)
    return {
        "auto.offset.reset none": java.ask("starts", TOPIC, "none")[0],
        "a topic called no topic!": java.ask("invalid topic", "no topic!")[0],
        "values that do not decode": error,
        "position then, after a poll, after a seek": [int(at), int(still), int(skipped)],
    }


def _no_broker(java: JavaProgram) -> Seen:
    sought, polled, timeout, after_ms = java.ask("patience", LIMIT_MS)
    kept = "not before" if int(after_ms) >= int(LIMIT_MS) - CLOCK_MS else "before"
    return {
        "seekToBeginning, poll": [sought, polled],
        f"position(), default.api.timeout.ms {LIMIT_MS}": f"{timeout}, {kept} {LIMIT_MS} ms",
    }


def _buffers(java: JavaProgram) -> Seen:
    plain, system, small, own = java.ask("sockets", TOPIC)
    receives, sends = map(float, system.split())
    return {
        "by default": plain,
        "SO_RCVBUF with receive.buffer.bytes=32768": int(small.split()[0]),
        "SO_RCVBUF with -1": measured(receives, "bytes"),
        "SO_RCVBUF of a socket without settings": measured(float(own.split()[0]), "bytes"),
        "SO_SNDBUF with -1": measured(sends, "bytes"),
    }
