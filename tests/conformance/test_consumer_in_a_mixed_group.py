"""Our consumer and librdkafka's in one group, over sockets, on the engine and on a local Kafka.

They share the partitions by both protocols.  By the classic one, each may be the leader: then it
reads the other's subscription, and the other takes over an assignment that it did not make.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from engine.client.consumer.consumer import Consumer
from engine.client.sockets import SocketDriver
from kit.clusters.kafka_cluster import KafkaCluster

PATIENCE_S = 60.0
PARTITIONS = 4
COUNT = 200
PROTOCOLS: dict[str, dict[str, Any]] = {
    "range": {"partition.assignment.strategy": "range"},
    "cooperative": {"partition.assignment.strategy": "cooperative-sticky"},
    "kip-848": {"group.protocol": "consumer"},
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_in_a_mixed_group_on_the_engine(engine_cluster: KafkaCluster, protocol: str) -> None:
    share(engine_cluster, f"mixed-{protocol}", PROTOCOLS[protocol])


@pytest.mark.real
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_in_a_mixed_group_on_kafka(local_cluster: KafkaCluster, protocol: str) -> None:
    share(local_cluster, f"mixed-{protocol}-{time.time_ns()}", PROTOCOLS[protocol])


def share(cluster: KafkaCluster, topic: str, given: dict[str, Any]) -> None:
    """Ours joins, theirs joins, all is read once, theirs leaves, ours gets everything back."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    created = admin.create_topics([NewTopic(topic, PARTITIONS, 1)], operation_timeout=PATIENCE_S)
    created[topic].result(PATIENCE_S)
    host, _, port = cluster.bootstrap.split(",")[0].rpartition(":")
    settings = {"group.id": topic, "auto.offset.reset": "earliest", **given}
    quick = {"heartbeat.interval.ms": 500, "session.timeout.ms": 6_000}
    ours = Consumer("ours", (-1,), {**quick, **settings})
    driver = SocketDriver(ours, {-1: (host, int(port))})
    theirs = confluent_kafka.Consumer({
        "bootstrap.servers": cluster.bootstrap, "log_level": 0, **settings,
        **({} if "group.protocol" in given else quick),
    })  # fmt: skip
    ours_read: list[str] = []
    theirs_read: list[str] = []

    def poll(both: bool) -> None:
        driver.tell("poll", 50)
        driver.run(lambda: not ours.busy, 5)
        assert ours.error == ""
        ours_read.extend(record.text for record in ours.records)
        message = theirs.poll(0.02) if both else None
        if message is not None and message.error() is None:
            theirs_read.append(message.value().decode())

    def until(holds: Callable[[], bool], both: bool = True) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < deadline, (ours.owned, len(ours_read), len(theirs_read))
            poll(both)

    try:
        driver.tell("subscribe", (topic,))
        until(lambda: len(ours.owned) == PARTITIONS, both=False)
        theirs.subscribe([topic])
        half = PARTITIONS // 2
        until(lambda: len(ours.owned) == len(theirs.assignment()) == half)
        producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap})
        for number in range(COUNT):
            producer.produce(topic, str(number), partition=number % PARTITIONS)
        producer.flush(PATIENCE_S)
        until(lambda: len(ours_read) + len(theirs_read) >= COUNT)
        assert sorted(map(int, ours_read + theirs_read)) == list(range(COUNT))
        assert len(ours_read) == len(theirs_read)
        theirs.close()
        until(lambda: len(ours.owned) == PARTITIONS, both=False)
        driver.tell("close")
        assert driver.run(lambda: not ours.busy, PATIENCE_S)
    finally:
        driver.close()
