"""Kafka's own tools and the brokers' own log lines, shown as they are."""

from __future__ import annotations

from typing import Any

import pytest

from kit import jars, lab
from kit.clusters import broker_log, tools
from kit.clusters.interface import ClusterError
from kit.clusters.kafka_cluster import KafkaCluster
from kit.testing import require_local_kafka

pytestmark = [pytest.mark.real, pytest.mark.timeout(240)]


@pytest.fixture(scope="module", params=["engine", "local"])
def cluster(request: Any) -> Any:
    require_local_kafka()
    made = (
        lab.engine(private=True, settings=lab.BRISK) if request.param == "engine" else lab.local()
    )
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


def test_a_broker_logs_that_the_isr_shrank(cluster: KafkaCluster) -> None:
    cluster.kill(103)
    cluster.wait_until(
        lambda c: c.snapshot()["topics"]["observed"]["partitions"][0]["isr"] == [101, 102],
        timeout_s=30,
    )
    cluster.wait_until(
        lambda c: bool(broker_log.find(c, 101, "ISR").lines), timeout_s=30, what="the log line"
    )
    found = lab.broker_log(cluster, 101, "ISR", last=2)
    assert 1 <= len(found.lines) <= 2
    assert "observed-0" in repr(found)
    assert "no such line" in repr(lab.broker_log(cluster, 101, "no such word at all"))
    with pytest.raises(ClusterError, match="There is no broker 7"):
        lab.broker_log(cluster, 7, "ISR")


def test_without_java_the_output_is_a_sentence(monkeypatch: Any) -> None:
    def absent() -> str:
        raise jars.JarsMissing("Java is not installed; run: make setup")

    monkeypatch.setattr(tools.jars, "java", absent)
    printed = lab.tool(object(), "kafka-topics", "--list")  # type: ignore[arg-type]
    assert "Kafka's tools need Java. Java is not installed; run: make setup" in repr(printed)
