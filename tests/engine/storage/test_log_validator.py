"""What a leader refuses, and with which error."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from engine.records import accelerators, control
from engine.records.batch import Record, encode, read_header
from engine.records.crc32c import crc32c
from engine.storage.log_config import LogConfig
from engine.storage.log_validator import InvalidRecords, Origin, validate_append
from engine.wire.errors import Errors, KafkaError

NOW = 1_700_000_000_000


def batch(count: int = 2, timestamp: int = NOW, key: bytes | None = b"k", **fields: Any) -> bytes:
    return encode([Record(0, timestamp, key, b"v")] * count, **fields)


def patched(data: bytes, at: int, layout: str, value: int) -> bytes:
    """With one header field changed, and the checksum made right again."""
    out = bytearray(data)
    struct.pack_into(layout, out, at, value)
    struct.pack_into(">I", out, 17, crc32c(bytes(out[21:])))
    return bytes(out)


def refusal(data: bytes, config: LogConfig | None = None, origin: Origin = "client") -> Errors:
    try:
        validate_append(data, config or LogConfig(), NOW, origin, "orders-0")
    except KafkaError as error:
        return error.code
    return Errors.NONE


def test_a_good_batch_gives_its_header() -> None:
    data = batch(3)
    validated = validate_append(data, LogConfig(), NOW, "client", "orders-0")
    assert validated == (read_header(data), NOW)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", Errors.INVALID_RECORD),
        (batch()[:50], Errors.INVALID_RECORD),
        (batch() + batch(), Errors.INVALID_RECORD),
        (batch() + batch()[:-1], Errors.NONE),
        (patched(batch(), 16, ">b", 1), Errors.INVALID_RECORD),
        (patched(batch(), 16, ">b", 0), Errors.INVALID_RECORD),
        (batch(base_offset=1), Errors.INVALID_RECORD),
        (patched(batch(2), 57, ">i", 3), Errors.INVALID_RECORD),
        (patched(batch(2), 23, ">i", 0), Errors.INVALID_RECORD),
        (patched(patched(batch(2), 57, ">i", 0), 23, ">i", -1), Errors.INVALID_RECORD),
        (patched(batch(2), 57, ">i", -2), Errors.INVALID_RECORD),
        (batch(producer_id=7, producer_epoch=0, base_sequence=-1), Errors.INVALID_RECORD),
        (batch(control=True), Errors.INVALID_RECORD),
        (batch()[:-1], Errors.INVALID_RECORD),
        (batch()[:-1] + b"X", Errors.CORRUPT_MESSAGE),
        (patched(batch(), 8, ">i", 7), Errors.CORRUPT_MESSAGE),
        (patched(batch(), 21, ">h", 5), Errors.UNKNOWN_SERVER_ERROR),
    ],
    ids=[
        "nothing",
        "half a header",
        "two batches",
        "a part of a second batch",
        "format v1",
        "format v0",
        "offsets not from 0",
        "count above the delta",
        "delta below the count",
        "no records",
        "negative count",
        "no sequence",
        "control batch",
        "cut off",
        "wrong checksum",
        "length below the header",
        "a codec that there is not",
    ],
)
def test_refused(data: bytes, code: Errors) -> None:
    assert refusal(data) == code


def test_sizes_have_limits() -> None:
    size = len(batch())
    assert refusal(batch(), LogConfig(max_message_bytes=size)) == Errors.NONE
    assert refusal(batch(), LogConfig(max_message_bytes=size - 1)) == Errors.MESSAGE_TOO_LARGE
    assert refusal(batch(), LogConfig(segment_bytes=size)) == Errors.NONE
    assert refusal(batch(), LogConfig(segment_bytes=size - 1)) == Errors.RECORD_LIST_TOO_LARGE


def test_a_timestamp_may_be_an_hour_ahead_by_default() -> None:
    assert refusal(batch(timestamp=NOW + 3_600_000)) == Errors.NONE
    assert refusal(batch(timestamp=NOW + 3_600_001)) == Errors.INVALID_TIMESTAMP
    assert refusal(batch(timestamp=0)) == Errors.NONE
    assert refusal(batch(timestamp=-1)) == Errors.NONE


def test_timestamps_may_be_bounded_below() -> None:
    config = LogConfig(message_timestamp_before_max_ms=1000)
    assert refusal(batch(timestamp=NOW - 1000), config) == Errors.NONE
    assert refusal(batch(timestamp=NOW - 1001), config) == Errors.INVALID_TIMESTAMP
    late_second = encode([Record(0, NOW, None, b""), Record(0, NOW - 1001, None, b"")])
    assert refusal(late_second, config) == Errors.INVALID_TIMESTAMP


def test_with_log_append_time_the_producers_clock_does_not_matter() -> None:
    config = LogConfig(message_timestamp_type="LogAppendTime", message_timestamp_before_max_ms=1)
    assert refusal(batch(timestamp=NOW + 10**9), config) == Errors.NONE
    assert refusal(batch(timestamp=0), config) == Errors.NONE


def faults(records: list[Record], config: LogConfig) -> tuple[Errors, list[int], str]:
    with pytest.raises(InvalidRecords) as refused:
        validate_append(encode(records), config, NOW, "client", "orders-0")
    indexes = [index for index, _ in refused.value.record_errors]
    return refused.value.code, indexes, refused.value.message


def test_the_records_at_fault_are_named() -> None:
    """KIP-467: the others are refused with them, and their producer can tell."""
    good, bare = Record(0, NOW, b"k", b"v"), Record(0, NOW, None, b"v")
    compacted = LogConfig(cleanup_policy=("compact",))
    code, indexes, message = faults([good, bare, good, *[bare] * 4], compacted)
    assert (code, indexes) == (Errors.INVALID_RECORD, [1, 3, 4, 5, 6])
    assert "due to 5 record errors in total" in message
    assert message.count("Compacted topic cannot accept message without key") == 3


def test_a_wrong_timestamp_decides_the_error_code() -> None:
    late, bare = Record(0, NOW + 3_600_001, b"k", b"v"), Record(0, NOW, None, b"v")
    code, indexes, _ = faults([bare, late], LogConfig(cleanup_policy=("compact",)))
    assert (code, indexes) == (Errors.INVALID_TIMESTAMP, [0, 1])


def test_a_compacted_topic_needs_keys() -> None:
    config = LogConfig(cleanup_policy=("compact",))
    assert refusal(batch(), config) == Errors.NONE
    assert refusal(batch(key=None), config) == Errors.INVALID_RECORD
    assert refusal(batch(key=None)) == Errors.NONE
    assert refusal(patched(batch(3), 57, ">i", 3)[:-9] + bytes(9), config) == Errors.CORRUPT_MESSAGE


def test_records_that_do_not_fit_the_header_are_refused() -> None:
    assert refusal(patched(patched(batch(2), 57, ">i", 5), 23, ">i", 4)) == Errors.INVALID_RECORD
    assert refusal(patched(patched(batch(3), 57, ">i", 2), 23, ">i", 1)) == Errors.INVALID_RECORD


def test_a_stream_that_does_not_decompress_is_an_error_of_the_server() -> None:
    data = bytearray(batch(compression=1))
    data[-5] ^= 1  # in the checksum of the gzip stream
    assert refusal(patched(bytes(data), 43, ">q", -1)) == Errors.UNKNOWN_SERVER_ERROR


def test_without_its_codec_a_batch_is_taken_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    data = patched(batch(2, compression=4), 35, ">q", 7)
    assert validate_append(data, LogConfig(), NOW, "client", "orders-0").max_timestamp == NOW
    monkeypatch.setattr(accelerators, "cramjam", None)
    assert validate_append(data, LogConfig(), NOW, "client", "orders-0").max_timestamp == 7


@pytest.mark.parametrize("compression", [0, 1])
def test_the_largest_timestamp_is_that_of_the_records(compression: int) -> None:
    records = [
        Record(0, NOW - 9, b"k", b""),
        Record(0, NOW, b"k", b""),
        Record(0, NOW - 5, b"", b""),
    ]
    data = patched(encode(records, compression=compression), 35, ">q", NOW - 5)
    assert validate_append(data, LogConfig(), NOW, "client", "orders-0").max_timestamp == NOW


def test_a_mark_of_the_broker_is_refused_only_where_the_broker_sets_the_time() -> None:
    marked = patched(batch(), 21, ">h", 8)
    assert refusal(marked) == Errors.NONE
    stamped = LogConfig(message_timestamp_type="LogAppendTime")
    assert refusal(marked, stamped) == Errors.INVALID_TIMESTAMP


def test_brokers_may_write_what_clients_may_not() -> None:
    marker = control.end_transaction(
        commit=True, producer_id=7, producer_epoch=0, coordinator_epoch=0, timestamp=NOW
    )
    assert refusal(marker) == Errors.INVALID_RECORD
    assert refusal(marker, origin="coordinator") == Errors.NONE
    numbered = batch(base_offset=9)
    assert refusal(numbered, origin="raft-leader") == Errors.NONE
    small = LogConfig(max_message_bytes=10)
    assert refusal(numbered, small, "coordinator") == Errors.MESSAGE_TOO_LARGE
    assert refusal(numbered, small, "raft-leader") == Errors.NONE
