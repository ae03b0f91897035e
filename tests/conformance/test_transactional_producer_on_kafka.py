"""The engine's transactional producer on a real Kafka 4.3: what read_committed shows afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import confluent_kafka
import pytest

from engine.client.producer import Producer
from engine.client.sockets import SocketDriver
from engine.client.transaction_requests import TRANSACTION, GroupMetadata, Offset
from kit.clusters.kafka_cluster import KafkaCluster
from kit.probes.raw_client import addresses
from tests.real_clusters import restored

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]
PATIENCE_S = 60.0
TOPIC = "till-records"


class Till:
    """A producer on a cluster's sockets; each call waits until it has returned."""

    def __init__(self, cluster: KafkaCluster, name: str) -> None:
        known = addresses(cluster)
        settings = {"transactional.id": name, "linger.ms": 0}
        self.producer = Producer(name, tuple(known), settings)
        self.driver = SocketDriver(self.producer, known)

    def do(self, call: str, *arguments: Any) -> str:
        """How a call ended; empty if well."""
        self.driver.tell(call, *arguments)
        assert self.driver.run(lambda: not self.producer.busy, PATIENCE_S), call
        return self.producer.error

    def send(self, *values: str) -> list[str]:
        """The verdicts."""
        for value in values:
            self.driver.send(TOPIC, value.encode(), partition=0)
        assert self.driver.run(lambda: self.producer.idle, PATIENCE_S)
        return [each.verdict for each in self.producer.sends[-len(values) :]]

    @property
    def epoch(self) -> int:
        assert self.producer.identity is not None
        return self.producer.identity.identity[1]

    @property
    def state(self) -> str:
        assert self.producer.transactions is not None
        return self.producer.transactions.lifecycle.state.value


@pytest.fixture
def tills(local_cluster: KafkaCluster) -> Iterator[list[Till]]:
    """What a test opens is closed after it."""
    local_cluster.create_topic(TOPIC, partitions=1, replicas=3)
    opened: list[Till] = []
    yield opened
    for each in opened:
        each.driver.close()


def opened(tills: list[Till], cluster: KafkaCluster, name: str) -> Till:
    tills.append(Till(cluster, name))
    assert tills[-1].do("init_transactions") == ""
    return tills[-1]


def committed(cluster: KafkaCluster, count: int) -> list[str]:
    """The first values that read_committed shows."""
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": cluster.bootstrap, "group.id": "readers", "log_level": 0,
         "isolation.level": "read_committed", "auto.offset.reset": "earliest"}
    )  # fmt: skip
    consumer.assign([confluent_kafka.TopicPartition(TOPIC, 0, 0)])
    messages = consumer.consume(count, PATIENCE_S)
    consumer.close()
    return [each.value().decode() for each in messages]


def test_what_is_committed_is_seen_and_each_end_brings_the_next_epoch(
    local_cluster: KafkaCluster, tills: list[Till]
) -> None:
    till = opened(tills, local_cluster, "till-1")
    first = till.epoch
    for values, call in (("AB", "commit"), ("CD", "abort"), ("E", "commit")):
        assert till.do("begin_transaction") == ""
        assert till.send(*values) == ["acknowledged"] * len(values)
        assert till.do(f"{call}_transaction") == ""
    assert till.epoch == first + 3  # transaction.version=2
    assert committed(local_cluster, 3) == ["A", "B", "E"]


def test_a_second_producer_of_the_same_name_fences_the_first(
    local_cluster: KafkaCluster, tills: list[Till]
) -> None:
    first = opened(tills, local_cluster, "till-2")
    first.do("begin_transaction")
    assert first.send("A") == ["acknowledged"]
    second = opened(tills, local_cluster, "till-2")
    assert second.epoch > first.epoch
    assert first.send("B") == ["refused"]
    assert first.state == "AbortableError"
    assert first.do("abort_transaction") == "PRODUCER_FENCED"
    assert first.state == "FatalError"
    second.do("begin_transaction")
    second.send("C")
    assert second.do("commit_transaction") == ""
    assert committed(local_cluster, 1) == ["C"]


def test_the_offsets_of_a_group_are_committed_with_the_transaction(
    local_cluster: KafkaCluster, tills: list[Till]
) -> None:
    till = opened(tills, local_cluster, "till-3")
    at = confluent_kafka.TopicPartition(TOPIC, 0)
    reader = confluent_kafka.Consumer(
        {"bootstrap.servers": local_cluster.bootstrap, "group.id": "till-3", "log_level": 0}
    )
    for offset, call, seen in ((1, "commit", 1), (2, "abort", 1), (3, "commit", 3)):
        till.do("begin_transaction")
        offsets = {(TOPIC, 0): Offset(offset)}
        assert till.do("send_offsets_to_transaction", offsets, GroupMetadata("till-3")) == ""
        assert till.do(f"{call}_transaction") == ""
        (found,) = reader.committed([at], PATIENCE_S)
        assert found.offset == seen
    till.do("begin_transaction")
    stranger = GroupMetadata("till-3", generation=7, member_id="nobody")
    assert till.do("send_offsets_to_transaction", {(TOPIC, 0): Offset(9)}, stranger) != ""
    assert till.state == "AbortableError"
    assert till.do("abort_transaction") == ""
    reader.close()


def test_a_commit_outlives_the_death_of_its_coordinator(
    local_cluster: KafkaCluster, tills: list[Till]
) -> None:
    till = opened(tills, local_cluster, "till-4")
    till.do("begin_transaction")
    assert till.send("A") == ["acknowledged"]
    assert till.producer.transactions is not None
    coordinator = till.producer.transactions.coordinators[TRANSACTION]
    assert coordinator is not None
    with restored(local_cluster) as cluster:
        cluster.kill(coordinator)
        assert till.do("commit_transaction") == ""
        assert till.producer.transactions.coordinators[TRANSACTION] != coordinator
        till.do("begin_transaction")
        assert till.send("B") == ["acknowledged"]
        assert till.do("commit_transaction") == ""
        assert committed(cluster, 2) == ["A", "B"]
