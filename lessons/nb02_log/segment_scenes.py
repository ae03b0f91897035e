"""Scenarios of notebook 02 for `lab.both` about batches, segments, and what a disk keeps."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from engine.records import batch, compression
from engine.records.varint import encode_varint
from kit.both.outcomes import measured
from kit.clusters.interface import Cluster, ClusterError
from kit.probes import clients, requests
from kit.probes.own_producer import OwnProducer
from kit.probes.raw_client import RawClient
from kit.probes.stored_batches import stored
from lessons.nb02_log import on_disk, writing

Seen = Mapping[str, Any]
TEN = [b"event %d" % number for number in range(10)]
MIB = 1 << 20
HOUR_MS = 3_600_000


def batch_fields(cluster: Cluster) -> Seen:
    """A batch of ten by hand behind one of three, and one of an idempotent producer."""
    cluster.create_topic("orders")
    cluster.create_topic("idempotent")
    at = requests.now_ms() - 60_000
    writing.as_one_batch(cluster, "orders", writing.made(TEN[:3], at))
    writing.as_one_batch(cluster, "orders", writing.made(TEN, at, step_ms=3))
    writing.as_one_batch(cluster, "orders", writing.made(TEN[:1], at))
    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True, "log_level": 0}
    )
    for value in TEN:
        producer.produce("idempotent", value)
    producer.flush(writing.PATIENCE_S)
    _, second, third = on_disk.replica(cluster, "orders").segments[0].batches
    header, own = second.header, on_disk.headers(cluster, "idempotent")[0]
    data = on_disk.log_bytes(cluster, "orders")
    here = data[second.position : third.position]
    records = batch.decode(here)
    offsets = [each.offset - header.base_offset for each in records]
    times = [each.timestamp - header.base_timestamp for each in records]
    return {
        "byte 16, the magic": here[16],
        "base offset and last offset delta": [header.base_offset, header.last_offset_delta],
        "length + 12 reaches the next batch": second.position + header.batch_length + 12
        == third.position,
        "first and largest timestamp, of ten 3 ms apart": [
            header.base_timestamp - at, header.max_timestamp - at,
        ],
        "bytes of a record": (len(here) - batch.HEADER_SIZE) / len(TEN),
        "offsets in its records": offsets,
        "times in its records": times,
        "an offset and a time, in bytes": max(
            len(encode_varint(offset) + encode_varint(time))
            for offset, time in zip(offsets, times, strict=True)
        ),
        "producer id, epoch, sequence": [
            header.producer_id, header.producer_epoch, header.base_sequence,
        ],
        "of an idempotent producer": [own.producer_id >= 0, own.producer_epoch, own.base_sequence],
        "the checksum is right": on_disk.checksum_is_right(here),
        "with another epoch": on_disk.checksum_is_right(here[:15] + b"\x09" + here[16:]),
        "with a bit of a value flipped": on_disk.checksum_is_right(
            here[:-20] + bytes([here[-20] ^ 1]) + here[-19:]
        ),
    }  # fmt: skip


def codec_bits(cluster: Cluster) -> Seen:
    """The attributes and the first bytes of the records, for each codec."""
    cluster.create_topic("text", partitions=len(compression.NAMES))
    seen = {}
    for index, codec in enumerate(compression.NAMES):
        settings = {"compression.type": codec, "linger.ms": 60_000}
        with OwnProducer(cluster, "text", settings) as producer:
            producer.send(*writing.lines_of_text(100), partition=index)
            producer.flush()
        data = on_disk.log_bytes(cluster, "text", index)
        header = batch.read_header(data)
        start = data[batch.HEADER_SIZE :][:4].hex(" ")
        seen[codec] = f"{header.attributes & 7}, records begin with {start}"
    return seen


def bad_disk(cluster: Cluster) -> Seen:
    """A bit of the epoch, then one of a value, flipped on the leader's disk: who notices?"""
    cluster.create_topic("orders")
    writing.one_by_one(cluster, "orders", ["prepared", "shipped"])
    size = len(on_disk.log_bytes(cluster, "orders"))
    outside = on_disk.flip(cluster, "orders", 15)
    unnoticed = _values(cluster, {"check.crcs": True})
    where = on_disk.flip(cluster, "orders", size - 5)
    try:
        strict = _values(cluster, {"check.crcs": True})
    except ClusterError as error:
        strict = "nothing: failed CRC32C check" if "CRC32C" in str(error) else str(error)
    return {
        f"flipped in {outside}, one that checks reads": unnoticed,
        "then flipped in": where,
        "a client that does not check reads": _values(cluster, {}),
        "one that checks reads": strict,
    }


