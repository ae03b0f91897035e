"""What a producer is told, and a fetch session: the same requests on the engine and on Kafka."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from engine.records import batch
from engine.records.batch import Record
from engine.records.crc32c import crc32c
from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.clusters.kafka_cluster import KafkaCluster
from kit.probes.raw_client import RawClient
from kit.probes.requests import first_partition, producing
from tests.real_clusters import restored

pytestmark = pytest.mark.real

Refused = tuple[int, int, int, list[tuple[int, str]], str | None]
"""Error, base offset, log start offset, record errors, error message."""
NO_KEY = "Compacted topic cannot accept message without key in topic partition compacted-0"
OUT_OF_RANGE = (
    "Timestamp # of message with offset {} is out of range. The timestamp should be within [#, #]"
)
UNKNOWN_TYPE = (0x7FFF).to_bytes(2, "big")
"""The key of no record that a coordinator writes."""
BAD_TIMESTAMPS = "One or more records have been rejected due to invalid timestamp"


@pytest.fixture(scope="module", params=["engine_cluster", "local_cluster"])
def cluster(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    found: KafkaCluster = request.getfixturevalue(request.param)
    with restored(found):
        for topic, config in {
            "plain": {},
            "compacted": {"cleanup.policy": "compact"},
            "recent": {"message.timestamp.before.max.ms": "60000"},
            "both": {"cleanup.policy": "compact", "message.timestamp.before.max.ms": "60000"},
            "stamped": {"message.timestamp.type": "LogAppendTime"},
            "small": {"max.message.bytes": "200"},
            "strict": {"min.insync.replicas": "3"},
        }.items():
            found.create_topic(topic, assignment={0: [101, 102, 103]}, config=config)
        yield found


@pytest.fixture
def client(cluster: KafkaCluster) -> Iterator[RawClient]:
    with RawClient(cluster, 101, "writer") as found:
        yield found


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def one(key: bytes | None = b"k", ago_ms: int = 0, value: bytes = b"v") -> Record:
    return Record(0, now_ms() - ago_ms, key, value, ())


def patched(data: bytes, at: int, value: int) -> bytes:
    """With one byte of the header changed, and the checksum made right again."""
    out = bytearray(data)
    out[at] = value
    out[17:21] = crc32c(bytes(out[21:])).to_bytes(4, "big")
    return bytes(out)


def in_words(text: str | None) -> str | None:
    """Without numbers that differ from run to run."""
    return text and re.sub(r"-?\d{5,}", "#", text)


def refused(client: RawClient, topic: str, data: bytes, version: int = 12, **more: Any) -> Refused:
    request = producing(topic, **{"acks": -1, **more})
    request.topic_data[0].partition_data[0].records = data
    part = first_partition(client.ask(request, version))
    errors = [
        (each.batch_index, str(in_words(each.batch_index_error_message)))
        for each in part.record_errors
    ]
    return (part.error_code, part.base_offset, part.log_start_offset, errors,
            in_words(part.error_message))  # fmt: skip


def plainly(error: Errors, log_start: int) -> Refused:
    """A refusal without words."""
    return error, -1, log_start, [], None


# -- which records of a batch are at fault (KIP-467)


def test_records_without_a_key_are_named(client: RawClient) -> None:
    data = batch.encode([one(), one(None), one(), one(None), one()])
    shown = ", ".join(f"RecordError(batchIndex={n}, message='{NO_KEY}')" for n in (1, 3))
    words = (
        "One or more records have been rejected due to 2 record errors in total, "
        f"and only showing the first three errors at most: [{shown}]"
    )
    expected = (Errors.INVALID_RECORD, -1, 0, [(1, NO_KEY), (3, NO_KEY)], words)
    assert refused(client, "compacted", data) == expected
    assert refused(client, "compacted", data, version=8) == expected
    assert refused(client, "compacted", data, version=7) == plainly(Errors.INVALID_RECORD, 0)


def test_the_message_shows_three_and_the_list_all(client: RawClient) -> None:
    error, _, _, errors, words = refused(client, "compacted", batch.encode([one(None)] * 10))
    assert (error, len(errors)) == (Errors.INVALID_RECORD, 10)
    assert words is not None
    assert "10 record errors in total" in words
    assert words.count("RecordError") == 3


def test_records_of_a_compressed_batch_are_named_too(client: RawClient) -> None:
    data = batch.encode([one(), one(None)], compression=1)
    assert refused(client, "compacted", data)[3] == [(1, NO_KEY)]


def test_timestamps_out_of_range_are_named(client: RawClient) -> None:
    data = batch.encode([one(ago_ms=120_000), one(), one(ago_ms=-7_200_000)])
    named = [(0, OUT_OF_RANGE.format(0)), (2, OUT_OF_RANGE.format(2))]
    assert refused(client, "recent", data) == (
        Errors.INVALID_TIMESTAMP, -1, 0, named, BAD_TIMESTAMPS,
    )  # fmt: skip
    error, _, _, errors, words = refused(client, "plain", data)
    assert (error, words) == (Errors.INVALID_TIMESTAMP, BAD_TIMESTAMPS)
    assert [number for number, _ in errors] == [2]


def test_of_two_faults_the_timestamp_gives_the_code_and_the_key_the_words(
    client: RawClient,
) -> None:
    data = batch.encode([one(None), one(ago_ms=120_000), one(None, ago_ms=120_000), one()])
    error, _, _, errors, words = refused(client, "both", data)
    assert (error, words) == (Errors.INVALID_TIMESTAMP, BAD_TIMESTAMPS)
    no_key = NO_KEY.replace("compacted", "both")
    assert errors == [(0, no_key), (1, OUT_OF_RANGE.format(1)), (2, no_key)]


def test_only_the_broker_marks_a_batch_as_log_append_time(client: RawClient) -> None:
    data = patched(batch.encode([one(), one()]), 22, 8)
    error, base, start, errors, words = refused(client, "stamped", data)
    assert (error, base, start, words) == (Errors.INVALID_TIMESTAMP, -1, 0, BAD_TIMESTAMPS)
    assert [number for number, _ in errors] == [0, 1]


# -- what else a refusal tells


def test_a_refusal_by_the_log_tells_where_the_log_starts(client: RawClient) -> None:
    good = batch.encode([one()])
    numbered = {"producer_id": 77_000, "producer_epoch": 0}
    first = batch.encode([one()], base_sequence=0, **numbered)
    assert refused(client, "plain", first)[0] == Errors.NONE
    for data, error in (
        (batch.encode([one()], base_offset=5), Errors.INVALID_RECORD),
        (batch.encode([one()], control=True), Errors.INVALID_RECORD),
        (batch.encode([one()], base_sequence=5, **numbered), Errors.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (batch.encode([one()], base_sequence=-1, **numbered), Errors.INVALID_RECORD),
    ):
        assert refused(client, "plain", data) == plainly(error, 0)
    assert refused(client, "plain", good)[0] == Errors.NONE


def test_a_refusal_before_the_log_does_not(client: RawClient) -> None:
    good = batch.encode([one()])
    for topic, data, error in (
        ("plain", b"", Errors.INVALID_RECORD),
        ("plain", good[:-3], Errors.INVALID_RECORD),
        ("plain", good + good, Errors.INVALID_RECORD),
        ("plain", good[:16] + b"\1" + good[17:], Errors.INVALID_RECORD),
        ("plain", good[:-1] + bytes([good[-1] ^ 1]), Errors.CORRUPT_MESSAGE),
        ("small", batch.encode([one(value=bytes(300))]), Errors.MESSAGE_TOO_LARGE),
        ("nowhere", good, Errors.UNKNOWN_TOPIC_OR_PARTITION),
    ):
        assert refused(client, topic, data) == plainly(error, -1)
    assert refused(client, "plain", good, acks=2) == plainly(Errors.INVALID_REQUIRED_ACKS, -1)


def test_a_follower_does_not_tell_either(cluster: KafkaCluster) -> None:
    with RawClient(cluster, 102, "writer") as follower:
        answer = refused(follower, "plain", batch.encode([one()]))
    assert answer == plainly(Errors.NOT_LEADER_OR_FOLLOWER, -1)


def test_zstd_came_with_version_7(client: RawClient) -> None:
    data = batch.encode([one()], compression=4)
    for version in (3, 6):
        answer = refused(client, "plain", data, version)
        assert answer == plainly(Errors.UNSUPPORTED_COMPRESSION_TYPE, -1)
    assert refused(client, "plain", data, 7)[0] == Errors.NONE


def test_a_transactional_batch_needs_a_transactional_id(client: RawClient) -> None:
    data = batch.encode([one()], transactional=True, producer_id=78_000, producer_epoch=0,
                        base_sequence=0)  # fmt: skip
    answer = refused(client, "plain", data)
    assert answer == plainly(Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, -1)


def coordinator(client: RawClient, kind: int, key: str) -> int:
    """The node that coordinates a group (0) or a transactional id (1), once there is one."""
    find = m.FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
    for _ in range(100):
        found = client.ask(find, 4).coordinators[0]
        if found.error_code == Errors.NONE:
            return int(found.node_id)
        time.sleep(0.2)
    raise TimeoutError(f"no coordinator of {key}")


def test_a_batch_of_a_transaction_that_has_no_partition_is_refused_with_a_sentence(
    cluster: KafkaCluster, client: RawClient
) -> None:
    with RawClient(cluster, coordinator(client, 1, "teller"), "writer") as asked:
        for _ in range(100):
            init = m.InitProducerIdRequest(transactional_id="teller", transaction_timeout_ms=60_000)
            producer = asked.ask(init, 4)
            if producer.error_code == Errors.NONE:
                break
            time.sleep(0.2)
    request = producing("plain", acks=-1)
    request.transactional_id = "teller"
    request.topic_data[0].partition_data[0].records = batch.encode(
        [one()],
        transactional=True,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        base_sequence=0,
    )
    heard = {}
    for version in (10, 11):
        part = first_partition(client.ask(request, version))
        heard[version] = (Errors(part.error_code).name, part.log_start_offset, part.error_message)
    assert heard == {
        10: ("INVALID_TXN_STATE", -1, "Partition was not added to the transaction"),
        11: ("TRANSACTION_ABORTABLE", -1, None),
    }


def test_only_the_admin_client_writes_to_internal_topics(cluster: KafkaCluster) -> None:
    topic = "__consumer_offsets"
    with RawClient(cluster, 101, "writer") as client:
        coordinator(client, 0, "some-group")
        asked = m.MetadataRequest(topics=[m.MetadataRequest.MetadataRequestTopic(name=topic)])
        place = next(p for p in client.ask(asked, 9).topics[0].partitions if p.leader_id > 0)
    # a coordinator that loads its log passes over a record of an unknown type
    data = batch.encode([one(UNKNOWN_TYPE)])
    request = producing(topic, acks=-1, records=data, partition=place.partition_index)
    heard = {}
    for client_id in ("writer", "__admin_client"):
        with RawClient(cluster, place.leader_id, client_id) as client:
            heard[client_id] = first_partition(client.ask(request)).error_code
    assert heard == {"writer": Errors.INVALID_TOPIC_EXCEPTION, "__admin_client": Errors.NONE}


# -- fetch sessions (KIP-227)


def fetch(session_id: int, epoch: int, named: bool = True, forget: bool = False) -> Any:
    request = m.FetchRequest
    part = request.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    return request(
        max_wait_ms=5_000,
        min_bytes=1,
        session_id=session_id,
        session_epoch=epoch,
        topics=[request.FetchTopic(topic="stamped", partitions=[part])] if named else [],
        forgotten_topics_data=[request.ForgottenTopic(topic="stamped", partitions=[0])]
        if forget
        else [],
    )


@pytest.mark.parametrize("named", [False, True])
def test_a_session_without_partitions_is_closed(client: RawClient, named: bool) -> None:
    """What is named and forgotten in one request is read, and then forgotten."""
    assert first_partition(client.ask(producing("stamped", acks=-1))).error_code == 0
    session_id = client.ask(fetch(0, 0)).session_id
    assert session_id != 0
    began = time.monotonic()
    last = client.ask(fetch(session_id, 1, named=named, forget=True))
    assert (last.error_code, last.session_id, len(last.responses)) == (0, 0, int(named))
    assert time.monotonic() - began < 2.5
    after = client.ask(fetch(session_id, 2, named=False))
    assert after.error_code == Errors.FETCH_SESSION_ID_NOT_FOUND


# -- acks=all that is not kept


def test_a_time_out_tells_all_but_success(cluster: KafkaCluster, client: RawClient) -> None:
    before = first_partition(client.ask(producing("stamped", acks=-1)))
    cluster.isolate(101)  # nobody follows it, and it cannot take them out of the ISR
    part = first_partition(client.ask(producing("stamped", acks=-1, timeout_ms=500)))
    cluster.heal()
    assert part.error_code == Errors.REQUEST_TIMED_OUT
    assert part.base_offset == before.base_offset + 1
    assert part.log_append_time_ms >= before.log_append_time_ms > 0
    assert (part.log_start_offset, part.error_message) == (0, None)


def test_too_small_an_isr_tells_where_the_log_starts(
    cluster: KafkaCluster, client: RawClient
) -> None:
    cluster.stop(102)
    for _ in range(100):
        if len(cluster.snapshot()["topics"]["strict"]["partitions"][0]["isr"]) < 3:
            break
        time.sleep(0.2)
    answer = refused(client, "strict", batch.encode([one()]))
    assert answer == plainly(Errors.NOT_ENOUGH_REPLICAS, 0)
    cluster.start(102)
