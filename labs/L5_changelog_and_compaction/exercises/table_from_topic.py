"""L5-10: a dictionary from a compacted topic, with a plain consumer."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, cases, compare_results

Records = list[list[Any]]
"""A partition, a key, and a value; None is a tombstone."""

INSTRUCTIVE: tuple[tuple[Records], ...] = (
    ([[0, "a", "1"]],),
    ([[0, "a", "1"], [0, "a", "2"]],),
    ([[0, "a", "1"], [1, "b", "1"], [2, "c", "1"]],),
    ([[0, "a", "1"], [0, "a", None], [0, "b", "1"]],),
    ([[0, "a", "1"], [0, "b", None], [0, "a", ""]],),
    ([[2, "a", "1"], [2, "a", None], [2, "a", "2"]],),
)
LOOP = (
    "def rebuild(consumer, topic):\n"
    "    table, ended, partitions = {{}}, 0, {partitions}\n"
    "    consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in partitions])\n"
    "    while ended < len(partitions):\n"
    "        message = consumer.poll(10)\n"
    "        if message is None:\n"
    "            continue\n"
    "        if message.error():\n"
    "            ended += 1\n"
    "        else:\n"
    "            {take}\n"
    "    return table"
)
ALL = "list(consumer.list_topics(topic, 10).topics[topic].partitions)"
SET = "table[message.key()] = message.value()"
POP = "table.pop(message.key(), None)"


def some_records(source: Random) -> tuple[Records]:
    """A changelog of six keys, each in its own partition."""
    records: Records = []
    for number in range(20):
        key = source.randrange(6)
        value = source.choice((None, "", str(number), str(number)))
        records.append([key % 3, f"k{key}", value])
    return (records,)


def table(records: Records) -> dict[str, str]:
    found: dict[str, str] = {}
    for _, key, value in records:
        if value is None:
            found.pop(key, None)
        else:
            found[key] = value
    return found


def explain(arguments: tuple[Records], expected: Any, seen: Any) -> str:
    (records,) = arguments
    if not isinstance(seen, dict):
        return "Return a dictionary of keys and values."
    if ghosts := [key for key in seen if key not in expected]:
        left = "None" if seen[ghosts[0]] is None else "a value"
        return (
            f"The key {ghosts[0]} was deleted by a tombstone, and your table has it with {left}: a "
            "tombstone removes the key."
        )
    if missing := [key for key in expected if key not in seen]:
        key = missing[0]
        if expected[key] == "":
            return (
                f"The key {key} has an empty value, and you removed it: only a value of None is a "
                "tombstone."
            )
        partition = next(p for p, name, _ in records if name == key)
        return (
            f"The key {key} is missing: it is in partition {partition}. Was that read to its end?"
        )
    key = next(key for key in expected if seen[key] != expected[key])
    return (
        f"The key {key} has {seen[key]!r}, and its last value is {expected[key]!r}: a compacted "
        "topic still has several values of a key, and the last one counts."
    )


def judge(answer: Any, context: Context) -> Verdict:
    return compare_results(context.inputs, answer, table, explain, stub=lambda records: {})


EXERCISE = Exercise(
    "L5-10",
    "A dictionary from a compacted topic",
    (
        "How do you know that you are at the end? A poll without a message does not say so.",
        "This consumer is set to report the end of each partition as a message with an error, "
        "whose code has a name in KafkaError. Offsets have gaps, so counting does not help.",
        "Assign all partitions from the beginning. Poll until each partition has reported its end. "
        "A value of None takes its key out; each other value is put in, over an older one.",
    ),
    judge,
    {
        "partition 0": LOOP.format(partitions="[0]", take=f"{POP} if message.value() is None else "
            "table.update({message.key(): message.value()})"),
        "the first value": LOOP.format(partitions=ALL, take=f"{POP} if message.value() is None "
            "else table.setdefault(message.key(), message.value())"),
        "tombstones as values": LOOP.format(partitions=ALL, take=SET),
        "empty as a tombstone": LOOP.format(partitions=ALL, take="table.update({message.key(): "
            f"message.value()}}) if message.value() else {POP}"),
    },
    cases(INSTRUCTIVE, some_records, count=4),
    minutes=12,
)  # fmt: skip