def _values(cluster: Cluster, settings: Mapping[str, Any]) -> str:
    found = writing.messages(cluster, "orders", settings=settings)
    return ", ".join((each.value() or b"").decode() for each in found)


# -- settings


def segment_settings(cluster: Cluster) -> Seen:
    """What the settings of a segment do, and which values a cluster refuses."""
    at = requests.now_ms() - 600_000
    seen: dict[str, Any] = {}
    cluster.create_topic("ahead", config={"segment.bytes": MIB, "preallocate": "true"})
    for interval in (4096, 2048):
        cluster.create_topic("sparse", config={"index.interval.bytes": interval})
        writing.one_by_one(cluster, "sparse", ["x" * 500] * 120, range(at, at + 120), "1")
        found = on_disk.entries(cluster, "sparse")
        seen[f"index.interval.bytes={interval}: entries"] = list(found)
    tiny = {"segment.index.bytes": 60, "index.interval.bytes": 1024}
    cluster.create_topic("tiny", config=tiny)
    writing.one_by_one(cluster, "tiny", ["x" * 500] * 40, range(at, at + 40), "1")
    seen["segment.index.bytes=60: segments begin at"] = on_disk.segments(cluster, "tiny")
    cluster.create_topic("large", config={"segment.bytes": MIB})
    writing.one_by_one(cluster, "large", [b"x" * 100_000] * 25)
    seen["segment.bytes=1 MiB: segments begin at"] = on_disk.segments(cluster, "large")
    file = on_disk.folder(cluster, "ahead") / f"{0:020d}.log"
    seen["preallocate: bytes of a new log file"] = file.stat().st_size
    cluster.create_topic("as-zstd", config={"compression.type": "zstd"})
    with OwnProducer(cluster, "as-zstd", {"compression.type": "gzip"}) as producer:
        producer.send(*writing.lines_of_text(50), partition=0)
        producer.wait()
    seen["gzip sent, the topic says zstd"] = stored(cluster, "as-zstd")[0].codec
    seen["formats of all these batches"] = sorted(
        {each.magic for topic in WRITTEN for each in on_disk.headers(cluster, topic)}
    )
    seen["second segments of ten logs begin at"] = {
        f"segment.jitter.ms={jitter}": measured(_second_segments(cluster, jitter), "offsets")
        for jitter in (0, HOUR_MS // 2)
    }
    admin = clients.admin(cluster)
    for name, value in ASKED_FOR.items():
        seen.setdefault(_asked_for(admin, name, value), []).append(f"{name}={value}")
    return seen


WRITTEN = ("sparse", "tiny", "large", "as-zstd")


def _second_segments(cluster: Cluster, jitter_ms: int) -> int:
    """Ten logs get a record every five minutes by its time: where do their segments end?"""
    config = {"segment.ms": HOUR_MS, "segment.jitter.ms": jitter_ms}
    cluster.create_topic("ends", config=config, assignment={index: [101] for index in range(10)})
    at = requests.now_ms() - 2 * HOUR_MS
    with RawClient(cluster, 101, "ends") as client:
        for number in range(14):
            data = writing.made([b"x"], at + number * HOUR_MS // 12)
            body = requests.producing("ends", records=data)
            (topic,) = body.topic_data
            part = type(topic.partition_data[0])
            left, patience = list(range(10)), time.monotonic() + writing.PATIENCE_S
            while left and time.monotonic() < patience:  # a new leader may not be ready yet
                topic.partition_data = [part(index=index, records=data) for index in left]
                (answer,) = client.ask(body).responses
                left = [each.index for each in answer.partition_responses if each.error_code]
    return len({on_disk.segments(cluster, "ends", index)[1] for index in range(10)})


ASKED_FOR = {
    "segment.bytes": "1000",
    "message.format.version": "2.8",
    "message.downconversion.enable": "true",
    "message.timestamp.difference.max.ms": "1000",
    "segment.jitter.ms": "1000",
}


def _asked_for(admin: AdminClient, name: str, value: str) -> str:
    """A new topic with this setting, checked and not made: the error's name."""
    wanted = NewTopic("asked", 1, 1, config={name: value})
    made = admin.create_topics([wanted], validate_only=True)["asked"]
    return {"NONE": "taken"}.get(error := clients.outcome(made), f"refused, {error}")


# -- what a disk keeps


def kept(cluster: Cluster) -> Seen:
    """Two logs of one replica each: one broker is killed, the other one stopped cleanly."""
    logs = {"killed": 103, "stopped": 102}
    for topic, broker in logs.items():
        cluster.create_topic(topic, assignment={0: [broker]})
        writing.one_by_one(cluster, topic, [f"order {n}" for n in range(5)])
    before = on_disk.log_bytes(cluster, "killed")
    folder = on_disk.folder(cluster, "killed")
    cluster.kill(103)
    cluster.stop(102)
    left = b"".join(each.read_bytes() for each in folder.glob("*.log"))
    flushed = {topic: on_disk.recovery_point(cluster, b, topic) for topic, b in logs.items()}
    cluster.start(102, 103)
    cluster.wait_until(lambda c: all(c.leader(t) == b for t, b in logs.items()))
    return {
        "the file of the killed broker is as it was": left == before,
        "flushed, by its checkpoint": flushed["killed"] or 0,
        "flushed, by that of the stopped one": flushed["stopped"],
        "records read after the start": [len(clients.values(cluster, topic)) for topic in logs],
        "flush.messages and flush.ms by default": _flush_settings(cluster, "killed"),
    }


def _flush_settings(cluster: Cluster, topic: str) -> list[str]:
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    admin = clients.admin(cluster)  # kept: without it the future never ends
    found = admin.describe_configs([resource])[resource].result(20)
    return [str(found[name].value) for name in ("flush.messages", "flush.ms")]


def gaps(cluster: Cluster) -> dict[str, str]:
    """Offsets around a transaction's end."""
    cluster.create_topic("paid")
    settings = {"bootstrap.servers": cluster.bootstrap, "transactional.id": "lesson-02"}
    producer = Producer({**settings, "log_level": 0})
    producer.init_transactions(30)
    for _ in range(2):
        producer.begin_transaction()
        for number in range(3):
            producer.produce("paid", f"record {number}", partition=0)
        producer.commit_transaction(30)
    fetch = requests.fetching(clients.topic_id(cluster, "paid"))
    answer = requests.first_partition(clients.ask(cluster, cluster.leader("paid"), fetch))
    batches = [header for header, _ in batch.iterate(answer.records)]
    marker = next(header for header in batches if header.is_control)
    seen = [str(each.offset()) for each in writing.messages(cluster, "paid")]
    cluster.create_topic("plain", partitions=2)
    at = requests.now_ms()
    for index, codec in enumerate(("none", "gzip")):
        writing.as_one_batch(cluster, "plain", writing.made(TEN, at, codec=codec), index)
    plain = [on_disk.headers(cluster, "plain", index)[0].attributes for index in (0, 1)]
    return {
        "offsets that a consumer sees": ", ".join(seen),
        "attributes of a plain and a gzip batch": ", ".join(f"{each:#b}" for each in plain),
        "attributes of the records' batch": f"{batches[0].attributes:#b}",
        "attributes of the marker": f"{marker.attributes:#b}",
        "records in the marker's batch": str(marker.records_count),
    }
