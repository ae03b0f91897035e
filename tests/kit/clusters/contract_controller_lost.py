"""The active controller lost in the middle of a load, as a check that runs on any provider.

Each round writes with acks=all without a pause: before the controller is killed, paused, or
isolated, until another one is active, and until the former one is back:

    every record is acknowledged, and is there, once and in order
    the other controller is active in a later epoch; it makes a topic while the former is away
    if it was killed, the partition's leader and its epoch stay: no broker was lost

A silent controller, paused or isolated, keeps a broker's heartbeat waiting as long as
controller.socket.timeout.ms; the broker may be fenced meanwhile, and others lead its partitions.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, Producer

from kit.clusters.interface import Cluster
from tests.kit.clusters.contract_leader_kill import read

PATIENCE_S = 60.0
AT_ONCE = 20
FAULTS = {"kill": "start", "pause": "resume", "isolate": "heal"}


@dataclass
class Round:
    """What one round saw: before the fault, under it, and after it."""

    fault: str
    controllers: list[int] = field(default_factory=list)
    epochs: list[int] = field(default_factory=list)
    leadership: list[tuple[int, int]] = field(default_factory=list)
    """(leader, leader epoch) of the partition."""
    acknowledged: list[int] = field(default_factory=list)
    refused: list[KafkaError] = field(default_factory=list)
    found: list[int] = field(default_factory=list)

    def look(self, cluster: Cluster, topic: str) -> None:
        shown = cluster.snapshot()
        partition = shown["topics"][topic]["partitions"][0]
        self.controllers.append(active(cluster))
        self.epochs.append(shown["controller"]["epoch"])
        self.leadership.append((partition["leader"], partition["leader_epoch"]))


class Load:
    """A producer that writes 0, 1, 2, … to one partition."""

    def __init__(self, cluster: Cluster, topic: str, seen: Round) -> None:
        self.topic, self.seen, self.sent = topic, seen, 0
        self.producer = Producer(
            {
                "bootstrap.servers": cluster.bootstrap,
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 1,
                "log_level": 0,
            }
        )

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Writes on until the condition holds."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, f"never happened under load: {what}"
            for _ in range(AT_ONCE):
                self.producer.produce(self.topic, str(self.sent), on_delivery=self._delivered)
                self.sent += 1
                self.producer.poll(0.001)

    def end(self) -> None:
        assert self.producer.flush(PATIENCE_S) == 0

    def _delivered(self, error: KafkaError | None, message: Any) -> None:
        if error is None:
            self.seen.acknowledged.append(int(message.value()))
        else:
            self.seen.refused.append(error)


def active(cluster: Cluster) -> int:
    """The controller that leads the quorum, -1 while none does; a paused one may think it does."""
    known = cluster.snapshot()["controllers"].items()
    leading = [(seen["epoch"], each) for each, seen in known if seen.get("is_active")]
    return max(leading)[1] if leading else -1


def whole(cluster: Cluster) -> bool:
    """All nodes run, one controller is active, and no broker is fenced."""
    shown = cluster.snapshot()
    nodes = [*shown["controllers"].values(), *shown["brokers"].values()]
    return (
        all(each["state"] == "running" for each in nodes)
        and active(cluster) > 0
        and not any(each["fenced"] for each in shown["brokers"].values())
    )


def controller_lost_under_load(cluster: Cluster, fault: str, number: int) -> Round:
    """One round; everything is running again when it returns."""
    topic, seen = f"lost-{fault}-{number}", Round(fault)
    cluster.create_topic(topic, config={"min.insync.replicas": 2})
    seen.look(cluster, topic)
    former, load = seen.controllers[0], Load(cluster, topic, seen)
    load.until(lambda: len(seen.acknowledged) > AT_ONCE, "records are acknowledged")
    getattr(cluster, fault)(former)
    try:
        load.until(lambda: active(cluster) not in (former, -1), "another controller is active")
        seen.look(cluster, topic)
        cluster.create_topic(f"{topic}-meanwhile")
    finally:
        undo = FAULTS[fault]
        getattr(cluster, undo)(*([] if undo == "heal" else [former]))
    load.until(lambda: whole(cluster), "a whole cluster")
    load.end()
    seen.look(cluster, topic)
    seen.found = read(cluster, topic)
    assert seen.found == list(range(load.sent))
    for each in (topic, f"{topic}-meanwhile"):
        cluster.delete_topic(each)
    return seen


def nothing_is_lost(seen: Round) -> None:
    """Asserts what every round must hold."""
    assert seen.refused == []
    assert seen.found == seen.acknowledged
    former, meanwhile, _ = seen.controllers
    assert meanwhile not in (former, -1)
    assert seen.epochs[0] < seen.epochs[1]
    if seen.fault == "kill":
        assert len(set(seen.leadership)) == 1
