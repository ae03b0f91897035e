"""A controller becomes a voter and another one stops being one, on both sides (KIP-853)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.clusters import engine, local
from kit.clusters.interface import ClusterError
from kit.clusters.kafka_cluster import KafkaCluster
from kit.clusters.local_plan import Plan, new_plan
from kit.probes import voters
from tests.real_clusters import require_local_kafka

REAL = [pytest.mark.real, pytest.mark.full, pytest.mark.heavy]


@pytest.fixture(params=["engine", pytest.param("local", marks=REAL)])
def cluster(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    if request.param == "local":
        require_local_kafka()
    start = engine.start if request.param == "engine" else local.start
    with start(controllers=4, voters=3) as started:
        yield started


def test_a_voter_is_exchanged_and_the_new_one_counts(cluster: KafkaCluster) -> None:
    first = voters.standing(cluster)
    assert (first.voters, first.observers) == ([100, 200, 300], [400])
    assert voters.remove(cluster, 400) == "VOTER_NOT_FOUND"
    assert voters.add(cluster, 400) == "NONE"
    assert voters.standing(cluster).voters == [100, 200, 300, 400]
    assert voters.add(cluster, 400) == "DUPLICATE_VOTER"
    assert voters.standing(cluster).epoch == first.epoch, "no election was needed"
    assert voters.remove(cluster, first.leader) == "NONE"
    second = voters.standing(cluster)
    assert second.voters == sorted({100, 200, 300, 400} - {first.leader})
    assert second.leader in second.voters
    assert second.epoch > first.epoch
    cluster.kill(first.leader)
    cluster.kill(next(each for each in second.voters if each not in (400, second.leader)))
    cluster.create_topic("with-two-of-three-voters")
    with pytest.raises(ClusterError, match="neither votes nor observes"):
        voters.add(cluster, 500)


def test_a_plan_of_changing_voters_names_no_list_of_them(tmp_path: Path) -> None:
    plan = new_plan(links=True, controllers=4, voters=3)
    properties = plan.properties(400, tmp_path)
    assert "controller.quorum.voters" not in properties
    assert f"controller.quorum.bootstrap.servers={plan.bootstrap_controllers}" in properties
    assert [each.partition("@")[0] for each in plan.initial_controllers.split(",")] == [
        "100", "200", "300"
    ]  # fmt: skip
    plan.save(tmp_path / "plan.json")
    assert Plan.load(tmp_path / "plan.json") == plan


def test_more_voters_than_controllers_cannot_be() -> None:
    with pytest.raises(ClusterError, match="Of 3 controllers, 1 to 3 can vote: 4"):
        new_plan(links=True, controllers=3, voters=4)
