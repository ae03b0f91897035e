"""One record inside a batch: key, value, headers, and how far it is from the batch's base.

    length           varint   of everything below
    attributes       int8     0, unused so far
    timestamp delta  varint   to the batch's base timestamp
    offset delta     varint   to the batch's base offset
    key              varint length, -1 for null, and bytes
    value            varint length, -1 for null (a tombstone), and bytes
    headers          varint count, then name (UTF-8) and value each (KIP-82)

Because a record says only how far it is from its batch's base, a broker gives a whole
batch its offsets by writing eight bytes, compressed or not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from engine.records.varint import decode_varint, encode_varint

Header = tuple[str, bytes | None]


class Record(NamedTuple):
    """One record; `timestamp` in milliseconds, `headers` are (name, value) pairs."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()


def encode_records(records: Iterable[Record], deltas: Iterable[int], base_timestamp: int) -> bytes:
    """The records one after the other; `deltas` are their distances to the base offset."""
    out = bytearray()
    for delta, (_, timestamp, key, value, headers) in zip(deltas, records, strict=True):
        record = bytearray(1)
        record += encode_varint(timestamp - base_timestamp)
        record += encode_varint(delta)
        if key is None:
            record.append(1)
        else:
            record += encode_varint(len(key))
            record += key
        if value is None:
            record.append(1)
        else:
            record += encode_varint(len(value))
            record += value
        if headers:
            record += encode_varint(len(headers))
            for name, content in headers:
                name_bytes = name.encode()
                record += encode_varint(len(name_bytes)) + name_bytes
                record += b"\x01" if content is None else encode_varint(len(content)) + content
        else:
            record.append(0)
        out += encode_varint(len(record))
        out += record
    return bytes(out)


# The value of each one-byte varint; None for a byte that more bytes follow.
_ONE_BYTE = [n >> 1 ^ -(n & 1) if n < 128 else None for n in range(256)]


def decode_records(
    b: bytes, count: int, base_offset: int, base_timestamp: int, append_time: int | None
) -> list[Record]:
    """The `count` records that fill `b`; IndexError or ValueError if they do not.

    `append_time` replaces every timestamp.  A number of one byte, as nearly all are, is
    read without a call.  A slice that runs over the end is caught at its record's end.
    """
    one_byte = _ONE_BYTE
    records: list[Record] = []
    p = 0
    if count < 0:
        raise ValueError("a negative number of records")
    for _ in range(count):
        length, p = decode_varint(b, p)
        end = p + length
        p += 1  # attributes, unused so far
        delta = one_byte[b[p]]
        p += 1
        if delta is None:
            delta, p = decode_varint(b, p - 1)
        timestamp = base_timestamp + delta if append_time is None else append_time
        delta = one_byte[b[p]]
        p += 1
        if delta is None:
            delta, p = decode_varint(b, p - 1)
        n = one_byte[b[p]]
        p += 1
        if n is None:
            n, p = decode_varint(b, p - 1)
        key = value = None
        if n >= 0:
            key = b[p : p + n]
            p += n
        n = one_byte[b[p]]
        p += 1
        if n is None:
            n, p = decode_varint(b, p - 1)
        if n >= 0:
            value = b[p : p + n]
            p += n
        headers: tuple[Header, ...] = ()
        if b[p]:
            headers, p = _decode_headers(b, p)
        else:
            p += 1
        if p != end:
            raise ValueError("a record does not fill its length")
        records.append(Record(base_offset + delta, timestamp, key, value, headers))
    if p != len(b):
        raise ValueError(f"{len(b) - p} bytes behind the last record")
    return records


def _decode_headers(b: bytes, p: int) -> tuple[tuple[Header, ...], int]:
    count, p = decode_varint(b, p)
    if count < 0:
        raise ValueError("a negative number of record headers")
    headers = []
    for _ in range(count):
        n, p = decode_varint(b, p)
        if n < 0:
            raise ValueError("a record header without a name")
        name = str(b[p : p + n], "utf-8", "replace")
        n, p = decode_varint(b, p + n)
        headers.append((name, b[p : p + n] if n >= 0 else None))
        p += max(n, 0)
    return tuple(headers), p
