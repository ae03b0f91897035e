"""The codec by itself: what goes in comes out, and hostile bytes do no harm."""

from __future__ import annotations

import copy
import pickle
import random
import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.wire import codec
from engine.wire import messages as m
from engine.wire.codec import MalformedMessage, UnsupportedField
from tests.engine.wire.random_messages import every_message, every_version, random_message

NAMES = [definition.name for definition in every_message()]
VERSIONS = every_version()


def versions_of(name: str) -> range:
    versions = getattr(m, name).VERSIONS
    return range(versions.low, versions.high + 1)


@pytest.mark.parametrize("name", NAMES)
def test_every_message_survives_the_way_there_and_back(name: str) -> None:
    for version in versions_of(name):
        for seed in range(3):
            message = random_message(name, version, seed)
            body = codec.encode(message, version)
            assert codec.decode(name, version, body) == message
            assert codec.decode(name, version, memoryview(b"head" + body), 4) == message


@pytest.mark.parametrize("name", NAMES)
def test_every_message_pickles_and_copies_equal(name: str) -> None:
    message = random_message(name, getattr(m, name).LATEST)
    assert pickle.loads(pickle.dumps(message)) == message
    assert copy.deepcopy(message) == message


def test_messages_with_different_values_are_not_equal() -> None:
    assert m.HeartbeatRequest(group_id="g") != m.HeartbeatRequest(group_id="h")
    assert m.HeartbeatRequest() != m.HeartbeatResponse()


