"""Consumers that read from a follower in their rack (KIP-392), on the engine and on a live Kafka.

Broker 101 is in rack a, 102 in rack b, 103 in rack c.  101 leads.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from kit import jars
from kit.clusters.kafka_cluster import KafkaCluster
from kit.probes.raw_client import RawClient
from kit.probes.requests import (
    fetching,
    first_partition,
    producing,
    records_in,
    refusal,
)
from tests.real_clusters import restored

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

PATIENCE_S = 60.0
RECORDS = 5
LEADER_ITSELF = -1


@pytest.fixture(scope="module", params=["engine_cluster", "local_cluster"])
def cluster(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    found: KafkaCluster = request.getfixturevalue(request.param)
    with restored(found):
        yield found


def create(cluster: KafkaCluster, topic: str, replicas: tuple[int, ...] = (101, 102, 103)) -> None:
    """A topic led by the first replica, with five records that all replicas hold."""
    cluster.create_topic(topic, assignment={0: list(replicas)})
    with RawClient(cluster, replicas[0], "writer") as writer:
        for _ in range(RECORDS):
            assert not refusal(first_partition(writer.ask(producing(topic, acks=-1))))


def fetch(client: RawClient, topic: str, offset: int = 0, rack: str = "", **terms: Any) -> Any:
    request = fetching(topic, offset, **terms)
    request.rack_id = rack
    return client.ask(request)


def seen(answer: Any) -> tuple[str, int, int]:
    """The error, the replica that is named, the number of records."""
    part = first_partition(answer)
    return refusal(part), part.preferred_read_replica, records_in(answer)


def wait_until(holds: Any) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_leader_names_a_replica_in_the_consumers_rack(cluster: KafkaCluster) -> None:
    create(cluster, "by-rack")
    with RawClient(cluster, 101, "reader") as reader:
        wait_until(lambda: seen(fetch(reader, "by-rack", RECORDS, "b"))[1] == 102)
        wait_until(lambda: seen(fetch(reader, "by-rack", RECORDS, "c"))[1] == 103)
        assert seen(fetch(reader, "by-rack", 0, "b")) == ("", 102, 0)
        told = first_partition(fetch(reader, "by-rack", 0, "b"))
        assert (told.high_watermark, told.last_stable_offset, told.log_start_offset) == (5, 5, 0)
        for rack in ("", "a", "elsewhere", "B"):
            assert seen(fetch(reader, "by-rack", 0, rack)) == ("", LEADER_ITSELF, RECORDS)
        assert seen(fetch(reader, "by-rack", RECORDS + 1, "b"))[0] == "OFFSET_OUT_OF_RANGE"
        assert seen(fetch(reader, "by-rack", 0, "b", epoch=99))[0] == "UNKNOWN_LEADER_EPOCH"


def test_it_answers_at_once_even_if_there_is_nothing_to_read(cluster: KafkaCluster) -> None:
    create(cluster, "by-rack-idle")
    with RawClient(cluster, 101, "reader") as reader:
        wait_until(lambda: seen(fetch(reader, "by-rack-idle", RECORDS, "b"))[1] == 102)
        asked = time.monotonic()
        answer = fetch(reader, "by-rack-idle", RECORDS, "b", max_wait_ms=8_000)
        assert seen(answer) == ("", 102, 0)
        assert time.monotonic() - asked < 4


def test_a_version_without_racks_reads_from_the_leader_only(cluster: KafkaCluster) -> None:
    create(cluster, "by-rack-old")
    for broker, heard in (
        (101, ("", LEADER_ITSELF, RECORDS)),
        (102, ("NOT_LEADER_OR_FOLLOWER", -1, 0)),
    ):
        with RawClient(cluster, broker, "reader") as reader:
            answer = reader.ask(fetching("by-rack-old"), 10)
            assert seen(answer) == heard


def test_a_follower_serves_any_consumer_and_names_no_other(cluster: KafkaCluster) -> None:
    create(cluster, "by-rack-follower")
    with RawClient(cluster, 102, "reader") as reader:
        wait_until(lambda: records_in(fetch(reader, "by-rack-follower", 0, "b")) == RECORDS)
        for rack in ("", "a", "b", "c"):
            assert seen(fetch(reader, "by-rack-follower", 0, rack)) == ("", LEADER_ITSELF, RECORDS)


def test_a_broker_without_a_replica_sends_the_consumer_back(cluster: KafkaCluster) -> None:
    create(cluster, "by-rack-two", (101, 102))
    with RawClient(cluster, 103, "reader") as reader:
        assert seen(fetch(reader, "by-rack-two", 0, "c"))[0] == "NOT_LEADER_OR_FOLLOWER"
    with RawClient(cluster, 101, "reader") as reader:
        assert seen(fetch(reader, "by-rack-two", 0, "c")) == ("", LEADER_ITSELF, RECORDS)


def test_a_follower_that_is_behind_serves_what_it_knows_to_be_committed(
    cluster: KafkaCluster,
) -> None:
    """Cut off, it knows neither the new records nor their commit; then it leaves the ISR."""
    topic = "by-rack-behind"
    create(cluster, topic)
    with (
        restored(cluster),
        RawClient(cluster, 101, "reader") as leader,
        RawClient(cluster, 102, "reader") as follower,
    ):
        wait_until(lambda: seen(fetch(leader, topic, RECORDS, "b"))[1] == 102)
        wait_until(lambda: records_in(fetch(follower, topic)) == RECORDS)
        cluster.cut(101, 102)
        with RawClient(cluster, 101, "writer") as writer:
            assert not refusal(first_partition(writer.ask(producing(topic, acks=-1))))
        cluster.wait_until(
            lambda c: 102 not in c.snapshot()["topics"][topic]["partitions"][0]["isr"]
        )
        assert seen(fetch(leader, topic, 0, "b")) == ("", LEADER_ITSELF, RECORDS + 1)
        part = first_partition(fetch(follower, topic))
        assert (part.high_watermark, part.error_code) == (RECORDS, 0)
        assert seen(fetch(follower, topic, RECORDS + 1))[0] == "OFFSET_OUT_OF_RANGE"
        cluster.heal()
        wait_until(lambda: seen(fetch(leader, topic, RECORDS + 1, "b"))[1] == 102)
        wait_until(lambda: records_in(fetch(follower, topic)) == RECORDS + 1)


def test_a_session_learns_of_a_replica_nearby_although_nothing_is_new(
    cluster: KafkaCluster,
) -> None:
    topic = "by-rack-session"
    create(cluster, topic)
    with restored(cluster), RawClient(cluster, 101, "reader") as reader:
        cluster.cut(101, 102)
        with RawClient(cluster, 101, "writer") as writer:
            assert not refusal(first_partition(writer.ask(producing(topic, acks=-1))))
        cluster.wait_until(
            lambda c: 102 not in c.snapshot()["topics"][topic]["partitions"][0]["isr"]
        )
        opened = fetch(reader, topic, RECORDS + 1, "b", session=(0, 0))
        assert seen(opened) == ("", LEADER_ITSELF, 0)
        cluster.heal()
        cluster.wait_until(lambda c: 102 in c.snapshot()["topics"][topic]["partitions"][0]["isr"])
        epoch = 0

        def named() -> bool:
            nonlocal epoch
            epoch += 1
            request = fetching("", partitions=(), session=(opened.session_id, epoch))
            request.rack_id = "b"
            answer = reader.ask(request)
            return bool(answer.responses) and seen(answer)[1] == 102

        wait_until(named)


# -- clients


def written(cluster: KafkaCluster, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
    for number in range(count):
        producer.produce(topic, f"v{number}", partition=0)
    assert producer.flush(PATIENCE_S) == 0


class Reader:
    """A librdkafka consumer in a rack, which tells where it reads."""

    def __init__(self, cluster: KafkaCluster, topic: str, rack: str) -> None:
        self.topic = topic
        self.reads_from = 0
        self.consumer = Consumer(
            {
                "bootstrap.servers": cluster.bootstrap,
                "group.id": topic,
                "client.rack": rack,
                "statistics.interval.ms": 100,
                "stats_cb": self._told,
                "fetch.wait.max.ms": 50,
                "auto.offset.reset": "earliest",
            }
        )
        self.consumer.assign([TopicPartition(topic, 0, 0)])

    def _told(self, statistics: str) -> None:
        partitions = json.loads(statistics)["topics"].get(self.topic, {}).get("partitions", {})
        self.reads_from = partitions.get("0", {}).get("broker", 0)

    def take(self, count: int) -> list[int]:
        """The offsets of the next records."""
        found = []
        for _ in range(count):
            message = self.consumer.poll(PATIENCE_S)
            assert message is not None
            assert message.error() is None
            found.append(message.offset())
        return found

    def until_it_reads_from(self, replica: int) -> None:
        def does() -> bool:
            assert self.consumer.poll(0.1) is None
            return self.reads_from == replica

        wait_until(does)

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.consumer.close()


@pytest.mark.parametrize(("rack", "replica"), [("a", 101), ("b", 102), ("c", 103), ("", 101)])
def test_librdkafka_reads_from_the_replica_in_its_rack(
    cluster: KafkaCluster, rack: str, replica: int
) -> None:
    topic = f"by-rack-librdkafka-{rack}"
    create(cluster, topic)
    with Reader(cluster, topic, rack) as reader:
        assert reader.take(RECORDS) == list(range(RECORDS))
        reader.until_it_reads_from(replica)
        written(cluster, topic, 3)
        assert reader.take(3) == [5, 6, 7]
        reader.until_it_reads_from(replica)


def test_a_reader_ahead_of_its_replica_goes_to_the_leader(cluster: KafkaCluster) -> None:
    """The follower says OFFSET_OUT_OF_RANGE; the position is not reset."""
    topic = "by-rack-ahead"
    create(cluster, topic)
    with restored(cluster), Reader(cluster, topic, "b") as reader:
        reader.take(RECORDS)
        reader.until_it_reads_from(102)
        cluster.cut(101, 102)
        written(cluster, topic, 4)
        reader.consumer.seek(TopicPartition(topic, 0, RECORDS + 2))
        assert reader.take(2) == [7, 8]
        reader.until_it_reads_from(101)


def test_a_reader_goes_to_the_leader_while_its_replica_is_dead(cluster: KafkaCluster) -> None:
    topic = "by-rack-dead"
    create(cluster, topic)
    with restored(cluster), Reader(cluster, topic, "b") as reader:
        reader.take(RECORDS)
        reader.until_it_reads_from(102)
        cluster.kill(102)
        written(cluster, topic, 3)
        assert reader.take(3) == [5, 6, 7]
        reader.until_it_reads_from(101)
        cluster.start(102)
        reader.until_it_reads_from(102)
        written(cluster, topic, 3)
        assert reader.take(3) == [8, 9, 10]


@pytest.fixture(scope="module")
def java() -> Iterator[subprocess.Popen[str]]:
    command = [jars.java(), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    program = str(Path(__file__).with_name("RackConsumer.java"))
    process = subprocess.Popen(
        [*command, "-cp", jars.classpath(), program],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    yield process
    assert process.stdin is not None
    process.stdin.close()
    process.wait(PATIENCE_S)


def java_reads(
    java: subprocess.Popen[str], cluster: KafkaCluster, topic: str, count: int, rack: str
) -> tuple[list[str], int]:
    """The values, and the replica that the client prefers at the end; -1 is the leader."""
    assert java.stdin is not None
    assert java.stdout is not None
    settings = f"bootstrap.servers={cluster.bootstrap} client.rack={rack}"
    java.stdin.write(f"{topic} {count} {settings}\n")
    java.stdin.flush()
    values, _, replica = java.stdout.readline().rstrip("\n").partition("\t")
    return values.split(","), int(replica)


def test_the_java_client_reads_from_the_replica_in_its_rack(
    cluster: KafkaCluster, java: subprocess.Popen[str]
) -> None:
    topic = "by-rack-java"
    cluster.create_topic(topic, assignment={0: [101, 102, 103]})
    written(cluster, topic, 20)
    with RawClient(cluster, 101, "reader") as reader:
        for rack, replica in (("b", 102), ("c", 103)):
            wait_until(lambda r=rack, n=replica: seen(fetch(reader, topic, 20, r))[1] == n)
    everything = [f"v{number}" for number in range(20)]
    for rack, replica in (
        ("a", LEADER_ITSELF),
        ("b", 102),
        ("c", 103),
        ("elsewhere", LEADER_ITSELF),
    ):
        assert java_reads(java, cluster, topic, 20, rack) == (everything, replica)
