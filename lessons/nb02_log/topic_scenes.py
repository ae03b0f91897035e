"""Scenarios of notebook 02 for `lab.both` about topics, partitions, and what a record may be."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from random import Random
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import NewTopic

from engine.client.partitioners import murmur2_partition
from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.both.outcomes import measured
from kit.clusters.data_dirs import data_dir
from kit.clusters.interface import Cluster
from kit.probes import clients, requests
from kit.probes.own_producer import OwnProducer
from lessons.nb02_log import on_disk, writing

Seen = Mapping[str, Any]
SPREAD = {0: [101, 102], 1: [102, 103], 2: [103, 101], 3: [101, 103], 4: [102, 101], 5: [103, 102]}
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
CLOCKS_APART_MS = 40


# -- where a topic is


def places(cluster: Cluster) -> Seen:
    """Six partitions on three brokers, and a second topic that nothing is written to."""
    cluster.create_topic("orders", assignment=SPREAD)
    cluster.create_topic("payments")
    offsets: dict[int, list[int]] = {index: [] for index in SPREAD}

    def keep(error: Any, message: Any) -> None:
        offsets[message.partition()].append(-1 if error else message.offset())

    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    for number in range(5):
        for index in SPREAD:
            producer.produce("orders", f"order {index}-{number}", partition=index, on_delivery=keep)
    producer.flush(writing.PATIENCE_S)
    leaders = [cluster.leader("orders", index) for index in SPREAD]
    on_101 = sorted(each.name for each in data_dir(cluster, 101).iterdir() if each.is_dir())
    mine = {f"orders-{index}" for index in SPREAD}
    sizes = {index: len(on_disk.log_bytes(cluster, "orders", index)) for index in SPREAD}
    of_101 = sum(size for index, size in sizes.items() if leaders[index] == 101)
    found = writing.messages(cluster, "orders", [4], start=3)[0]
    log = on_disk.replica(cluster, "orders").segments[0]
    return {
        "partitions that each broker leads": {str(b): leaders.count(b) for b in (101, 102, 103)},
        "offsets in orders-0, -1 and -2": [str(offsets[index]) for index in (0, 1, 2)],
        "folders of orders on broker 101": [name for name in on_101 if name in mine],
        "files in orders-0": sorted(p.name for p in on_disk.folder(cluster, "orders").iterdir()),
        "the batches fill the file": sum(each.size for each in log.batches) == sizes[0],
        "bytes led by broker 101": measured(100 * of_101 / sum(sizes.values()), "% of the topic"),
        "orders, partition 4, offset 3": (found.value() or b"").decode(),
        "records in payments": len(writing.messages(cluster, "payments")),
    }


def names(cluster: Cluster) -> Seen:
    """What a cluster says to a topic without partitions, to a name that is taken, to a new one."""
    admin = clients.admin(cluster)
    cluster.create_topic("orders")
    before = clients.topic_id(cluster, "orders")
    taken = admin.create_topics([NewTopic("orders", 1, 1)])["orders"]
    again = clients.outcome(taken)
    cluster.create_topic("orders")
    request = m.CreateTopicsRequest
    wanted = request.CreatableTopic(name="none", num_partitions=0, replication_factor=1)
    body = request(topics=[wanted], timeout_ms=5_000, validate_only=True)
    answer = clients.ask(cluster, cluster.brokers[0], body)
    return {
        "a topic with no partition": Errors(answer.topics[0].error_code).name,
        "a name that is taken": again,
        "the same id after delete and create": before == clients.topic_id(cluster, "orders"),
    }


# -- what a record may be


def opaque(cluster: Cluster) -> Seen:
    """JSON, bytes of chance, no value, no key, an empty key: all come back as they went."""
    cluster.create_topic("mixed")
    cluster.create_topic("numbers", partitions=6)
    sent: list[tuple[bytes | None, bytes | None]] = [
        (b"order-7", json.dumps({"total": 12}).encode()),
        (None, Random(2).randbytes(200) + b"\x00\xff\xfe"),
        (b"", b"an empty key"),
        (b"order-7", None),
        (b"order-7", b""),
    ]
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    headers: list[tuple[str, str | bytes | None]] = [
        ("source", b"web"), ("source", b"app"), ("none", None),
    ]  # fmt: skip
    for key, value in sent:
        producer.produce("mixed", value, key=key, headers=headers)
    chosen: list[int] = []
    two = (b"2", (2).to_bytes(4, "big"))
    own = Producer({"bootstrap.servers": cluster.bootstrap, "partitioner": "murmur2_random"})

    def keep(error: Any, message: Any) -> None:
        chosen.append(-1 if error else message.partition())

    for key in two:
        own.produce("numbers", "x", key=key, on_delivery=keep)
        own.flush(writing.PATIENCE_S)
    producer.flush(writing.PATIENCE_S)
    got = writing.messages(cluster, "mixed")
    return {
        "keys and values come back equal": [(r.key(), r.value()) for r in got] == sent,
        "no key and an empty key": [str(got[n].key()) for n in (1, 2)],
        "no value and an empty value": [str(got[n].value()) for n in (3, 4)],
        "headers, in their order": [f"{name}={value}" for name, value in got[0].headers()],
        "2 as text and as four bytes: partitions": chosen,
        "as their hashes say": chosen == [murmur2_partition(key, 6) for key in two],
    }


def whose_clock(cluster: Cluster) -> Seen:
    """A record of yesterday in two topics; one of two hours ahead; and look-ups by time."""
    cluster.create_topic("created")
    cluster.create_topic("appended", config={"message.timestamp.type": "LogAppendTime"})
    now = requests.now_ms()
    found = {}
    for topic in ("created", "appended"):
        writing.as_one_batch(cluster, topic, writing.made([b"x"], now - DAY_MS))
        kind, at = writing.messages(cluster, topic)[0].timestamp()
        header = on_disk.headers(cluster, topic)[0]
        found[topic] = {
            "kind": {1: "CreateTime", 2: "LogAppendTime"}[kind],
            "bit 3 of the attributes": header.timestamp_type,
            "hours before now": round((now - at) / HOUR_MS),
        }
    late = writing.made([b"x"], now + 2 * HOUR_MS)
    cluster.create_topic("mixed-up")
    for minute in (10, 30, 20, 40):
        record = writing.made([b"x"], now - DAY_MS + minute * MINUTE_MS)
        writing.as_one_batch(cluster, "mixed-up", record)
    from_minute_15 = TopicPartition("mixed-up", 0, now - DAY_MS + 15 * MINUTE_MS)
    asking = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "clock"})
    (at,) = asking.offsets_for_times([from_minute_15], timeout=writing.PATIENCE_S)
    asking.close()
    return {
        **found,
        "a record two hours ahead": writing.as_one_batch(cluster, "created", late)[0],
        "times 10, 30, 20, 40: the first from 15 on": at.offset,
    }


# -- order and speed


def ordered(cluster: Cluster) -> Seen:
    """0 to 99 over one partition and over two, put together again; then three in a request."""
    began = requests.now_ms() - MINUTE_MS
    seen: dict[str, Any] = {}
    for partitions in (1, 2):
        cluster.create_topic("numbers", partitions=partitions)
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        for number in range(100):
            at = began + 10 * number - CLOCKS_APART_MS * (number % partitions)
            index = number % partitions
            producer.produce("numbers", str(number), partition=index, timestamp=at)
        producer.flush(writing.PATIENCE_S)
        got = writing.messages(cluster, "numbers", range(partitions))
        values = [int(each.value()) for each in got]
        seen[f"{partitions} partition{'s' * (partitions > 1)}: read in the order sent"] = (
            values == sorted(values)
        )
    by_clock = [int(each.value()) for each in sorted(got, key=lambda each: each.timestamp())]
    seen["put together by timestamp: in the order sent"] = by_clock == list(range(100))
    seen["put together by number: in the order sent"] = sorted(values) == list(range(100))
    cluster.create_topic("three", assignment={0: [101], 1: [101], 2: [101]})
    with OwnProducer(cluster, "three", {"linger.ms": 60_000}) as own:
        for number in range(30):
            own.send(str(number), partition=number % 3)
        own.flush()
        seen["30 records for three partitions"] = measured(own.requests, "requests")
        seen["records in each batch"] = [each.records for each in own.batches]
    return seen


def speed(cluster: Cluster) -> Seen:
    """Records a second by partitions, with little and much in the log, and by batches."""
    value = b"x" * 100
    rates = {}
    cluster.create_topic("load")
    _rate(cluster, value, 1)  # the first run of a process is slow
    for partitions in (1, 6):
        cluster.create_topic("load", partitions=partitions)
        rates[f"partitions {partitions}"] = measured(_rate(cluster, value, partitions), "records/s")
    cluster.create_topic("load")
    empty = max(_rate(cluster, value, 1) for _ in range(2))
    for _ in range(2):
        _rate(cluster, b"x" * 4_000, 1, count=1_500)
    stored = len(on_disk.log_bytes(cluster, "load")) / 1e6
    full = max(_rate(cluster, value, 1) for _ in range(2))
    size = {}
    for label, batch_size in (("1", 0), ("100", 1 << 20)):
        cluster.create_topic("batches")
        with OwnProducer(cluster, "batches", {"batch.size": batch_size}) as own:
            own.send(*(value for _ in range(100)), partition=0)
            own.wait()
            size[f"bytes of a record in batches of {label}"] = round(
                len(on_disk.log_bytes(cluster, "batches")) / 100
            )
    return {
        "rate": rates,
        "stored in the log": measured(stored, "MB"),
        "rate with it, against an empty log": measured(full / empty, "times"),
        **size,
    }


def _rate(cluster: Cluster, value: bytes, partitions: int, count: int = 4_000) -> float:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": 1, "log_level": 0})
    producer.list_topics(timeout=writing.PATIENCE_S)
    began = time.perf_counter()
    for number in range(count):
        producer.produce("load", value, partition=number % partitions)
    producer.flush(writing.PATIENCE_S)
    return count / (time.perf_counter() - began)
