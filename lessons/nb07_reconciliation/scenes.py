"""Scenarios of notebook 07 for `lab.both`: two logs diverge and are reconciled.

One failover shows all of it, on the engine and on Kafka alike:

    A       on all three, and its high watermark is known to all three
    B       on all three and acknowledged; only 101 knows that it is committed
    X1-X3   on 101 alone, acknowledged with acks=1
    101 is killed; 102 leads in epoch 1, which begins at offset 2
    Y1      written to 102, at the offset where 101 has X1
    101 comes back

The brokers' links are cut at the moment when B is acknowledged, so that no follower hears
of the new high watermark.  The cut has to come within the half second that a follower's fetch
waits at the leader.  So both producers connect beforehand, and a scenario that misses the
moment raises Missed and begins again (`until_caught`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import Producer

from kit.both.comparison import mend
from kit.clusters.interface import Cluster, ClusterError
from kit.probes import requests
from kit.probes.clients import (
    ANSWER_S,
    ask,
    in_sync,
    metadata_at,
    partition,
    send,
    topic_id,
    values,
)
from lessons.nb07_reconciliation import replica_files
from lessons.nb07_reconciliation.replica_files import ReplicaFiles

ALL = (101, 102, 103)
TOPIC = "orders"
PATIENCE_S = 60.0
ATTEMPTS = 8
LATEST = -1
Seen = Mapping[str, Any]
Scenario = Callable[[Cluster], Seen]


class Missed(Exception):
    """The machine was too slow for a moment that a scenario needs."""


def until_caught(scenario: Scenario) -> Scenario:
    """The scenario, begun again on a mended cluster as often as it raises Missed."""

    @functools.wraps(scenario)
    def again(cluster: Cluster) -> Seen:
        for _ in range(ATTEMPTS):
            try:
                return scenario(cluster)
            except Missed:
                mend(cluster)
        raise ClusterError(
            f"In {ATTEMPTS} attempts this machine was too slow to catch the moment: "
            "run the cell again when the machine is less busy."
        )

    return again


class Orders:
    """The topic `orders`, new, with these replicas, and a producer for each value of acks."""

    def __init__(self, cluster: Cluster, *replicas: int) -> None:
        self.cluster, self.replicas = cluster, replicas
        config = {"min.insync.replicas": 1}
        cluster.create_topic(TOPIC, assignment={0: replicas}, config=config)
        self.producers = {acks: _producer(cluster, acks) for acks in ("all", "1")}
        self.cuts_before = {
            each: len(replica_files.cuts(cluster, each, TOPIC)) for each in replicas
        }

    def write(self, value: str, acks: str = "all") -> str:
        """Writes without retries: the offset that the leader gave, or the error's name."""
        return _deliver(self.producers[acks], value)

    def high_watermarks(self) -> list[int]:
        """Of the running brokers, in the order of their ids."""
        logs = partition(self.cluster, TOPIC)["logs"]
        return [log["high_watermark"] for log in logs.values() if log["role"] != "offline"]

    def begin_again_unless(self, found: list[int], wanted: Mapping[int, int]) -> None:
        """Raises Missed if a follower has heard of the new high watermark already."""
        if found != [wanted[each] for each in sorted(wanted)]:
            raise Missed

    def until_known(self, high_watermark: int) -> None:
        """Waits until every broker has this high watermark."""
        wanted = [high_watermark] * len(self.replicas)
        self.cluster.wait_until(
            lambda _: self.high_watermarks() == wanted, PATIENCE_S, "all to know it"
        )

    def until_led_by(self, broker: int) -> None:
        self.cluster.wait_until(
            lambda c: c.leader(TOPIC) == broker, PATIENCE_S, f"{broker} to lead"
        )

    def leader_by(self, broker: int) -> str:
        """The leader by this broker's Metadata answer, once it has heard of the present epoch."""
        epoch = partition(self.cluster, TOPIC)["leader_epoch"]
        heard: list[Any] = []

        def has_heard(cluster: Cluster) -> bool:
            heard.append(metadata_at(cluster, broker, TOPIC).partitions[0])
            return bool(heard[-1].leader_epoch >= epoch)

        self.cluster.wait_until(has_heard, ANSWER_S, f"{broker} to have heard of epoch {epoch}")
        return f"{heard[-1].leader_id} leads epoch {heard[-1].leader_epoch}"

    def until_in_sync(self) -> None:
        self.cluster.wait_until(
            in_sync(TOPIC, *self.replicas), PATIENCE_S, "every replica to be in sync"
        )

    def log(self, broker: int) -> list[str]:
        """The records on a broker's disk, dead or alive: `2 X1 (epoch 0)`."""
        return replica_files.read(replica_files.on_disk(self.cluster, broker, TOPIC))

    def where_to_cut(self, broker: int) -> str:
        """What the last diverging answer of a leader said to this follower."""
        found = replica_files.cuts(self.cluster, broker, TOPIC)[self.cuts_before[broker] :]
        return f"epoch {found[-1][0]} ends at {found[-1][1]}" if found else "nothing"


