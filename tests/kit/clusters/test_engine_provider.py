"""The engine's provider: lifetime, view from inside, story, and sharing."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kit.clusters import engine, explain
from kit.clusters.engine import EngineProvider
from kit.clusters.interface import ClusterError, LeaseTaken
from kit.clusters.kafka_cluster import KafkaCluster


def provider_of(cluster: KafkaCluster) -> EngineProvider:
    assert isinstance(cluster.provider, EngineProvider)
    return cluster.provider


def test_closing_leaves_no_process_and_no_file() -> None:
    cluster = engine.start(brokers=1)
    provider = provider_of(cluster)
    pid, directory = provider.pid(), Path(provider.registration.directory)
    assert directory.exists()
    assert provider.registration.file.exists()
    cluster.close()
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    assert not directory.exists()
    assert not provider.registration.file.exists()
    with pytest.raises(ClusterError, match=r"lab\.engine\(\)"):
        provider.nodes()


def test_two_engines_are_two_clusters() -> None:
    with engine.start(brokers=1) as one, engine.start(brokers=2) as other:
        assert (one.brokers, other.brokers) == ([101], [101, 102])
        assert provider_of(one).cluster_id != provider_of(other).cluster_id
        one.create_topic("only-here", replicas=1)
        assert list(other.snapshot()["topics"]) == []


def test_settings_and_rule_reach_the_brokers_and_bad_ones_get_a_sentence() -> None:
    settings = {"num.partitions": "4", "default.replication.factor": "1"}
    with engine.start(brokers=1, settings=settings, rule="kip-101") as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        admin.create_topics([NewTopic("four")])["four"].result(30)
        assert len(cluster.snapshot()["topics"]["four"]["partitions"]) == 4
    with pytest.raises(ClusterError, match=r"no\.such\.setting"):
        engine.start(settings={"no.such.setting": "1"})


def test_the_trace_tells_the_story_and_where_to_go_on() -> None:
    with engine.start() as cluster:
        cluster.create_topic("told", assignment={0: [102, 103, 101]})
        seen = cluster.trace(0, 100_000)
        lines = [x for x in seen["lines"] if x["partition"] == "told-0" and x["kind"] == "leader"]
        assert {line["fields"]["leader"] for line in lines} == {102}
        assert [line["number"] for line in seen["lines"]] == list(range(seen["next"]))
        cluster.kill(102)
        kinds = [line["kind"] for line in cluster.trace(seen["next"])["lines"]]
        assert "killed" in kinds
        assert cluster.offers("lose_power")


def test_a_shared_engine_outlives_its_starter_and_is_broken_by_one_at_a_time() -> None:
    starter = engine.start(shared=True, brokers=1)
    reaper = provider_of(starter)._reaper
    try:
        visitor = engine.attach()
        assert visitor is not None
        assert visitor.bootstrap == starter.bootstrap
        starter.kill(101)
        with pytest.raises(LeaseTaken, match="Another notebook"):
            visitor.start(101)
        visitor.close()
    finally:
        reaper.end()


def test_errors_are_explained() -> None:
    partition = {"leader": 101, "isr": [101], "replicas": [101, 102, 103]}
    snapshot = {
        "brokers": {101: {"state": "running"}, 102: {"state": "killed"}},
        "topics": {"t": {"config": {"min.insync.replicas": "2"}, "partitions": {0: partition}}},
    }
    said = explain.explain("NOT_ENOUGH_REPLICAS", snapshot, "t")
    assert "min.insync.replicas=2" in said
    assert "nothing was written" in said
    assert "may still be kept" in explain.explain("NOT_ENOUGH_REPLICAS_AFTER_APPEND", snapshot, "t")
    assert "retries=0" in explain.explain("_MSG_TIMED_OUT", snapshot, "t")
    assert "create_topic('x')" in explain.explain("_UNKNOWN_TOPIC", snapshot, "x")
    assert "102" in explain.explain("_TRANSPORT", snapshot, "t")
