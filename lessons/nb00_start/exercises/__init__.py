"""The judge's side of notebook 00: how the course asks questions."""

from __future__ import annotations

from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Question, Verdict, right, wrong

KEY, VALUE = b"you", b"I was here"


def judge_record(answer: Any, context: Context) -> Verdict:
    records = context.records("greetings")
    expected = "a record with key 'you' and value 'I was here'"
    if any((record.key, record.value) == (KEY, VALUE) for record in records):
        return right("The judge read it from the cluster itself.")
    written = [record for record in records if record.value != b"hello"]
    if not written:
        return wrong(
            "Your record has not arrived. Was it produced, and flushed?",
            expected=expected,
            seen=f"{len(records)} record(s) in greetings, none of them new",
        )
    last = max(written, key=lambda record: record.timestamp_ms)
    seen = f"key {_text(last.key)}, value {_text(last.value)}"
    if last.value == VALUE:
        return wrong("The value is right, the key is not.", expected=expected, seen=seen)
    return wrong("A record arrived, with another value.", expected=expected, seen=seen)


def _text(part: bytes | None) -> str:
    return "none" if part is None else repr(part.decode("utf-8", "replace"))


PRODUCER = "from confluent_kafka import Producer\n\nproducer = Producer(client)\n"

EXERCISES = (
    Question(
        "00-1",
        "Three brokers hold the record. You kill the one that leads its partition. What then?",
        (
            "the record cannot be read until that broker is back",
            "after some seconds another broker leads, and the record can be read",
            "the record is lost, because only the leader had it on disk",
        ),
        right=frozenset("b"),
        explanation="The controller misses the broker's heartbeats and names one of the others, "
        "which hold the same record.",
        because={
            "a": "That happens to a topic with one replica.",
            "c": "The followers copied it within milliseconds.",
        },
    ),
    Exercise(
        "00-2",
        "Send a record",
        (
            "The cell that sent the first record does nearly this.",
            "producer.produce takes the topic, then key= and value=; a flush sends what waits.",
            'producer.produce("greetings", key="you", value="I was here"), then producer.flush()',
        ),
        judge_record,
        {
            "no key": PRODUCER + 'producer.produce("greetings", value="I was here")\n'
            "producer.flush()",
            "another value": PRODUCER
            + 'producer.produce("greetings", key="you", value="I am here")\nproducer.flush()',
        },
    ),
    Question(
        "00-3",
        "In an application written with a framework, who calls poll()?",
        (
            "nobody: the broker pushes records to the application",
            "the broker, on behalf of the group",
            "a loop inside the framework",
            "the garbage collector's finaliser",
        ),
        right=frozenset("c"),
        explanation="Consumers always pull. A framework hides the loop; if your handler is slow, "
        "that loop is late all the same, and the group notices.",
        because={"a": "Kafka never pushes.", "b": "A broker only answers."},
    ),
    Question(
        "00-4",
        "docker compose up -d --remove-orphans: which containers are removed?",
        (
            "those of this project that the compose file no longer names",
            "all that are stopped",
            "all that no other container talks to",
        ),
        right=frozenset("a"),
        explanation="An orphan is a service that was in the file once. Its container is "
        "removed; its volume stays.",
    ),
)
