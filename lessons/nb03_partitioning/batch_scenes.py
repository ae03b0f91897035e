"""Scenarios of notebook 03 for `lab.both` about batches: what ends one, and what a codec saves.

The producer is the engine's own (kit/probes/own_producer.py), on the sockets of either side.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from engine.records import compression
from kit.both.outcomes import measured
from kit.clusters.interface import Cluster
from kit.probes.clients import READER, values
from kit.probes.own_producer import OwnProducer
from kit.probes.stored_batches import stored
from lessons.nb03_partitioning import payloads

Seen = Mapping[str, Any]
PATIENCE_S = 30.0
FOREVER_MS = 60_000
"""A linger.ms that only flush() ends."""


# -- limits of a batch


def batch_limits(cluster: Cluster) -> Seen:
    """Which of the two limits ends a batch; a record above batch.size; requests under way."""
    cluster.create_topic("orders", assignment={0: [101, 102, 103]})
    with OwnProducer(cluster, "orders", {"linger.ms": 1_000}) as made:
        made.send(*("x" * 1_000 for _ in range(20)))
        made.wait()
        first, second = made.batches[:2]
    sizes = {}
    for size in (1_024, 16_384, 65_536):
        with OwnProducer(cluster, "orders", {"batch.size": size, "linger.ms": FOREVER_MS}) as each:
            each.send(*("x" * 100 for _ in range(700)))
            each.flush()
            sizes[f"batch-size {size}"] = measured(each.batches[0].records, "records")
    with OwnProducer(cluster, "orders", {"linger.ms": FOREVER_MS}) as large:
        large.send("small", "x" * 40_000, "small")
        large.flush()
    return {
        "20 records of 1,000 bytes, linger-ms 1000": {
            "records in the first batch": first.records,
            "it waits": measured(first.waited_ms, "ms"),
            "records in the second": second.records,
            "it waits for linger": second.waited_ms >= 900,
        },
        "records of 100 bytes in a batch": sizes,
        "40,000 bytes between two small ones": [each.records for each in large.batches],
        "a full batch in the log": measured(stored(cluster, "orders")[0].size, "bytes"),
        "most requests under way": {f"limit {n}": _under_way(cluster, n) for n in (1, 5)},
    }


def _under_way(cluster: Cluster, limit: int) -> int:
    """Requests without an answer at one moment, a record in each."""
    settings = {"max.in.flight.requests.per.connection": limit, "batch.size": 0, "linger.ms": 0}
    with OwnProducer(cluster, "orders", settings) as made:
        made.send(*("x" for _ in range(30)))
        made.wait()
        steps = [1 if line.kind == "sent" else -1 for _, line in made.notes
                 if line.kind in ("sent", "answered")]  # fmt: skip
    return max(sum(steps[:end]) for end in range(1, len(steps) + 1))


# -- codecs


def codecs(cluster: Cluster, kilobytes: dict[str, list[tuple[int, float]]]) -> Seen:
    """The same batches through five codecs, and what a broker makes of them.

    `kilobytes` gets their sizes in the log: for each kind of data the codec's number and the size.
    """
    names = compression.NAMES
    cluster.create_topic("json", partitions=len(names))
    cluster.create_topic("text", partitions=len(names))
    cluster.create_topic("chance", partitions=len(names))
    cluster.create_topic("as-zstd", config={"compression.type": "zstd"})
    positions = payloads.positions(400)
    sent = {
        "json": [each.encode() for each in positions],
        "text": [line.encode() for line in payloads.text(20_000).split("\n")],
        "chance": [payloads.chance_bytes(150, n) for n in range(400)],
    }
    headers, read = [], []
    for index, codec in enumerate(names):
        for topic, records in sent.items():
            settings = {"compression.type": codec, "batch.size": 1 << 20, "linger.ms": FOREVER_MS}
            with OwnProducer(cluster, topic, settings) as made:
                made.send(*records, partition=index)
                made.flush()
            size = sum(each.size for each in stored(cluster, topic, index)) / 1000
            kilobytes.setdefault(topic, []).append((index, size))
        headers += sorted({each.codec for each in stored(cluster, "json", index)})
        read.append(len(values(cluster, "json", index)))
    with OwnProducer(cluster, "as-zstd", {"compression.type": "gzip"}) as made:
        made.send(*positions[:50], partition=0)
        made.wait()
    return {
        "codecs in the headers": headers,
        "records that a plain consumer reads": read,
        "gzip sent, the topic says zstd": stored(cluster, "as-zstd")[0].codec,
    }


# -- limits of a record


def four_limits(cluster: Cluster) -> Seen:
    """What each limit counts, tried one byte at a time."""
    cluster.create_topic("orders")
    with OwnProducer(cluster, "orders") as made:
        made.send("x" * 1_000)
        made.wait()
    exact = stored(cluster, "orders")[0].size
    seen: dict[str, Any] = {"a batch with one record of 1,000 bytes": exact}
    for label, limit in (("max-message-bytes as large", exact), ("one byte less", exact - 1)):
        cluster.create_topic("small", config={"max.message.bytes": limit})
        with OwnProducer(cluster, "small") as made:
            made.send("x" * 1_000)
            made.wait()
            seen[label] = made.records[0].error or "stored"
    cluster.create_topic("small", config={"max.message.bytes": 3_000})
    with OwnProducer(cluster, "small", {"linger.ms": FOREVER_MS}) as made:
        made.send(*("x" * 1_000 for _ in range(8)))
        made.flush()
        seen["8 such records in a batch, 3,000 allowed"] = {
            "batches in the log": [each.records for each in stored(cluster, "small")],
            "verdicts": sorted(set(made.verdicts)),
        }
    for setting in ("max.request.size", "buffer.memory"):
        with OwnProducer(cluster, "orders", {setting: 900, "batch.size": 100}) as made:
            made.send("x" * 1_000)
            made.wait()
            seen[f"{setting.replace('.', '-')} of 900"] = made.records[0].error
    seen["a consumer with max-partition-fetch-bytes 100"] = _reads(cluster)
    return seen


def _reads(cluster: Cluster) -> str:
    """Whether a consumer whose limit is below the record's size gets the record."""
    limit = {"max.partition.fetch.bytes": 100}
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, **READER, **limit})
    consumer.assign([TopicPartition("orders", 0, 0)])
    try:
        message = consumer.poll(PATIENCE_S)
        if message is None or message.error():
            return "nothing"
        return f"reads {len(message.value() or b'')} bytes"
    finally:
        consumer.close()
