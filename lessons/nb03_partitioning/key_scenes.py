"""Scenarios of notebook 03 for `lab.both` about partitions: which one a record goes to, and why.

Each takes a cluster and returns what it saw.  Where batches count, the producer is the engine's own
(kit/probes/own_producer.py), on the sockets of either side.  Elsewhere it is confluent-kafka.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from engine.client.partitioners import crc32_partition, murmur2_partition
from kit.both.outcomes import measured
from kit.clusters.interface import Cluster
from kit.probes.clients import partition, produce_at, values
from kit.probes.own_producer import OwnProducer
from lessons.nb03_partitioning import payloads
from lessons.nb03_partitioning.measure import Report, producer, reports

Seen = Mapping[str, Any]
MODULO = 6


def chosen(
    cluster: Cluster,
    topic: str,
    keys: Sequence[str | None],
    settings: Mapping[str, Any] | None = None,
) -> list[int]:
    """The partition of each key's record, from confluent-kafka's delivery reports."""
    made = producer(cluster, settings or {})
    return [each.partition for each in reports(made, topic, [{"key": key} for key in keys])]


# -- hashes


def by_hand(cluster: Cluster) -> Seen:
    """What two settings of a real client choose, beside the hash in Python."""
    cluster.create_topic("orders", partitions=MODULO)
    keys = [f"order-{number}" for number in range(300)]
    crc32 = chosen(cluster, "orders", [*keys])
    murmur2 = chosen(cluster, "orders", [*keys], {"partitioner": "murmur2_random"})
    pinned = _pinned(cluster, "orders", keys[:20], 2)
    leader = partition(cluster, "orders", 0)["leader"]
    other = next(each for each in cluster.brokers if each != leader)
    return {
        "default: as CRC-32 by hand": sum(
            p == crc32_partition(k.encode(), MODULO) for k, p in zip(keys, crc32, strict=True)
        ),
        "murmur2_random: as murmur2 by hand": sum(
            p == murmur2_partition(k.encode(), MODULO) for k, p in zip(keys, murmur2, strict=True)
        ),
        "partition=2 given, keys differ": pinned,
        "partition=99 given": _error_of(cluster, "orders", partition=99),
        "a batch for partition 0, sent to a follower": produce_at(cluster, other, "orders", "x"),
    }


def _pinned(cluster: Cluster, topic: str, keys: list[str], index: int) -> list[int]:
    records = [{"key": key, "partition": index} for key in keys]
    return sorted({each.partition for each in reports(producer(cluster, {}), topic, records)})


def _error_of(cluster: Cluster, topic: str, **record: Any) -> str:
    made = producer(cluster, {"message.timeout.ms": 5_000})
    found: list[Report] = reports(made, topic, [record])
    return found[0].error


def order_of_events(cluster: Cluster) -> Seen:
    """Ten orders go through three states; then each partition is read to its end."""
    states = ("prepared", "shipped", "delivered")
    seen: dict[str, Any] = {}
    for label, with_key in (("the order id is the key", True), ("no key, round robin", False)):
        cluster.create_topic("orders", partitions=3)
        settings = {"partitioner.class": "murmur2" if with_key else "round-robin"}
        with OwnProducer(cluster, "orders", settings) as made:
            for state in states:
                for order in range(10):
                    made.send(f"{order} {state}", key=f"order-{order}" if with_key else None)
            made.wait()
        read = [value for index in range(3) for value in values(cluster, "orders", index)]
        per_order = [[v.split()[1] for v in read if v.split()[0] == str(n)] for n in range(10)]
        seen[label] = {
            "orders in one partition": sum(
                len({r.partition for r in made.records if r.text.startswith(f"{n} ")}) == 1
                for n in range(10)
            ),
            "orders read in their order": sum(each == list(states) for each in per_order),
        }
    return seen


# -- without a key


def spread(cluster: Cluster) -> Seen:
    """1,200 records without a key, sticky and round robin, to six partitions."""
    seen: dict[str, Any] = {}
    for label, partitioner in (("sticky", "murmur2"), ("round robin", "round-robin")):
        cluster.create_topic("positions", partitions=MODULO)
        settings = {"partitioner.class": partitioner, "linger.ms": 2}
        with OwnProducer(cluster, "positions", settings) as made:
            for number, value in enumerate(payloads.positions(1_200)):
                made.send(value)
                if number % 20 == 19:  # so that answers are taken in meanwhile
                    made.run(for_s=0.002)
            made.wait()
        counts = Counter(each.partition for each in made.records)
        first = [each.partition for each in made.records[:60]]
        waits = sorted(made.waits_ms)
        seen[label] = {
            "partitions of the first 60": len(set(first)),
            "batches": measured(len(made.batches), "batches"),
            "records in a batch, on average": measured(1_200 / len(made.batches), "records"),
            "requests": measured(made.requests, "requests"),
            "largest share of a partition": measured(100 * max(counts.values()) / 1_200, "%"),
            "99 of 100 acknowledged within": measured(waits[len(waits) * 99 // 100], "ms"),
        }
    return seen


# -- a hot key


def hot_key(cluster: Cluster) -> Seen:
    """6,000 records, 60 % of them of one key: the largest partition, with four ways to choose."""
    chance = Random(3)
    keys = ["berlin" if chance.random() < 0.6 else f"city-{chance.randrange(200)}"
            for _ in range(6_000)]  # fmt: skip
    salted = [f"{key}/{n % 8}" if key == "berlin" else key for n, key in enumerate(keys)]
    seen: dict[str, Any] = {}
    for label, partitions, used in (
        ("the city is the key, 6 partitions", 6, keys),
        ("the city is the key, 12 partitions", 12, keys),
        ("berlin in 8 keys, 6 partitions", 6, salted),
    ):
        cluster.create_topic("cities", partitions=partitions)
        counts = Counter(chosen(cluster, "cities", [*used], {"partitioner": "murmur2_random"}))
        seen[label] = f"{100 * max(counts.values()) / len(keys):.0f} % in one partition"
    seen["upserts by key, keys ignored"] = _upserts(cluster)
    return seen


def _upserts(cluster: Cluster) -> dict[str, Any]:
    """Updates of 20 rows go to any partition; a reader applies them in the order it reads."""
    cluster.create_topic("updates", partitions=3)
    updates = [f"{n % 20} {n // 20}" for n in range(200)]
    with OwnProducer(cluster, "updates", {"partitioner.class": "round-robin"}) as made:
        made.send(*updates)
        made.wait()
    plain: dict[str, int] = {}
    versioned: dict[str, int] = {}
    for index in (2, 0, 1):
        for value in values(cluster, "updates", index):
            row, version = value.split()
            plain[row] = int(version)
            versioned[row] = max(int(version), versioned.get(row, -1))
    return {
        "rows that are right, last one wins": sum(each == 9 for each in plain.values()),
        "rows that are right, highest version wins": sum(each == 9 for each in versioned.values()),
    }
