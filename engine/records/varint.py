"""Variable-length integers inside a record: zigzag, then seven bits a byte.

The fields of a record are small numbers, mostly: the distance to the batch's base
offset, to its base timestamp, the length of a key.  Zigzag folds the sign into the
lowest bit (0, -1, 1, -2 become 0, 1, 2, 3), so that small negative numbers stay short
too; then each byte carries seven bits, lowest first, and its top bit says that more
follow.  Protocol Buffers calls this sint64.

(The tagged fields and compact lengths of messages use the same bytes without zigzag:
`engine.wire.codec.encode_uvarint`.)
"""

from __future__ import annotations

Buffer = bytes | bytearray | memoryview

MAX_BYTES = 10
"""A 64-bit number needs no more."""
MAX_BYTES_32 = 5
"""The same for a length, a count or the distance of an offset, which have 32 bits."""


def _encode(value: int) -> bytes:
    bits = value << 1 ^ value >> 63
    out = bytearray()
    while bits > 127:
        out.append(bits & 127 | 128)
        bits >>= 7
    out.append(bits)
    return bytes(out)


# The numbers that need one or two bytes, folded: 0, -1, 1, -2 … as bytes.
_FOLDED = [bytes((n,)) for n in range(128)]
_FOLDED += [bytes((n & 127 | 128, n >> 7)) for n in range(128, 1 << 14)]
# By the number itself; a negative one indexes from the end.
_SHORT = [*_FOLDED[::2], *_FOLDED[::-2]]


def encode_varint(value: int) -> bytes:
    """A signed number of at most 64 bits."""
    if -8192 <= value < 8192:
        return _SHORT[value]
    return _encode(value)


def decode_varint(buffer: Buffer, position: int) -> tuple[int, int]:
    """The number at `position` and the position behind it.

    IndexError where the buffer ends too early, ValueError after ten bytes without an end.
    """
    byte = buffer[position]
    if byte < 128:
        return byte >> 1 ^ -(byte & 1), position + 1
    after = buffer[position + 1]
    if after < 128:  # as the length of most records
        bits = byte & 127 | after << 7
        return bits >> 1 ^ -(bits & 1), position + 2
    bits, shift = byte & 127, 7
    while byte > 127:
        if shift == 7 * MAX_BYTES:
            raise ValueError("a number of more than ten bytes")
        position += 1
        byte = buffer[position]
        bits |= (byte & 127) << shift
        shift += 7
    return bits >> 1 ^ -(bits & 1), position + 1


def decode_bits(buffer: Buffer, position: int, max_bytes: int) -> tuple[int, int]:
    """As `decode_varint`, of a number of at most 10 or 5 bytes (64 or 32 bits), still folded.

    The last byte has room for more bits; as in Java they do not count.
    """
    bits = shift = 0
    byte = 128
    while byte > 127:
        if shift == 7 * max_bytes:
            raise ValueError(f"a number of more than {max_bytes} bytes")
        byte = buffer[position]
        bits |= (byte & 127) << shift
        position += 1
        shift += 7
    return bits & (0xFFFFFFFF if max_bytes == MAX_BYTES_32 else 0xFFFFFFFFFFFFFFFF), position
