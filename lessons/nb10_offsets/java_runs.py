"""Kafka's own Java consumer on either side: what only it can show.

One JVM for each side answers all questions (JavaConsumer.java).  Without Java and the jars, one
row says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kit import jars
from kit.both.outcomes import measured
from kit.clusters.interface import Cluster
from kit.probes.java_client import JavaProgram
from lessons.nb10_offsets.reading import TOPIC, numbered, write

SOURCE = Path(__file__).with_name("JavaConsumer.java")
WAITING = 1_200
LARGE, LARGE_BYTES = "large", 200_000
Seen = Mapping[str, Any]


def polls(cluster: Cluster) -> Seen:
    """How many records a poll returns, and what cuts a fetch."""
    cluster.create_topic(TOPIC, assignment={0: [101, 102, 103]})
    cluster.create_topic(LARGE, assignment={0: [101, 102, 103]})
    write(cluster, TOPIC, numbered(WAITING))
    for _ in range(3):  # a batch each
        write(cluster, LARGE, ["x" * LARGE_BYTES])
    try:
        with JavaProgram(SOURCE, cluster.bootstrap) as java:
            return {
                "1,200 wait, the default": java.ask("polls", TOPIC, "")[0],
                "max-poll-records 1000": java.ask("polls", TOPIC, "max.poll.records=1000")[0],
                "three of 200 kB, max-partition-fetch-bytes 100": java.ask(
                    "polls", LARGE, "max.partition.fetch.bytes=100"
                )[0],
                "three of 200 kB, fetch-max-bytes 100": java.ask(
                    "polls", LARGE, "fetch.max.bytes=100"
                )[0],
                "three of 200 kB, the defaults": java.ask("polls", LARGE, "")[0],
            }
    except jars.JarsMissing as missing:
        return {"the Java client": str(missing)}


def calls(cluster: Cluster) -> Seen:
    """Threads, wakeup, policies and errors of the Java client."""
    cluster.create_topic(TOPIC, assignment={0: [101, 102, 103]})
    write(cluster, TOPIC, numbered(100))
    try:
        with JavaProgram(SOURCE, cluster.bootstrap) as java:
            return {**_threads(java), **_starts(java), **_errors(java)}
    except jars.JarsMissing as missing:
        return {"the Java client": str(missing)}


def _threads(java: JavaProgram) -> Seen:
    first, took, following, last = java.ask("wakeup", TOPIC)
    return {
        "a poll of 60 s, wakeup after 0.3 s": first,
        "that took": measured(float(took), "ms"),
        "wakeup, then poll": f"{following}; the poll after it: {last}",
        "a call from a second thread": java.ask("second thread", TOPIC)[0],
        "assign after subscribe": java.ask("exclusive", TOPIC)[0],
    }


def _starts(java: JavaProgram) -> Seen:
    policies = ("earliest", "latest", "none", "by_duration:PT1H")
    return {
        f"auto-offset-reset {each}".replace(":", " "): java.ask("starts", TOPIC, each)[0]
        for each in policies
    }


def _errors(java: JavaProgram) -> Seen:
    subscribed, read, committed = java.ask("no group", TOPIC)
    missing, error, at, again, still, skipped = java.ask("deserializers", TOPIC)
    polled, timeout, after_ms = java.ask("patience", "1500")
    record, epoch, producers = java.ask("fields", TOPIC)
    plain, system = java.ask("sockets", TOPIC)
    return {
        "no bootstrap-servers": java.ask("no bootstrap")[0],
        "SO_RCVBUF and SO_SNDBUF, by default": plain,
        "SO_RCVBUF with -1": measured(float(system.split()[0]), "bytes"),
        "SO_SNDBUF with -1": measured(float(system.split()[1]), "bytes"),
        "no group id: subscribe, assign and read, commit": [subscribed, read, committed],
        "no key deserializer": missing,
        "values that do not decode": f"{error} at {at}, again {again} at {still}",
        "position after a seek behind it": int(skipped),
        "no broker: poll returns": polled,
        "no broker: position() throws": timeout,
        "after": measured(float(after_ms), "ms"),
        "a record knows": f"{record}, leader epoch {epoch}",
        "its producer's id or sequence number": producers or "nothing",
    }
