"""One more process beside a real Kafka: refused, ended, and nothing of it is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.clusters import engine
from kit.clusters.interface import ClusterError, NotOffered
from kit.clusters.kafka_cluster import KafkaCluster
from kit.clusters.registry import labelled_processes
from kit.probes import clients, newcomers, registration
from kit.probes.newcomers import Newcomer
from tests.real_clusters import restored

WHOLE = ["101 in service", "102 in service", "103 in service"]


def left(cluster: KafkaCluster) -> tuple[set[str], set[int]]:
    """Files and processes of the cluster."""
    provider = cluster.provider
    files = {each.name for each in Path(provider.directory).iterdir()}
    return files, {each.pid for each in labelled_processes({provider.registration.label})}


@pytest.mark.real
def test_newcomers_end_with_a_reason_and_leave_nothing(local_cluster: KafkaCluster) -> None:
    before = left(local_cluster)
    ended = newcomers.start(
        local_cluster,
        {
            "taken": Newcomer(101, gives_up_ms=700),
            "none": Newcomer(None),
            "others": Newcomer(104, formatted_for=105),
            "old": Newcomer(104, changes={"process.roles": None, "zookeeper.connect": "zk:2181"}),
        },
    )
    assert {each.code for each in ended.values()} == {1}
    assert ended["taken"].refusals.keys() == {"DUPLICATE_BROKER_REGISTRATION"}
    assert "unable to register with the controller quorum" in ended["taken"].why
    assert 'Missing required configuration "node.id"' in ended["none"].why
    assert "process.roles" in ended["old"].why
    assert ended["others"].why.startswith("Stored node id 105 doesn't match previous node id 104")
    assert left(local_cluster) == before
    assert registration.standing(local_cluster) == WHOLE


@pytest.mark.real
@pytest.mark.full
def test_a_broker_of_another_cluster_does_not_register(local_cluster: KafkaCluster) -> None:
    stranger = Newcomer(104, cluster_id="4L6g3nShT-eMCtK--X86sw", gives_up_ms=700)
    ended = newcomers.start(local_cluster, {"": stranger})[""]
    assert ended.refusals.keys() == {"INCONSISTENT_CLUSTER_ID"}
    assert registration.standing(local_cluster) == WHOLE


@pytest.mark.real
@pytest.mark.full
def test_a_newcomer_that_is_taken_in_is_an_error_and_is_ended(
    local_cluster: KafkaCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newcomers, "PATIENCE_S", 8.0)
    before = left(local_cluster)
    with pytest.raises(ClusterError, match="goes on, so it was not refused"):
        newcomers.start(local_cluster, {"": Newcomer(104)})
    local_cluster.wait_until(lambda c: "104 fenced" in registration.standing(c), 40)
    assert registration.unregister(local_cluster, 104) == "NONE"
    assert left(local_cluster) == before


@pytest.mark.real
@pytest.mark.full
def test_moved_files_are_taken_back_under_another_address(local_cluster: KafkaCluster) -> None:
    before = left(local_cluster)[0]
    with restored(local_cluster):
        local_cluster.create_topic("moved", assignment={0: [101, 102, 103]})
        at_first = registration.addresses(local_cluster)[101]
        with newcomers.moved(local_cluster, 101) as address:
            local_cluster.wait_until(clients.whole("moved"), 60)
            assert registration.addresses(local_cluster)[101] == "{}:{}".format(*address)
            assert registration.addresses(local_cluster)[101] != at_first
    local_cluster.wait_until(clients.whole("moved"), 60)
    assert registration.addresses(local_cluster)[101] == at_first
    assert left(local_cluster)[0] == before


def test_the_engine_takes_no_more_processes() -> None:
    with engine.start(brokers=1) as cluster, pytest.raises(NotOffered, match="a local Kafka does"):
        newcomers.start(cluster, {"": Newcomer(101)})
