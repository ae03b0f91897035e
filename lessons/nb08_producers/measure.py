"""Measures a producer of confluent-kafka: records a second, and the time to an answer.

`rates_drawn` and `times_drawn` draw what a `lab.both` of such measurements found.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from kit.both.comparison import Comparison
from kit.clusters.interface import Cluster
from kit.drawings.chart import Chart
from kit.probes.clients import READER

PATIENCE_S = 30.0
ONE_EACH = {"linger.ms": 0, "batch.num.messages": 1, "log_level": 0}
"""A record in each batch, and so in each request."""


@dataclass(frozen=True)
class Sending:
    """`rate` in records a second; `p99_ms` is the 99th percentile of the time to a callback."""

    rate: float
    p99_ms: float
    errors: int


def send_all(
    cluster: Cluster,
    topic: str,
    count: int,
    settings: Mapping[str, Any],
    *,
    waits: bool = False,
) -> Sending:
    """Sends `count` records to partition 0; `waits` for the answer to each before the next."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, **ONE_EACH, **settings})
    answered: list[float] = []
    errors: list[str] = []

    def note(began: float) -> Any:
        def told(error: Any, _: Any) -> None:
            answered.append((time.monotonic() - began) * 1000)
            errors.extend([str(error)] if error else [])

        return told

    producer.produce(topic, "warm-up", partition=0)
    producer.flush(PATIENCE_S)
    began = time.monotonic()
    for n in range(count):
        producer.produce(topic, f"{n:0100}", partition=0, on_delivery=note(time.monotonic()))
        producer.poll(0)
        if waits:
            producer.flush(PATIENCE_S)
    left = producer.flush(PATIENCE_S)
    took_s = time.monotonic() - began
    p99_ms = quantiles(answered, n=100, method="inclusive")[-1]
    return Sending(count / took_s, p99_ms, len(errors) + left)


def times(cluster: Cluster, topic: str, count: int, acks: str) -> tuple[float, float]:
    """Medians in milliseconds: until the producer hears, and until a consumer has the record."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, **ONE_EACH, "acks": acks})
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, **READER})
    heard: list[float] = []
    read: list[float] = []
    producer.produce(topic, "warm-up", partition=0)
    producer.flush(PATIENCE_S)
    consumer.assign([TopicPartition(topic, 0, 0)])
    try:
        for _ in to_end(consumer):
            pass
        for n in range(count):
            began = time.monotonic()
            producer.produce(topic, f"{n}", partition=0,
                             on_delivery=lambda *_: heard.append(time.monotonic()))  # fmt: skip
            while len(read) <= n:
                producer.poll(0)
                message = consumer.poll(0.001)
                if message is not None and message.error() is None:
                    read.append((time.monotonic() - began) * 1000)
            producer.flush(PATIENCE_S)
            heard[n] = (heard[n] - began) * 1000
    finally:
        consumer.close()
    return median(heard), median(read)


def to_end(consumer: Consumer) -> Iterator[Message]:
    """Every record until the partition ends, or until none has come for PATIENCE_S."""
    while (message := consumer.poll(PATIENCE_S)) is not None and not _is_end(message):
        if message.error() is None:
            yield message


def _is_end(message: Message) -> bool:
    error = message.error()
    return error is not None and error.code() == KafkaError._PARTITION_EOF


# -- drawn


def rates_drawn(title: str, outcome: Comparison, in_flights: Sequence[int]) -> Chart:
    """Rows `acks=all, 5 in flight` as one line for each side and `acks`."""
    series = {
        f"{side}, acks={acks}": [(n, seen[f"acks={acks}, {n} in flight"].value) for n in in_flights]
        for side, seen in _sides(outcome)
        for acks in ("1", "all")
    }
    return Chart(title, series, x="requests in flight", y="records/s")


def times_drawn(title: str, outcome: Comparison) -> Chart:
    """Rows `acks=1 › …` as bars: what the producer and a consumer wait, by `acks`."""
    series = {
        f"{side}: {what}": [
            (place, seen[f"acks={acks}"][what].value)
            for place, acks in enumerate(("0", "1", "all"))
        ]
        for side, seen in _sides(outcome)
        for what in ("the producer hears", "a consumer reads")
    }
    return Chart(title, series, x="acks: 0, 1, and all (2)", y="ms, median", kind="bars")


def _sides(outcome: Comparison) -> list[tuple[str, dict[str, Any]]]:
    real = [("Kafka", outcome.real)] if outcome.real else []
    return [("engine", outcome.engine), *real]
