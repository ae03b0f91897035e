"""02-8: a zigzag varint, as lengths and deltas inside a record are written."""

from __future__ import annotations

from random import Random
from typing import Any

from engine.records.varint import decode_varint, encode_varint
from kit.exercises.exercise import Exercise, cases, compare_results

CASES: tuple[tuple, ...] = (
    (b"\x02",), (b"\x01",), (b"\x00",), (b"\x09",), (b"\x80\x01",), (b"\xac\x02",),
    (b"\x02\x10",), (b"\xc7\x01\x00",), (b"\x80\x80\x01",),
)  # fmt: skip


def made(source: Random) -> tuple:
    number = source.choice((1, -1)) * source.randrange(1 << source.randrange(1, 30))
    return (encode_varint(number) + source.randbytes(source.randrange(3)),)


def varint(data: bytes) -> tuple[int, int]:
    return decode_varint(data, 0)


def unsigned(data: bytes, reverse: bool = False) -> tuple[int, int]:
    """Without zigzag; with the highest seven bits first if `reverse`."""
    number = 0
    for place, byte in enumerate(data):
        number = number << 7 | byte & 0x7F if reverse else number | (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return number, place + 1
    return number, len(data)


def explain(arguments: tuple, expected: Any, seen: Any) -> str:
    (data,) = arguments
    length = expected[1]
    if not isinstance(seen, list) or len(seen) != 2 or not all(isinstance(n, int) for n in seen):
        return "Return two numbers: the one in the bytes, and how many bytes it takes."
    if seen == expected[::-1]:
        return (
            "Both are there, the wrong way round: first the number, then how many bytes it takes."
        )
    if seen == [expected[0], length - 1]:
        return (
            f"The number is right. {seen[1]} is the place of its last byte, counted from 0; it "
            f"takes {length}."
        )
    plain, other = unsigned(data)[0], unsigned(data, reverse=True)[0]
    if seen[1] != length:
        return (
            f"The number ends with the first byte whose top bit is 0: it takes {length} of these "
            f"{len(data)} bytes."
        )
    if seen[0] == plain:
        return (
            f"The seven bits of each byte make {plain}. That is a place in the row 0, -1, 1, -2, "
            "2, …: the lowest bit is the sign."
        )
    if seen[0] == other >> 1 ^ -(other & 1):
        return "The first byte has the lowest bits, not the highest."
    if seen[0] == -(plain >> 1) or seen[0] == plain >> 1:
        return (
            "An odd number stands for a negative one: 1 is -1, 3 is -2. Half of it is one too few "
            "for that."
        )
    return "Take seven bits of each byte, the lowest first; then undo the zigzag."


LOOP = (
    "def varint(data):\n    number = 0\n    for place, byte in enumerate(data):\n"
    "        number |= (byte & 0x7F) << 7 * place\n        if byte < 0x80:\n            return "
)
EXERCISE = Exercise(
    "02-8",
    "A number in a record",
    (
        "Two questions, one after the other: where does the number end, and what do its bits say?",
        "The top bit of each byte only says whether another byte follows. For the sign, look at "
        "what an even and an odd number stand for.",
        "Collect seven bits of each byte, each time seven places further left, up to the byte with "
        "top bit 0. Then an even number stands for its half, and an odd one for a negative "
        "number: minus half of the number above it.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, varint, explain),
    {
        "no zigzag": LOOP + "number, place + 1",
        "half with a sign": LOOP + "(-(number >> 1) if number & 1 else number >> 1), place + 1",
        "the highest bits first": "def varint(data):\n    number = 0\n"
        "    for place, byte in enumerate(data):\n        number = number << 7 | byte & 0x7F\n"
        "        if byte < 0x80:\n            return (number >> 1) ^ -(number & 1), place + 1",
        "one byte": "def varint(data):\n    return (data[0] >> 1) ^ -(data[0] & 1), 1",
        "all the bytes": "def varint(data):\n    number = sum((byte & 0x7F) << 7 * place "
        "for place, byte in enumerate(data))\n"
        "    return (number >> 1) ^ -(number & 1), len(data)",
        "the wrong way round": LOOP + "place + 1, (number >> 1) ^ -(number & 1)",
        "a place for a length": LOOP + "(number >> 1) ^ -(number & 1), place",
        "no length": LOOP + "(number >> 1) ^ -(number & 1)",
    },
    cases(CASES, made, count=40),
    minutes=8,
)
