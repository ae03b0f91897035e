"""The served engine beside a local Kafka: the same client does the same work on both.

    start-up    from the call to the first answer that names three brokers
    memory      resident, after the load: the engine's process beside Kafka's four JVMs
    produce     confluent-kafka, 100-byte records, RF 3, acks=all, one partition, real files
    consume     the records of all loads into the topic, a million
    latency     one record at a time, linger 0, acks=all, RF 3: the median
    transactions  of 100 records each, RF 3, one after the other, by one producer

Both run during the whole measurement and take turns; an idle one costs next to nothing.
Each keeps its best round, because other work on the machine can only slow it down.
Kafka runs without the link proxy, which would cost it time.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from time import perf_counter
from typing import Any

import psutil
from confluent_kafka import Consumer, Producer, TopicPartition

from kit.clusters import engine, local
from kit.clusters.kafka_cluster import KafkaCluster
from kit.clusters.settings_table import BROKERS, CONTROLLER

_RECORDS = 200_000
_LOADS = 5  # into one topic: a read of fewer records lasts a fraction of a second
VALUE = b"x" * 100
_SINGLES = 500
_TRANSACTIONS, _IN_EACH = 200, 100
_READS = 3
_PATIENCE_S = 120.0

Starter = Callable[[], KafkaCluster]


def measure(rounds: int = 3, records: int = _RECORDS) -> list[dict[str, Any]]:
    """One row each; `ours` and `theirs` are each side's best (start-up too) of `rounds`."""
    starters: dict[str, Starter] = {
        "ours": engine.start,
        "theirs": lambda: local.start(links=False),
    }
    seconds: dict[str, list[float]] = {side: [] for side in starters}
    for number in range(rounds):
        last = number == rounds - 1
        clusters = {side: _started(start, seconds[side]) for side, start in starters.items()}
        if not last:
            for cluster in clusters.values():
                cluster.close()
    try:
        found = {side: _Found() for side in clusters}
        for number in range(rounds):
            for side, cluster in clusters.items():
                found[side].take_turn(cluster, f"bench-{number}", records)
        memory = {side: resident_mb(cluster) for side, cluster in clusters.items()}
    finally:
        for cluster in clusters.values():
            cluster.close()
    ours, theirs = found["ours"], found["theirs"]
    return [
        at_most("start-up of 3 brokers", "s", min(seconds["ours"]), min(seconds["theirs"]), 0.1),
        at_most("resident memory", "MB", memory["ours"], memory["theirs"], 1 / 8),
        at_least("produce, RF 3, acks=all", "records/s", max(ours.produce), max(theirs.produce)),
        at_least("consume", "records/s", max(ours.consume), max(theirs.consume)),
        at_most("one record, linger 0, acks=all: median", "ms", min(ours.latency_ms),
                min(theirs.latency_ms), 1.0),
        at_least(f"transactions of {_IN_EACH} records, RF 3", "records/s",
                 max(ours.transactions), max(theirs.transactions)),
    ]  # fmt: skip


class _Found:
    """The times that one side took, round by round."""

    def __init__(self) -> None:
        self.produce: list[float] = []
        self.consume: list[float] = []
        self.latency_ms: list[float] = []
        self.transactions: list[float] = []

    def take_turn(self, cluster: KafkaCluster, topic: str, records: int) -> None:
        cluster.create_topic(topic)
        self.produce += [records / produce(cluster, topic, records) for _ in range(_LOADS)]
        there = _LOADS * records
        self.consume += [there / consume(cluster, topic, there) for _ in range(_READS)]
        self.latency_ms.append(statistics.median(latencies_ms(cluster, topic)))
        cluster.create_topic(f"{topic}-transactions")
        self.transactions.append(transactions_per_s(cluster, f"{topic}-transactions") * _IN_EACH)


def produce(cluster: KafkaCluster, topic: str, records: int) -> float:
    """Seconds until every record is acknowledged by all replicas."""
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "acks": "all",
            "linger.ms": 5,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    producer.list_topics(topic, timeout=_PATIENCE_S)
    begun = perf_counter()
    for number in range(records):
        producer.produce(topic, VALUE, partition=0)
        if number % 10_000 == 0:
            producer.poll(0)
    left = producer.flush(_PATIENCE_S)
    if left:
        raise RuntimeError(f"{left} records were not acknowledged in {_PATIENCE_S:.0f} s")
    return perf_counter() - begun


def consume(cluster: KafkaCluster, topic: str, records: int, partitions: int = 1) -> float:
    """Seconds from the first record of the topic to the last."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "bench",
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
    seen = len(consumer.consume(1, timeout=_PATIENCE_S))
    begun = perf_counter()
    while seen < records:
        got = consumer.consume(min(10_000, records - seen), timeout=_PATIENCE_S)
        if not got:
            raise RuntimeError(f"only {seen} of {records} records came back")
        seen += len(got)
    elapsed = perf_counter() - begun
    consumer.close()
    return elapsed


def latencies_ms(cluster: KafkaCluster, topic: str) -> list[float]:
    """From `produce` to the delivery report, one record in flight at a time."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "linger.ms": 0})
    times = []
    for _ in range(_SINGLES):
        begun = perf_counter()
        producer.produce(topic, VALUE, partition=0)
        producer.flush(_PATIENCE_S)
        times.append((perf_counter() - begun) * 1000)
    return times


def transactions_per_s(cluster: KafkaCluster, topic: str, count: int = _TRANSACTIONS) -> float:
    """Each is begun when the one before it has been committed; the first is not timed."""
    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap, "transactional.id": topic, "linger.ms": 5}
    )
    producer.init_transactions(_PATIENCE_S)
    begun = perf_counter()
    for number in range(count + 1):
        if number == 1:
            begun = perf_counter()
        producer.begin_transaction()
        for _ in range(_IN_EACH):
            producer.produce(topic, VALUE, partition=0)
        producer.commit_transaction(_PATIENCE_S)
    return count / (perf_counter() - begun)


def _started(start: Starter, seconds: list[float]) -> KafkaCluster:
    """Both sides' `start` returns when every broker names all three."""
    begun = perf_counter()
    cluster = start()
    seconds.append(perf_counter() - begun)
    return cluster


def resident_mb(cluster: KafkaCluster) -> float:
    provider = cluster.provider
    if isinstance(provider, engine.EngineProvider):
        pids = [provider.pid()]
    else:
        assert isinstance(provider, local.LocalProvider)
        pids = [provider.pid(node) for node in (CONTROLLER, *BROKERS)]
    return sum(psutil.Process(pid).memory_info().rss for pid in pids) / 1e6


def at_most(name: str, unit: str, ours: float, theirs: float, budget: float) -> dict[str, Any]:
    """A row in which less is better: ours / theirs must not be above the budget."""
    ratio = ours / theirs
    return _row(name, unit, ours, theirs, ratio, f"≤ {budget:g}", ratio <= budget)


def at_least(name: str, unit: str, ours: float, theirs: float) -> dict[str, Any]:
    """A row in which more is better: ours / theirs must not be below 1."""
    ratio = ours / theirs
    return _row(name, unit, ours, theirs, ratio, "≥ 1", ratio >= 1.0)


def _row(
    name: str, unit: str, ours: float, theirs: float, ratio: float, budget: str, holds: bool
) -> dict[str, Any]:
    return {"name": name, "unit": unit, "ours": round(ours, 4), "theirs": round(theirs, 4),
            "ratio": round(ratio, 4), "budget": budget, "holds": holds}  # fmt: skip
