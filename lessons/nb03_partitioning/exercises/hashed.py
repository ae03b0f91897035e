"""03-8: from a signed hash to a partition, as Kafka's clients do it."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

CASES: tuple[tuple, ...] = ((7, 3), (-1, 5), (-3, 7), (2_000_000_011, 5), (-2_147_483_648, 6))


def made(source: Random) -> tuple:
    return source.randrange(-(1 << 31), 1 << 31), source.randrange(1, 60)


def partition_of(signed_hash: int, count: int) -> int:
    return (signed_hash & 0x7FFFFFFF) % count


def explain(arguments: tuple, expected: int, seen: Any) -> str:
    signed, count = arguments
    if seen == signed & 0x7FFFFFFF:
        return f"{seen} is no partition: there are {count}, from 0 to {count - 1}."
    if seen == abs(signed) % count:
        return (
            "abs() and clearing the sign bit differ for negative hashes. Kafka clears the bit: "
            "abs() of the smallest number is negative in Java."
        )
    if seen == signed % count:
        return (
            "Python's % of a negative number is positive, Java's is negative. Kafka makes the hash "
            "positive first, by clearing its sign bit."
        )
    if seen == (signed & 0xFFFFFFFF) % count:
        return "This reads the hash as 32 bits without a sign. Kafka clears the sign bit instead."
    return ""


EXERCISE = Exercise(
    "03-8",
    "From a hash to a partition",
    (
        "A remainder must not be negative. So what does Kafka do before it divides?",
        "The hash has 32 bits, and the first of them is the sign. The mask in "
        "engine/client/partitioners.py shows which bits count.",
        "Keep the lower 31 bits of the hash with a bitwise and, then take the remainder by the "
        "number of partitions.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, partition_of, explain),
    {
        "abs": "def partition_of(signed_hash, count):\n    return abs(signed_hash) % count",
        "Python's remainder": "def partition_of(signed_hash, count):\n"
        "    return signed_hash % count",
        "unsigned": "def partition_of(signed_hash, count):\n"
        "    return (signed_hash & 0xFFFFFFFF) % count",
        "no remainder": "def partition_of(signed_hash, count):\n"
        "    return signed_hash & 0x7FFFFFFF",
    },
    cases(CASES, made, count=40),
)
