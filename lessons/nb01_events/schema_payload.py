"""A schema-registry payload by hand: one magic byte, the schema's id, and the fields in Avro.

    byte 0      0, the magic byte of this framing
    bytes 1-4   the schema's id, big-endian
    from 5 on   the fields, one after the other, in the order of the schema; no names

Avro writes a long as a zigzag varint (as Kafka does inside a record), and a string as its length
in bytes and then the bytes.  Simplified: records of these two types only; the registry itself, and
the rules by which a reader's schema may differ from the writer's, are in notebook 15.
"""

from __future__ import annotations

from collections.abc import Mapping

Schema = Mapping[str, str]
"""Field name -> `long` or `string`, in the order of the fields."""
MAGIC = 0


def write_long(value: int) -> bytes:
    """Zigzag, then seven bits a byte, the lowest first."""
    left = value << 1 if value >= 0 else ((-value) << 1) - 1
    out = bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)


def read_long(data: bytes, at: int) -> tuple[int, int]:
    """The value at a place, and the place after it."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at


def write(schema: Schema, event: Mapping[str, int | str]) -> bytes:
    """The body: each field's value, and nothing else."""
    out = b""
    for name, kind in schema.items():
        value = event[name]
        if kind == "long":
            out += write_long(int(value))
        else:
            text = str(value).encode()
            out += write_long(len(text)) + text
    return out


def read(schema: Schema, body: bytes) -> dict[str, int | str]:
    """The fields that a reader with this schema finds; ValueError if the bytes end too early."""
    event: dict[str, int | str] = {}
    at = 0
    try:
        for name, kind in schema.items():
            number, at = read_long(body, at)
            if kind == "long":
                event[name] = number
                continue
            if number < 0 or at + number > len(body):
                raise ValueError(f"{name} claims {number} bytes; {len(body) - at} are left")
            event[name], at = body[at : at + number].decode(), at + number
    except IndexError:
        raise ValueError(f"the bytes end before {name}") from None
    return event


def framed(schema_id: int, body: bytes) -> bytes:
    return bytes([MAGIC]) + schema_id.to_bytes(4, "big") + body
