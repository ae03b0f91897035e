"""The scenario of notebook 07 for `lab.both`: two logs diverge and are reconciled.

One failover shows all of it, on the engine and on Kafka alike:

    A       on all three, and its high watermark is known to all three
    B       on all three and acknowledged; only 101 knows that it is committed
    X1-X3   on 101 alone, acknowledged with acks=1
    101 is killed; 102 leads in epoch 1, which begins at offset 2
    Y1      written to 102, at the offset where 101 has X1
    101 comes back

The brokers' links are cut at the moment when B is acknowledged, so that no follower hears
of the new high watermark, and 102 does not hear from 103 while the client looks.  The cut
has to come within the half second that a follower's fetch waits at the leader, and the
kill before the next checkpoint.  So both producers connect beforehand, and if the machine is
still too slow, the scenario begins again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confluent_kafka import Producer

from kit.clusters.interface import Cluster, ClusterError
from kit.probes import requests
from kit.probes.clients import ANSWER_S, ask, in_sync, partition, send, topic_id, values
from lessons.nb07_reconciliation import replica_files
from lessons.nb07_reconciliation.replica_files import ReplicaFiles

ALL = (101, 102, 103)
TOPIC = "orders"
PATIENCE_S = 60.0
ATTEMPTS = 8
LATEST, EARLIEST = -1, -2
Seen = Mapping[str, Any]


def diverge_and_reconcile(cluster: Cluster) -> Seen:
    """101 dies with records that no other broker has, and returns to a leader that has others."""
    for _ in range(ATTEMPTS):
        split = _diverge(cluster)
        seen = _reconcile(cluster, split) if split is not None else None
        if seen is not None:
            return seen
        cluster.heal()
        cluster.start(101)
        cluster.wait_until(in_sync(TOPIC, *ALL), PATIENCE_S, "the ISR to be whole again")
    raise ClusterError(
        f"In {ATTEMPTS} attempts this machine was too slow to catch the moment: "
        "run the cell again when the machine is less busy."
    )


def _diverge(cluster: Cluster) -> Seen | None:
    """Up to the death of 101; None if a moment was missed."""
    there = replica_files.on_disk(cluster, 101, TOPIC)
    cluster.create_topic(TOPIC, assignment={0: ALL}, config={"min.insync.replicas": 1})
    safe, fast = _producer(cluster, "all"), _producer(cluster, "1")
    _acknowledged(_deliver(safe, "A"))
    known = dict.fromkeys(ALL, 1)
    cluster.wait_until(lambda c: _watermarks(c) == known, PATIENCE_S, "A to be known everywhere")
    cluster.wait_until(lambda _: there.high_watermark == 1, PATIENCE_S, "101's checkpoint")
    _acknowledged(_deliver(safe, "B"))
    for a, b in ((101, 102), (101, 103), (102, 103)):
        cluster.cut(a, b)
    told = [_deliver(fast, value) for value in ("X1", "X2", "X3")]
    read = fetch(cluster, 101, 0)
    watermarks = _watermarks(cluster)
    cluster.kill(101)
    if watermarks != {101: 2, 102: 1, 103: 1} or there.high_watermark != 1:
        return None
    return {
        "X1, X2, X3 with acks=1": told,
        "a consumer reads": read,
        "HW of 101, 102, 103": list(watermarks.values()),
    }


def _reconcile(cluster: Cluster, split: Seen) -> Seen | None:
    """From the death of 101 to its return; None if 102 gave up waiting for 103 meanwhile."""
    cluster.wait_until(lambda c: c.leader(TOPIC) == 102, PATIENCE_S, "102 to lead")
    window = {
        "leader epoch": partition(cluster, TOPIC)["leader_epoch"],
        "ISR": partition(cluster, TOPIC)["isr"],
        "HW of 102": _watermarks(cluster)[102],
        "ListOffsets latest": list_offset(cluster, 102, LATEST),
        "ListOffsets earliest": list_offset(cluster, 102, EARLIEST),
        "Fetch from 0": fetch(cluster, 102, 0),
        "Fetch from 1": fetch(cluster, 102, 1),
    }
    before = [replica_files.take(cluster, broker, TOPIC) for broker in ALL]
    if partition(cluster, TOPIC)["isr"] != [102, 103]:
        return None
    cluster.heal()
    cluster.wait_until(
        lambda c: list_offset(c, 102, LATEST) == "2", PATIENCE_S, "102's high watermark"
    )
    over = {
        "ListOffsets latest": list_offset(cluster, 102, LATEST),
        "Fetch from 1": fetch(cluster, 102, 1),
        "Y1, acks=all": _told(send(cluster, TOPIC, "Y1")),
    }
    cluster.start(101)
    cluster.wait_until(in_sync(TOPIC, *ALL), PATIENCE_S, "101 to be in sync")
    cluster.wait_until(lambda c: _checkpoints(c) == [3, 3, 3], PATIENCE_S, "the checkpoints")
    after = [replica_files.take(cluster, broker, TOPIC) for broker in ALL]
    logs = replica_files.records([*before, *after])
    return {
        "before 101 dies": split,
        "102 leads, 103 has not fetched yet": window,
        "on disk, 101 dead, Y1 not written yet": _on_disk(before, logs[:3]),
        "103 has fetched, Y1 is written": over,
        "on disk, 101 back": _on_disk(after, logs[3:]),
        "102's fetch answer told 101": replica_files.told_to_cut(cluster, 101, TOPIC),
        "101 cut its log at": _parting(logs[0], logs[3]),
        "ISR": partition(cluster, TOPIC)["isr"],
        "a consumer reads": values(cluster, TOPIC),
    }


def _on_disk(replicas: list[ReplicaFiles], logs: list[list[str]]) -> Seen:
    return {
        str(replica.broker): {
            "log": log,
            "leader-epoch-checkpoint": replica.epochs,
            "replication-offset-checkpoint": replica.high_watermark,
        }
        for replica, log in zip(replicas, logs, strict=True)
    }


def _parting(before: list[str], after: list[str]) -> int:
    """The first offset at which two logs that begin at 0 differ."""
    pairs = zip(before, after, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(before), len(after)))


def _told(error: str) -> str:
    return "acknowledged" if error == "NONE" else error


def _acknowledged(told: str) -> None:
    if not told.startswith("offset"):
        raise ClusterError(f"A record of the beginning was refused ({told}): run the cell again.")


def _watermarks(cluster: Cluster) -> dict[int, int]:
    logs = partition(cluster, TOPIC)["logs"]
    return {b: log["high_watermark"] for b, log in logs.items() if log["role"] != "offline"}


def _checkpoints(cluster: Cluster) -> list[int | None]:
    return [replica_files.on_disk(cluster, b, TOPIC).high_watermark for b in ALL]


def _producer(cluster: Cluster, acks: str) -> Producer:
    """A producer without retries that already knows the leader."""
    settings = {"acks": acks, "retries": 0, "linger.ms": 0, "log_level": 0}
    producer = Producer({"bootstrap.servers": cluster.bootstrap, **settings})
    producer.list_topics(TOPIC, ANSWER_S)
    return producer


def _deliver(producer: Producer, value: str) -> str:
    """The offset that the leader gave it, or the error's name."""
    told: list[str] = []
    producer.produce(
        TOPIC,
        value,
        partition=0,
        on_delivery=lambda e, r: told.append(str(e.name()) if e else f"offset {r.offset()}"),
    )
    producer.flush(ANSWER_S)
    return told[0] if told else "no answer"


# -- a consumer's questions, each to one broker


def list_offset(cluster: Cluster, broker: int, timestamp: int) -> str:
    """A consumer's ListOffsets: the offset, or the error's name."""
    answer = requests.first_partition(ask(cluster, broker, requests.listing(TOPIC, timestamp)))
    return requests.refusal(answer) or str(answer.offset)


def fetch(cluster: Cluster, broker: int, offset: int) -> str:
    """A consumer's Fetch that does not wait: the error if any, the values, the high watermark."""
    body = requests.fetching(topic_id(cluster, TOPIC), offset)
    answer = requests.first_partition(ask(cluster, broker, body))
    read = " ".join(requests.values(answer.records, offset)) or "no records"
    return requests.refusal(answer) or f"{read}, HW {answer.high_watermark}"
