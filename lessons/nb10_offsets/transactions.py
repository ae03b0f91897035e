"""From Kafka to Kafka, exactly once: results and offsets in one transaction.

Notebook 11 shows how they work.
"""

from __future__ import annotations

from confluent_kafka import Producer, TopicPartition

from kit.clusters.interface import Cluster
from lessons.nb10_offsets.reading import GROUP, PATIENCE_S, TOPIC, Reader, numbered, write

REPLICAS = {0: [101, 102, 103]}
RESULTS = "charges"
COUNT, BEFORE_THE_CRASH = 10, 5


def killed_in_between(cluster: Cluster) -> dict[str, str]:
    """Ten orders become ten charges; the first application ends after five of them."""
    for topic in (TOPIC, RESULTS):
        cluster.create_topic(topic, assignment=REPLICAS)
    write(cluster, TOPIC, numbered(COUNT))
    first = _begun(cluster)
    for value in numbered(BEFORE_THE_CRASH):
        first.produce(RESULTS, value, partition=0)
    first.flush(PATIENCE_S)  # the five are in the log, and here the application ends
    with Reader(cluster) as reader:
        reader.read(COUNT)
        second = _begun(cluster)  # the same transactional.id: the open transaction is aborted
        for value in reader.values:
            second.produce(RESULTS, value, partition=0)
        offsets = [TopicPartition(TOPIC, 0, COUNT)]
        second.send_offsets_to_transaction(
            offsets, reader.consumer.consumer_group_metadata(), PATIENCE_S
        )
        second.commit_transaction(PATIENCE_S)
        committed = reader.committed()
    return {
        "charges for read_uncommitted": _count(cluster, "read_uncommitted"),
        "charges for read_committed": _count(cluster, "read_committed"),
        f"offset of {GROUP}": str(committed),
    }


def _begun(cluster: Cluster) -> Producer:
    own = {"bootstrap.servers": cluster.bootstrap, "transactional.id": "charger", "log_level": 0}
    producer = Producer(own)
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    return producer


def _count(cluster: Cluster, isolation: str) -> str:
    own = {"group.id": isolation, "isolation.level": isolation}
    with Reader(cluster, own, topic=RESULTS, partitions=[0]) as reader:
        reader.rest()
        return str(len(reader.values))
