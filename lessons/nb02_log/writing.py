"""Writes records so that a run knows what is where: batches of one, times of our own."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from engine.records import batch, compression
from engine.wire.errors import Errors
from kit.clusters.interface import Cluster, ClusterError
from kit.probes import clients, requests

PATIENCE_S = 30.0


def one_by_one(
    cluster: Cluster,
    topic: str,
    values: Iterable[str | bytes],
    times: Iterable[int] = (),
    acks: str = "all",
) -> list[int]:
    """Each value in a batch of its own, in partition 0; the offsets that the broker reported.

    `times` are the records' timestamps in milliseconds; without them the client takes the time.
    With `acks` of "1" the leader's file has the records, and nothing more is promised.
    """
    settings = {"bootstrap.servers": cluster.bootstrap, "linger.ms": 0, "batch.num.messages": 1}
    producer = Producer({**settings, "acks": acks, "log_level": 0})
    offsets: list[int] = []

    def keep(error: Any, message: Any) -> None:
        offsets.append(-1 if error else message.offset())

    clocks = iter(times)
    for value in values:
        at = next(clocks, 0)
        producer.produce(topic, value, partition=0, timestamp=at, on_delivery=keep)
        producer.poll(0)
    producer.flush(PATIENCE_S)
    return offsets


def as_one_batch(cluster: Cluster, topic: str, data: bytes, partition: int = 0) -> tuple[str, int]:
    """Sends a batch as it is, byte by byte: the error's name, and the base offset it got."""
    body = requests.producing(
        clients.topic_id(cluster, topic), acks=-1, records=data, partition=partition
    )
    answer = requests.first_partition(clients.ask(cluster, cluster.leader(topic, partition), body))
    return Errors(answer.error_code).name, answer.base_offset


def made(
    values: Sequence[bytes],
    at_ms: int,
    step_ms: int = 0,
    codec: str = "none",
    *,
    bare: bool = False,
) -> bytes:
    """A batch with a time, a key and a header for each value; `bare` leaves the last two out."""
    key, headers = (None, ()) if bare else (b"order-7", (("source", b"web"),))
    records = [
        batch.Record(0, at_ms + number * step_ms, key, value, headers)
        for number, value in enumerate(values)
    ]
    return batch.encode(records, compression=compression.NAMES.index(codec))


def messages(
    cluster: Cluster,
    topic: str,
    partitions: Sequence[int] = (0,),
    start: int = 0,
    settings: Mapping[str, Any] | None = None,
    patience_s: float = PATIENCE_S,
) -> list[Any]:
    """What one consumer gets from an offset on, in the order in which it gets it."""
    reader = {"bootstrap.servers": cluster.bootstrap, **clients.READER, **(settings or {})}
    consumer = Consumer(reader)
    consumer.assign([TopicPartition(topic, index, start) for index in partitions])
    found: list[Any] = []
    at_end: set[int] = set()
    times: Counter[tuple[int | None, int | None]] = Counter()
    try:
        while len(at_end) < len(partitions):
            message = consumer.poll(patience_s)
            if message is None:
                raise ClusterError(
                    f"{topic} gives no answer: do its partitions have leaders, and whole bytes?"
                )
            error = message.error()
            if error is None:
                found.append(message)
                times[place := (message.partition(), message.offset())] += 1
                if times[place] > 2:
                    raise ClusterError(f"Offset {message.offset()} comes again and again.")
            elif error.code() == KafkaError._PARTITION_EOF:
                at_end.add(message.partition() or 0)
            else:
                raise ClusterError(f"The client refuses what it was sent: {error.str()}")
    finally:
        consumer.close()
    return found


def read_or_refused(cluster: Cluster, topic: str, settings: Mapping[str, Any]) -> str:
    """Offsets and values that a consumer gets from a damaged log, or what its client says."""

    def text(message: Any) -> str:
        return (message.value() or b"").decode(errors="replace")

    try:
        found = messages(cluster, topic, settings=settings, patience_s=5.0)
    except ClusterError as error:
        return str(error)
    return ", ".join(f"{each.offset():,} {text(each)}" for each in found)


def lines_of_text(count: int) -> list[str]:
    """So many lines of real text: the source code of the engine's storage."""
    from engine.storage import log, log_loader, offset_index, retention, segment, segments

    modules = (segment, log, segments, offset_index, log_loader, retention)
    found = [line for each in modules for line in inspect.getsource(each).split("\n") if line]
    return (found * (count // len(found) + 1))[:count]