@until_caught
def diverge_and_reconcile(cluster: Cluster) -> Seen:
    """101 dies with records that no other broker has, and returns to a leader that has others."""
    orders = Orders(cluster, *ALL)
    split = _diverge(cluster, orders)
    return _reconcile(cluster, orders, split)


def _diverge(cluster: Cluster, orders: Orders) -> Seen:
    """Up to the death of 101."""
    there = replica_files.on_disk(cluster, 101, TOPIC)
    _acknowledged(orders.write("A"))
    orders.until_known(1)
    cluster.wait_until(lambda _: there.high_watermark == 1, PATIENCE_S, "101's checkpoint")
    _acknowledged(orders.write("B"))
    for a, b in ((101, 102), (101, 103), (102, 103)):
        cluster.cut(a, b)
    answers = [orders.write(value, "1") for value in ("X1", "X2", "X3")]
    read = fetch(cluster, 101, 0)
    watermarks = orders.high_watermarks()
    cluster.kill(101)
    if watermarks != [2, 1, 1] or there.high_watermark != 1:
        raise Missed
    return {
        "X1, X2, X3 with acks=1": answers,
        "a consumer reads": read,
        "HW of 101, 102, 103": watermarks,
    }


def _reconcile(cluster: Cluster, orders: Orders, split: Seen) -> Seen:
    """From the death of 101 to its return."""
    orders.until_led_by(102)
    window = {
        "leader epoch": partition(cluster, TOPIC)["leader_epoch"],
        "ISR": partition(cluster, TOPIC)["isr"],
        "HW of 102": orders.high_watermarks()[0],
        "ListOffsets latest": latest_offset(cluster, 102),
        "Fetch from 0": fetch(cluster, 102, 0),
        "Fetch from 1": fetch(cluster, 102, 1),
        "Metadata of 103": orders.leader_by(103),
    }
    before = [replica_files.take(cluster, broker, TOPIC) for broker in ALL]
    if partition(cluster, TOPIC)["isr"] != [102, 103]:
        raise Missed  # 102 gave up waiting for 103
    cluster.heal()
    cluster.wait_until(lambda c: latest_offset(c, 102) == "2", PATIENCE_S, "102's high watermark")
    over = {
        "ListOffsets latest": latest_offset(cluster, 102),
        "Fetch from 1": fetch(cluster, 102, 1),
        "Y1, acks=all": _outcome(send(cluster, TOPIC, "Y1")),
    }
    cluster.start(101)
    orders.until_in_sync()
    cluster.wait_until(lambda c: _checkpoints(c) == [3, 3, 3], PATIENCE_S, "the checkpoints")
    after = [replica_files.take(cluster, broker, TOPIC) for broker in ALL]
    logs = replica_files.records([*before, *after])
    return {
        "before 101 dies": split,
        "102 leads, 103 has not fetched yet": window,
        "on disk, 101 dead, Y1 not written yet": _on_disk(before, logs[:3]),
        "103 has fetched, Y1 is written": over,
        "on disk, 101 back": _alike(_on_disk(after, logs[3:])),
        "102's fetch answer to 101": orders.where_to_cut(101),
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


def _alike(replicas: Seen) -> Seen:
    """One entry for all if every replica has the same."""
    first, *others = replicas.values()
    return {"each of the three": first} if all(each == first for each in others) else replicas


def _parting(before: list[str], after: list[str]) -> int:
    """The first offset at which two logs that begin at 0 differ."""
    pairs = zip(before, after, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(before), len(after)))


def _outcome(error: str) -> str:
    return "acknowledged" if error == "NONE" else error


def _acknowledged(answer: str) -> None:
    if not answer.startswith("offset"):
        raise ClusterError(f"A record of the beginning was refused ({answer}): run the cell again.")


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
    reports: list[str] = []
    producer.produce(
        TOPIC,
        value,
        partition=0,
        on_delivery=lambda e, r: reports.append(str(e.name()) if e else f"offset {r.offset()}"),
    )
    producer.flush(ANSWER_S)
    return reports[0] if reports else "no answer"


# -- a consumer's questions, each to one broker


def latest_offset(cluster: Cluster, broker: int) -> str:
    """A consumer's ListOffsets: the latest offset, or the error's name."""
    answer = requests.first_partition(ask(cluster, broker, requests.listing(TOPIC, LATEST)))
    return requests.refusal(answer) or str(answer.offset)


def fetch(cluster: Cluster, broker: int, offset: int) -> str:
    """A consumer's Fetch that does not wait: the error if any, the values, the high watermark."""
    body = requests.fetching(topic_id(cluster, TOPIC), offset)
    answer = requests.first_partition(ask(cluster, broker, body))
    read = " ".join(requests.values(answer.records, offset)) or "no records"
    return requests.refusal(answer) or f"{read}, HW {answer.high_watermark}"
