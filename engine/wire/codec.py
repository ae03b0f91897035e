"""Bytes to messages and back, for every version in the schemas.

    >>> from engine.wire import codec, messages as m
    >>> codec.encode(m.HeartbeatRequest(group_id="g1", generation_id=3, member_id="m"), 0).hex()
    '000267310000000300016d'

The functions that do the work are written by `engine.wire.compiler`, once for each
(message, version), on first use.  Print one to see:

    >>> print(codec.source_of("HeartbeatRequest", 4))

Decoding hostile bytes raises `MalformedMessage` and nothing else, in time and memory
proportional to their length.  Encoding a value that a version cannot carry raises
`UnsupportedField`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, overload

from engine.wire import compiler, messages, schema, slices
from engine.wire.structures import Message


class MalformedMessage(ValueError):
    """The bytes do not form the expected message."""


class UnsupportedField(ValueError):
    """A field holds a value that the chosen version cannot carry."""


Buffer = bytes | memoryview
Kind = TypeVar("Kind", bound=Message)
Reader = Callable[[Buffer, int], tuple[Message, int]]
Writer = Callable[[Message, bytearray], None]

_OVERRUN = (struct.error, IndexError)


def encode(message: Message, version: int) -> bytes:
    """The body of `message` in `version`, without header or frame."""
    out = bytearray()
    _functions(type(message).__name__, version)[1](message, out)
    return bytes(out)


def encode_into(message: Message, version: int, out: bytearray) -> None:
    """Like `encode`, appending to `out`."""
    _functions(type(message).__name__, version)[1](message, out)


@overload
def decode(kind: type[Kind], version: int, buffer: Buffer, position: int = 0) -> Kind: ...
@overload
def decode(kind: str, version: int, buffer: Buffer, position: int = 0) -> Message: ...
def decode(kind: type[Message] | str, version: int, buffer: Buffer, position: int = 0) -> Message:
    """The message of this class, or of this name, that fills `buffer` from `position` on.

    `records` fields are slices of `buffer`: copies if it is bytes, views if it is a
    memoryview.  Bytes left over after the last field are an error.
    """
    message, end = decode_prefix(kind, version, buffer, position)
    if end != len(buffer):
        name = type(message).__name__
        raise MalformedMessage(f"{name} v{version} ends at {end} of {len(buffer)} bytes")
    return message


@overload
def decode_prefix(
    kind: type[Kind], version: int, buffer: Buffer, position: int = 0
) -> tuple[Kind, int]: ...
@overload
def decode_prefix(
    kind: str, version: int, buffer: Buffer, position: int = 0
) -> tuple[Message, int]: ...
def decode_prefix(
    kind: type[Message] | str, version: int, buffer: Buffer, position: int = 0
) -> tuple[Message, int]:
    """Like `decode`, for a message that other bytes follow; also gives its end."""
    name = kind if isinstance(kind, str) else kind.__name__
    try:
        message, end = _functions(name, version)[0](buffer, position)
    except _OVERRUN as error:
        raise MalformedMessage(f"{name} v{version}: {error}") from None
    if end > len(buffer):
        raise MalformedMessage(f"{name} v{version} is cut off")
    return message, end


def source_of(name: str, version: int) -> str:
    """The Python source of the readers and writers of one message version."""
    return compiler.source(schema.find(name), version)


# -- unsigned varints and tagged sections, used by the compiled functions and the framing


def encode_uvarint(value: int) -> bytes:
    """Seven bits a byte, lowest first; the top bit says that more follow."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode_uvarint(buffer: Buffer, position: int) -> tuple[int, int]:
    """The value and the position behind it; at most five bytes."""
    value = 0
    for shift in range(0, 35, 7):
        byte = buffer[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
    raise MalformedMessage("a length of more than five bytes")


def skip_tags(buffer: Buffer, position: int) -> int:
    """The position behind a section of tagged fields, all of them unknown here."""
    tags, position = decode_uvarint(buffer, position)
    for _ in range(tags):
        _, position = decode_uvarint(buffer, position)
        size, position = decode_uvarint(buffer, position)
        position += size
    return position


def _write_tags(tags: list[tuple[int, bytearray]], out: bytearray) -> None:
    out += encode_uvarint(len(tags))
    for tag, content in tags:
        out += encode_uvarint(tag) + encode_uvarint(len(content)) + content


@cache
def _functions(name: str, version: int) -> tuple[Reader, Writer]:
    definition = schema.find(name)
    if version not in definition.versions:
        raise MalformedMessage(f"{name} has no version {version}")
    root: type[Message] = getattr(messages, name)
    namespace: dict[str, Any] = {
        "MalformedMessage": MalformedMessage,
        "UnsupportedField": UnsupportedField,
        "Struct": struct.Struct,
        "pack": struct.pack,
        "unpack_from": struct.unpack_from,
        "encode_uvarint": encode_uvarint,
        "decode_uvarint": decode_uvarint,
        "skip_tags": skip_tags,
        "write_tags": _write_tags,
        "insert": slices.insert,
        "IN_MEMORY": (bytes, bytearray, memoryview),
        "new": object.__new__,
        name: root,
        **{each: getattr(root, each) for each in definition.structs},
    }
    exec(compile(compiler.source(definition, version), f"<{name} v{version}>", "exec"), namespace)
    return namespace[f"read_{name}"], namespace[f"write_{name}"]
