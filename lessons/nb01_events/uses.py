"""A small generator for each typical use of Kafka, on a topic that is designed for the use.

    activity tracking   clicks, the user as key: pages are counted
    messaging           requests between services, the order as key: each order's in sequence
    metrics             one schema for all sources, short retention: the mean of each source
    commit log          changes of rows, the primary key as key, compacted: the last value of each
    stream processing   an output with the partition count of the input: keys keep their partition

A generator yields (key, value).  Simplified: some records each, and a compacted topic that has had
no time to be compacted, so its reader keeps the last value of each key itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import ConfigResource

from kit.clusters.interface import Cluster
from kit.probes import clients

Pair = tuple[str, str]
"""The key and the value of a record."""
ANSWER_S = 20.0
HOUR_MS = 3_600_000
OUTPUT = "totals"


def clicks() -> Iterator[Pair]:
    for number, page in enumerate(["shoes", "hats", "shoes", "hats", "hats", "shoes"]):
        yield f"user {number % 2}", page


def requests() -> Iterator[Pair]:
    for step in ("pay", "pack"):
        for order in (1, 2):
            yield f"order {order}", step


def cpu() -> Iterator[Pair]:
    for percent in (40, 60):
        yield "web-1", str(percent)
        yield "web-2", str(percent - 20)


def addresses() -> Iterator[Pair]:
    yield from [("ann", "Paris"), ("bert", "Rome"), ("ann", "Oslo")]


def sales() -> Iterator[Pair]:
    for euros in (10, 20, 30):
        for shop in ("north", "south", "east", "west"):
            yield shop, str(euros)


def by_key(found: Iterable[Pair]) -> dict[str, list[str]]:
    """Key -> its values in the order in which they were read."""
    values: dict[str, list[str]] = {}
    for key, value in found:
        values.setdefault(key, []).append(value)
    return dict(sorted(values.items()))


def pages_counted(found: Iterable[Pair]) -> list[str]:
    return [f"{page} {count}" for page, count in sorted(Counter(v for _, v in found).items())]


def in_sequence(found: Iterable[Pair]) -> list[str]:
    return [f"{key} {' '.join(values)}" for key, values in by_key(found).items()]


def means(found: Iterable[Pair]) -> list[str]:
    return [f"{key} {mean(map(int, values)):.0f} %" for key, values in by_key(found).items()]


def last_values(found: Iterable[Pair]) -> list[str]:
    return [f"{key} {values[-1]}" for key, values in by_key(found).items()]


@dataclass(frozen=True)
class Use:
    """One use: a topic, what is written to it, and what a reader makes of it."""

    topic: str
    partitions: int
    records: Callable[[], Iterator[Pair]]
    reader: Callable[[Iterable[Pair]], list[str]]
    config: Mapping[str, str] = field(default_factory=dict)


USES = {
    "activity tracking": Use("clicks", 2, clicks, pages_counted),
    "messaging": Use("requests", 2, requests, in_sequence),
    "metrics": Use("cpu", 1, cpu, means, {"retention.ms": str(HOUR_MS)}),
    "commit log": Use("addresses", 1, addresses, last_values, {"cleanup.policy": "compact"}),
}


def typical_uses(cluster: Cluster) -> dict[str, Any]:
    """For each use: the topic's design, as the cluster describes it, and what a reader has."""
    seen = {}
    for name, use in USES.items():
        cluster.create_topic(use.topic, partitions=use.partitions, config=use.config)
        write(cluster, use.topic, use.records())
        found = [pair for part in read(cluster, use.topic) for pair in part]
        seen[name] = f"{design(cluster, use.topic)}: {', '.join(use.reader(found))}"
    return {**seen, "stream processing": processed(cluster)}


def processed(cluster: Cluster) -> str:
    """Adds up the sales of each shop, and writes each sum under the shop's key."""
    for topic in ("sales", OUTPUT):
        cluster.create_topic(topic, partitions=2)
    write(cluster, "sales", sales())
    sums: Counter[str] = Counter()
    results: list[Pair] = []
    for part in read(cluster, "sales"):
        for shop, euros in part:
            sums[shop] += int(euros)
            results.append((shop, str(sums[shop])))
    write(cluster, OUTPUT, results)
    before, after = (shops_in(read(cluster, topic)) for topic in ("sales", OUTPUT))
    kept = sum(before[shop] == after[shop] for shop in before)
    counts = " in, ".join(str(len(read(cluster, topic))) for topic in ("sales", OUTPUT))
    return f"{counts} partitions out: {kept} of {len(before)} keys keep their partition"


def shops_in(parts: Sequence[Sequence[Pair]]) -> dict[str, int]:
    """Key -> the partition in which it is."""
    return {key: number for number, part in enumerate(parts) for key, _ in part}


def write(cluster: Cluster, topic: str, records: Iterable[Pair]) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    for key, value in records:
        producer.produce(topic, value, key)
    producer.flush(ANSWER_S)


def read(cluster: Cluster, topic: str) -> list[list[Pair]]:
    """The records of each partition."""
    partitions = len(cluster.snapshot()["topics"][topic]["partitions"])
    return [
        [((m.key() or b"").decode(), (m.value() or b"").decode()) for m in found]
        for found in (clients.records(cluster, topic, number) for number in range(partitions))
    ]


def design(cluster: Cluster, topic: str) -> str:
    """Partitions, and how long a record stays."""
    asked = ConfigResource(ConfigResource.Type.TOPIC, topic)
    admin = clients.admin(cluster)  # kept: without it the futures never end
    configs = admin.describe_configs([asked])[asked].result(ANSWER_S)
    partitions = len(cluster.snapshot()["topics"][topic]["partitions"])
    hours = int(configs["retention.ms"].value) // HOUR_MS
    stays = "compact" if configs["cleanup.policy"].value == "compact" else f"kept {hours} h"
    return f"{partitions} partition{'s' * (partitions > 1)}, {stays}"
