"""A Kafka with ZooKeeper before it runs: ports, properties, jars, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit import jars
from kit.clusters import zookeeper
from kit.clusters.interface import ClusterError, NotOffered
from kit.clusters.kafka_cluster import KafkaCluster
from kit.clusters.reaper import Reaper
from kit.clusters.registry import Registration
from kit.clusters.zookeeper import ZooKeeperCluster, ZooKeeperProvider
from kit.clusters.zookeeper_plan import SESSION_TIMEOUT, new_plan

HERE = Path("somewhere")


def values(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines())


def test_each_broker_reaches_each_member_at_a_port_of_its_own() -> None:
    plan = new_plan(3)
    assert (plan.metadata_nodes, list(plan.client_ports)) == ([1, 2, 3], [101, 102, 103])
    believed = [values(plan.properties(b, HERE))["zookeeper.connect"] for b in plan.client_ports]
    ports = [address for each in believed for address in each.split(",")]
    assert len(set(ports)) == 9
    real = plan.members[2].client
    behind = f"2:{plan.session_ports[101][2]}:{real}:101"
    assert behind in plan.routes()
    assert f"101:{plan.proxy_ports[101]}:{plan.peer_ports[101]}" in plan.routes()


def test_a_broker_has_the_settings_of_every_provider_and_those_that_are_asked_for() -> None:
    usual = values(new_plan().properties(101, HERE))
    assert (usual["broker.id"], usual["broker.rack"]) == ("101", "a")
    assert usual["offsets.topic.num.partitions"] == "5"
    assert usual[SESSION_TIMEOUT] == "3000"
    asked = new_plan(settings={SESSION_TIMEOUT: "18000", "num.partitions": "7"})
    own = values(asked.properties(101, HERE))
    assert (own[SESSION_TIMEOUT], own["num.partitions"]) == ("18000", "7")


def test_a_member_alone_knows_no_others() -> None:
    alone, three = (values(new_plan(n).properties(1, HERE)) for n in (1, 3))
    assert not any(name.startswith("server.") for name in alone)
    assert [name for name in three if name.startswith("server.")] == [
        "server.1",
        "server.2",
        "server.3",
    ]
    assert alone["clientPortAddress"] == "127.0.0.1"


@pytest.mark.parametrize("session_ms", ["999", "40001"])
def test_a_session_that_zookeeper_would_not_keep_is_refused(session_ms: str) -> None:
    with pytest.raises(ClusterError, match="give a number from 1000 to 40000"):
        new_plan(settings={SESSION_TIMEOUT: session_ms})


@pytest.mark.parametrize("members", [0, 6])
def test_an_ensemble_has_one_to_five_members(members: int) -> None:
    with pytest.raises(ClusterError, match=f"1 to 5 members here, not {members}"):
        new_plan(members)


def test_the_jars_are_recorded_and_named_in_the_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    recorded = jars.ZOOKEEPER.recorded()
    assert {
        "kafka_2.13-3.9.2.jar",
        "kafka-tools-3.9.2.jar",
        "zookeeper-3.8.4.jar",
    } <= recorded.keys()
    assert len(recorded) == 105
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(jars.ZOOKEEPER.variable, raising=False)
    monkeypatch.setattr(jars, "java", lambda: "java")
    monkeypatch.setattr(jars.shutil, "which", lambda name: None)
    with pytest.raises(
        jars.JarsMissing, match=r"Maven is missing: .*, then call lab.zookeeper\(\)"
    ):
        zookeeper.start()
    with pytest.raises(jars.JarsMissing, match=r"are not here yet: call lab.zookeeper\(\) again"):
        jars.ZOOKEEPER.require()


def test_links_between_members_are_not_cut(tmp_path: Path) -> None:
    reaper = Reaper.start()
    registration = Registration("zookeeper-1", "zookeeper", str(tmp_path), False, "", 1)
    cluster = ZooKeeperCluster(ZooKeeperProvider(registration, reaper, new_plan(3)))
    try:
        for fault in (
            lambda: cluster.cut(1, 2),
            lambda: cluster.isolate(3),
            lambda: cluster.slow(2, 3, 5),
        ):
            with pytest.raises(NotOffered, match="kill or pause a member"):
                fault()
        assert isinstance(cluster, KafkaCluster)
        assert cluster.brokers == [101, 102, 103]
    finally:
        reaper.end()
