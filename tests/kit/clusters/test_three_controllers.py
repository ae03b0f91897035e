"""Three controllers on both sides: the active one fails, and what clients see is the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from kit.clusters import engine, local
from kit.clusters.interface import Cluster
from kit.clusters.kafka_cluster import KafkaCluster
from tests.real_clusters import require_local_kafka

CONTROLLERS = [100, 200, 300]
PATIENCE_S = 60.0


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


def active(cluster: Cluster) -> int:
    """The controller that leads the quorum, -1 while none does; a paused one may think it does."""
    known = cluster.snapshot()["controllers"].items()
    leading = [(seen["epoch"], each) for each, seen in known if seen.get("is_active")]
    return max(leading)[1] if leading else -1


def produce(cluster: KafkaCluster, records: int) -> None:
    failed: list[object] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
    for number in range(records):
        producer.produce(
            "orders", f"{number}", on_delivery=lambda error, _: error and failed.append(error)
        )
    assert producer.flush(PATIENCE_S) == 0
    assert failed == []


def whole(cluster: Cluster) -> bool:
    """All controllers run, one is active, and no broker is fenced."""
    running = all(each.state == "running" for each in cluster.provider.nodes().values())
    shown = cluster.snapshot()
    return (
        running
        and active(cluster) > 0
        and not any(each["fenced"] for each in shown["brokers"].values())
    )


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
