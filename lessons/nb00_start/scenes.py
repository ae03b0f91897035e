"""What notebook 00 asks clusters beside a client's own code: files, features, settings."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import ConfigResource

from engine.wire.messages import DescribeQuorumRequest
from kit.clusters.connections import Connection
from kit.clusters.interface import Cluster, NotOffered
from kit.probes.clients import READER, admin, ask

ANSWER_S = 5.0
READ_S = 20.0


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
