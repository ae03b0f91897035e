"""Loops that are no loops: stubs, exceptions, loops that never end or break their process."""

from __future__ import annotations

import ctypes
import os
import sys
import threading

from confluent_kafka import TopicPartition


def stub(consumer, topic, process):
    """Write the loop here."""


def misspelt(consumer, topic, process):
    consumer.subscribe([topic])
    while True:
        message = consumer.pol(1.0)
        process(message)


def returns_early(consumer, topic, process):
    consumer.subscribe([topic])
    done = 0
    while done < 3:
        message = consumer.poll(1.0)
        if message is not None:
            process(message)
            done += 1


def never_polls(consumer, topic, process):
    consumer.subscribe([topic])
    while True:
        pass


def another_topic(consumer, topic, process):
    consumer.subscribe([topic + "s"])
    while True:
        consumer.poll(1.0)


def pauses_for_good(consumer, topic, process):
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1.0)
        if message is None or message.error():
            continue
        process(message)
        consumer.commit(message, asynchronous=False)
        if message.offset() == 4:
            consumer.pause([TopicPartition(topic, message.partition())])


def goes_back_for_ever(consumer, topic, process):
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1.0)
        if message is None or message.error():
            continue
        process(message)
        consumer.seek(TopicPartition(topic, message.partition(), 0))


def prints_a_lot(consumer, topic, process):
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1.0)
        print("x" * 100_000)
        os.write(1, b"y" * 100_000)
        if message is None or message.error():
            continue
        process(message)
        consumer.commit(message, asynchronous=False)


def exits(consumer, topic, process):
    consumer.subscribe([topic])
    consumer.poll(1.0)
    os._exit(3)


def exits_politely(consumer, topic, process):
    consumer.subscribe([topic])
    sys.exit("no more")


def segfaults(consumer, topic, process):
    consumer.subscribe([topic])
    ctypes.string_at(0)


def kills_its_parents(consumer, topic, process):
    os.killpg(0, 9)


def leaves_a_thread(consumer, topic, process):
    def spin():
        while True:
            pass

    threading.Thread(target=spin).start()
    raise ValueError("the thread goes on")


def processes_nothing(consumer, topic, process):
    process(None)


WILD = [
    (stub, r"stub is still there"),
    (misspelt, r"raised AttributeError in line 4: .*pol"),
    (returns_early, r"returned after 3 of 12 records: .* Poll in a while True\."),
    (never_polls, r"read nothing: does it subscribe"),
    (another_topic, r"given no partition \(UNKNOWN_TOPIC_OR_PART\)\. Does it subscribe"),
    (pauses_for_good, r"stopped after 5 of 12 records|paused a partition for good"),
    (goes_back_for_ever, r"the same records again and again"),
    (exits, r"ended its own process without an exception"),
    (exits_politely, r"raised SystemExit in line 3: no more\."),
    (segfaults, r"ended its own process without an exception"),
    (kills_its_parents, r"ended the process that runs it"),
    (leaves_a_thread, r"raised ValueError in line 7: the thread goes on\."),
    (processes_nothing, r"raised TypeError in line 2: process takes one record"),
]
