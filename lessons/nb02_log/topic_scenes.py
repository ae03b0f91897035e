"""Scenarios of notebook 02 for `lab.both` about topics, partitions, and what a record may be."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from random import Random
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import ConfigResource, ConfigSource, NewTopic

from engine.client.partitioners import murmur2_partition
from engine.records import batch
from engine.wire import framing, schema
from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.both.outcomes import Measured, measured
from kit.clusters import broker_log
from kit.clusters.data_dirs import data_dir
from kit.clusters.interface import Cluster
from kit.probes import clients, requests
from kit.probes.own_producer import OwnProducer
from kit.probes.raw_client import RawClient
from lessons.nb02_log import on_disk, writing

Seen = Mapping[str, Any]
SPREAD = {0: [101, 102], 1: [102, 103], 2: [103, 101], 3: [101, 103], 4: [102, 101], 5: [103, 102]}
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
CLOCKS_APART_MS = 40
AVRO = bytes.fromhex("00000000020ece499e1f")
"""A magic byte, the id of a schema, and five bytes that mean nothing without it."""


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
    sizes = {index: len(on_disk.log_bytes(cluster, "orders", index)) for index in SPREAD}
    of_101 = sum(size for index, size in sizes.items() if leaders[index] == 101)
    found = writing.messages(cluster, "orders", [4], start=3)[0]
    log = on_disk.replica(cluster, "orders").segments[0]
    return {
        "partitions of orders": sorted(producer.list_topics("orders").topics["orders"].partitions),
        "partitions that each broker leads": {str(b): leaders.count(b) for b in (101, 102, 103)},
        "offsets in orders-0, -1 and -2": [str(offsets[index]) for index in (0, 1, 2)],
        "log.dir by default": _log_dir_by_default(cluster),
        "folders of both topics on broker 101": _folders(cluster, 101, "orders", "payments"),
        "files in orders-0": sorted(p.name for p in on_disk.folder(cluster, "orders").iterdir()),
        "the batches fill the file": sum(each.size for each in log.batches) == sizes[0],
        "bytes led by broker 101": measured(100 * of_101 / sum(sizes.values()), "% of the topic"),
        "orders, partition 4, offset 3": (found.value() or b"").decode(),
        "records in payments": len(writing.messages(cluster, "payments")),
    }


def _folders(cluster: Cluster, broker: int, *topics: str) -> list[str]:
    """The folders that have a topic's name, alone or with the number of a partition."""
    found = (each.name for each in data_dir(cluster, broker).iterdir() if each.is_dir())
    return sorted(name for name in found if re.sub(r"-\d+$", "", name) in topics)


def _log_dir_by_default(cluster: Cluster) -> str | None:
    broker = ConfigResource(ConfigResource.Type.BROKER, "101")
    admin = clients.admin(cluster)  # kept: without it the future never ends
    found = admin.describe_configs([broker])[broker].result(20)["log.dir"]
    values = {each.source: each.value for each in found.synonyms.values()}
    return values.get(ConfigSource.DEFAULT_CONFIG.value, found.value)


def names(cluster: Cluster) -> Seen:
    """What a cluster says to 0, 1 and 4 partitions, to a name that is taken, to a new one."""
    admin = clients.admin(cluster)
    cluster.create_topic("orders")
    before = clients.topic_id(cluster, "orders")
    taken = admin.create_topics([NewTopic("orders", 1, 1)])["orders"]
    again = clients.outcome(taken)
    cluster.create_topic("orders")
    request = m.CreateTopicsRequest
    wanted = [
        request.CreatableTopic(name=f"with-{count}", num_partitions=count, replication_factor=1)
        for count in (0, 1, 4)
    ]
    body = request(topics=wanted, timeout_ms=5_000, validate_only=True)
    answer = clients.ask(cluster, cluster.brokers[0], body)
    said = {each.name: Errors(each.error_code).name for each in answer.topics}
    return {
        "a topic with no partition": said["with-0"],
        "one with 1 and one with 4": [said["with-1"], said["with-4"]],
        "a name that is taken": again,
        "the same id after delete and create": before == clients.topic_id(cluster, "orders"),
    }


# -- what a record may be


