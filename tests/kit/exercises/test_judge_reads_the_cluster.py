"""What a judge sees of a cluster is what its brokers hold, not what a notebook says."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from kit.exercises.cluster_log import Context, NoCluster


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    """An engine of three brokers, in memory."""
    engine = subprocess.Popen([sys.executable, "-m", "engine"], stdout=subprocess.PIPE, text=True)
    assert engine.stdout is not None
    try:
        yield engine.stdout.readline().split(": ")[1].strip()
    finally:
        engine.terminate()
        engine.wait()
        engine.stdout.close()


def ready_admin(bootstrap: str) -> AdminClient:
    """A client that knows the controller: one that came too early would wait for minutes."""
    while True:
        admin = AdminClient({"bootstrap.servers": bootstrap})
        with contextlib.suppress(KafkaException):
            if admin.describe_cluster(request_timeout=1).result().controller:
                return admin


@pytest.fixture(scope="module")
def orders(bootstrap) -> str:
    """A topic of two partitions, with five records in the first and none in the second."""
    admin = ready_admin(bootstrap)
    topic = NewTopic("orders", 2, 3, config={"min.insync.replicas": "2"})
    admin.create_topics([topic])["orders"].result(30)
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all"})
    for number in range(5):
        producer.produce("orders", value=f"order {number}", key=b"k", partition=0)
    assert producer.flush(30) == 0
    return "orders"


def test_records_are_read_to_the_end_by_partition_and_offset(bootstrap, orders) -> None:
    found = Context(bootstrap).records(orders)
    assert [(r.partition, r.offset, r.value) for r in found] == [
        (0, number, f"order {number}".encode()) for number in range(5)
    ]
    assert {record.key for record in found} == {b"k"}


def test_partitions_and_settings_are_the_brokers_own(bootstrap, orders) -> None:
    context = Context(bootstrap)
    partitions = context.partitions(orders)
    assert sorted(partitions) == [0, 1]
    assert sorted(partitions[0].replicas) == [101, 102, 103]
    assert partitions[0].leader in partitions[0].in_sync_replicas
    assert context.configs(orders)["min.insync.replicas"] == "2"


def test_a_topic_that_is_not_there_is_empty(bootstrap) -> None:
    assert Context(bootstrap).partitions("nothing-here") == {}
    assert Context(bootstrap).records("nothing-here") == []


def test_no_cluster_gets_a_sentence() -> None:
    with pytest.raises(NoCluster, match=r"pass one: check\(…, cluster=eng\)"):
        Context().partitions("orders")
    with pytest.raises(NoCluster, match="does not answer"):
        Context("127.0.0.1:1", timeout_s=1).partitions("orders")
