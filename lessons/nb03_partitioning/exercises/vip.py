"""03-9: a partitioner of one's own, with a partition for some customers alone."""

from __future__ import annotations

from random import Random
from typing import Any

from engine.client.partitioners import murmur2_partition
from kit.exercises.exercise import Exercise, cases, compare_results

IMPORT = "from engine.client.partitioners import murmur2_partition\n"

CASES: tuple[tuple, ...] = (
    ("vip-1", 4), ("customer-1", 4), ("customer-2", 4), ("customer-4", 4), ("not-a-vip-7", 4),
    ("customer-9", 2),
)  # fmt: skip


def made(source: Random) -> tuple:
    kind = source.choice(("vip", "customer", "customer", "not-a-vip", "seller"))
    return f"{kind}-{source.randrange(10_000)}", source.randrange(2, 13)


def vip_partition(key: str, count: int) -> int:
    if key.startswith("vip"):
        return 0
    return 1 + murmur2_partition(key.encode(), count - 1)


def explain(arguments: tuple, expected: int, seen: Any) -> str:
    key, count = arguments
    if expected == 0:
        return f"{key!r} begins with vip: it belongs to partition 0."
    if seen == 0 and "vip" in key:
        return f"{key!r} contains vip, but does not begin with it."
    if seen == murmur2_partition(key.encode(), count):
        return (
            f"{key!r} is hashed over all {count} partitions, so other customers come to "
            "partition 0 as well."
        )
    if seen == murmur2_partition(key.encode(), count - 1):
        return (
            f"The hash is spread over {count - 1} partitions, but those are 0 to {count - 2}: "
            "partition 0 must stay free."
        )
    return f"The others use the partitions 1 to {count - 1}."


EXERCISE = Exercise(
    "03-9",
    "A partition for some customers",
    (
        "Two kinds of keys, two rules. How many partitions are left for the second kind?",
        "The hash function counts from 0, and the partitions of the others begin at 1. How many "
        "are there, and what is missing from the result?",
        "Keys that begin with vip get the first partition. For all others, hash the encoded key "
        "over one partition less than there are, and add 1.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, vip_partition, explain),
    {
        "all share partition 0": IMPORT + "def vip_partition(key, count):\n"
        "    if key.startswith('vip'):\n        return 0\n"
        "    return murmur2_partition(key.encode(), count)",
        "one less, and not moved": IMPORT + "def vip_partition(key, count):\n"
        "    if key.startswith('vip'):\n        return 0\n"
        "    return murmur2_partition(key.encode(), count - 1)",
        "anywhere in the key": IMPORT + "def vip_partition(key, count):\n"
        "    if 'vip' in key:\n        return 0\n"
        "    return 1 + murmur2_partition(key.encode(), count - 1)",
        "the last partition is never used": IMPORT + "def vip_partition(key, count):\n"
        "    if key.startswith('vip'):\n        return 0\n"
        "    return 1 + murmur2_partition(key.encode(), max(1, count - 2))",
    },
    cases(CASES, made, count=60),
)