@pytest.mark.parametrize("name", NAMES)
def test_a_message_cut_anywhere_is_malformed(name: str) -> None:
    for version in versions_of(name):
        body = codec.encode(random_message(name, version), version)
        for end in range(0, len(body), 1 + len(body) // 40):
            with pytest.raises(MalformedMessage):
                codec.decode(name, version, body[:end])


@pytest.mark.parametrize("name", NAMES)
def test_a_message_with_bytes_behind_it_is_malformed(name: str) -> None:
    for version in versions_of(name):
        body = codec.encode(random_message(name, version), version)
        with pytest.raises(MalformedMessage):
            codec.decode(name, version, body + b"\0")
        assert codec.decode_prefix(name, version, body + b"\0")[1] == len(body)


@pytest.mark.parametrize("name", NAMES)
def test_mutated_messages_decode_or_are_malformed_and_nothing_else(name: str) -> None:
    rng = random.Random(name)
    for version in versions_of(name):
        body = codec.encode(random_message(name, version), version)
        for _ in range(60):
            mutated = bytearray(body)
            for _ in range(rng.randint(1, 4)):
                at = rng.randrange(len(mutated) + 1)
                junk = rng.choice((b"\xff" * 5, b"\x7f\xff\xff\xff", b"\x80" * 9, rng.randbytes(3)))
                mutated[at : at + rng.randint(0, 6)] = junk
            with suppress(MalformedMessage):
                codec.decode(name, version, bytes(mutated))


@given(which=st.sampled_from(VERSIONS), body=st.binary(max_size=200))
def test_random_bytes_decode_or_are_malformed_and_nothing_else(
    which: tuple[str, int], body: bytes
) -> None:
    with suppress(MalformedMessage):
        codec.decode(*which, body)
    with suppress(MalformedMessage):
        codec.decode(*which, memoryview(body))


@pytest.mark.parametrize(
    ("name", "version", "before"),
    [
        pytest.param(
            "FetchRequest", 11, struct.pack(">iiiibii", -1, 0, 0, 0, 0, 0, 0), id="struct"
        ),
        pytest.param("ListGroupsRequest", 4, b"", id="string"),
        pytest.param("FindCoordinatorRequest", 4, b"\0", id="compact-string"),
        pytest.param("BrokerRegistrationRequest", 4, None, id="uuid"),
    ],
)
def test_an_array_cannot_claim_more_elements_than_there_are_bytes(
    name: str, version: int, before: bytes | None
) -> None:
    """Each claims 2^31 - 1 elements; reading them would take minutes and gigabytes."""
    if before is None:
        message = random_message(name, version)
        message.log_dirs = []
        whole = codec.encode(message, version)
        message.log_dirs = [b"0123456789abcdef"]
        before = whole[: _first_difference(whole, codec.encode(message, version))]
    many = (
        codec.encode_uvarint(2**31) if version in getattr(m, name).FLEXIBLE else b"\x7f\xff\xff\xff"
    )
    with pytest.raises(MalformedMessage, match="2147483647 elements"):
        codec.decode(name, version, before + many + bytes(8))


def _first_difference(a: bytes, b: bytes) -> int:
    return next(i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y)


def test_a_length_of_more_than_five_bytes_is_malformed() -> None:
    with pytest.raises(MalformedMessage, match="five bytes"):
        codec.decode("HeartbeatRequest", 4, b"\xff" * 6)


def test_null_where_null_must_not_be_is_malformed() -> None:
    with pytest.raises(MalformedMessage, match="null for group_id"):
        codec.decode("HeartbeatRequest", 0, b"\xff\xff" + bytes(20))
    with pytest.raises(MalformedMessage, match="null for group_id"):
        codec.decode("HeartbeatRequest", 4, b"\x00" + bytes(20))


def test_unknown_tagged_fields_are_stepped_over() -> None:
    plain = codec.encode(m.HeartbeatResponse(error_code=27), 4)
    tagged = plain[:-1] + b"\x02" + b"\x07\x03abc" + b"\x09\x00"
    assert codec.decode("HeartbeatResponse", 4, tagged) == m.HeartbeatResponse(error_code=27)


def test_a_tagged_field_must_have_the_size_it_claims() -> None:
    body = codec.encode(m.FetchRequest(cluster_id="abc"), 12)
    assert body.endswith(b"\x01\x00\x04\x04abc")
    with pytest.raises(MalformedMessage, match="tagged field 0"):
        codec.decode("FetchRequest", 12, body[:-6] + b"\x00\x05\x04abcd")


def test_a_value_that_an_older_version_cannot_carry_is_refused_or_dropped() -> None:
    """Kafka's rule: fields marked ignorable are dropped, others are an error."""
    partition = m.FetchRequest.FetchPartition(last_fetched_epoch=3)
    request = m.FetchRequest(topics=[m.FetchRequest.FetchTopic(partitions=[partition])])
    with pytest.raises(UnsupportedField, match="last_fetched_epoch in FetchRequest v11"):
        codec.encode(request, 11)
    dropped = codec.encode(m.FetchRequest(rack_id="r1"), 10)
    assert dropped == codec.encode(m.FetchRequest(), 10)


def test_null_in_a_version_that_does_not_know_it_is_refused() -> None:
    assert codec.decode("MetadataRequest", 1, codec.encode(m.MetadataRequest(topics=None), 1))
    with pytest.raises(UnsupportedField, match="None for topics"):
        codec.encode(m.MetadataRequest(topics=None), 0)


def test_a_structure_may_be_null() -> None:
    empty = m.DescribeTopicPartitionsRequest(cursor=None)
    assert codec.encode(empty, 0).endswith(b"\xff\x00")
    assert codec.decode("DescribeTopicPartitionsRequest", 0, codec.encode(empty, 0)) == empty


def test_a_tagged_structure_is_written_also_when_it_is_null() -> None:
    """These bytes are a record of Kafka 4.3.1; without the tag it reads an empty structure."""
    kafkas = b"\x00\x00\x04one\x0b/127.0.0.1\x02\x0cprobe-topic\x01\x00\x00u0\x00\x01\x00\x01\x00"
    value = codec.decode(m.ConsumerGroupMemberMetadataValue, 0, kafkas)
    assert (value.client_id, value.classic_member_metadata) == ("one", None)
    assert codec.encode(value, 0) == kafkas


def test_a_prefix_is_all_there() -> None:
    body = codec.encode(m.OffsetCommitKey(group="g", topic="t", partition=1), 0)
    assert codec.decode_prefix("OffsetCommitKey", 0, body + b"more")[1] == len(body)
    assignment = codec.encode(m.ConsumerProtocolAssignment(user_data=b"abc"), 0)
    with pytest.raises(MalformedMessage, match="cut off"):
        codec.decode_prefix("ConsumerProtocolAssignment", 0, assignment[:-1])


def test_an_unknown_version_is_malformed() -> None:
    with pytest.raises(MalformedMessage, match="no version 99"):
        codec.decode("HeartbeatRequest", 99, b"")


def test_records_are_slices_of_the_buffer() -> None:
    body = codec.encode(
        m.ProduceRequest(
            topic_data=[
                m.ProduceRequest.TopicProduceData(
                    partition_data=[m.ProduceRequest.PartitionProduceData(records=b"batch")]
                )
            ]
        ),
        12,
    )
    view = codec.decode("ProduceRequest", 12, memoryview(body))
    records = view.topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    assert records.obj is body


@given(st.integers(0, 2**35 - 1))
def test_unsigned_varints_survive_the_way_there_and_back(value: int) -> None:
    encoded = codec.encode_uvarint(value)
    assert codec.decode_uvarint(b"x" + encoded, 1) == (value, 1 + len(encoded))


def test_a_string_is_no_longer_in_flexible_versions_than_in_classic_ones() -> None:
    named = m.MetadataRequest.MetadataRequestTopic(name="x" * 32_767)
    longest = m.MetadataRequest([named])
    assert codec.decode("MetadataRequest", 12, codec.encode(longest, 12)) == longest
    named.name += "x"
    with pytest.raises(MalformedMessage):
        codec.decode("MetadataRequest", 12, codec.encode(longest, 12))
