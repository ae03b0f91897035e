"""One more broker asks to be registered: the engine's and Kafka's controllers answer the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit import lab
from kit.clusters import engine
from kit.clusters.connections import Unreachable
from kit.clusters.kafka_cluster import KafkaCluster
from kit.probes import metadata_log, registration
from tests.real_clusters import restored

WHOLE = ["101 in service", "102 in service", "103 in service"]
TAKEN = "DUPLICATE_BROKER_REGISTRATION"


@pytest.fixture(
    scope="module",
    params=["engine", pytest.param("local", marks=[pytest.mark.real, pytest.mark.heavy])],
)
def cluster(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    if request.param == "local":
        yield request.getfixturevalue("local_cluster")
        return
    with engine.start(settings=lab.BRISK) as started:
        yield started


def test_a_taken_id_is_refused_until_the_session_is_over(cluster: KafkaCluster) -> None:
    with restored(cluster):
        assert registration.attempt(cluster, 101) == TAKEN
        cluster.kill(101)
        assert registration.attempt(cluster, 101) == TAKEN
        cluster.wait_until(lambda c: registration.attempt(c, 101) == "NONE", 40)
        standing = ["101 fenced", *WHOLE[1:]]
        cluster.wait_until(lambda c: registration.standing(c) == standing, 40)
        assert registration.known_to_clients(cluster) == [102, 103]
    assert registration.standing(cluster) == WHOLE


def test_a_broker_of_another_cluster_is_refused(cluster: KafkaCluster) -> None:
    assert ",".join(registration.addresses(cluster).values()) == cluster.bootstrap
    refused = registration.attempt(cluster, 104, cluster_id="another")
    assert refused == "INCONSISTENT_CLUSTER_ID"
    assert registration.standing(cluster) == WHOLE


def test_a_broker_stays_registered_until_it_is_unregistered(cluster: KafkaCluster) -> None:
    with restored(cluster):
        cluster.stop(103)
        cluster.wait_until(lambda c: registration.known_to_clients(c) == [101, 102], 40)
        assert registration.standing(cluster) == [*WHOLE[:2], "103 fenced"]
        before = metadata_log.end(cluster)
        assert registration.unregister(cluster, 103) == "NONE"
        cluster.wait_until(lambda c: registration.standing(c) == WHOLE[:2], 40)
        (entry,) = metadata_log.since(cluster, before)
        assert entry.says == "broker 103 unregistered"
        assert registration.unregister(cluster, 103) == "BROKER_ID_NOT_REGISTERED"
    assert registration.standing(cluster) == WHOLE


@pytest.mark.full
def test_without_an_active_controller_nothing_is_registered() -> None:
    with engine.start(controllers=3, settings=lab.BRISK) as three:
        active = three.snapshot()["controller"]["id"]
        for controller in {100, 200, 300} - {active}:
            three.kill(controller)
        three.wait_until(lambda c: not c.snapshot()["controllers"][active]["is_active"], 40)
        with pytest.raises(Unreachable, match="No controller is active"):
            registration.attempt(three, 104)
