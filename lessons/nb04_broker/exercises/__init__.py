"""The judge's side of notebook 04: inside the broker.

Predictions and quiz stand here; each exercise, with its judge, in a module of its own.
"""

from __future__ import annotations

from kit.exercises.exercise import Question
from lessons.nb04_broker.exercises import (
    left_purgatory,
    patient_reader,
    slow_stage,
    throttle_time,
)

EXERCISES = (
    Question(
        "04-1",
        "A Produce request with acks=all and three replicas on a cluster that is not busy. Where "
        "does it spend most of its time?",
        ("in the request queue, before a thread takes it up",
         "in the append, while the batch is written to the disk",
         "in purgatory, until the followers have fetched it",
         "in the response queue, on its way back"),
        right=frozenset("c"),
        explanation="The append goes to the page cache. The wait for the followers is "
        "RemoteTimeMs, and grows with their distance: see 'followers 25 ms away' in the chart of "
        "stages, on both sides.",
        because={
            "a": "Only when all handlers are busy.",
            "b": "Nothing is flushed before the answer: the append ends in the page cache.",
            "d": "The answer is written as soon as it is made.",
        },
    ),
    Question(
        "04-2",
        "A producer is far over its quota of 50 kB a second. What does the broker do with its "
        "next request?",
        ("it refuses it with an error",
         "it appends it and holds the answer back until the rate is right again",
         "it appends it, answers at once with a throttle time, and reads nothing more from that "
         "connection until the time is over",
         "it closes the connection"),
        right=frozenset("c"),
        explanation="This is so since Kafka 2.0 (KIP-219). There is no error and no late answer: a "
        "client that times out would send again.",
        because={
            "a": "There is no such error for bytes; a limit on topics has one.",
            "b": "That was the old way, until 2.0: clients timed out and sent again.",
            "d": "A broker closes connections that break the protocol or a connection limit.",
        },
    ),
    Question(
        "04-3",
        "A consumer has read everything, and nobody writes. fetch.max.wait.ms is 500. How many "
        "fetches a second does it send to the leader?",
        ("none, the broker will send what comes", "about two", "about five hundred",
         "one per record, so none"),
        right=frozenset("b"),
        explanation="Each fetch waits at the broker for half a second, is answered empty, and the "
        "consumer asks again. A write would end the wait at once.",
        because={
            "a": "A broker sends nothing that was not asked for.",
            "c": "The broker does not answer at once when there is nothing.",
            "d": "It has to ask to learn that something is there.",
        },
    ),
    throttle_time.EXERCISE,
    left_purgatory.EXERCISE,
    slow_stage.EXERCISE,
    patient_reader.EXERCISE,
    Question(
        "04-8",
        "Which of these does a broker do with a batch of an ordinary producer?",
        ("it checks the CRC",
         "it picks the partition by the records' keys",
         "it writes the base offset and the leader epoch into it",
         "it flushes it to the disk before it answers",
         "it keeps it compressed as it came"),
        right=frozenset("ace"),
        explanation="Clients partition, batch and compress; the broker checks, numbers and stores "
        "bytes. It opens a compressed batch to check the records, and compresses it again only "
        "if the topic's compression.type asks for another.",
        because={
            "b": "The producer has chosen the partition before it sends.",
            "d": "Replication stands in for the flush.",
        },
    ),
    Question(
        "04-9",
        "RequestQueueTimeMs has gone up for all kinds of requests, LocalTimeMs of Produce as "
        "well; RemoteTimeMs is unchanged, and handlers are 8 % idle. What fits?",
        ("one follower is slow", "the handler threads are overloaded, or the disk is",
         "a client is over its quota", "producers have turned to acks=all"),
        right=frozenset("b"),
        explanation="A request in the queue waits for a handler; below 10 % idle the "
        "queue grows fast. The others show in RemoteTimeMs (a, d) and ThrottleTimeMs (c).",
    ),
    Question(
        "04-10",
        "producer_byte_rate=10000000 for the default client-id. Which are true?",
        ("two producers with the same client.id share it on each broker",
         "a cluster of three brokers takes at most 10 MB/s from one client.id",
         "the first seconds may bring much more than 10 MB/s",
         "a producer with another client.id has its own 10 MB/s",
         "it takes effect when the brokers are restarted"),
        right=frozenset("acd"),
        explanation="Every broker counts for itself, over ten full windows of a second, and takes "
        "up a changed limit at once.",
        because={
            "b": "Three brokers, three times the rate: the run with three leaders shows it.",
            "e": "Quotas are dynamic; 3.0 removed the static ones of the configuration file.",
        },
    ),
)  # fmt: skip
