"""Ten thousand partitions: all nodes die and start again, on both sides.

    from a snapshot   seconds from the start of all nodes until records are acknowledged again
    memory            resident, then

The controller writes a snapshot of its metadata while the topics are made; it starts from that one.
Ten topics of 1,000 partitions with one replica each, on three brokers; Kafka has a heap of 256 MB
a node, and runs without the link proxy.

    kafkalab bench restart --rounds 3
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

from confluent_kafka import KafkaError, Producer

from kit.bench.cluster import at_most, resident_mb
from kit.clusters import engine, local
from kit.clusters.kafka_cluster import KafkaCluster

TOPICS, PARTITIONS = 10, 1_000
BUDGET, MEMORY_BUDGET = 0.5, 1 / 20
SETTINGS = {"metadata.log.max.record.bytes.between.snapshots": "50000"}
_PATIENCE_S = 300.0


def measure(
    rounds: int = 3, topics: int = TOPICS, partitions: int = PARTITIONS
) -> list[dict[str, Any]]:
    """Two rows: the best round of each side, and its memory after the last one."""
    taken: dict[str, list[float]] = {"ours": [], "theirs": []}
    memory: dict[str, float] = {}
    with (
        engine.start(settings=SETTINGS) as ours,
        local.start(links=False, settings=SETTINGS) as theirs,
    ):
        sides = {"ours": ours, "theirs": theirs}
        for cluster in sides.values():
            for number in range(topics):
                cluster.create_topic(f"many-{number}", partitions, replicas=1)
        for _ in range(rounds):
            for side, cluster in sides.items():
                taken[side].append(restart_s(cluster, topics, partitions))
                memory[side] = resident_mb(cluster)
    what = f"{topics * partitions:,} partitions"
    return [
        at_most(f"{what}: all nodes start, from a snapshot", "s", min(taken["ours"]),
                min(taken["theirs"]), BUDGET),
        at_most(f"{what}: memory after that", "MB", memory["ours"], memory["theirs"],
                MEMORY_BUDGET),
    ]  # fmt: skip


def restart_s(cluster: KafkaCluster, topics: int, partitions: int) -> float:
    """Kills all nodes; the seconds from their start until each topic takes a record."""
    nodes = list(cluster.provider.nodes())
    for node in nodes:
        cluster.kill(node)
    begun = perf_counter()
    cluster.start(*nodes)
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "log_level": 0})
    refused: list[KafkaError] = []

    def delivered(error: KafkaError | None, _: object) -> None:
        if error is not None:
            refused.append(error)

    for topic in range(topics):
        for partition in range(0, partitions, max(1, partitions // 10)):
            producer.produce(f"many-{topic}", b"", partition=partition, on_delivery=delivered)
    if producer.flush(_PATIENCE_S) or refused:
        raise RuntimeError(f"not every topic takes records again: {refused or 'no answer'}")
    return perf_counter() - begun
