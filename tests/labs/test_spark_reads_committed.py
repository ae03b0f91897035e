"""Spark's Kafka source with read_committed: it does not see what was aborted, or is open."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Producer

from kit.clusters.interface import Cluster

PATIENCE_S = 60.0
ENDS = ("commit", "abort", "commit", "abort", "open")
IN_EACH = 5

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module", params=["engine", pytest.param("kafka", marks=pytest.mark.real)])
def cluster(request: pytest.FixtureRequest) -> Cluster:
    name = "engine_cluster" if request.param == "engine" else "local_cluster"
    found: Cluster = request.getfixturevalue(name)
    return found


def written(cluster: Cluster, topic: str) -> list[Producer]:
    """A transaction for each of ENDS, from producers of their own; keep them while one is open."""
    cluster.create_topic(topic, partitions=2)
    producers = []
    for number, end in enumerate(ENDS):
        there = {"bootstrap.servers": cluster.bootstrap, "transactional.id": f"{topic}-{number}"}
        producer = Producer(there)
        producers.append(producer)
        producer.init_transactions(PATIENCE_S)
        producer.begin_transaction()
        for each in range(IN_EACH):
            producer.produce(topic, f"{end}-{number}-{each}", partition=each % 2)
        assert producer.flush(PATIENCE_S) == 0
        if end == "commit":
            producer.commit_transaction(PATIENCE_S)
        elif end == "abort":
            producer.abort_transaction(PATIENCE_S)
    return producers


def read(spark: Any, cluster: Cluster, topic: str, level: str) -> list[str]:
    frame = (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", cluster.bootstrap)
        .option("subscribe", topic)
        .option("kafka.isolation.level", level)
        .load()
    )
    return sorted(row.value.decode() for row in frame.select("value").collect())


def test_aborted_and_open_transactions_are_not_read(spark: Any, cluster: Cluster) -> None:
    topic = "spark-committed"
    producers = written(cluster, topic)
    made = [f"{end}-{number}-{each}" for number, end in enumerate(ENDS) for each in range(IN_EACH)]
    committed = [value for value in made if value.startswith("commit")]
    assert read(spark, cluster, topic, "read_committed") == sorted(committed)
    assert read(spark, cluster, topic, "read_uncommitted") == sorted(made)
    producers.pop().abort_transaction(PATIENCE_S)
