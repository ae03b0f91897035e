"""The judge's side of notebook 00: how the course asks questions."""

from __future__ import annotations

from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import (
    Exercise,
    Observed,
    Prediction,
    Question,
    Verdict,
    right,
    wrong,
)

KEY, VALUE = b"you", b"I was here"
AT_ONCE_S, LONG_ENOUGH_S = 0.5, 10.0
NO_LEADER = -1
SHARES = {"a": 1.0, "b": 0.75, "c": 0.25, "d": 0.0}
NEAR = 0.12


def judge_record(answer: Any, context: Context) -> Verdict:
    context.set_up("greetings")
    records = sorted(context.records("greetings"), key=lambda record: record.timestamp_ms)
    expected = "a record with key 'you' and value 'I was here'"
    if any((record.key, record.value) == (KEY, VALUE) for record in records):
        return right("The judge read it from the cluster itself.")
    if len(records) < 2:  # the first record is the set-up cell's
        return wrong(
            "No record of yours is in greetings. Either the stub is still there, or the record was "
            "not flushed, or it went to another topic.",
            expected=expected,
            seen="the first record in greetings, and none after it",
        )
    last = records[-1]
    seen = f"key {_text(last.key)}, value {_text(last.value)}"
    if (last.key, last.value) == (VALUE, KEY):
        message = "Key and value have changed places."
    elif last.value == VALUE:
        has = "no key" if last.key is None else f"the key {_text(last.key)}"
        message = f"The value is right, but the record has {has}."
    elif last.key == KEY:
        message = f"The key is right, but the value is {_text(last.value)}."
    else:
        message = f"Your last record has the key {_text(last.key)} and another value."
    return wrong(message, expected=expected, seen=seen)


def _text(part: bytes | None) -> str:
    return "none" if part is None else repr(part.decode("utf-8", "replace"))


# -- what the runs settle


def when_read(seen: Observed) -> str:
    """00-1: at once, from another leader, or not at all."""
    if seen["read"] != "nothing":
        return "a" if seen["seconds"] < AT_ONCE_S else "d"
    if seen["seconds"] < LONG_ENOUGH_S:
        return ""  # the consumer gave up before the controller could notice
    return "b" if seen["leader now"] in (NO_LEADER, seen["killed"]) else "c"


def answer_of_the_second(seen: Observed) -> str:
    """00-5."""
    return "a" if seen["answer after"].startswith("offset") else "b"


def keys_that_stay(seen: Observed) -> str:
    """00-6: the choice whose share is near the one that was seen, if there is one."""
    share = seen["same partition, topic grown"] / seen["keys"]
    return next((letter for letter, near in SHARES.items() if abs(share - near) <= NEAR), "")


PRODUCER = "from confluent_kafka import Producer\n\nproducer = Producer(client)\n"

