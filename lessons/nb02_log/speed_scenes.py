"""Scenarios of notebook 02 for `lab.both`: what partitions, batches, stored data and readers do
to speed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from statistics import median
from threading import Barrier
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
    """Records a second by partitions, and what batches save."""
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
        **size,
        "100 records take": asked,
    }


# -- stored data and readers


STORED_MB = {"little": 10, "much": 200}
TURNS = 150
LAYOUTS: dict[str, dict[int, list[int]]] = {
    "1 broker": {0: [101], 1: [101], 2: [101]},
    "3 brokers": {0: [101], 1: [102], 2: [103]},
}
WORK_MS = 2


def stored(cluster: Cluster) -> Seen:
    """Appends to a small and to a large log by turns, and reads of what was just appended."""
    times: dict[str, dict[str, list[float]]] = {
        "appends a second": {topic: [] for topic in STORED_MB},
        "reads of the newest a second": {topic: [] for topic in STORED_MB},
    }
    megabyte = requests.one_batch(bytes(1_000_000))
    append = requests.one_batch(*[bytes(100)] * 100)
    with RawClient(cluster, 101, "stored") as client:
        for topic, size in STORED_MB.items():
            _created(cluster, client, topic)
            for _ in range(size):
                client.ask(requests.producing(topic, records=megabyte))
        for _ in range(TURNS):
            for topic in STORED_MB:
                spent_s, answer = _timed(client, requests.producing(topic, records=append))
                times["appends a second"][topic].append(spent_s)
                spent_s, _ = _timed(client, requests.fetching(topic, answer.base_offset))
                times["reads of the newest a second"][topic].append(spent_s)
    rates = {
        what: {topic: 1 / median(spent) for topic, spent in by_topic.items()}
        for what, by_topic in times.items()
    }
    ratios = [of["much"] / of["little"] for of in rates.values()]
    seen = {
        "stored in the log": {
            topic: measured(_megabytes(cluster, topic), "MB") for topic in STORED_MB
        },
        **{
            what: {topic: measured(rate, "requests/s") for topic, rate in of.items()}
            for what, of in rates.items()
        },
        "much divided by little is between 0.67 and 1.5": all(0.67 < r < 1.5 for r in ratios),
    }
    for topic in STORED_MB:
        cluster.delete_topic(topic)
    return seen


def _created(cluster: Cluster, client: RawClient, topic: str) -> None:
    """Creates a topic on 101, and returns when that broker takes its records."""
    cluster.create_topic(topic, assignment={0: [101]})

    def takes_records(_: Cluster) -> bool:
        answer = client.ask(requests.producing(topic))
        return not requests.refusal(requests.first_partition(answer))

    cluster.wait_until(takes_records, writing.PATIENCE_S, "its leader")


def _timed(client: RawClient, request: Any) -> tuple[float, Any]:
    """The seconds until the answer is here, and what it says about its partition."""
    began = time.perf_counter()
    answer = client.ask(request)
    return time.perf_counter() - began, requests.first_partition(answer)


def _megabytes(cluster: Cluster, topic: str) -> float:
    files = on_disk.folder(cluster, topic).glob("*.log")
    return sum(each.stat().st_size for each in files) / 1e6


def readers(cluster: Cluster) -> Seen:
    """Records a second of one and of three consumers, with leaders on one broker and on three."""
    rates: dict[str, float] = {}
    gains = []
    for place, assignment in LAYOUTS.items():
        cluster.create_topic("work", assignment=assignment)
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        for number in range(180):
            producer.produce("work", "x" * 100, partition=number % 3)
        producer.flush(writing.PATIENCE_S)
        one, three = (_work_rate(cluster, consumers, 180) for consumers in (1, 3))
        rates |= {f"1 consumer, leaders on {place}": one, f"3 consumers, leaders on {place}": three}
        gains.append(three / one)
    return {
        f"records a second, {WORK_MS} ms of work for each": {
            name: measured(rate, "records/s") for name, rate in rates.items()
        },
        "three consumers are at least twice as fast": min(gains) >= 2,
    }


def _work_rate(cluster: Cluster, consumers: int, count: int) -> float:
    """Records a second of consumers that share three partitions and work on each record."""
    all_connected = Barrier(consumers, timeout=writing.PATIENCE_S)

    def work(number: int) -> float:
        mine = [TopicPartition("work", index, 0) for index in range(number, 3, consumers)]
        with _reading(cluster, mine) as consumer:
            _read(consumer, 1)
            all_connected.wait()
            began = time.perf_counter()
            for _ in range(count // consumers - 1):
                _read(consumer, 1)
                time.sleep(WORK_MS / 1000)
            return time.perf_counter() - began

    with ThreadPoolExecutor(consumers) as pool:
        return count / max(pool.map(work, range(consumers)))


# -- producing and reading


def _rate(cluster: Cluster, value: bytes, partitions: int, count: int = 4_000) -> float:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": 1, "log_level": 0})
    producer.list_topics(timeout=writing.PATIENCE_S)
    began = time.perf_counter()
    for number in range(count):
        producer.produce("load", value, partition=number % partitions)
    producer.flush(writing.PATIENCE_S)
    return count / (time.perf_counter() - began)


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
