"""The table of faults, and those who read it."""

from __future__ import annotations

import inspect

import pytest

from engine.sim.world.faults import KINDS
from kit.clusters import docker, engine, remote
from kit.clusters.faults import FAULTS
from kit.clusters.interface import Cluster, NotOffered
from kit.clusters.kafka_cluster import KafkaCluster
from kit.clusters.remote import RemoteProvider

NOT_OFFERED = {
    engine.EngineProvider: set(),
    docker.DockerProvider: {"lose_power", "cut", "slow"},
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_a_method_and_the_engines_are_faults_of_the_simulator(name: str) -> None:
    documented = getattr(Cluster, name)
    assert documented.__doc__
    ours = inspect.signature(getattr(KafkaCluster, name))
    assert str(ours) == str(inspect.signature(documented))
    if name not in engine.EngineProvider.refusals:
        assert KINDS[name].nodes[0] == FAULTS[name].nodes


@pytest.mark.parametrize("provider", NOT_OFFERED)
def test_what_a_provider_never_offers_has_a_sentence(provider: type) -> None:
    assert set(provider.refusals) == NOT_OFFERED[provider]


def test_a_cluster_of_others_refuses_all_but_to_heal() -> None:
    cluster = KafkaCluster(RemoteProvider("127.0.0.1:1"))
    assert [name for name in FAULTS if cluster.offers(name)] == ["heal"]
    assert cluster.refusal("heal") == ""
    assert "the kit will not kill a broker" in cluster.refusal("kill")
    assert "use the engine for that" in cluster.refusal("lose_power")
    cluster.heal()


def test_a_refused_fault_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = RemoteProvider("127.0.0.1:1")
    node = remote.Node(101, "running", ("127.0.0.1", 1))
    monkeypatch.setattr(provider, "nodes", lambda: {101: node})
    monkeypatch.setattr(provider, "hold", lambda: pytest.fail("it takes the lease"))
    with pytest.raises(NotOffered, match="belongs to others"):
        KafkaCluster(provider).kill(101)
