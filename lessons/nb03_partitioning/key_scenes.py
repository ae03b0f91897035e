"""Scenarios of notebook 03 for `lab.both` about partitions: which one a record goes to, and why.

Each takes a cluster and returns what it saw.  Where batches count, the producer is the engine's own
(kit/probes/own_producer.py), on the sockets of either side.  Elsewhere it is confluent-kafka.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from math import nan
from random import Random
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from engine.client.partitioners import BuiltIn, crc32_partition, murmur2_partition
from kit.both.outcomes import measured
from kit.clusters import broker_log
from kit.clusters.interface import Cluster
from kit.probes.clients import ANSWER_S, READER, partition, produce_at, values
from kit.probes.own_producer import OwnProducer
from kit.probes.stored_batches import stored
from lessons.nb03_partitioning import payloads
from lessons.nb03_partitioning.measure import Report, producer, reports

Seen = Mapping[str, Any]
MODULO = 6
READ = 600
"""Records that each reader of the hot key's topic handles."""
ALL_LINES = 1_000_000
CITY, SPLIT = "the city is the key, 6 partitions", "berlin in 8 keys, 6 partitions"


def chosen(
    cluster: Cluster,
    topic: str,
    keys: Sequence[str | None],
    settings: Mapping[str, Any] | None = None,
) -> list[int]:
    """The partition of each key's record, from confluent-kafka's delivery reports."""
    made = producer(cluster, settings or {})
    return [each.partition for each in reports(made, topic, [{"key": key} for key in keys])]


def placed_as_java(cluster: Cluster, topic: str, keys: Sequence[str]) -> dict[str, int]:
    """The partition that each key's record gets now, with the Java client's hash."""
    partitions = chosen(cluster, topic, keys, {"partitioner": "murmur2_random"})
    return dict(zip(keys, partitions, strict=True))


def in_two(cluster: Cluster, topic: str, partitions: int) -> int:
    """How many values of a topic are in more than one of its partitions, as a reader finds them."""
    homes = Counter(value for n in range(partitions) for value in {*values(cluster, topic, n)})
    return sum(count > 1 for count in homes.values())


# -- hashes


def by_hand(cluster: Cluster) -> Seen:
    """What two settings of a real client choose, beside the hash in Python."""
    cluster.create_topic("orders", partitions=MODULO)
    keys = [f"order-{number}" for number in range(300)]
    crc32 = chosen(cluster, "orders", [*keys])
    murmur2 = chosen(cluster, "orders", [*keys], {"partitioner": "murmur2_random"})
    pinned = _pinned(cluster, "orders", keys[:20], 2)
    with OwnProducer(cluster, "orders") as own:
        own.send("x", key=keys[0])
        own.wait()
    requested = next(n for n in range(MODULO) if "x" in values(cluster, "orders", n))
    leader = partition(cluster, "orders", 0)["leader"]
    other = next(each for each in cluster.brokers if each != leader)
    return {
        "default: as CRC-32 by hand": sum(
            p == crc32_partition(k.encode(), MODULO) for k, p in zip(keys, crc32, strict=True)
        ),
        "murmur2_random: as murmur2 by hand": sum(
            p == murmur2_partition(k.encode(), MODULO) for k, p in zip(keys, murmur2, strict=True)
        ),
        "a record of the engine's own producer is in, by hand": [
            requested, murmur2_partition(keys[0].encode(), MODULO),
        ],
        "partition=2 given, keys differ": pinned,
        "partition=99 given": _error_of(cluster, "orders", partition=99),
        "a batch for partition 0, sent to a follower": produce_at(cluster, other, "orders", "x"),
    }  # fmt: skip


def _pinned(cluster: Cluster, topic: str, keys: list[str], index: int) -> list[int]:
    records = [{"key": key, "partition": index} for key in keys]
    return sorted({each.partition for each in reports(producer(cluster, {}), topic, records)})


def _error_of(cluster: Cluster, topic: str, **record: Any) -> str:
    made = producer(cluster, {"message.timeout.ms": 5_000})
    found: list[Report] = reports(made, topic, [record])
    return found[0].error


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


def largest_share(records: int) -> float:
    """The partitioner alone, 100 bytes a record: the largest of six shares, in percent."""
    sticky = BuiltIn(1_000, True, Random(7))
    counts = [0] * MODULO
    for number in range(records):
        counts[sticky.choose("positions", None, (), MODULO)] += 1
        sticky.appended("positions", 100, {}, number % 10 == 9)
    return 100 * max(counts) / records


# -- a hot key


