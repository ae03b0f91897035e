"""Record batches: there and back, offsets given in place, damage found."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.records import batch
from engine.records.batch import CorruptBatch, Record
from engine.wire.errors import Errors, KafkaError

blobs = st.none() | st.binary(max_size=200)
records = st.lists(
    st.builds(
        Record,
        st.just(0),
        st.integers(0, 2**42),
        blobs,
        blobs,
        st.lists(st.tuples(st.text(max_size=5), blobs), max_size=3).map(tuple),
    ),
    min_size=1,
    max_size=20,
)


def three(base_offset: int = 0, **kwargs: int) -> bytes:
    values = [Record(0, 1_000 + i, None, b"v%d" % i) for i in range(3)]
    return batch.encode(values, base_offset=base_offset, **kwargs)


@given(records, st.integers(0, 4), st.integers(0, 2**40))
def test_records_survive_the_way_there_and_back(
    given_records: list[Record], codec: int, base_offset: int
) -> None:
    encoded = batch.encode(given_records, compression=codec, base_offset=base_offset)
    expected = [r._replace(offset=base_offset + i) for i, r in enumerate(given_records)]
    assert batch.decode(encoded) == expected
    header = batch.validate(encoded)
    assert header.size_in_bytes == len(encoded)
    assert header.compression == codec
    assert header.records_count == len(given_records)
    assert header.max_timestamp == max(r.timestamp for r in given_records)
    assert (header.base_offset, header.last_offset) == (base_offset, expected[-1].offset)


def test_the_header_says_who_sent_it_and_what_it_is() -> None:
    header = batch.read_header(
        batch.encode(
            [Record(0, 5, b"k", b"v")],
            producer_id=9,
            producer_epoch=2,
            base_sequence=7,
            leader_epoch=3,
            transactional=True,
            control=True,
        )
    )
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 2, 7)
    assert header.partition_leader_epoch == 3
    assert header.is_transactional
    assert header.is_control
    assert header.timestamp_type == 0
    assert pickle.loads(pickle.dumps(header)) == header


def test_sequences_wrap_around_and_stay_absent() -> None:
    assert batch.read_header(three(base_sequence=2**31 - 2)).last_sequence == 0
    assert batch.read_header(three(base_sequence=5)).last_sequence == 7
    assert batch.read_header(three()).last_sequence == -1


def test_assign_gives_offsets_batch_after_batch_and_leaves_the_checksum() -> None:
    sent = three(leader_epoch=-1) + three()
    assigned = batch.assign(sent, 100, 7)
    assert [r.offset for r in batch.decode_all(assigned)] == [100, 101, 102, 103, 104, 105]
    for header, position in batch.iterate(assigned):
        assert batch.validate(assigned, position) == header
        assert header.partition_leader_epoch == 7
        assert header.crc == batch.read_header(sent).crc
    assert batch.assign(memoryview(sent), 100, 7) == assigned
    assert sent == three() + three()


def test_assign_with_log_append_time_computes_the_checksum_again() -> None:
    assigned = batch.assign(three() + three(compression=1), 0, 0, log_append_time=77_000)
    assert {r.timestamp for r in batch.decode_all(assigned)} == {77_000}
    for _, position in batch.iterate(assigned):
        header = batch.validate(assigned, position)
        assert (header.timestamp_type, header.max_timestamp) == (1, 77_000)


def test_a_rebuilt_batch_keeps_its_offsets_and_its_producer() -> None:
    """What compaction does: gaps, never new numbers, even when nothing is left."""
    before = three(base_offset=40, producer_id=9, producer_epoch=1, base_sequence=12)
    header = batch.read_header(before)
    middle = batch.decode(before)[1:2]
    for kept in (middle, []):
        rebuilt = batch.rebuild(header, kept)
        after = batch.validate(rebuilt)
        assert batch.decode(rebuilt) == kept
        assert (after.base_offset, after.last_offset) == (40, 42)
        assert (after.producer_id, after.last_sequence) == (9, 14)
        assert after.records_count == len(kept)


def test_iterate_stops_quietly_before_an_incomplete_last_batch() -> None:
    buffer = three(0) + three(3)
    for cut in range(len(three()), len(buffer)):
        assert [header.base_offset for header, _ in batch.iterate(buffer[:cut])] == [0]
    assert [position for _, position in batch.iterate(buffer)] == [0, len(three())]


def test_every_flipped_bit_under_the_checksum_is_found() -> None:
    good = three()
    for at in range(17, len(good)):
        bad = bytearray(good)
        bad[at] ^= 1 << at % 8
        with pytest.raises(CorruptBatch, match="checksum"):
            batch.validate(bytes(bad))


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        pytest.param(lambda b: b[:16] + b"\x01" + b[17:], "batch format 1", id="old-format"),
        pytest.param(
            lambda b: b[:8] + bytes(4) + b[12:], "shorter than its header", id="no-length"
        ),
        pytest.param(lambda b: b[:8] + b"\xff" * 4 + b[12:], "shorter than its", id="negative"),
        pytest.param(lambda b: b[:-1], "bytes are there", id="cut"),
        pytest.param(lambda b: b[:30], "shorter than its header", id="cut-in-header"),
    ],
)
def test_a_batch_of_the_wrong_shape_is_corrupt(
    damage: Callable[[bytes], bytes], sentence: str
) -> None:
    with pytest.raises(CorruptBatch, match=sentence) as refused:
        batch.validate(damage(three()))
    assert refused.value.code == Errors.CORRUPT_MESSAGE


def test_assign_refuses_what_is_not_whole_batches() -> None:
    for buffer in (three()[:-1], three() + b"tail", three()[:16] + b"\0" + three()[17:]):
        with pytest.raises(CorruptBatch):
            batch.assign(buffer, 0, 0)


def test_records_must_fill_their_length_and_the_batch() -> None:
    good = batch.encode([Record(0, 9, None, b"value")])
    assert good[61:] == b"\x16\x00\x00\x00\x01\x0avalue\x00"
    longer = good[:8] + (50 + 12).to_bytes(4, "big") + good[12:] + b"\x00"
    for bad, sentence in (
        (good[:61] + b"\x18" + good[62:], "does not fill its length"),
        (longer, "1 bytes behind the last record"),
        (good[:57] + b"\xff" * 4 + good[61:], "negative number of records"),
    ):
        with pytest.raises(CorruptBatch, match=sentence):
            batch.decode(bad)


def test_damaged_records_are_corrupt_or_readable_and_nothing_else() -> None:
    """A batch with a right checksum may still hold nonsense: a client can compute one too."""
    rng = random.Random(5)
    headers = (("a", b"b"), ("c", None))
    good = batch.encode([Record(0, 9, b"key", b"value", headers)] * 3)
    for _ in range(4_000):
        bad = bytearray(good)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(21, len(bad))
            bad[at : at + rng.randint(0, 2)] = rng.choice((b"\xff\xff", b"\x7f", rng.randbytes(1)))
        with suppress(KafkaError):
            batch.decode(bytes(bad))


@given(st.binary(max_size=200))
def test_random_bytes_are_corrupt_and_nothing_else(data: bytes) -> None:
    for read in (batch.validate, batch.decode, batch.decode_all, lambda d: batch.assign(d, 0, 0)):
        with suppress(KafkaError):
            read(data)
