"""Loops whose effects are records in another topic: with and without a transaction."""

from __future__ import annotations

from typing import Any


def one_by_one(consumer: Any, producer: Any, topic: str, results: str) -> None:
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1.0)
        if message is None or message.error():
            continue
        producer.produce(results, key=message.value(), value=b"done")
        producer.flush()
        consumer.commit(message, asynchronous=False)


def offsets_first(consumer: Any, producer: Any, topic: str, results: str) -> None:
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1.0)
        if message is None or message.error():
            continue
        consumer.commit(message, asynchronous=False)
        producer.produce(results, key=message.value(), value=b"done")
        producer.flush()


def in_transactions(consumer: Any, producer: Any, topic: str, results: str) -> None:
    producer.init_transactions()
    consumer.subscribe([topic])
    while True:
        messages = consumer.consume(4, 1.0)
        if not messages:
            continue
        producer.begin_transaction()
        for message in messages:
            producer.produce(results, key=message.value(), value=b"done")
        positions = consumer.position(consumer.assignment())
        producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata())
        producer.commit_transaction()


def offsets_apart(consumer: Any, producer: Any, topic: str, results: str) -> None:
    producer.init_transactions()
    consumer.subscribe([topic])
    while True:
        messages = consumer.consume(4, 1.0)
        if not messages:
            continue
        producer.begin_transaction()
        for message in messages:
            producer.produce(results, key=message.value(), value=b"done")
        producer.commit_transaction()
        consumer.commit(asynchronous=False)


def nameless(consumer: Any, producer: Any, topic: str, results: str) -> None:
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1.0)
        if message is not None and not message.error():
            producer.produce(results, value=b"a result of nothing")
