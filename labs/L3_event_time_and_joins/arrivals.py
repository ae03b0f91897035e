"""Small stories of a fleet, in the order of arrival, and the topics that they are written to.

Times are minutes after 8:00.  A story is a list of `Arrival`s: what a sender's clock said, and
when the record arrived.  The topic has one partition, so an offset is a place in that order, and
each record carries its arrival as Kafka's timestamp:

    {"key": "truck-07", "event_time": 1772438640000}   timestamp 8:28, measured at 8:04
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from labs.fleet.records import MINUTE_MS, START_MS

if TYPE_CHECKING:
    from kit.clusters.interface import Cluster


class Arrival(NamedTuple):
    """One record: who sent it, the minute on the sender's clock, the minute of its arrival."""

    key: str
    event: float
    arrives: float


def on_time(key: str, minutes: Iterable[float]) -> list[Arrival]:
    """A sender whose records arrive in the minute in which they were made."""
    return [Arrival(key, minute, minute) for minute in minutes]


def tunnel(key: str, minutes: Iterable[float], leaves: float) -> list[Arrival]:
    """A truck that keeps its positions in a tunnel, and sends all of them when it leaves."""
    return [Arrival(key, minute, leaves) for minute in minutes]


def orders(number: int) -> list[Arrival]:
    """An order each minute: order-0 at 8:00, order-1 at 8:01, ..."""
    return [Arrival(f"order-{minute}", minute, minute) for minute in range(number)]


def payments(number: int, after: float) -> list[Arrival]:
    """The payments for these orders, `after` minutes later.  Every fifth order is never paid."""
    return [
        Arrival(f"order-{minute}", minute + after, minute + after)
        for minute in range(number)
        if minute % 5
    ]


def in_order(*stories: Iterable[Arrival]) -> list[Arrival]:
    """All records in the order of arrival; of one minute, those of the first story come first."""
    every = [arrival for story in stories for arrival in story]
    return sorted(every, key=lambda arrival: arrival.arrives)


def write(
    cluster: Cluster,
    topic: str,
    arrivals: Iterable[Arrival],
    *,
    partition: int = 0,
    partitions: int = 1,
) -> int:
    """Makes the topic and produces the records in this order; returns how many there are."""
    # the records are of another day
    cluster.create_topic(topic, partitions=partitions, config={"retention.ms": -1})
    return append(cluster, topic, arrivals, partition=partition)


def append(cluster: Cluster, topic: str, arrivals: Iterable[Arrival], *, partition: int = 0) -> int:
    """Produces further records to a topic; returns how many."""
    from confluent_kafka import Producer

    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True, "log_level": 0}
    )
    records = list(arrivals)
    for arrival in records:
        value = json.dumps({"key": arrival.key, "event_time": time_ms(arrival.event)})
        sent = time_ms(arrival.arrives)
        producer.produce(topic, value, arrival.key, timestamp=sent, partition=partition)
    if producer.flush(30):
        raise RuntimeError(f"{topic} did not take all records; see: kafkalab doctor")
    return len(records)


def time_ms(minute: float) -> int:
    """Milliseconds since 1970 of a minute after 8:00."""
    return START_MS + round(minute * MINUTE_MS)


def minute_of(time: Any) -> float:
    """Minutes after 8:00: of a row's timestamp, which Spark gives in this machine's zone, of
    milliseconds since 1970, or of a text of a query's progress."""
    if isinstance(time, int):
        return (time - START_MS) / MINUTE_MS
    if isinstance(time, str):
        time = datetime.fromisoformat(time.replace("Z", "+00:00"))
    known = time if time.tzinfo else time.astimezone(UTC)
    return (known.timestamp() * 1000 - START_MS) / MINUTE_MS


def clock(minute: float) -> str:
    """`8:04` for minute 4; the hour may be any."""
    hour, rest = divmod(round(minute), 60)
    return f"{8 + hour}:{rest:02}"
