"""10-10: a loop whose effects happen exactly once, with the key of each effect."""

from __future__ import annotations

from kit.crashes.judging import fresh_records, loop_that
from kit.exercises.exercise import Exercise


def loop(*body: str) -> str:
    """A loop with this body for each record."""
    lines = "".join(f"        {line}\n" for line in body)
    return (
        "def once(consumer, topic, process):\n"
        "    consumer.subscribe([topic])\n"
        "    while True:\n"
        "        message = consumer.poll(1.0)\n"
        "        if message is None or message.error():\n"
        "            continue\n"
        f"{lines}"
    )


COMMIT = "consumer.commit(message, asynchronous=False)"

EXERCISE = Exercise(
    "10-10",
    "Exactly once, with a key",
    (
        "Begin with a loop that works at least once. What makes its repeats harmless?",
        "The service ignores a second call with the same key. So a repeated record must bring the "
        "key that it brought the first time, also after a restart, and two records must never "
        "bring the same one.",
        "Take the key from the record itself: its value is the id of the order. Call process with "
        "it, then commit the record, synchronously. Keep nothing in memory, and draw no random "
        "number.",
    ),
    loop_that("exactly once"),
    {
        "no key": loop("process(message)", COMMIT),
        "commits first": loop(COMMIT, "process(message, idempotency_key=message.value().decode())"),
        "one key for a partition": loop(
            "process(message, idempotency_key=f'{topic}-{message.partition()}')", COMMIT
        ),
    },
    fresh_records,
    minutes=8,
)
