"""Writes records so that a run knows where segments end, and reads what is left of them.

    write(cluster, "users", [("anna", "Rome"), ("bert", None)])      a value, and a tombstone
    read(cluster, "users")          [Record(offset=0, key='anna', value='Rome'), ...]

Each record has a batch of its own: 61 bytes of header, then the record.  So a segment's size in
records follows from `internal.segment.bytes`, and is the same on both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from confluent_kafka import OFFSET_STORED, Consumer, KafkaError, Producer, TopicPartition

from engine.records import batch
from kit.clusters.interface import Cluster, ClusterError
from kit.probes import clients, requests
from kit.probes.raw_client import RawClient

PATIENCE_S = 60.0
MINUTE_MS = 60_000
ACKS = {"all": -1, "1": 1}
Pair = tuple[str | None, str | None]


class Record(NamedTuple):
    """What a consumer gets; a value of None is a tombstone."""

    offset: int
    key: str | None
    value: str | None

    def __str__(self) -> str:
        return f"{self.offset} {self.key}={'nothing' if self.value is None else self.value}"


class Batch(NamedTuple):
    """A batch in a log: first and last offset, records, the seven low bits of its attributes."""

    offset: int
    last: int
    records: int
    attributes: str


def write(
    cluster: Cluster,
    topic: str,
    pairs: Iterable[Pair],
    minutes_ago: Sequence[float] = (),
    partition: int = 0,
    patience_s: float = PATIENCE_S,
) -> list[str]:
    """Each record in a batch of its own: its offset, or the error's name.

    A leader that changes meanwhile is only waited for: one request after the other keeps the order.
    `minutes_ago` are the records' timestamps; without them it is now.  Below 0 is the future.
    """
    settings = {"bootstrap.servers": cluster.bootstrap, "linger.ms": 0, "batch.num.messages": 1}
    in_order = {"max.in.flight.requests.per.connection": 1, "message.timeout.ms": patience_s * 1000}
    producer = Producer({**settings, **in_order, "log_level": 0})
    now_ms = requests.now_ms()
    outcomes: list[str] = []

    def keep(error: Any, message: Any) -> None:
        outcomes.append(clients.name(error) if error else str(message.offset()))

    clock = iter(minutes_ago)
    for key, value in pairs:
        at_ms = now_ms - int(next(clock, 0) * MINUTE_MS)
        producer.produce(topic, value, key, partition=partition, timestamp=at_ms, on_delivery=keep)
        producer.poll(0)
    producer.flush(PATIENCE_S)
    return outcomes


def reader(cluster: Cluster, isolation: str = "read_committed") -> Consumer:
    """A consumer that has no partition yet."""
    settings = {**clients.READER, "bootstrap.servers": cluster.bootstrap}
    return Consumer({**settings, "isolation.level": isolation})


def read(
    cluster: Cluster,
    topic: str,
    partition: int = 0,
    isolation: str = "read_committed",
    offset: int = 0,
) -> list[Record]:
    """What a new consumer gets now, from an offset to the end."""
    consumer = reader(cluster, isolation)
    consumer.assign([TopicPartition(topic, partition, offset)])
    found: list[Record] = []
    try:
        while True:
            message = consumer.poll(PATIENCE_S)
            if message is None:
                raise ClusterError(f"{topic} cannot be read now: does it have a leader?")
            error = message.error()
            if error is None:
                found.append(_record(message))
            elif error.code() == KafkaError._PARTITION_EOF:
                return found
    finally:
        consumer.close()


def batches(cluster: Cluster, topic: str, offset: int) -> list[Batch]:
    """What one Fetch from an offset on brings: batches of one segment at most."""
    fetch = requests.fetching(clients.topic_id(cluster, topic), offset)
    answer = requests.first_partition(clients.ask(cluster, cluster.leader(topic), fetch))
    if refusal := requests.refusal(answer):
        raise ClusterError(f"A fetch of offset {offset} of {topic} is answered with {refusal}.")
    return [
        Batch(
            header.base_offset,
            header.last_offset,
            header.records_count,
            f"{header.attributes:07b}",
        )
        for header, _ in batch.iterate(bytes(answer.records or b""))
    ]


def commit(cluster: Cluster, topic: str, group: str, offset: int) -> None:
    """A group without members has this committed offset."""
    settings = {**clients.READER, "bootstrap.servers": cluster.bootstrap, "group.id": group}
    consumer = Consumer(settings)
    try:
        consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    finally:
        consumer.close()


def go_on(cluster: Cluster, topic: str, group: str, reset: str) -> tuple[int, str]:
    """Where a consumer of the group begins, and the error that it reports; -1 for nowhere."""
    settings = {**clients.READER, "bootstrap.servers": cluster.bootstrap, "group.id": group}
    consumer = Consumer({**settings, "auto.offset.reset": reset})
    consumer.assign([TopicPartition(topic, 0, OFFSET_STORED)])
    try:
        message = consumer.poll(PATIENCE_S)
        if message is None:
            raise ClusterError(f"{topic} cannot be read now: does it have a leader?")
        error = message.error()
        if error is None or error.code() == KafkaError._PARTITION_EOF:
            return int(message.offset() or 0), "none"
        return -1, clients.name(error)
    finally:
        consumer.close()


def table(records: Iterable[Record]) -> dict[str | None, str]:
    """A dictionary of the last value of each key; a tombstone removes its key."""
    found: dict[str | None, str] = {}
    for record in records:
        if record.value is None:
            found.pop(record.key, None)
        else:
            found[record.key] = record.value
    return found


def append(cluster: Cluster, broker: int, topic: str, values: str, acks: str) -> None:
    """One record for each letter, sent to this broker."""
    with RawClient(cluster, broker, "writer") as client:
        for value in values:
            batch = requests.one_batch(value.encode())
            answer = client.ask(requests.producing(topic, acks=ACKS[acks], records=batch))
            if refusal := requests.refusal(requests.first_partition(answer)):
                raise ClusterError(f"{broker} refuses {value}: {refusal}.")


def held(cluster: Cluster, broker: int, topic: str) -> str:
    """The values in one broker's replica, from its log start on."""
    log = cluster.snapshot(values=True)["topics"][topic]["partitions"][0]["logs"][broker]
    return "".join(value for batch in log["batches"] for value in batch["values"])


def _record(message: Any) -> Record:
    key, value = message.key(), message.value()
    return Record(
        message.offset(),
        None if key is None else key.decode(),
        None if value is None else value.decode(),
    )
