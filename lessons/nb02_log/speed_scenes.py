"""A scenario of notebook 02 for `lab.both`: what partitions, batches and a full log do to speed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from kit.both.outcomes import Measured, measured
from kit.clusters.interface import Cluster, ClusterError
from kit.probes import requests
from kit.probes.own_producer import OwnProducer
from kit.probes.raw_client import RawClient
from lessons.nb02_log import machine, on_disk, writing

Seen = Mapping[str, Any]


def speed(cluster: Cluster) -> Seen:
    """Records a second by partitions, with little and much in the log, and by batches."""
    value = b"x" * 100
    rates = {}
    cluster.create_topic("load")
    _rate(cluster, value, 1)  # the first run of a process is slow
    delays = {}
    for partitions in (1, 3, 6):
        cluster.create_topic("load", partitions=partitions)
        delays[f"partitions {partitions}"] = measured(_delay_ms(cluster, partitions), "ms")
        rates[f"partitions {partitions}"] = measured(_rate(cluster, value, partitions), "records/s")
    best = max(each.value for each in rates.values()) * len(value)
    cluster.create_topic("load")
    empty = max(_rate(cluster, value, 1) for _ in range(2))
    read_of_little = _tail_rate(cluster)
    for _ in range(2):
        _rate(cluster, b"x" * 4_000, 1, count=1_500)
    stored = len(on_disk.log_bytes(cluster, "load")) / 1e6
    full = max(_rate(cluster, value, 1) for _ in range(2))
    read_of_much = _tail_rate(cluster)
    size: dict[str, int] = {}
    asked: dict[str, Measured] = {}
    for label, batch_size in (("1", 0), ("100", 1 << 20)):
        cluster.create_topic("batches")
        with OwnProducer(cluster, "batches", {"batch.size": batch_size}) as own:
            own.send(*(value for _ in range(100)), partition=0)
            own.wait()
            tens = round(len(on_disk.log_bytes(cluster, "batches")) / 100 / 10)
            size[f"bytes of a record in batches of {label}, about"] = tens * 10
            asked[f"in batches of {label}"] = measured(own.requests, "requests")
    return {
        "rate": rates,
        "the best, of this machine's loopback rate": measured(
            100 * best / machine.loopback_rate(), "%"
        ),
        "from send to read, 99 of 100 within": delays,
        "stored in the log": measured(stored, "MB"),
        "rate with it, against an almost empty log": {
            "appending": measured(full / empty, "times"),
            "reading the newest": measured(read_of_much / read_of_little, "times"),
        },
        **size,
        "100 records take": asked,
    }


def _rate(cluster: Cluster, value: bytes, partitions: int, count: int = 4_000) -> float:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": 1, "log_level": 0})
    producer.list_topics(timeout=writing.PATIENCE_S)
    began = time.perf_counter()
    for number in range(count):
        producer.produce("load", value, partition=number % partitions)
    producer.flush(writing.PATIENCE_S)
    return count / (time.perf_counter() - began)


def _tail_rate(cluster: Cluster, tries: int = 10) -> float:
    """Bytes in a second that a Fetch of the log's last 4,000 records brings, at best."""
    end = on_disk.headers(cluster, "load")[-1].next_offset
    newest = requests.fetching("load", end - 4_000)
    rates = []
    with RawClient(cluster, cluster.leader("load"), "tail") as client:
        cluster.wait_until(
            lambda _: requests.first_partition(client.ask(newest)).high_watermark == end,
            what="the followers",
        )
        for _ in range(tries):
            began = time.perf_counter()
            answer = requests.first_partition(client.ask(newest))
            rates.append(len(answer.records) / (time.perf_counter() - began))
    return max(rates)


def _delay_ms(cluster: Cluster, partitions: int, count: int = 100) -> float:
    """From a record's send to its read, for 99 of 100 records; a millisecond between two."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": 0, "log_level": 0})
    producer.list_topics(timeout=writing.PATIENCE_S)
    places = [TopicPartition("load", index, 0) for index in range(partitions)]
    delays: list[float] = []

    def keep(messages: list[Any]) -> None:
        now = time.perf_counter()
        delays.extend(now - float(each.value()) for each in messages if each.error() is None)

    with _reading(cluster, places) as consumer:
        for number in range(partitions + count):
            value = str(time.perf_counter())
            producer.produce("load", value, partition=number % partitions)
            producer.poll(0)
            if number < partitions:  # the first of each partition starts its reader
                _read(consumer, 1)
            else:
                keep(consumer.consume(10, 0.001))
        while len(delays) < count:
            keep(_read(consumer, 1))
    return 1000 * sorted(delays)[count * 99 // 100 - 1]


@contextmanager
def _reading(cluster: Cluster, places: list[TopicPartition]) -> Iterator[Consumer]:
    settings = {"bootstrap.servers": cluster.bootstrap, "group.id": "speed", "log_level": 0}
    consumer = Consumer({**settings, "fetch.wait.max.ms": 20})
    consumer.assign(places)
    try:
        yield consumer
    finally:
        consumer.close()


def _read(consumer: Consumer, count: int) -> list[Any]:
    found: list[Any] = []
    while len(found) < count:
        more = consumer.consume(count - len(found), writing.PATIENCE_S)
        if not more:
            raise ClusterError(f"{count - len(found)} records did not come.")
        found += [each for each in more if each.error() is None]
    return found