EXERCISES = (
    Prediction(
        "00-1",
        "Brokers 101, 102 and 103 hold the record, and 101 leads. It is killed without warning, "
        "and a consumer asks for the record at once. When does it get the record?",
        (
            "at once: 102 and 103 hold the record too",
            "when 101 is back: the partition belongs to it",
            "never: only the leader had the record on its disk",
            "after a pause of some seconds, from another broker",
        ),
        tempting="a",
        settle=when_read,
        because={
            "a": "The consumer waited {seconds} s. The others hold the record, but clients read "
            "from the leader, and there is none until the controller has noticed the death.",
            "b": "{killed} is still down. The consumer got “{read}” after {seconds} s, and "
            "{leader now} leads.",
            "c": "The consumer got “{read}” after {seconds} s: an in-sync follower has copied "
            "every record that was acknowledged with acks=all.",
            "d": "{killed} was killed, and the consumer got “{read}” after {seconds} s. The others "
            "step in only for a dead leader.",
        },
    ),
    Exercise(
        "00-2",
        "Send a record",
        (
            "The cell that sent the first record does nearly this.",
            "One call of the producer takes topic, key and value and keeps the record for a "
            "moment. A second call waits until everything that it keeps has arrived.",
            "Call produce with the topic greetings, the key you and the value I was here; key and "
            "value go by their names. Then flush the producer.",
        ),
        judge_record,
        {
            "no key": PRODUCER + 'producer.produce("greetings", value="I was here")\n'
            "producer.flush()",
            "another value": PRODUCER
            + 'producer.produce("greetings", key="you", value="I am here")\nproducer.flush()',
            "key and value exchanged": PRODUCER
            + 'producer.produce("greetings", "you", "I was here")\nproducer.flush()',
            "another topic": PRODUCER
            + 'producer.produce("greeting", key="you", value="I was here")\nproducer.flush(5)',
        },
        minutes=4,
    ),
    Prediction(
        "00-5",
        "A producer is given one address, that of broker 103. 103 has no replica of the topic; 101 "
        "and 102 have. The producer sends a record, then 103 dies, then it sends another. What "
        "answer does it get for the second record?",
        (
            "an offset, from the partition's leader",
            "an error: its only address is dead",
            "an offset, but only once 103 is back",
        ),
        tempting="b",
        settle=answer_of_the_second,
        because={
            "a": "The answer was “{answer after}”. The client had learned of the brokers "
            "{brokers that the client knows}.",
            "b": "The answer was “{answer after}”. The address served for the first question, "
            "whose answer named the brokers {brokers that the client knows}.",
            "c": "103 was down until the run had ended, and the answer was “{answer after}”. A "
            "producer sends to the partition's leader, not through the broker that it knew first.",
        },
    ),
    Prediction(
        "00-6",
        "Forty keys are sent to a topic of three partitions. A fourth partition is added, and the "
        "same client sends the same keys again. How many keys go to the partition that they had?",
        (
            "all: a key keeps its partition",
            "about three of four: a quarter moves to the new partition",
            "about one of four",
            "none",
        ),
        tempting="b",
        settle=keys_that_stay,
        because={
            "a": "{same partition, topic grown} of {keys} keys went where they had been. Kafka "
            "keeps no list of keys: the client divides the hash by the number of partitions of "
            "now.",
            "b": "{same partition, topic grown} of {keys} keys went where they had been. A quarter "
            "would move under consistent hashing, and Kafka's clients use a remainder.",
            "c": "{same partition, topic grown} of {keys} keys went where they had been.",
            "d": "{same partition, topic grown} of {keys} keys went where they had been. Some "
            "hashes have the same remainder for both numbers.",
        },
    ),
    Question(
        "00-7",
        "A record was acknowledged with acks=all. Brokers, partitions and clients change "
        "later. What stays as it is?",
        (
            "the record's partition and offset",
            "the partition of the next record with its key",
            "the broker that serves it",
            "the leader epoch that is written into it",
        ),
        right=frozenset("ad"),
        explanation="A record's offset, and the epoch in which it was written, are part of the "
        "log. Leaders change, and a key's partition is computed for each record.",
        because={
            "b": "After a partition was added, most keys went elsewhere.",
            "c": "You killed the leader, and another broker served the record.",
        },
    ),
    Question(
        "00-3",
        "In an application written with a framework, what calls poll()?",
        (
            "nothing: the broker pushes records to the application",
            "a loop inside the framework",
            "the broker, on behalf of the group",
            "each handler method, once per record",
        ),
        right=frozenset("b"),
        explanation="Consumers always pull. A framework hides the loop; if your handler is slow, "
        "that loop is late, and the group notices.",
        because={
            "a": "Kafka never pushes.",
            "c": "A broker only answers.",
            "d": "The loop calls the handler, not the other way round.",
        },
    ),
    Question(
        "00-4",
        "docker compose up -d --remove-orphans: which containers are removed?",
        (
            "all that are stopped",
            "all that no other container talks to",
            "those of this project that the compose file no longer names",
        ),
        right=frozenset("c"),
        explanation="An orphan is a service that was in the file once. Its container is "
        "removed; its volume stays.",
        because={
            "a": "Stopped containers of services that the file names stay.",
            "b": "Compose looks at names in the file, not at connections.",
        },
    ),
)