def hot_key(cluster: Cluster, shares: dict[str, list[tuple[int, float]]]) -> Seen:
    """6,000 records, 60 % of them of one key, with five ways to choose a partition.

    `shares` gets the percentage of each partition by the way it was chosen.
    """
    chance = Random(3)
    keys = ["berlin" if chance.random() < 0.6 else f"city-{chance.randrange(200)}"
            for _ in range(6_000)]  # fmt: skip
    salted = [f"{key}/{n % 8}" if key == "berlin" else key for n, key in enumerate(keys)]
    ways = {
        CITY: (6, keys),
        "the city is the key, 12 partitions": (12, keys),
        SPLIT: (6, salted),
        "the order is the key, 6 partitions": (6, [f"order-{n}" for n in range(len(keys))]),
    }
    hot: dict[str, Any] = {}
    for label, (partitions, used) in ways.items():
        cluster.create_topic("cities", partitions=partitions)
        made = producer(cluster, {"partitioner": "murmur2_random"})
        warned = _warnings(cluster) if label == CITY else 0.0
        began = time.monotonic()
        found = reports(made, "cities", [{"key": key} for key in used])
        took_s = time.monotonic() - began
        shares[label] = _shares([each.partition for each in found], partitions)
        if label == CITY:
            more = _warnings(cluster) - warned
            hot = {
                **_heat(cluster, keys, found, took_s),
                "WARN and ERROR in the brokers' logs": measured(more, "lines"),
            }
    cluster.create_topic("cities", partitions=6)
    with OwnProducer(cluster, "cities", {"partitioner.class": "round-robin"}) as circling:
        circling.send(*keys[:1_200])
        circling.wait()
    shares["keys ignored, 6 partitions"] = _shares([r.partition for r in circling.records], 6)
    return {
        "largest share of a partition": {
            label: f"{max(share for _, share in each):.0f} %" for label, each in shares.items()
        },
        CITY: hot,
        "upserts by key, keys ignored": _upserts(cluster),
    }


def _heat(
    cluster: Cluster, keys: Sequence[str], heard: Sequence[Report], took_s: float
) -> dict[str, Any]:
    """What a hot key does, as clients see it; the records were written in `took_s` seconds."""
    places = {(key, report.partition) for key, report in zip(keys, heard, strict=True)}
    homes = Counter(key for key, _ in places)
    sizes = [sum(each.size for each in stored(cluster, "cities", n)) for n in range(MODULO)]
    hot = sizes.index(max(sizes))
    others = (sum(sizes) - sizes[hot]) / 5
    led: Counter[int] = Counter()
    for number, size in enumerate(sizes):
        led[partition(cluster, "cities", number)["leader"]] += size
    leader = partition(cluster, "cities", hot)["leader"]
    return {
        "keys in two partitions": sum(count > 1 for count in homes.values()),
        "errors in 6,000 reports": sum(each.error != "NONE" for each in heard),
        "bytes, the largest against the others": measured(sizes[hot] / others, "times"),
        "its byte rate": measured(sizes[hot] / took_s / 1000, "kB/s"),
        "bytes of its leader, against another": measured(
            led[leader] / max(1, (led.total() - led[leader]) / 2), "times"
        ),
        "lag of its reader, of the others at most": _lags(cluster)[:2],
    }


def _lags(cluster: Cluster) -> list[int]:
    """By partition, most first: a reader for each handles READ records, or all that there are."""
    own = {"bootstrap.servers": cluster.bootstrap, **READER, "group.id": "city-readers"}
    consumer = Consumer(own)
    lags = []
    try:
        for number in range(MODULO):
            consumer.assign([TopicPartition("cities", number, 0)])
            done = 0
            while done < READ:
                message = consumer.poll(ANSWER_S)
                if message is None or message.error() is not None:
                    break
                done += 1
            at = TopicPartition("cities", number, done)
            consumer.commit(offsets=[at], asynchronous=False)
            (committed,) = consumer.committed([at], timeout=ANSWER_S)
            _, end = consumer.get_watermark_offsets(at, timeout=ANSWER_S)
            lags.append(end - committed.offset)
    finally:
        consumer.close()
    return sorted(lags, reverse=True)


def _warnings(cluster: Cluster) -> float:
    """Lines about the topic at WARN or ERROR; NaN on the engine, whose trace has no levels."""
    if cluster.name == "engine":
        return nan
    return sum(
        bool(re.search(r"\b(WARN|ERROR)\b", line))
        for broker in cluster.brokers
        for line in broker_log.find(cluster, broker, "cities", last=ALL_LINES).lines
    )


def _shares(places: Sequence[int], partitions: int) -> list[tuple[int, float]]:
    return [(n, 100 * places.count(n) / len(places)) for n in range(partitions)]


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
