"""Three controllers on both sides: the active one fails, and what clients see is the same.

    KAFKALAB_ROUNDS=20 pytest tests/kit/clusters/test_three_controllers.py -k load

loses it twenty times by each fault, on both sides.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from kit.clusters import engine, local
from kit.clusters.kafka_cluster import KafkaCluster
from tests.kit.clusters import contract_controller_lost as check
from tests.kit.clusters.contract_controller_lost import active, whole
from tests.real_clusters import require_local_kafka

CONTROLLERS = [100, 200, 300]
PATIENCE_S = 60.0
ROUNDS = int(os.environ.get("KAFKALAB_ROUNDS", "1"))


@pytest.fixture(
    scope="module",
    params=[
        "engine",
        pytest.param("local", marks=[pytest.mark.real, pytest.mark.full, pytest.mark.heavy]),
    ],
)
def cluster(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    if request.param == "local":
        require_local_kafka()
    start = engine.start if request.param == "engine" else local.start
    with start(controllers=3) as started:
        started.create_topic("orders")
        yield started


def produce(cluster: KafkaCluster, records: int) -> None:
    failed: list[object] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
    for number in range(records):
        producer.produce(
            "orders", f"{number}", on_delivery=lambda error, _: error and failed.append(error)
        )
    assert producer.flush(PATIENCE_S) == 0
    assert failed == []


def test_the_controllers_are_nodes_and_one_of_them_is_active(cluster: KafkaCluster) -> None:
    nodes = cluster.provider.nodes().values()
    assert [each.id for each in nodes if each.is_controller] == CONTROLLERS
    assert cluster.brokers == [101, 102, 103]
    assert active(cluster) in CONTROLLERS


@pytest.mark.parametrize(("fail", "undo"), [("kill", "start"), ("pause", "resume"),
                                            ("isolate", "heal"), ("stop", "start")])  # fmt: skip
def test_another_takes_over_and_the_first_comes_back(
    cluster: KafkaCluster, fail: str, undo: str
) -> None:
    former, epoch = active(cluster), cluster.snapshot()["controller"]["epoch"]
    getattr(cluster, fail)(former)
    try:
        cluster.wait_until(lambda c: active(c) not in (former, -1), PATIENCE_S)
        assert cluster.snapshot()["controller"]["epoch"] > epoch
        cluster.create_topic(f"after-{fail}")
        produce(cluster, 20)
    finally:
        getattr(cluster, undo)(*([] if undo == "heal" else [former]))
    cluster.wait_until(whole, PATIENCE_S)
    assert {"orders", f"after-{fail}"} <= set(cluster.snapshot()["topics"])


@pytest.mark.parametrize("fault", check.FAULTS)
def test_a_load_goes_on_while_the_active_controller_is_lost(
    cluster: KafkaCluster, fault: str
) -> None:
    for number in range(ROUNDS):
        check.nothing_is_lost(check.controller_lost_under_load(cluster, fault, number))


def test_without_a_majority_records_flow_and_no_topic_is_made(cluster: KafkaCluster) -> None:
    leader = active(cluster)
    others = [each for each in CONTROLLERS if each != leader]
    for each in others:
        cluster.kill(each)
    try:
        produce(cluster, 20)
    finally:
        for each in others:
            cluster.start(each)
    cluster.wait_until(whole, PATIENCE_S)
    cluster.create_topic("after-the-majority-is-back")
