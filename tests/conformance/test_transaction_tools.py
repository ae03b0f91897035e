"""kafka-transactions.sh on the engine and on Kafka: a hanging transaction is found and ended.

A record that opens a transaction which no coordinator knows is what verification prevents
(KIP-890).  So it is off while that record is written: the cluster is one of before 3.6 then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition

from engine.records import batch
from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.clusters.kafka_cluster import KafkaCluster
from kit.probes.raw_client import NAMED, RawClient
from tests.conformance.kafka_tools import PATIENCE_S, KafkaTools
from tests.real_clusters import require_local_kafka

pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]

Tool = Callable[..., str]
HOUR_MS = 3_600_000
VERIFICATION = "transaction.partition.verification.enable"


@pytest.fixture(scope="module")
def tools() -> Iterator[KafkaTools]:
    require_local_kafka()
    with KafkaTools() as tools:
        yield tools


@pytest.fixture(params=["engine", "kafka"])
def cluster(request: pytest.FixtureRequest) -> KafkaCluster:
    name = "engine_cluster" if request.param == "engine" else "local_cluster"
    found: KafkaCluster = request.getfixturevalue(name)
    return found


@pytest.fixture
def tool(tools: KafkaTools, cluster: KafkaCluster) -> Tool:
    return partial(tools.run, cluster.bootstrap)


def rows(printed: str) -> list[dict[str, str]]:
    """The table that a command prints, by column."""
    lines = [[cell.strip() for cell in line.split("\t")] for line in printed.splitlines()]
    head, *rest = [each for each in lines if len(each) > 1]
    return [dict(zip(head, each, strict=True)) for each in rest]


def until(what: str, found: Callable[[], object]) -> None:
    ends = time.monotonic() + PATIENCE_S
    while not found():
        assert time.monotonic() < ends, what


@contextmanager
def unverified(tool: Tool) -> Iterator[None]:
    """Brokers take transactional records without a question to the coordinator."""
    all_brokers = ("--alter", "--entity-type", "brokers", "--entity-default")
    tool("configs", *all_brokers, "--add-config", f"{VERIFICATION}=false")
    try:
        yield
    finally:
        tool("configs", *all_brokers, "--delete-config", VERIFICATION)


def hang(cluster: KafkaCluster, tool: Tool, topic: str) -> int:
    """A record of an hour ago in a transaction of nobody; the producer id."""
    with RawClient(cluster, 101, "forgotten") as client, unverified(tool):
        ids: list[int] = []

        def has_id() -> bool:
            given = client.ask(m.InitProducerIdRequest(None, 60_000), 5)
            ids.append(given.producer_id)
            return bool(given.error_code == Errors.NONE)

        until("the broker has producer ids", has_id)
        producer_id = ids[-1]
        old = batch.Record(0, int(time.time() * 1000) - HOUR_MS, None, b"hanging", ())
        records = batch.encode(
            [old], producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True
        )
        request = m.ProduceRequest
        part = request.PartitionProduceData(index=0, records=records)
        named = request.TopicProduceData(name=topic, partition_data=[part])
        body = request(transactional_id="gone", acks=-1, timeout_ms=30_000, topic_data=[named])

        def written() -> bool:
            (row,) = client.ask(body, NAMED - 1).responses[0].partition_responses
            return bool(row.error_code == Errors.NONE)

        until("the brokers stop to verify", written)
    return producer_id


class Reader:
    """Reads partition 0 with read_committed, from the start."""

    def __init__(self, cluster: KafkaCluster, topic: str) -> None:
        self.values: list[str] = []
        self.is_at_end = False
        self.consumer = Consumer({
            "bootstrap.servers": cluster.bootstrap, "group.id": "reader",
            "isolation.level": "read_committed", "enable.partition.eof": True,
        })  # fmt: skip
        self.consumer.assign([TopicPartition(topic, 0, 0)])

    def read(self) -> bool:
        """True once it has nothing more to read for now."""
        message: Message | None = self.consumer.poll(0.1)
        if message is None:
            return False
        if message.error() is None:
            self.values.append(message.value().decode())
        return message.error() is not None


def test_a_hanging_transaction_is_found_and_aborted(cluster: KafkaCluster, tool: Tool) -> None:
    topic = "hangs"
    cluster.create_topic(topic, assignment={0: [101, 102]})
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
    producer.produce(topic, b"before", partition=0)
    producer.flush(PATIENCE_S)
    producer_id = hang(cluster, tool, topic)
    producer.produce(topic, b"behind", partition=0)
    producer.flush(PATIENCE_S)

    reader = Reader(cluster, topic)
    until("the reader stands before the transaction", reader.read)
    assert reader.values == ["before"]

    def found(*where: str) -> list[tuple[str, str, str, str]]:
        shown = rows(tool("transactions", "find-hanging", *where))
        columns = ("Topic", "Partition", "ProducerId", "StartOffset")
        return [(*map(row.__getitem__, columns),) for row in shown]  # type: ignore[misc]

    hanging = [(topic, "0", str(producer_id), "1")]
    for where in (("--topic", topic), ("--broker-id", "101"), ("--broker-id", "102")):
        assert [each for each in found(*where) if each[0] == topic] == hanging, where
    described = ("transactions", "describe-producers", "--topic", topic, "--partition", "0")
    for where in ((), ("--broker-id", "101"), ("--broker-id", "102")):
        (row,) = rows(tool(*described, *where))
        assert (row["ProducerId"], row["ProducerEpoch"]) == (str(producer_id), "0")
        assert (row["LatestCoordinatorEpoch"], row["CurrentTransactionStartOffset"]) == ("-1", "1")

    tool("transactions", "abort", "--topic", topic, "--partition", "0", "--start-offset", "1")
    until("the reader goes on", lambda: reader.read() and len(reader.values) > 1)
    assert reader.values == ["before", "behind"]
    assert found("--topic", topic) == []
    (row,) = rows(tool(*described))
    assert (row["LatestCoordinatorEpoch"], row["CurrentTransactionStartOffset"]) == ("0", "None")
    reader.consumer.close()


def test_an_open_transaction_is_listed_described_and_ended_by_force(
    cluster: KafkaCluster, tool: Tool
) -> None:
    topic, name = "listed", "till"
    cluster.create_topic(topic, partitions=2)
    there = {"bootstrap.servers": cluster.bootstrap, "log_level": 0}
    producer = Producer({**there, "transactional.id": name})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    for partition in (0, 1):
        producer.produce(topic, b"open", partition=partition)
    producer.flush(PATIENCE_S)

    def described() -> dict[str, str]:
        (row,) = rows(tool("transactions", "describe", "--transactional-id", name))
        return row

    (listed,) = [
        row for row in rows(tool("transactions", "list")) if row["TransactionalId"] == name
    ]
    row = described()
    assert listed["TransactionState"] == row["TransactionState"] == "Ongoing"
    assert listed["ProducerId"] == row["ProducerId"]
    assert listed["Coordinator"] == row["CoordinatorId"]
    assert sorted(row["TopicPartitions"].split(",")) == [f"{topic}-0", f"{topic}-1"]
    hour = ("--duration-filter", str(HOUR_MS))
    assert name not in tool("transactions", "list", *hour)

    tool("transactions", "forceTerminateTransaction", "--transactionalId", name)
    until("it ends", lambda: described()["TransactionState"] == "Empty")
    reader = Reader(cluster, topic)
    until("the reader passes what was aborted", reader.read)
    assert reader.values == []
    reader.consumer.close()
