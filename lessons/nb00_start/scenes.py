"""What notebook 00 asks clusters beside a client's own code: files, features, settings."""

from __future__ import annotations

import contextlib
import shlex
import subprocess
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import ConfigResource

from engine.wire.messages import DescribeQuorumRequest
from kit import jars
from kit.clusters.connections import Connection
from kit.clusters.interface import Cluster, ClusterError, NotOffered
from kit.clusters.tools import Printed
from kit.probes import requests
from kit.probes.clients import READER, admin, ask, topic_id
from kit.probes.java_client import JVM, QUIET

ANSWER_S = 5.0
READ_S = 20.0
TOOL_S = 60.0
CONSOLE_PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
FIRST_SEGMENT = "00000000000000000000.log"


def files(cluster: Any, topic: str, partition: int) -> dict[int, dict[str, int]]:
    """Broker -> the files of one partition -> their sizes in bytes.

    NotOffered where this machine cannot read the brokers' disks.
    """
    found = {}
    for node in cluster.provider.nodes().values():
        if node.is_controller:
            continue
        if node.data_dir is None:
            raise NotOffered(f"The files of the {cluster.name} cluster cannot be read from here.")
        folder = Path(node.data_dir) / f"{topic}-{partition}"
        found[node.id] = {file.name: file.stat().st_size for file in sorted(folder.glob("*"))}
    return found


def described_brokers(cluster: Cluster) -> list[int]:
    """The ids of the brokers in the answer to DescribeCluster."""
    client = admin(cluster)  # kept: without it the future never ends
    return sorted(node.id for node in client.describe_cluster().result(READ_S).nodes)


def one_more_batch(cluster: Cluster, topic: str, key: str, value: str) -> dict[str, Any]:
    """Writes a batch of one record by hand, acks=all, to the leader of partition 0.

    Its size in bytes, the base offset in the answer, and the bytes by which each replica's log
    grew.  The error's name in place of the offset if the leader refuses it.
    """
    batch = requests.one_batch(value.encode(), key=key.encode())
    before = files(cluster, topic, 0)
    body = requests.producing(topic_id(cluster, topic), acks=-1, records=batch)
    answer = requests.first_partition(ask(cluster, cluster.leader(topic), body))
    after = files(cluster, topic, 0)
    return {
        "its bytes": len(batch),
        "base offset in the answer": requests.refusal(answer) or answer.base_offset,
        "each log grew by": [
            after[broker][FIRST_SEGMENT] - before[broker][FIRST_SEGMENT] for broker in after
        ],
    }


def read_at(cluster: Cluster, topic: str, offset: int) -> str:
    """The record at an offset of partition 0, with the place that the consumer names."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, **READER})
    consumer.assign([TopicPartition(topic, 0, offset)])
    message = consumer.poll(READ_S)
    consumer.close()
    if message is None or message.error() is not None:
        return "nothing"
    text = (message.value() or b"").decode()
    return f"{text} at {message.topic()}-{message.partition()}, offset {message.offset()}"


def quorum(cluster: Cluster) -> dict[str, list[int]]:
    """The voters and the observers of the metadata log, as DescribeQuorum answers (KIP-595)."""
    request = DescribeQuorumRequest
    partition = request.PartitionData(partition_index=0)
    topic = request.TopicData(topic_name="__cluster_metadata", partitions=[partition])
    answer = ask(cluster, 101, request(topics=[topic])).topics[0].partitions[0]
    voters = sorted(each.replica_id for each in answer.current_voters)
    return {"voters": voters, "observers": sorted(each.replica_id for each in answer.observers)}


def features(cluster: Cluster) -> dict[str, int]:
    """The finalised feature levels, as broker 101 answers ApiVersions."""
    broker = cluster.snapshot()["brokers"][101]
    with contextlib.closing(Connection((broker["host"], broker["port"]), ANSWER_S)) as connection:
        return dict(sorted(connection.finalized_features.items()))


def broker_setting(cluster: Cluster, name: str) -> str:
    """The value of a broker config, or a sentence that there is none of that name."""
    client, broker = admin(cluster), ConfigResource(ConfigResource.Type.BROKER, "101")
    entry = client.describe_configs([broker])[broker].result(20).get(name)
    return "no such setting" if entry is None else str(entry.value)


def delete_topic(cluster: Cluster, topic: str) -> None:
    """Deletes a topic that a tool has made, if it is there; WaitTimeout if it does not go."""
    client = admin(cluster)  # kept: without it the future never ends
    with contextlib.suppress(KafkaException):  # there is none yet
        client.delete_topics([topic])[topic].result(READ_S)
    cluster.wait_until(lambda c: topic not in c.snapshot()["topics"])


def typed(cluster: Cluster, topic: str, line: str) -> Printed:
    """Types one line into Kafka's console producer; what it printed, without its prompts.

    Without Java the text says so.  ClusterError with its own words if it failed, and
    TimeoutExpired if it has not ended in 60 s.
    """
    asked = ("--bootstrap-server", cluster.bootstrap, "--topic", topic)
    command = f"echo {shlex.quote(line)} | kafka-console-producer.sh {' '.join(asked)}"
    try:
        java = [jars.java(), *JVM, *QUIET, "-cp", jars.classpath(), CONSOLE_PRODUCER]
    except jars.JarsMissing as missing:
        return Printed(command, f"Kafka's tools need Java. {missing}")
    done = subprocess.run(
        [*java, *asked], input=f"{line}\n", capture_output=True, text=True, timeout=TOOL_S,
        start_new_session=True,
    )  # fmt: skip
    if done.returncode:
        raise ClusterError(f"The console producer failed: {done.stderr or done.stdout}")
    return Printed(command, done.stdout.strip(">\n "))
