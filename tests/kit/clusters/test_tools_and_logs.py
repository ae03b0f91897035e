"""Kafka's own tools and the brokers' own log lines, shown as they are."""

from __future__ import annotations

import zipfile
from typing import Any

import pytest

from kit import jars, lab
from kit.clusters import broker_log, tools
from kit.clusters.interface import ClusterError
from kit.clusters.kafka_cluster import KafkaCluster
from tests.real_clusters import require_local_kafka, restored

pytestmark = [pytest.mark.real, pytest.mark.timeout(240)]


@pytest.fixture(scope="module", params=["engine", "local"])
def cluster(request: Any) -> Any:
    require_local_kafka()
    if request.param == "engine":
        made: KafkaCluster = lab.engine(private=True, settings=lab.BRISK)
    else:
        made = request.getfixturevalue("local_cluster")
    lab.mend(made)
    made.create_topic("observed", assignment={0: [101, 102, 103]})
    yield made
    lab.mend(made)


def test_describe_shows_what_the_tool_prints(cluster: KafkaCluster) -> None:
    printed = lab.tool(cluster, "kafka-topics", "--describe", "--topic", "observed")
    assert printed.command.startswith(f"kafka-topics.sh --bootstrap-server {cluster.bootstrap}")
    header, row = printed.text.splitlines()
    assert "PartitionCount: 1" in header
    assert "Replicas: 101,102,103" in row
    assert "SLF4J" not in repr(printed)
    assert "<pre" in printed._repr_html_()


def test_dump_log_reads_a_copy_of_one_replica(cluster: KafkaCluster) -> None:
    from kit.probes import clients

    clients.send(cluster, "observed", "A")
    printed = lab.tool(cluster, "kafka-dump-log", "--print-data-log", broker=101, topic="observed")
    assert "--files observed-0/00000000000000000000.log" in printed.command
    assert "payload: A" in printed.text
    assert "isvalid: true" in printed.text
    with pytest.raises(ClusterError, match="holds no replica"):
        lab.tool(cluster, "kafka-dump-log", broker=101, topic="absent")
    with pytest.raises(ClusterError, match="Name a broker"):
        lab.tool(cluster, "kafka-dump-log", topic="observed")


def test_a_complaint_of_the_tool_is_shown(cluster: KafkaCluster) -> None:
    printed = lab.tool(cluster, "kafka-topics", "--describe", "--topic", "absent")
    assert "does not exist" in printed.text
    with pytest.raises(ClusterError, match="is not one of the tools"):
        lab.tool(cluster, "kafka-topic")


def test_every_tool_is_in_kafkas_jars() -> None:
    require_local_kafka()
    found = {
        name.removesuffix(".class").replace("/", ".")
        for jar in jars.directory().glob("kafka*.jar")
        for name in zipfile.ZipFile(jar).namelist()
    }
    assert set(tools.CLASSES.values()) <= found


def test_a_broker_logs_that_the_isr_shrank(cluster: KafkaCluster) -> None:
    cluster.kill(103)
    cluster.wait_until(
        lambda c: c.snapshot()["topics"]["observed"]["partitions"][0]["isr"] == [101, 102],
        timeout_s=30,
    )
    cluster.wait_until(
        lambda c: bool(broker_log.find(c, 101, "ISR observed-0").lines),
        timeout_s=30,
        what="the log line",
    )
    found = lab.broker_log(cluster, 101, "ISR observed-0", last=2)
    assert 1 <= len(found.lines) <= 2
    assert all("observed-0" in line for line in found.lines)
    assert found.source.endswith("broker 101")
    assert lab.broker_log(cluster, 100, "observed").source.endswith("controller 100")
    assert "no such line" in repr(lab.broker_log(cluster, 101, "no such word at all"))
    with pytest.raises(ClusterError, match="There is no broker 7"):
        lab.broker_log(cluster, 7, "ISR")


def test_a_real_broker_logs_what_an_operator_reads(local_cluster: KafkaCluster) -> None:
    """Leadership with its epoch, and the ISR; no line for a partition that did not change."""
    with restored(local_cluster) as cluster:
        lab.mend(cluster)
        cluster.create_topic("led", assignment={0: [102, 103]})
        cluster.kill(102)
        cluster.wait_until(lambda c: c.leader("led") == 103, 30)
        cluster.start(102)
        cluster.wait_until(
            lambda c: bool(broker_log.find(c, 102, "Truncating partition led-0").lines), 30
        )
        (line,) = lab.broker_log(cluster, 103, "Leader led-0", last=1).lines
        assert "starts at leader epoch 1 from offset 0" in line
        assert lab.broker_log(cluster, 102, "Skipped the become-").lines == ()
        assert lab.broker_log(cluster, 103, "fetcher").lines


def test_without_java_the_output_is_a_sentence(monkeypatch: Any) -> None:
    def absent() -> str:
        raise jars.JarsMissing("Java is not installed; run: make setup")

    monkeypatch.setattr(tools.jars, "java", absent)
    printed = lab.tool(object(), "kafka-topics", "--list")  # type: ignore[arg-type]
    assert "Kafka's tools need Java. Java is not installed; run: make setup" in repr(printed)
