"""What a leader learns from the records of a produced batch, without building a record.

    compressed     Kafka skips from field to field and never compares a record's length with
                   its fields.  The offsets must count up from 0: else it would have to compress
                   the batch again, which it cannot do with fields that it skipped.
    uncompressed   each record must fill its length, and its offset is not looked at

Both rules are those of Kafka's LogValidator, in which the two kinds take different paths.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.records.varint import MAX_BYTES, MAX_BYTES_32, decode_bits


class Contents(NamedTuple):
    """Of `count` records: how far each is from the base timestamp, and which have no key."""

    timestamp_deltas: list[int]
    keyless: list[int]
    in_order: bool
    """Whether the offsets count up from 0; True without a look where nothing is compressed."""


def read_contents(b: bytes, count: int, compressed: bool) -> Contents:
    """What the `count` records that fill `b` say; ValueError if they do not fill it."""
    try:
        return _read(b, count, compressed)
    except IndexError:
        raise ValueError("the batch ends inside a record") from None


def _read(b: bytes, count: int, compressed: bool) -> Contents:
    """Every produced record comes by here, so the numbers that are mostly short are read in place.

    A number `n` keeps its sign in the lowest bit (`engine.records.varint`): odd is negative.
    """
    timestamps: list[int] = []
    keyless: list[int] = []
    offsets: list[int] = []
    p = 0
    for index in range(count):
        n = b[p]
        p += 1
        if n > 127:
            second = b[p]
            if second < 128:
                n += second - 1 << 7
                p += 1
            else:
                n, p = decode_bits(b, p - 1, MAX_BYTES_32)
        end = -1 if n & 1 else p + (n >> 1)
        p += 1  # attributes, unused so far
        n = b[p]
        p += 1
        if n > 127:
            second = b[p]
            if second < 128:
                n += second - 1 << 7
                p += 1
            else:
                n, p = decode_bits(b, p - 1, MAX_BYTES)
        timestamps.append(n)
        n = b[p]
        p += 1
        if n > 127:
            second = b[p]
            if second < 128:
                n += second - 1 << 7
                p += 1
            else:
                n, p = decode_bits(b, p - 1, MAX_BYTES_32)
        if compressed:
            offsets.append(n)
        n = b[p]
        p += 1
        if n > 127:
            n, p = decode_bits(b, p - 1, MAX_BYTES_32)
        if n & 1:
            keyless.append(index)
        else:
            p += n >> 1
        n = b[p]
        p += 1
        if n > 127:
            second = b[p]
            if second < 128:
                n += second - 1 << 7
                p += 1
            else:
                n, p = decode_bits(b, p - 1, MAX_BYTES_32)
        if not n & 1:
            p += n >> 1
        p = _skip_headers(b, p) if b[p] else p + 1
        if p != end and not compressed:
            raise ValueError("a record does not fill its length")
    if p != len(b):
        raise ValueError(f"{len(b) - p} bytes behind the last record")
    in_order = not compressed or offsets == list(range(0, 2 * count, 2))
    return Contents([n >> 1 ^ -(n & 1) for n in timestamps], keyless, in_order)


def _skip_headers(b: bytes, p: int) -> int:
    count, p = decode_bits(b, p, MAX_BYTES_32)
    if count & 1:
        raise ValueError("a negative number of record headers")
    for _ in range(count >> 1):
        n, p = decode_bits(b, p, MAX_BYTES_32)
        if n & 1:
            raise ValueError("a record header without a name")
        n, p = decode_bits(b, p + (n >> 1), MAX_BYTES_32)
        if not n & 1:
            p += n >> 1
    return p
