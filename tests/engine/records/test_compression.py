"""The four codecs: Kafka's framing, limits, and what happens without the wheel."""

from __future__ import annotations

import gzip
import random
from contextlib import suppress

import pytest

from engine.records import accelerators, compression
from engine.records.compression import GZIP, LZ4, NAMES, NONE, SNAPPY, ZSTD
from engine.wire.errors import CorruptBatch, Errors, KafkaError

CODECS = pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD], ids=lambda c: NAMES[c])
SAMPLES = [b"", b"a", b"abc" * 100_000, random.Random(1).randbytes(150_000)]


@pytest.mark.parametrize("codec", range(5), ids=NAMES)
def test_data_survives_the_way_there_and_back(codec: int) -> None:
    for data in SAMPLES:
        packed = compression.compress(codec, data)
        assert compression.decompress(codec, packed, len(data)) == data
        assert compression.decompress(codec, memoryview(packed), 10**6) == data


@CODECS
def test_more_than_the_limit_is_refused(codec: int) -> None:
    bomb = compression.compress(codec, bytes(3_000_000))
    with pytest.raises(CorruptBatch, match="more than 2999999 bytes"):
        compression.decompress(codec, bomb, 2_999_999)


@CODECS
def test_damaged_streams_are_corrupt_or_readable_and_nothing_else(codec: int) -> None:
    rng = random.Random(codec)
    packed = compression.compress(codec, b"some text, " * 1_000 + rng.randbytes(500))
    for _ in range(300):
        damaged = bytearray(packed[: rng.randrange(len(packed) + 1)])
        for _ in range(rng.randrange(4)):
            if damaged:
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        with suppress(CorruptBatch):
            compression.decompress(codec, bytes(damaged), 100_000)


@CODECS
def test_a_stream_that_is_cut_off_is_corrupt(codec: int) -> None:
    packed = compression.compress(codec, random.Random(1).randbytes(1_000))
    with pytest.raises(CorruptBatch):
        compression.decompress(codec, packed[:-9], 10**6)


def test_snappy_is_read_in_blocks_and_as_one_bare_block() -> None:
    data = b"abc" * 30_000
    framed = compression.compress(SNAPPY, data)
    assert framed.startswith(b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01")
    bare = bytes(accelerators.cramjam.snappy.compress_raw(data))
    assert compression.decompress(SNAPPY, bare, len(data)) == data


def test_a_snappy_block_that_claims_gigabytes_is_not_believed() -> None:
    with pytest.raises(CorruptBatch, match="more than 1000 bytes"):
        compression.decompress(SNAPPY, b"\xff\xff\xff\xff\x0f" + b"junk", 1_000)


def test_lz4_blocks_are_independent_as_kafka_demands() -> None:
    """Other libraries link them unless told not to; Kafka's reader refuses those frames."""
    framed = compression.compress(LZ4, b"abc" * 100_000)
    version_and_flags = framed[4]
    assert version_and_flags == 0b01_1_00000
    linked = bytes(accelerators.cramjam.lz4.compress(b"abc" * 100_000))
    with pytest.raises(CorruptBatch, match="depend on one another"):
        compression.decompress(LZ4, linked, 300_000)


def test_an_lz4_frame_ends_with_its_mark() -> None:
    framed = compression.compress(LZ4, b"abc")
    assert compression.decompress(LZ4, framed + b"behind", 10) == b"abc"
    with pytest.raises(CorruptBatch, match="cut off"):
        compression.decompress(LZ4, framed[:-1], 10)


def test_xerial_streams_follow_one_another() -> None:
    streams = compression.compress(SNAPPY, b"one ") + compression.compress(SNAPPY, b"two")
    assert compression.decompress(SNAPPY, streams, 10) == b"one two"
    with pytest.raises(CorruptBatch):
        compression.decompress(SNAPPY, streams + b"four", 10)


def test_gzip_of_several_members_is_read_whole() -> None:
    members = gzip.compress(b"one ") + gzip.compress(b"two")
    assert compression.decompress(GZIP, members, 100) == b"one two"


def test_what_follows_the_last_gzip_member_does_not_matter() -> None:
    assert compression.decompress(GZIP, gzip.compress(b"one") + b"junk", 100) == b"one"


def test_without_the_wheel_a_sentence_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accelerators, "cramjam", None)
    for codec in (SNAPPY, LZ4, ZSTD):
        with pytest.raises(KafkaError, match="pip install cramjam") as refused:
            compression.decompress(codec, b"x", 10)
        assert refused.value.code == Errors.UNSUPPORTED_COMPRESSION_TYPE
    for codec in (NONE, GZIP):
        assert compression.decompress(codec, compression.compress(codec, b"x"), 10) == b"x"


def test_an_unknown_codec_is_refused() -> None:
    with pytest.raises(KafkaError, match="no compression codec has the number 5"):
        compression.decompress(5, b"x", 10)
