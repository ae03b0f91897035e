"""01-9: the frame of a schema-registry payload."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

INSTRUCTIVE = [
    (b"\x00\x00\x00\x00\x02\x0e",),
    (b"\x00\x00\x00\x01\x04",),
    (b'{"order": 7}',),
    (b"\x00\x00\x07",),
    (b"",),
    (b"\x00\x00\x01\x00\x00\x00\x00",),
]


def made(source: Random) -> tuple:
    body = source.randbytes(source.randrange(6))
    if source.random() < 0.3:
        return (bytes([source.randrange(1, 256)]) + source.randbytes(4) + body,)
    if source.random() < 0.2:
        return (b"\x00" + source.randbytes(source.randrange(4)),)
    return (b"\x00" + source.choice([300, 7, 70_000, 2]).to_bytes(4, "big") + body,)


NOT_FRAMED = -1


def unframed(payload: bytes) -> tuple[int, bytes]:
    if len(payload) < 5 or payload[0] != 0:
        return NOT_FRAMED, payload
    return int.from_bytes(payload[1:5], "big"), payload[5:]


def explain(arguments: tuple, expected: Any, seen: Any) -> str:
    (payload,) = arguments
    if not isinstance(seen, list | tuple) or len(seen) != 2:
        return "Return two things: the schema's id, and the body."
    if expected[0] == NOT_FRAMED:
        if len(payload) < 5:
            return "The frame alone has five bytes: a shorter value is not framed."
        return f"The first byte is {payload[0]}, not 0: this is no schema-registry payload."
    if seen[0] == NOT_FRAMED:
        return "This one is framed: the first byte is 0, and at least five bytes are there."
    if seen[0] != expected[0]:
        if seen[0] == int.from_bytes(payload[1:5], "little"):
            return "The id is big-endian: its last byte is the lowest."
        return "The id is in the four bytes after the first."
    return "The body is what follows the five bytes, and it may be empty."


EXERCISE = Exercise(
    "01-9",
    "The five bytes",
    (
        "Look at the payload of the run above, byte by byte. Which bytes are the order?",
        "One byte that is always 0, four bytes for the id with the highest first, then the body. "
        "int.from_bytes reads the four.",
        "A value of fewer than five bytes is not framed, nor is one whose first byte is not 0: "
        "return -1 with the whole value. Else return the number in bytes 1 to 4, big-endian, "
        "together with everything from byte 5 on.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, unframed, explain),
    {
        "little-endian": "def unframed(payload):\n"
        "    if len(payload) < 5 or payload[0]:\n        return -1, payload\n"
        "    return int.from_bytes(payload[1:5], 'little'), payload[5:]",
        "no magic byte": "def unframed(payload):\n"
        "    if len(payload) < 5:\n        return -1, payload\n"
        "    return int.from_bytes(payload[1:5], 'big'), payload[5:]",
        "too short": "def unframed(payload):\n"
        "    if not payload or payload[0]:\n        return -1, payload\n"
        "    return int.from_bytes(payload[1:5], 'big'), payload[5:]",
        "an empty body is refused": "def unframed(payload):\n"
        "    if len(payload) < 6 or payload[0]:\n        return -1, payload\n"
        "    return int.from_bytes(payload[1:5], 'big'), payload[5:]",
    },
    cases(INSTRUCTIVE, made, count=30),
    minutes=6,
)
