"""A compacted topic on the engine, seen by an unmodified confluent-kafka."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kit.clusters import engine
from kit.clusters.kafka_cluster import KafkaCluster

PATIENCE_S = 60
TOPIC = "balances"
BRISK = {"log.cleaner.backoff.ms": "50", "replica.high.watermark.checkpoint.interval.ms": "100"}
CONFIG = {
    "cleanup.policy": "compact",
    "internal.segment.bytes": "4000",
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "0",
}


def read(cluster: KafkaCluster) -> list[tuple[int, str, str | None]]:
    """Offset, key and value of all records, from the beginning."""
    reader = Consumer(
        {"bootstrap.servers": cluster.bootstrap, "group.id": "r", "enable.partition.eof": True}
    )
    reader.assign([TopicPartition(TOPIC, 0, 0)])
    found = []
    while True:
        message = reader.poll(PATIENCE_S)
        assert message is not None, "no end of the partition"
        if message.error():
            assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
            reader.close()
            return found
        value = message.value()
        found.append((message.offset(), message.key().decode(), value and value.decode()))


@pytest.fixture(scope="module")
def brisk() -> Iterator[KafkaCluster]:
    """An engine whose cleaner rests for a moment only."""
    with engine.start(settings=BRISK) as cluster:
        yield cluster


def test_a_topic_is_compacted_under_its_reader(brisk: KafkaCluster) -> None:
    admin = AdminClient({"bootstrap.servers": brisk.bootstrap})
    topic = NewTopic(TOPIC, 1, 3, config=CONFIG)
    admin.create_topics([topic], operation_timeout=PATIENCE_S)[TOPIC].result(PATIENCE_S)
    producer = Producer({"bootstrap.servers": brisk.bootstrap, "batch.size": 1000})
    refused: list[object] = []

    def reported(error: object, message: object) -> None:
        if error is not None:
            refused.append(error)

    for number in range(600):
        producer.produce(TOPIC, f"{number}", f"k{number % 10}", 0, on_delivery=reported)
    producer.produce(TOPIC, None, "k3", 0, on_delivery=reported)
    assert producer.flush(PATIENCE_S) == 0
    assert refused == []
    expected = {f"k{number % 10}": f"{number}" for number in range(590, 600) if number % 10 != 3}

    end = time.monotonic() + PATIENCE_S
    number = 0
    while True:
        found = read(brisk)
        assert [offset for offset, _, _ in found] == sorted(offset for offset, _, _ in found)
        assert {key for _, key, _ in found} >= set(expected)
        latest = {key: value for _, key, value in found}
        assert {k: v for k, v in latest.items() if k in expected} == expected
        if "k3" not in latest and len(found) < 200:
            break
        assert time.monotonic() < end, f"{len(found)} records are still there"
        producer.produce(TOPIC, key="filler", value="f" * 1000, partition=0)
        assert producer.flush(PATIENCE_S) == 0
        number += 1
    assert found[-1][0] == 600 + number
