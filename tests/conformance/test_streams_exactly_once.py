"""A Kafka Streams application with exactly_once_v2, killed in mid-run and started again.

`RunningSum.java` keeps a sum for each key.  An input that counted twice, or not at all, would be
in every later sum of its key.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource

from kit import jars
from kit.clusters.kafka_cluster import KafkaCluster
from lessons.nb11_transactions import chains

NAME, PARTITIONS = "sums", 2
CHANGELOG = f"{NAME}-sums-changelog"
"""The application's id, and the store's."""
NUMBERS, KEYS = 600, 7
PATIENCE_S = 90.0

pytestmark = pytest.mark.real


@pytest.fixture(params=["engine_cluster", pytest.param("local_cluster", marks=pytest.mark.full)])
def cluster(request: pytest.FixtureRequest) -> KafkaCluster:
    found: KafkaCluster = request.getfixturevalue(request.param)
    return found


@contextmanager
def running(cluster: KafkaCluster, state: Path) -> Iterator[None]:
    """The application; it dies by SIGKILL at the end of the `with` block."""
    source = str(chains.STREAMS)
    command = [jars.java(), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    command += ["-cp", f"{jars.classpath()}:{jars.STREAMS.require()}/*", source]
    command += [cluster.bootstrap, NAME, str(state)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
        assert process.poll() is None, "the application has ended by itself"
    finally:
        process.kill()
        process.wait()


def feed(cluster: KafkaCluster, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": 0})
    for number in numbers:
        producer.produce(f"{NAME}-in", str(number), f"k{number % KEYS}")
    assert producer.flush(PATIENCE_S) == 0


class Reader:
    """What a reader with read_committed has seen of the sums."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self.sums: dict[str, list[int]] = {f"k{key}": [] for key in range(KEYS)}
        self.consumer = Consumer(
            {
                "bootstrap.servers": cluster.bootstrap,
                "group.id": "reader",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
            }
        )
        places = [TopicPartition(f"{NAME}-out", index, 0) for index in range(PARTITIONS)]
        self.consumer.assign(places)

    def read(self, count: int) -> None:
        """Waits for so many sums in all."""
        while sum(map(len, self.sums.values())) < count:
            message = self.consumer.poll(PATIENCE_S)
            assert message is not None, f"no {count} sums, but {self.sums}"
            assert message.error() is None, message.error()
            self.sums[message.key().decode()].append(int(message.value()))


def config_of(cluster: KafkaCluster, topic: str, name: str) -> str:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    found = admin.describe_configs([resource])[resource].result(PATIENCE_S)
    return str(found[name].value)


def test_each_number_counts_once_through_a_kill(cluster: KafkaCluster, tmp_path: Path) -> None:
    for topic in (f"{NAME}-in", f"{NAME}-out"):
        cluster.create_topic(topic, partitions=PARTITIONS)
    reader = Reader(cluster)
    feed(cluster, range(NUMBERS // 2))
    with running(cluster, tmp_path / "state"):
        reader.read(NUMBERS // 4)
        feed(cluster, range(NUMBERS // 2, NUMBERS - 100))
        reader.read(NUMBERS // 2 + 1)  # it is in the middle of the second part
    feed(cluster, range(NUMBERS - 100, NUMBERS))
    assert "compact" in config_of(cluster, CHANGELOG, "cleanup.policy")
    with running(cluster, tmp_path / "state"):  # restores its sums from that topic
        reader.read(NUMBERS)
        feed(cluster, range(NUMBERS, NUMBERS + KEYS))  # what counted twice would be before these
        reader.read(NUMBERS + KEYS)
    for key in range(KEYS):
        numbers = [each for each in range(NUMBERS + KEYS) if each % KEYS == key]
        assert reader.sums[f"k{key}"] == list(accumulate(numbers))
    reader.consumer.close()
