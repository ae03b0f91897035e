"""What public bug reports against other brokers and clients showed, in a whole cluster."""

from __future__ import annotations

from typing import Any

import pytest

from engine.records.batch import Record, encode
from engine.wire import codec, framing
from engine.wire import messages as m
from engine.wire.errors import Errors
from tests.engine.api.asking import SECOND_US, Asking

OLD_MS = 1_600_000_000_000
NOT_UTF_8 = b"a\xffb\xc3"


def batch(sequence: int, timestamp: int = OLD_MS, transactional: bool = False) -> bytes:
    records = [Record(0, timestamp, None, b"a record")]
    return encode(
        records,
        producer_id=7,
        producer_epoch=0,
        base_sequence=sequence,
        transactional=transactional,
    )


def produce(records: bytes, acks: int = -1) -> m.ProduceRequest:
    data = m.ProduceRequest.PartitionProduceData(0, records)
    topic = m.ProduceRequest.TopicProduceData("orders", partition_data=[data])
    return m.ProduceRequest(acks=acks, timeout_ms=9_000, topic_data=[topic])


def stored(cluster: Asking, records: bytes) -> tuple[int, int]:
    """Error and base offset."""
    (topic,) = cluster.ask(produce(records), version=12, broker=leader(cluster)).responses
    (part,) = topic.partition_responses
    return part.error_code, part.base_offset


def leader(cluster: Asking) -> int:
    image = cluster.image(101)
    return int(image.topics[image.topic_ids["orders"]].partitions[0].leader)


def pass_time(cluster: Asking, seconds: float) -> None:
    until = cluster.cluster.now + int(seconds * SECOND_US)
    while (cluster.cluster.next_at or until) < until:
        cluster.cluster.step()
    cluster.cluster.run(until, 1)


@pytest.mark.parametrize("timestamp", [OLD_MS, 0, -1])
def test_a_retry_of_old_records_is_a_duplicate(timestamp: int) -> None:
    """Retention looks often; whether a producer is idle is asked every ten minutes, as in Kafka."""
    cluster = Asking({"log.retention.check.interval.ms": 100, "log.retention.ms": -1})
    cluster.create("orders", partitions=1)
    assert stored(cluster, batch(0, timestamp)) == (Errors.NONE, 0)
    pass_time(cluster, 60)
    assert stored(cluster, batch(0, timestamp)) == (Errors.NONE, 0)
    assert stored(cluster, batch(5, timestamp))[0] == Errors.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_an_idle_producer_is_forgotten_at_the_next_check() -> None:
    cluster = Asking({"producer.id.expiration.check.interval.ms": 30_000, "log.retention.ms": -1})
    cluster.create("orders", partitions=1)
    assert stored(cluster, batch(0)) == (Errors.NONE, 0)
    pass_time(cluster, 40)
    assert stored(cluster, batch(0)) == (Errors.NONE, 1)


def test_a_transactional_batch_without_a_transactional_id_and_acks_0_is_not_answered() -> None:
    cluster = Asking()
    cluster.create("orders", partitions=1)
    answer = cluster.ask(produce(batch(0, transactional=True)), version=12)
    (part,) = answer.responses[0].partition_responses
    assert part.error_code == Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    body = produce(batch(0, transactional=True), acks=0)
    received = codec.decode("ProduceRequest", 12, codec.encode(body, 12))
    from engine.events import Request

    cluster.cluster.submit(101, Request("client", (2,), 12, received))
    cluster.run_until(lambda: cluster.cluster.hang_ups)
    assert [reply.body for _, reply in cluster.cluster.outgoing] == [None]


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ("a" * 4_096, Errors.NONE),
        ("a" * 4_097, Errors.OFFSET_METADATA_TOO_LARGE),
        ("é" * 4_096, Errors.NONE),
        ("日" * 4_096, Errors.NONE),
        ("😀" * 2_048, Errors.NONE),
        ("😀" * 2_049, Errors.OFFSET_METADATA_TOO_LARGE),
    ],
)
def test_commit_metadata_is_measured_in_utf_16(metadata: str, expected: Errors) -> None:
    cluster = Asking({"offsets.topic.num.partitions": 1})
    cluster.create("orders", partitions=1)
    row = m.OffsetCommitRequest.OffsetCommitRequestPartition(0, 1, -1, metadata)
    topic = m.OffsetCommitRequest.OffsetCommitRequestTopic("orders", partitions=[row])
    request = m.OffsetCommitRequest("g", -1, "", topics=[topic])
    found = m.FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])
    for _ in range(100):
        coordinator = cluster.ask(found).coordinators[0]
        if coordinator.error_code == Errors.NONE:
            answer = cluster.ask(request, version=9, broker=coordinator.node_id)
            error = answer.topics[0].partitions[0].error_code
            if error not in (Errors.COORDINATOR_LOAD_IN_PROGRESS, Errors.NOT_COORDINATOR):
                break
        pass_time(cluster, 0.2)
    assert error == expected


def fetch(*partitions: tuple[str, int], version: int = 12) -> m.FetchRequest:
    topics = [
        m.FetchRequest.FetchTopic(
            name, partitions=[m.FetchRequest.FetchPartition(index, partition_max_bytes=1_000)]
        )
        for name, index in partitions
    ]
    return m.FetchRequest(max_wait_ms=700, min_bytes=1, topics=topics)


@pytest.mark.parametrize(
    ("partitions", "waits"),
    [
        ([("orders", 0)], True),
        ([("orders", 0), ("nowhere", 0)], True),
        ([("nowhere", 0), ("orders", 0)], True),
        ([("orders", 9), ("orders", 0)], True),
        ([("nowhere", 0)], False),
        ([("nowhere", 0), ("orders", 9)], False),
    ],
)
def test_a_fetch_with_an_unknown_partition_waits_for_the_others(
    partitions: list[tuple[str, int]], waits: bool
) -> None:
    cluster = Asking()
    cluster.create("orders", partitions=1)
    began = cluster.cluster.now
    answer = cluster.ask(fetch(*partitions), version=12, broker=leader(cluster))
    assert (cluster.cluster.now - began >= 700_000) is waits
    errors = {
        (topic.topic, each.partition_index): each.error_code
        for topic in answer.responses
        for each in topic.partitions
    }
    unknown = Errors.UNKNOWN_TOPIC_OR_PARTITION
    known = ("orders", 0)
    assert errors == {each: Errors.NONE if each == known else unknown for each in partitions}


def test_bytes_that_are_no_utf_8_become_replacement_characters() -> None:
    """As in Java: in names, client ids and commit metadata, classic and flexible."""
    for version in (9, 12):
        body = m.MetadataRequest(topics=[m.MetadataRequest.MetadataRequestTopic(name="aXXXb")])
        frame = bytes(framing.write_request(version, 1, "aXXXb", body))[4:]
        frame = frame.replace(b"aXXXb", b"a\xffX\xc3b")
        header = framing.read_request_header(frame)
        assert header.client_id == "a\ufffdX\ufffdb"
        read: Any = framing.read_request_body(header, frame)
        assert read.topics[0].name == "a\ufffdX\ufffdb"