def opaque(cluster: Cluster) -> Seen:
    """Values of any format, or none, with any key, or none: all come back as they went."""
    cluster.create_topic("mixed")
    cluster.create_topic("numbers", partitions=6)
    sent: dict[str, tuple[bytes | None, bytes | None]] = {
        "JSON": (b"order-7", json.dumps({"total": 12}).encode()),
        "random bytes": (None, Random(2).randbytes(200) + b"\x00\xff\xfe"),
        "text": (b"", b"an empty key"),
        "no value": (b"order-7", None),
        "an empty value": (b"order-7", b""),
        "Avro": (b"order-8", AVRO),
    }
    at = requests.now_ms() - MINUTE_MS
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    headers: list[tuple[str, str | bytes | None]] = [
        ("source", b"web"), ("source", b"app"), ("none", None),
    ]  # fmt: skip
    for key, value in sent.values():
        producer.produce("mixed", value, key=key, headers=headers, timestamp=at)
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
    read = dict(zip(sent, ((each.key(), each.value()) for each in got), strict=False))
    stored = batch.decode_all(on_disk.log_bytes(cluster, "mixed"))
    tombstone = next(each for each in stored if each.value is None)
    return {
        "keys and values come back equal": [name for name in sent if read.get(name) == sent[name]],
        "errors about them in the brokers' logs": _errors(cluster, "mixed-0"),
        "the record with no value, in the file": (
            f"offset {tombstone.offset}, key {tombstone.key!r}, value {tombstone.value!r}, "
            f"{len(tombstone.headers)} headers, {_sent_at(tombstone.timestamp, at)}"
        ),
        "records with the key order-7": sum(each.key == b"order-7" for each in stored),
        "no key and an empty key": [str(got[n].key()) for n in (1, 2)],
        "no value and an empty value": [str(got[n].value()) for n in (3, 4)],
        "headers, in their order": [f"{name}={value}" for name, value in got[0].headers()],
        "2 as text and as four bytes: partitions": chosen,
        "as their hashes say": chosen == [murmur2_partition(key, 6) for key in two],
    }


def _errors(cluster: Cluster, place: str) -> Measured:
    """The engine's trace has no levels, so only a real broker's log is counted."""
    if cluster.name == "engine":
        return measured(float("nan"), "lines")
    found = (broker_log.find(cluster, each, f"ERROR {place}", 1_000) for each in cluster.brokers)
    return measured(sum(" ERROR " in line for seen in found for line in seen.lines), "lines")


def _sent_at(stored_ms: int, sent_ms: int) -> str:
    return "the producer's time" if stored_ms == sent_ms else "another time"


def as_a_table(cluster: Cluster) -> Seen:
    """A topic used as a table of prices: inserts, an update, and a look-up by key."""
    cluster.create_topic("prices")
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    for number in range(50):
        producer.produce("prices", str(number), key=f"item-{number % 10}")
    producer.flush(writing.PATIENCE_S)
    before = writing.messages(cluster, "prices")
    update = requests.one_batch(b"new", key=b"item-7", base_offset=7)
    refused, _ = writing.as_one_batch(cluster, "prices", update)
    insert = requests.one_batch(b"new", key=b"item-7")
    _, inserted_at = writing.as_one_batch(cluster, "prices", insert)
    after = writing.messages(cluster, "prices")
    suffixes = {each.suffix for each in on_disk.folder(cluster, "prices").iterdir()}
    return {
        "rows after 50 inserts": len(before),
        "a Produce request that names offset 7": refused,
        "a new row with the same key gets offset": inserted_at,
        "the row at offset 7, before and after": [each[7].value() for each in (before, after)],
        "rows with that key": [each.offset() for each in after if each.key() == b"item-7"],
        "records read to find them": len(after),
        "indexes in its folder": sorted(each for each in suffixes if "index" in each),
        "requests that the broker offers and that carry records": _with_records(cluster),
    }


def _with_records(cluster: Cluster) -> list[str]:
    """The requests that broker 101 offers and whose definition has a field for records."""
    with RawClient(cluster, 101, "lesson") as client:
        offered = client.ask(m.ApiVersionsRequest("lesson", "1"), 3)
    names = (framing.API_NAMES.get(each.api_key, "") for each in offered.api_keys)
    return [name for name in names if name and _has_records(schema.find(f"{name}Request"))]


def _has_records(request: schema.Message) -> bool:
    structs = (request.root, *request.structs.values())
    return any(field.type == "records" for struct in structs for field in struct.fields)


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


# -- order


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
