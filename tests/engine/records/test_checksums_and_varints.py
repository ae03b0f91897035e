"""CRC-32C and the variable-length integers of records."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.records import crc32c
from engine.records.varint import decode_varint, encode_varint


@pytest.mark.parametrize(
    ("data", "checksum"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),  # this and the next two: RFC 3720, appendix B.4
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
    ],
)
def test_known_checksums(data: bytes, checksum: int) -> None:
    assert crc32c.pure_python(data) == checksum
    assert crc32c.crc32c(data) == checksum


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_python_and_the_wheel_agree_also_piece_by_piece(first: bytes, second: bytes) -> None:
    whole = crc32c.pure_python(first + second)
    assert crc32c.crc32c(first + second) == whole
    assert crc32c.crc32c(memoryview(first + second)) == whole
    assert crc32c.pure_python(second, crc32c.pure_python(first)) == whole
    assert crc32c.crc32c(second, crc32c.crc32c(first)) == whole


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (-65, "8101"),
        (300, "d804"),
    ],
)
def test_small_numbers_of_either_sign_are_short(value: int, encoded: str) -> None:
    assert encode_varint(value).hex() == encoded


@given(st.integers(-(2**63), 2**63 - 1))
def test_numbers_survive_the_way_there_and_back(value: int) -> None:
    encoded = encode_varint(value)
    assert len(encoded) <= 10
    assert decode_varint(b"x" + encoded, 1) == (value, 1 + len(encoded))


def test_a_number_without_an_end_is_refused() -> None:
    with pytest.raises(ValueError, match="ten bytes"):
        decode_varint(b"\x80" * 11 + b"\x00", 0)
    with pytest.raises(IndexError):
        decode_varint(b"\x80\x80", 0)
