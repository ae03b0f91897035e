"""Kafka's own command-line tools on the engine; test_transaction_tools.py has one more."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from confluent_kafka import Consumer

from kit.clusters.kafka_cluster import KafkaCluster
from tests.conformance.kafka_tools import PATIENCE_S, KafkaTools
from tests.real_clusters import require_local_kafka

pytestmark = pytest.mark.real

Tool = Callable[..., str]


@pytest.fixture(scope="module")
def tool(engine_cluster: KafkaCluster) -> Iterator[Tool]:
    """Runs a tool by its short name; gives what it printed, and fails if it failed."""
    require_local_kafka()
    with KafkaTools() as tools:
        yield partial(tools.run, engine_cluster.bootstrap)


def test_topics(engine_cluster: KafkaCluster, tool: Tool) -> None:
    placed = ("--replica-assignment", "102:103:101,101:102:103")
    tool("topics", "--create", "--topic", "orders", *placed, "--config", "retention.ms=60000")
    assert "orders" in tool("topics", "--list").split()
    shown = tool("topics", "--describe", "--topic", "orders")
    assert "PartitionCount: 2" in shown
    assert "ReplicationFactor: 3" in shown
    assert "retention.ms=60000" in shown
    assert re.search(r"Partition: 0\s+Leader: 102\s+Replicas: 102,103,101\s+Isr: 10", shown)
    assert re.search(r"Elr:\s+LastKnownElr:", shown)
    tool("topics", "--alter", "--topic", "orders", "--partitions", "3")
    assert "PartitionCount: 3" in tool("topics", "--describe", "--topic", "orders")
    tool("topics", "--delete", "--topic", "orders")
    assert "orders" not in tool("topics", "--list").split()


def test_console_producer_and_consumer(engine_cluster: KafkaCluster, tool: Tool) -> None:
    engine_cluster.create_topic("console")
    reading = ("--property", "parse.key=true", "--property", "key.separator=:")
    tool("console-producer", "--topic", "console", *reading, given="a:1\nb:2\nc:3\n")
    showing = ("--property", "print.key=true", "--property", "print.offset=true")
    shown = tool("console-consumer", "--topic", "console", "--from-beginning",
                 "--max-messages", "3", *showing)  # fmt: skip
    lines = [line for line in shown.splitlines() if line.startswith("Offset")]
    assert lines == ["Offset:0\ta\t1", "Offset:1\tb\t2", "Offset:2\tc\t3"]


def test_groups_and_offsets(engine_cluster: KafkaCluster, tool: Tool) -> None:
    engine_cluster.create_topic("read")
    tool("console-producer", "--topic", "read", given="a\nb\nc\n")
    tool("console-consumer", "--topic", "read", "--group", "readers", "--from-beginning",
         "--max-messages", "2")  # fmt: skip
    assert "readers" in tool("consumer-groups", "--list")
    row = r"readers\s+read\s+0\s+{}\s+3\s+{}"
    shown = tool("consumer-groups", "--describe", "--group", "readers")
    assert re.search(row.format(2, 1), shown), shown
    assert "Empty" in tool("consumer-groups", "--describe", "--group", "readers", "--state")
    tool("consumer-groups", "--reset-offsets", "--group", "readers", "--topic", "read",
         "--to-earliest", "--execute")  # fmt: skip
    shown = tool("consumer-groups", "--describe", "--group", "readers")
    assert re.search(row.format(0, 3), shown), shown
    tool("consumer-groups", "--delete", "--group", "readers")
    assert "readers" not in tool("consumer-groups", "--list")
    assert tool("get-offsets", "--topic", "read").strip() == "read:0:3"
    assert tool("get-offsets", "--topic", "read", "--time", "-2").strip() == "read:0:0"


def test_a_group_of_the_consumer_protocol(engine_cluster: KafkaCluster, tool: Tool) -> None:
    engine_cluster.create_topic("new", partitions=2)
    tool("console-producer", "--topic", "new", given="a\nb\nc\n")
    protocol = ("--command-property", "group.protocol=consumer")
    tool("console-consumer", "--topic", "new", "--group", "moderns", "--from-beginning",
         "--max-messages", "3", *protocol)  # fmt: skip
    shown = tool("consumer-groups", "--describe", "--group", "moderns")
    assert re.search(r"moderns\s+new\s+[01]\s+3\s+3\s+0\s+-", shown), shown
    reader = Consumer({
        "bootstrap.servers": engine_cluster.bootstrap, "group.id": "moderns",
        "group.protocol": "consumer", "client.id": "reader",
    })  # fmt: skip
    reader.subscribe(["new"])
    deadline = time.monotonic() + PATIENCE_S
    while len(reader.assignment()) < 2:
        reader.poll(0.1)
        assert time.monotonic() < deadline
    assert re.search(r"moderns\s+Consumer", tool("consumer-groups", "--list", "--type", "consumer"))
    shown = tool("consumer-groups", "--describe", "--group", "moderns")
    assert len(re.findall(r"moderns\s+new\s+[01]\s.*reader", shown)) == 2, shown
    members = ("--describe", "--group", "moderns", "--members", "--verbose")
    shown = tool("consumer-groups", *members)
    assert re.search(r"reader\s+2\s+\S+\s+new:0,1", shown), shown
    shown = tool("consumer-groups", "--describe", "--group", "moderns", "--state")
    assert re.search(r"uniform\s+Stable\s+1", shown), shown
    reader.close()
    assert "Empty" in tool("consumer-groups", "--describe", "--group", "moderns", "--state")
    tool("consumer-groups", "--delete", "--group", "moderns")
    assert "moderns" not in tool("consumer-groups", "--list")


def test_configs(engine_cluster: KafkaCluster, tool: Tool) -> None:
    engine_cluster.create_topic("configured")
    named = ("--entity-type", "topics", "--entity-name", "configured")
    tool("configs", "--alter", *named, "--add-config", "retention.ms=70000")
    assert "retention.ms=70000" in tool("configs", "--describe", *named)
    tool("configs", "--alter", *named, "--delete-config", "retention.ms")
    assert "retention.ms" not in tool("configs", "--describe", *named)
    broker = ("--entity-type", "brokers", "--entity-name", "101", "--all")
    assert "broker.session.timeout.ms=3000" in tool("configs", "--describe", *broker)


def test_leader_election(engine_cluster: KafkaCluster, tool: Tool) -> None:
    engine_cluster.create_topic("led", assignment={0: [102, 103, 101]})
    engine_cluster.stop(102)
    engine_cluster.start(102)

    def isr(c: KafkaCluster) -> list[int]:
        found: list[int] = c.snapshot()["topics"]["led"]["partitions"][0]["isr"]
        return found

    engine_cluster.wait_until(lambda c: len(isr(engine_cluster)) == 3, PATIENCE_S)
    assert engine_cluster.leader("led") == 103
    wanted = ("--election-type", "preferred", "--topic", "led", "--partition", "0")
    assert "Successfully" in tool("leader-election", *wanted)
    engine_cluster.wait_until(lambda c: c.leader("led") == 102, PATIENCE_S)


def test_performance_tools(engine_cluster: KafkaCluster, tool: Tool) -> None:
    engine_cluster.create_topic("fast", partitions=3)
    sent = tool("producer-perf-test", "--topic", "fast", "--num-records", "50000",
                "--record-size", "100", "--throughput", "-1",
                "--command-property", "acks=all")  # fmt: skip
    assert "50000 records sent" in sent
    read = tool("consumer-perf-test", "--topic", "fast", "--num-records", "50000")
    assert ", 50000, " in read


def test_dump_log_reads_data_and_metadata(engine_cluster: KafkaCluster, tool: Tool) -> None:
    engine_cluster.create_topic("dumped")
    codec = ("--compression-codec", "lz4")
    tool("console-producer", "--topic", "dumped", *codec, given="first\nsecond\n")
    nodes = engine_cluster.provider.nodes()
    name = "00000000000000000000.log"
    for broker in engine_cluster.brokers:
        file = f"{nodes[broker].data_dir}/dumped-0/{name}"
        shown = tool("dump-log", "--files", file, "--print-data-log")
        assert "isvalid: true" in shown
        assert "compresscodec: lz4" in shown
        assert re.search(r"offset: 1 .*payload: second", shown)
    file = f"{nodes[100].data_dir}/__cluster_metadata-0/{name}"
    shown = tool("dump-log", "--cluster-metadata-decoder", "--files", file)
    assert '"type":"TOPIC_RECORD"' in shown
    assert '"name":"dumped"' in shown
    assert "isvalid: false" not in shown
