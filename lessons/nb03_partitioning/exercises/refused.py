"""03-10: which limit refuses a record."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

CLIENT, TOPIC, STORED = "max.request.size", "max.message.bytes", "stored"
CASES: tuple[tuple, ...] = (
    (500, 500, 1_000, 1_000),
    (1_500, 200, 1_000, 1_000),
    (1_500, 1_200, 2_000, 1_000),
    (1_500, 900, 2_000, 1_000),
    (1_000, 1_000, 1_000, 1_000),
    (1_500, 1_200, 1_000, 1_000),
)


def made(source: Random) -> tuple:
    record = source.randrange(100, 3_000)
    batch = max(60, record * source.choice((1, 2, 5, 10)) // 10)
    client, topic = source.choice((1_000, 2_000)), source.choice((500, 1_000, 1_500))
    return record, source.choice((batch, batch, topic)), source.choice((client, record)), topic


def refused_by(record: int, batch: int, max_request_size: int, max_message_bytes: int) -> str:
    if record > max_request_size:
        return CLIENT
    return TOPIC if batch > max_message_bytes else STORED


def explain(arguments: tuple, expected: str, seen: Any) -> str:
    record, batch, client, topic = arguments
    if seen not in (CLIENT, TOPIC, STORED):
        return f'Give "{CLIENT}", "{TOPIC}" or "{STORED}".'
    if record == client or batch == topic:
        return "A limit is the largest size that passes: equal is not too large."
    if expected == CLIENT and seen == TOPIC:
        return "The client asks first: what it refuses never reaches the broker."
    if expected == CLIENT:
        return (
            f"The client compares the record before compression, {record:,} bytes, with {client:,}."
        )
    if seen == TOPIC:
        return (
            f"The topic's limit counts the batch after compression, {batch:,} bytes: that is not "
            f"above {topic:,}."
        )
    if seen == CLIENT:
        return f"The client lets {record:,} bytes pass: its limit is {client:,}."
    return f"The batch has {batch:,} bytes, and the topic takes {topic:,}."


EXERCISE = Exercise(
    "03-10",
    "Which limit refuses a record?",
    (
        "Two limits, two places, two sizes. Which of the sizes is known in which place?",
        "The producer decides before it compresses; the broker sees only the compressed batch.",
        "First compare the record with the client's limit; above it, that is the answer. Then "
        "compare the batch with the topic's limit. If neither is exceeded, the record is stored.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, refused_by, explain),
    {
        "the client sees the compressed size": "def refused_by(record, batch, max_request_size, "
        "max_message_bytes):\n    if batch > max_request_size:\n        return 'max.request.size'\n"
        "    return 'max.message.bytes' if batch > max_message_bytes else 'stored'",
        "the topic counts the record": "def refused_by(record, batch, max_request_size, "
        "max_message_bytes):\n    if record > max_request_size:\n"
        "        return 'max.request.size'\n"
        "    return 'max.message.bytes' if record > max_message_bytes else 'stored'",
        "the broker asks first": "def refused_by(record, batch, max_request_size, "
        "max_message_bytes):\n    if batch > max_message_bytes:\n"
        "        return 'max.message.bytes'\n"
        "    return 'max.request.size' if record > max_request_size else 'stored'",
        "equal is too large": "def refused_by(record, batch, max_request_size, "
        "max_message_bytes):\n    if record >= max_request_size:\n"
        "        return 'max.request.size'\n"
        "    return 'max.message.bytes' if batch >= max_message_bytes else 'stored'",
    },
    cases(CASES, made, count=60),
)
