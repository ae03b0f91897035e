"""An application that reads: a confluent-kafka consumer, and what it has processed so far.

    with Reader(cluster, {"auto.offset.reset": "latest"}) as reader:
        reader.read(6)             # polls until six more records are processed
        reader.commit(6)           # commitSync of one offset
        reader.rest()              # polls to the end of every partition that it owns
    reader.offsets, reader.values, reader.errors

It commits only when a lesson says so.  Closing leaves the group, and commits nothing.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from kit.clusters.interface import Cluster, WaitTimeout
from kit.probes import clients

TOPIC, GROUP = "orders", "billing"
PATIENCE_S = 30.0
POLL_S = 0.1
NO_OFFSET = -1001
SETTINGS: Mapping[str, Any] = {
    "group.id": GROUP,
    "client.id": "billing-app",
    "enable.auto.commit": False,
    "auto.offset.reset": "earliest",
    "enable.partition.eof": True,
    "fetch.wait.max.ms": 50,
    "log_level": 0,
}
FIRST_MINUTE_MS = int(time.time() * 1000) - 3_600_000
"""The minute 0 of `write` and `at`: an hour ago, so that no retention removes a record."""


class Reader:
    """`partitions` are assigned by hand; without them it subscribes, and the group assigns.

    `starts=False` waits for `start()`.
    """

    def __init__(
        self,
        cluster: Cluster,
        settings: Mapping[str, Any] | None = None,
        *,
        topic: str = TOPIC,
        partitions: Iterable[TopicPartition | int] | None = None,
        on_revoke: Callable[[Consumer, list[TopicPartition]], None] | None = None,
        starts: bool = True,
    ) -> None:
        self.topic = topic
        self.consumer = Consumer(
            {**SETTINGS, "bootstrap.servers": cluster.bootstrap, **(settings or {})}
        )
        self.processed: list[tuple[int, int, str]] = []
        """Partition, offset and value of each record, in order."""
        self.errors: list[str] = []
        self._by_hand = partitions
        self._on_revoke = on_revoke
        self._next: dict[int, int] = {}
        if starts:
            self.start()

    def start(self) -> None:
        if self._by_hand is None:
            self.consumer.subscribe([self.topic], on_assign=self._assigned, on_revoke=self._revoked)
            return
        self.consumer.assign(
            [
                each if isinstance(each, TopicPartition) else TopicPartition(self.topic, each, 0)
                for each in self._by_hand
            ]
        )

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        for each in partitions:
            self._next.pop(each.partition, None)

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if self._on_revoke is not None:
            self._on_revoke(consumer, partitions)

    # -- reading

    def poll(self) -> bool:
        """One poll; True if it returned a record."""
        message = self.consumer.poll(POLL_S)
        if message is None:
            return False
        error = message.error()
        partition, offset = int(message.partition() or 0), int(message.offset() or 0)
        if error is None:
            value = (message.value() or b"").decode(errors="replace")
            self.processed.append((partition, offset, value))
            self._next[partition] = offset + 1
            return True
        if error.code() == KafkaError._PARTITION_EOF:
            self._next[partition] = offset
        else:
            self.errors.append(clients.name(error))
        return False

    def run(self, until: Callable[[], bool] = lambda: False, for_s: float = PATIENCE_S) -> bool:
        """Polls until a condition holds; False if the time was over before."""
        ends = time.monotonic() + for_s
        while not until():
            if time.monotonic() > ends:
                return False
            self.poll()
        return True

    def read(self, count: int) -> None:
        """Polls until so many more records are processed."""
        wanted = len(self.processed) + count
        if not self.run(lambda: len(self.processed) >= wanted):
            raise WaitTimeout(
                f"{len(self.processed)} records were read within {PATIENCE_S:g} s, not {wanted}."
            )

    def rest(self) -> None:
        """Polls to the end of every partition that it owns."""
        if not self.run(lambda: self.at_end):
            raise WaitTimeout(f"The end was not reached within {PATIENCE_S:g} s.")

    @property
    def owned(self) -> list[int]:
        return sorted(each.partition for each in self.consumer.assignment())

    @property
    def at_end(self) -> bool:
        """Whether it owns partitions and has read all of them to their end."""
        owned = self.owned
        return bool(owned) and all(self._is_at_end(partition) for partition in owned)

    def _is_at_end(self, partition: int) -> bool:
        if partition not in self._next:
            return False
        place = TopicPartition(self.topic, partition)
        return self._next[partition] >= self.consumer.get_watermark_offsets(place, PATIENCE_S)[1]

    def seek(self, offset: int, partition: int = 0) -> None:
        """The next poll goes on from here; also OFFSET_BEGINNING and OFFSET_END."""
        self._next.pop(partition, None)
        self.consumer.seek(TopicPartition(self.topic, partition, offset))

    @property
    def start_offset(self) -> int | str:
        """The first offset that it read, the end where there was nothing to read, or an error."""
        if self.errors:
            return self.errors[0]
        return self.offsets[0] if self.processed else self._next[min(self._next)]

    # -- offsets

    @property
    def offsets(self) -> list[int]:
        return [offset for _, offset, _ in self.processed]

    @property
    def values(self) -> list[str]:
        return [value for _, _, value in self.processed]

    def commit(self, offset: int, partition: int = 0) -> None:
        """Commits one offset, and waits for the answer."""
        place = TopicPartition(self.topic, partition, offset)
        self.consumer.commit(offsets=[place], asynchronous=False)

    def committed(self, partition: int = 0) -> int | None:
        """The group's committed offset; None if there is none."""
        place = TopicPartition(self.topic, partition)
        found = self.consumer.committed([place], PATIENCE_S)[0].offset
        return None if found == NO_OFFSET else int(found)

    def behind(self, partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
        """The offsets to commit for these partitions: one behind the last processed record."""
        last = {partition: offset for partition, offset, _ in self.processed}
        return [
            TopicPartition(self.topic, each.partition, last[each.partition] + 1)
            for each in partitions
            if each.partition in last
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.consumer.close()


def statistics_into(samples: list[Mapping[str, Any]]) -> dict[str, Any]:
    """The settings of a client that puts librdkafka's statistics into `samples`, ten a second."""
    return {
        "statistics.interval.ms": 100,
        "stats_cb": lambda text: samples.append(json.loads(text)),
    }


def together(readers: Sequence[Reader], until: Callable[[], bool]) -> None:
    """Several readers poll in turn, until a condition holds."""
    ends = time.monotonic() + PATIENCE_S
    while not until():
        if time.monotonic() > ends:
            raise WaitTimeout(f"The readers did not come to it within {PATIENCE_S:g} s.")
        for each in readers:
            each.poll()


def repeated(*readers: Reader) -> int:
    """How many times a record was processed beyond the first."""
    times = Counter((p, o) for each in readers for p, o, _ in each.processed)
    return sum(count - 1 for count in times.values())


def write(
    cluster: Cluster,
    topic: str,
    values: Iterable[str],
    partition: int = 0,
    minutes: Sequence[int] = (),
    key: str | None = None,
) -> None:
    """Writes records and waits until all are acknowledged; `minutes` are their timestamps."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": 0, "log_level": 0})
    failed: list[str] = []
    stamps = iter(minutes)
    for value in values:
        stamp: dict[str, Any] = {"timestamp": at(next(stamps))} if minutes else {}
        producer.produce(
            topic,
            value,
            key,
            partition=partition,
            on_delivery=lambda error, _: failed.append(clients.name(error)) if error else None,
            **stamp,
        )
    if producer.flush(PATIENCE_S) or failed:
        raise WaitTimeout(f"Not all records of {topic} were acknowledged: {failed or 'too slow'}.")


def at(minute: int) -> int:
    """A timestamp: so many minutes after the first."""
    return FIRST_MINUTE_MS + minute * 60_000


def numbered(count: int, start: int = 0) -> list[str]:
    """order-0, order-1, …"""
    return [f"order-{number}" for number in range(start, start + count)]


def remove_before(cluster: Cluster, topic: str, offset: int, partition: int = 0) -> None:
    """What retention does, at a moment of our choice: the records before `offset` are gone."""
    place = TopicPartition(topic, partition, offset)
    admin = clients.admin(cluster)
    for future in admin.delete_records([place]).values():
        future.result(PATIENCE_S)
