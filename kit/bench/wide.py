"""A thousand partitions: the served engine beside a local Kafka, and beside itself with none.

    created     1,000 partitions of one topic, RF 3, until every replica is in its ISR
    produce     20 producers at once, 100-byte records, acks=all; the client chooses partitions
    consume     all of these records, by one consumer
    latency     one record at a time while the other partitions are idle: the median, and p99
    idle        that median beside the median before the topic existed: what idle partitions cost
    memory      resident, at the end

Both sides take turns; each keeps its best round.  Kafka runs without the link proxy.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from confluent_kafka import Producer

from kit.bench.cluster import VALUE, at_least, at_most, consume, latencies_ms, resident_mb
from kit.clusters import engine, local
from kit.clusters.kafka_cluster import KafkaCluster

PARTITIONS, PRODUCERS, RECORDS = 1_000, 20, 400_000
_NARROW = "narrow"
_PATIENCE_S = 300.0


@dataclass
class _Found:
    """What one side took, round by round; seconds, records a second and milliseconds."""

    created: list[float] = field(default_factory=list)
    produce: list[float] = field(default_factory=list)
    consume: list[float] = field(default_factory=list)
    median: list[float] = field(default_factory=list)
    p99: list[float] = field(default_factory=list)
    alone: float = 0.0

    def take_turn(self, cluster: KafkaCluster, topic: str, partitions: int, records: int) -> None:
        begun = perf_counter()
        cluster.create_topic(topic, partitions=partitions)
        self.created.append(perf_counter() - begun)
        self.produce.append(records / produce(cluster, topic, records))
        self.consume.append(records / consume(cluster, topic, records, partitions))
        times = latencies_ms(cluster, _NARROW)
        self.median.append(statistics.median(times))
        self.p99.append(statistics.quantiles(times, n=100)[98])


def measure(
    rounds: int = 3, partitions: int = PARTITIONS, records: int = RECORDS
) -> list[dict[str, Any]]:
    """One row each; a round makes a topic of its own, and the former one is deleted."""
    found = {"ours": _Found(), "theirs": _Found()}
    with engine.start() as ours, local.start(links=False) as theirs:
        clusters = {"ours": ours, "theirs": theirs}
        for side, cluster in clusters.items():
            cluster.create_topic(_NARROW)
            found[side].alone = min(
                statistics.median(latencies_ms(cluster, _NARROW)) for _ in range(rounds)
            )
        for number in range(rounds):
            for side, cluster in clusters.items():
                found[side].take_turn(cluster, f"wide-{number}", partitions, records)
                if number < rounds - 1:
                    cluster.delete_topic(f"wide-{number}")
        memory = {side: resident_mb(cluster) for side, cluster in clusters.items()}
    here, there = found["ours"], found["theirs"]
    what = f"{partitions:,} partitions"
    return [
        at_most(f"{what}: created", "s", min(here.created), min(there.created), 1.0),
        at_least(f"{what}: produce", "records/s", max(here.produce), max(there.produce)),
        at_least(f"{what}: consume", "records/s", max(here.consume), max(there.consume)),
        at_most(f"{what}: one record, median", "ms", min(here.median), min(there.median), 0.5),
        at_most(f"{what}: one record, p99", "ms", min(here.p99), min(there.p99), 0.25),
        at_most(f"{what}: memory", "MB", memory["ours"], memory["theirs"], 1 / 25),
        at_most("engine: one record beside them and beside none", "ms", min(here.median),
                here.alone, 1.2),
    ]  # fmt: skip


def produce(cluster: KafkaCluster, topic: str, records: int) -> float:
    """Seconds until the records of 20 producers are acknowledged; clients choose partitions."""
    producers = [
        Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "linger.ms": 5})
        for _ in range(PRODUCERS)
    ]
    for producer in producers:
        producer.list_topics(topic, timeout=_PATIENCE_S)
    begun = perf_counter()
    for number in range(records):
        producer = producers[number % PRODUCERS]
        while True:
            try:
                producer.produce(topic, VALUE)
                break
            except BufferError:
                producer.poll(0.1)
    left = sum(producer.flush(_PATIENCE_S) for producer in producers)
    if left:
        raise RuntimeError(f"{left} records were not acknowledged in {_PATIENCE_S:.0f} s")
    return perf_counter() - begun
