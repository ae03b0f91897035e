"""A batch opened: every byte has a field, and the fields say what the engine's decoder says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.records import control
from engine.records.batch import HEADER_SIZE, CorruptBatch, Record, decode, encode
from kit.segment_panel.batches import RECORDS_SHOWN, Opened, open_batch
from kit.segment_panel.records import Field
from tests.kit.segment_panel.toy_log import T, values


def by_name(opened: Opened, record: int = -1) -> dict[str, Field]:
    return {each.name: each for each in opened.fields if each.record == record}


def unbroken(fields: tuple[Field, ...], end: int) -> bool:
    """Whether the fields cover the bytes up to `end`, each once."""
    return [each.start for each in fields] == [0, *(each.end for each in fields[:-1])] and (
        fields[-1].end == end
    )


def test_every_byte_of_a_batch_belongs_to_one_field() -> None:
    data = encode(values(0, 3), base_offset=40, leader_epoch=7)
    opened = open_batch(data, 0)
    assert unbroken(opened.stored, len(data))
    assert b"".join(each.data for each in opened.stored) == data


def test_the_header_says_what_was_written() -> None:
    data = encode(values(0, 3), base_offset=40, leader_epoch=7, producer_id=1000,
                  producer_epoch=2, base_sequence=9, transactional=True)  # fmt: skip
    found = by_name(open_batch(data, 0))
    assert found["base offset"].value == "40"
    assert found["leader epoch"].value == "7"
    assert "40 + 2 = 42" in found["last offset delta"].says
    assert "bit 4 transactional" in found["attributes"].says
    assert (found["producer id"].value, found["base sequence"].value) == ("1000", "9")
    assert "2023-11-14 22:13:20.000 UTC" in found["base timestamp"].says
    assert "it agrees" in found["CRC-32C"].says


@pytest.mark.parametrize("codec", range(5))
def test_a_compressed_batch_shows_its_records_and_what_was_saved(codec: int) -> None:
    plain = encode(values(0, 5))
    data = encode(values(0, 5), compression=codec)
    opened = open_batch(data, 0)
    assert opened.before == len(plain) - HEADER_SIZE
    assert opened.after == len(data) - HEADER_SIZE
    if codec == 0:
        assert opened.clear == ()
    else:
        assert unbroken(opened.stored, len(data))
        assert unbroken(opened.clear, opened.before)
        assert opened.stored[-1].name == "compressed records"
    assert by_name(opened, 3)["value"].value == "“value 3”"


binary = st.none() | st.binary(max_size=150)
headers = st.lists(st.tuples(st.text(max_size=5), binary), max_size=3).map(tuple)
record = st.builds(Record, st.just(0), st.integers(T - 500, T + 500), binary, binary, headers)


@given(st.lists(record, min_size=1, max_size=RECORDS_SHOWN))
def test_records_are_those_of_the_engines_decoder(given: list[Record]) -> None:
    data = encode(given, base_offset=100)
    opened = open_batch(data, 0)
    assert unbroken(opened.stored, len(data))
    for number, decoded in enumerate(decode(data)):
        found = by_name(opened, number)
        assert f"= {decoded.offset}." in found["offset delta"].says
        for name, content in (("key", decoded.key), ("value", decoded.value)):
            if content:
                assert data[found[name].start : found[name].end] == content
            else:
                assert name not in found
                assert found[f"{name} length"].value == ("-1" if content is None else "0")
        assert found["number of headers"].value == str(len(decoded.headers))


def test_a_large_batch_is_walked_in_windows() -> None:
    data = encode(values(0, 20))
    assert (open_batch(data, 0).first, open_batch(data, 0).last) == (0, RECORDS_SHOWN)
    opened = open_batch(data, 0, first=12)
    assert (opened.first, opened.last) == (12, 12 + RECORDS_SHOWN)
    assert by_name(opened, 12)["value"].value == "“value 12”"
    assert unbroken(opened.stored, len(data))
    assert "records 0–11" in by_name(opened)
    assert open_batch(data, 0, first=99).first == 19


def test_a_control_record_says_what_it_ends() -> None:
    data = control.end_transaction(
        commit=False, producer_id=7, producer_epoch=1, coordinator_epoch=5, timestamp=T
    )
    found = by_name(open_batch(data, 0), 0)
    assert "which is ABORT" in found["key"].says
    assert "coordinator_epoch=5" in found["value"].says


def test_a_flipped_bit_is_found_by_the_checksum() -> None:
    data = bytearray(encode(values(0, 3)))
    data[-3] ^= 1
    opened = open_batch(bytes(data), 0)
    assert "checksum" in opened.trouble
    assert "checksum" in by_name(opened)["CRC-32C"].says
    assert unbroken(opened.stored, len(data))


@given(st.integers(HEADER_SIZE, HEADER_SIZE + 60), st.integers(0, 255))
def test_no_damage_stops_the_reader(at: int, byte: int) -> None:
    data = bytearray(encode(values(0, 4)))
    data[at] = byte
    opened = open_batch(bytes(data), 0)
    assert unbroken(opened.stored, len(data))


def test_damaged_compression_is_said() -> None:
    data = bytearray(encode(values(0, 50), compression=1))
    data[-20:] = bytes(20)
    opened = open_batch(bytes(data), 0)
    assert opened.clear == ()
    assert opened.trouble


def test_less_than_a_header_is_no_batch() -> None:
    with pytest.raises(CorruptBatch):
        open_batch(b"\0" * 40, 0)
