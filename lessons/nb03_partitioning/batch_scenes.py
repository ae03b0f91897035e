"""Scenarios of notebook 03 for `lab.both` about batches: what ends one, and what a codec saves.

The producer is the engine's own (kit/probes/own_producer.py), on the sockets of either side.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import ConfigResource

from engine.records import batch, compression
from kit.both.outcomes import measured
from kit.clusters.interface import Cluster
from kit.probes import requests
from kit.probes.clients import ANSWER_S, READER, admin, ask, name, partition, topic_id, values
from kit.probes.own_producer import OwnProducer
from kit.probes.stored_batches import StoredBatch, stored
from lessons.nb03_partitioning import payloads
from lessons.nb03_partitioning.measure import producer

Seen = Mapping[str, Any]
PATIENCE_S = 30.0
EXPONENTS = (10, 14, 15, 16)
"""Of two: `batch.size` from 1,024 to 65,536 bytes."""
BEHIND_THE_EPOCH = 16
"""A batch begins with its base offset, its length and the leader epoch: 16 bytes."""
REQUEST_SIZES = (750, 1_500, 4_500)
FOREVER_MS = 60_000
"""A linger.ms that only flush() ends."""


# -- limits of a batch


def batch_limits(cluster: Cluster, by_size: dict[str, list[tuple[int, float]]]) -> Seen:
    """Which of the two limits ends a batch; a record above batch.size; requests under way.

    `by_size` gets what `batch.size` changes: for each unit the exponent of two, and a number.
    """
    cluster.create_topic("orders", assignment={0: [101, 102, 103]})
    with OwnProducer(cluster, "orders", {"linger.ms": 1_000}) as made:
        made.send(*("x" * 1_000 for _ in range(20)))
        made.wait()
        first, second = made.batches[:2]
    cluster.create_topic("positions", partitions=2 * len(EXPONENTS))
    for place, exponent in enumerate(EXPONENTS):
        for unit, number in _of_size(cluster, 1 << exponent, 2 * place).items():
            by_size.setdefault(unit, []).append((exponent, number))
    small = _full_batch(cluster, 100)
    with OwnProducer(cluster, "orders", {"linger.ms": FOREVER_MS}) as large:
        large.send("small", "x" * 40_000, "small")
        large.flush()
    return {
        "20 records of 1,000 bytes, linger-ms 1000": {
            "records in the first batch": first.records,
            "records in the second": second.records,
            "it waits for linger": second.waited_ms >= 900,
            "bytes of the first": measured(_full_batch(cluster, 1_000).size, "bytes"),
        },
        "records of 100 bytes, also batch-size 16,384": {
            "records in the first batch": measured(small.records, "records"),
            "bytes of the first": measured(small.size, "bytes"),
        },
        "40,000 bytes between two small ones": [each.records for each in large.batches],
        "records in a batch, with one each millisecond": _trickle(cluster),
        "most requests under way": {f"limit {n}": _under_way(cluster, n) for n in (1, 5)},
    }


def _full_batch(cluster: Cluster, size: int) -> StoredBatch:
    """The first batch of 20,000 bytes in records of `size` bytes, as it is stored."""
    cluster.create_topic("alike")
    with OwnProducer(cluster, "alike", {"linger.ms": FOREVER_MS}) as made:
        made.send(*("x" * size for _ in range(20_000 // size)))
        made.flush()
    return stored(cluster, "alike")[0]


def _of_size(cluster: Cluster, size: int, first: int) -> dict[str, float]:
    """The same 500 positions with this `batch.size`, with zstd and plain, to two partitions."""
    found: dict[str, float] = {}
    positions = payloads.positions(500)
    total = {}
    for index, codec in enumerate(("zstd", "none"), first):
        settings = {"batch.size": size, "linger.ms": FOREVER_MS, "compression.type": codec}
        with OwnProducer(cluster, "positions", settings) as made:
            made.send(*positions, partition=index)
            made.flush()
        batches = stored(cluster, "positions", index)
        total[codec] = sum(each.size for each in batches)
        found = {
            "records in a batch": batches[0].records,
            "bytes of a batch": batches[0].size,
            "requests": made.requests,
        }
    return {**found, "zstd, % of the bytes": 100 * total["zstd"] / total["none"]}


def _trickle(cluster: Cluster) -> dict[str, Any]:
    """Too few records to fill a batch: what linger.ms adds to it."""
    seen: dict[str, Any] = {}
    for linger in (0, 5, 50):
        with OwnProducer(cluster, "orders", {"linger.ms": linger}) as made:
            began, sent = time.monotonic(), 0
            while sent < 40:
                due = min(40, 1 + int(1_000 * (time.monotonic() - began)))
                made.send(*["x" * 100] * (due - sent))
                sent = due
                made.run(for_s=0.001)
            made.wait()
        seen[f"linger-ms {linger}"] = measured(40 / len(made.batches), "records")
    return seen


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
        "a gzip batch is stored byte for byte": _is_stored_as_sent(cluster, positions[:50]),
        "compression-type brotli": _refusal(cluster, {"compression.type": "brotli"}),
        "gzip sent, the topic says zstd": stored(cluster, "as-zstd")[0].codec,
    }


def _is_stored_as_sent(cluster: Cluster, values: Sequence[str]) -> bool:
    """Compares a batch with what a Fetch brings, behind the fields that the broker sets."""
    cluster.create_topic("as-sent")
    now = requests.now_ms()
    records = [batch.Record(0, now, None, value.encode(), ()) for value in values]
    sent = batch.encode(records, compression=compression.GZIP)
    leader, topic = partition(cluster, "as-sent")["leader"], topic_id(cluster, "as-sent")
    ask(cluster, leader, requests.producing(topic, acks=-1, records=sent))
    found = requests.first_partition(ask(cluster, leader, requests.fetching(topic))).records
    return bytes(found)[BEHIND_THE_EPOCH:] == sent[BEHIND_THE_EPOCH:]


def _refusal(cluster: Cluster, settings: Mapping[str, Any]) -> str:
    try:
        producer(cluster, settings)
    except KafkaException as refusal:
        return name(refusal.args[0])
    return "accepted"


# -- limits of a record


def four_limits(cluster: Cluster) -> Seen:
    """What each limit counts, tried one byte at a time."""
    cluster.create_topic("orders")
    with OwnProducer(cluster, "orders") as made:
        made.send("x" * 1_000)
        made.wait()
    exact = stored(cluster, "orders")[0].size
    seen: dict[str, Any] = {
        "message-max-bytes, and a new topic's max-message-bytes": [
            _config(cluster, ConfigResource.Type.BROKER, "101", "message.max.bytes"),
            _config(cluster, ConfigResource.Type.TOPIC, "orders", "max.message.bytes"),
        ],
        "a batch with one record of 1,000 bytes": exact,
    }
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
    seen["six batches for one leader, max-request-size 750, 1,500, 4,500"] = _requests(cluster)
    seen["a consumer with max-partition-fetch-bytes 100"] = _reads(cluster)
    return seen


def _config(cluster: Cluster, kind: Any, name: str, setting: str) -> int:
    client, resource = admin(cluster), ConfigResource(kind, name)
    found = client.describe_configs([resource])[resource].result(ANSWER_S)
    return int(found[setting].value)


def _requests(cluster: Cluster) -> dict[str, Any]:
    """How many requests carry a record of 600 bytes for each of six partitions."""
    cluster.create_topic("six", assignment={index: [101] for index in range(6)})
    requests = []
    for limit in REQUEST_SIZES:
        settings = {"max.request.size": limit, "linger.ms": FOREVER_MS}
        with OwnProducer(cluster, "six", settings) as made:
            for index in range(6):
                made.send("x" * 600, partition=index)
            made.flush()
            requests.append(made.requests)
    total = sum(stored(cluster, "six", index)[0].size for index in range(6))
    return {
        "bytes of the six": total,
        "bytes by limit, rounded up": [ceil(total / limit) for limit in REQUEST_SIZES],
        "requests": requests,
    }


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
