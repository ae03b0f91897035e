"""What a leader reads of a batch agrees with what `decode` makes of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.records.batch import Record, decode_plain, encode, unpack
from engine.records.contents import read_contents
from engine.wire.errors import CorruptBatch

NOW = 1_700_000_000_000

field = st.one_of(st.none(), st.binary(max_size=3), st.just(bytes(64)), st.just(bytes(9000)))
headers = st.lists(st.tuples(st.text(max_size=3), st.one_of(st.none(), st.binary(max_size=3))))
records = st.lists(
    st.builds(
        Record,
        offset=st.just(0),
        timestamp=st.integers(NOW - 10**6, NOW + 10**6) | st.integers(-1, 2**62),
        key=field,
        value=field,
        headers=headers.map(tuple),
    ),
    min_size=1,
    max_size=80,
)


@given(records)
def test_it_says_what_the_records_say(some: list[Record]) -> None:
    header, plain = unpack(encode(some))
    for compressed in (False, True):
        found = read_contents(plain, len(some), compressed)
        times = [header.base_timestamp + delta for delta in found.timestamp_deltas]
        assert times == [each.timestamp for each in some]
        assert found.keyless == [index for index, each in enumerate(some) if each.key is None]
        assert found.in_order


@given(records, st.data())
def test_it_refuses_what_decode_refuses(some: list[Record], data: st.DataObject) -> None:
    header, plain = unpack(encode(some))
    at = data.draw(st.integers(0, len(plain) - 1))
    damaged = plain[:at] + bytes([data.draw(st.integers(0, 255))]) + plain[at + 1 :]
    try:
        decode_plain(header, damaged, len(some))
        fits = True
    except CorruptBatch:
        fits = False
    try:
        read_contents(damaged, len(some), compressed=False)
        assert fits
    except ValueError:
        assert not fits or b"\x80\x80" in damaged  # Java has a shorter number in mind


@pytest.mark.parametrize("size", [200, 20_000, 3_000_000])
def test_a_record_must_fill_its_length_only_where_nothing_is_compressed(size: int) -> None:
    _, plain = unpack(encode([Record(0, NOW, b"k", bytes(size))]))
    lying = bytes([plain[0] ^ 2]) + plain[1:]
    with pytest.raises(ValueError, match="fill its length"):
        read_contents(lying, 1, compressed=False)
    assert read_contents(lying, 1, compressed=True).timestamp_deltas == [0]


def test_offsets_count_only_where_the_batch_is_compressed() -> None:
    _, plain = unpack(encode([Record(0, NOW, None, None)] * 2))
    swapped = plain[7:] + plain[:7]
    assert read_contents(swapped, 2, compressed=False).in_order
    assert not read_contents(swapped, 2, compressed=True).in_order


@pytest.mark.parametrize("bits", [1 << 35 | 2, 2])
def test_a_length_has_32_bits(bits: int) -> None:
    """In its fifth byte Java drops what does not fit."""
    wide = bytes([0x80 | 2, 0x80, 0x80, 0x80, bits >> 28 & 127])
    record = b"\0\0\0" + wide + b"k\0\0"
    plain = bytes([2 * len(record)]) + record
    assert read_contents(plain, 1, compressed=False).keyless == []
