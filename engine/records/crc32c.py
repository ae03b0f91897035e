"""CRC-32C (Castagnoli): the checksum of record batches.

A batch travels from the producer through the leader's disk to every follower and consumer
as the same bytes; one checksum, made by the producer, covers the whole way.  Kafka chose
this polynomial because processors compute it in hardware.  It covers the batch from its
attributes to its end; base offset, length, leader epoch and magic come before it, so
that a broker can assign offsets without touching the checksum.

The rule: divide the bits, lowest first, by the polynomial and keep the remainder, eight
bits at a time by table.  RFC 3720, appendix B.4; `crc32c(b"123456789") == 0xE3069283`.
"""

from __future__ import annotations

from engine.records import accelerators

Buffer = bytes | bytearray | memoryview

_POLYNOMIAL = 0x82F63B78  # bits reversed, as the lowest bit goes first


def _remainder(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
    return byte


_TABLE = [_remainder(byte) for byte in range(256)]


def pure_python(data: Buffer, so_far: int = 0) -> int:
    """The checksum of `data`, or of more data behind `so_far`."""
    table = _TABLE
    crc = so_far ^ 0xFFFFFFFF
    for byte in bytes(data):
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


crc32c = accelerators.crc32c or pure_python
