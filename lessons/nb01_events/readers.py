"""Consumers as an application has them: they join a group, poll, and commit what they have read."""

from __future__ import annotations

import contextlib
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, Self

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from kit.clusters.interface import Cluster, ClusterError
from kit.probes import clients

PATIENCE_S = 30.0
QUICK = {"fetch.wait.max.ms": 20, "log_level": 0, "session.timeout.ms": 6_000}
"""No setting that decides what is read or from where."""


def write(cluster: Cluster, topic: str, values: Sequence[str | bytes], partitions: int = 1) -> int:
    """Writes the values, one partition after the other; how many were acknowledged."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": 0, "log_level": 0})
    acknowledged: list[int] = []

    def keep(error: Any, message: Any) -> None:
        if error is None:
            acknowledged.append(message.offset())

    for number, value in enumerate(values):
        producer.produce(topic, value, partition=number % partitions, on_delivery=keep)
        producer.flush(PATIENCE_S)
    return len(acknowledged)


def forget(cluster: Cluster, *groups: str) -> None:
    """Deletes groups that an earlier run left, with their offsets.

    A run that was interrupted also left its readers: they are closed first.
    """
    for reader in list(_open):
        if reader.bootstrap == cluster.bootstrap and reader.group in groups:
            reader.close()
    admin = clients.admin(cluster)  # kept: without it the futures never end
    for future in admin.delete_consumer_groups(list(groups)).values():
        with contextlib.suppress(Exception):  # there is no such group yet
            future.result(PATIENCE_S)


def committed(cluster: Cluster, group: str, topic: str, partition: int = 0) -> int | None:
    """The offset that a group committed, or None."""
    asking = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group, "log_level": 0})
    try:
        (found,) = asking.committed([TopicPartition(topic, partition)], timeout=PATIENCE_S)
    finally:
        asking.close()
    return found.offset if found.offset >= 0 else None


def lag(cluster: Cluster, group: str, topic: str) -> int:
    """As kafka-consumer-groups computes it: the end of the log minus the committed offset."""
    asking = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group, "log_level": 0})
    try:
        _, end = asking.get_watermark_offsets(TopicPartition(topic, 0), timeout=PATIENCE_S)
    finally:
        asking.close()
    return int(end) - (committed(cluster, group, topic) or 0)


_open: weakref.WeakSet[Reader] = weakref.WeakSet()


class Reader:
    """One consumer of a group, with a client's default settings but for those given.

    `read` polls up to the end of every partition that the group has given to it, and commits.
    """

    def __init__(
        self, cluster: Cluster, topic: str, group: str, settings: Mapping[str, Any] | None = None
    ) -> None:
        own = {"bootstrap.servers": cluster.bootstrap, "group.id": group, **QUICK}
        self.consumer = Consumer(own | {"enable.partition.eof": True} | dict(settings or {}))
        self.bootstrap, self.group, self.topic = cluster.bootstrap, group, topic
        self.assigned: list[int] | None = None
        self._next: dict[int, int] = {}
        self.consumer.subscribe([topic], on_assign=self._take)
        _open.add(self)

    def _take(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.assigned = [each.partition for each in partitions]

    def messages(self, most: int | None = None) -> list[Any]:
        """What there is to read now, at most `most`, and then a commit."""
        found: list[Any] = []
        ends: dict[int, int] | None = None
        until = time.monotonic() + PATIENCE_S
        while most is None or len(found) < most:
            if self.assigned is not None and ends is None:
                ends = {number: self._end(number) for number in self.assigned}
            if ends is not None and all(self._next.get(p, -1) >= end for p, end in ends.items()):
                break
            if time.monotonic() > until:
                raise ClusterError("The group gives this reader nothing to read: is it alive?")
            message = self.consumer.poll(0.1)
            if message is None:
                continue
            number, error = int(message.partition() or 0), message.error()
            if error is None:
                found.append(message)
                self._next[number] = int(message.offset() or 0) + 1
            elif error.code() == KafkaError._PARTITION_EOF:
                self._next[number] = int(message.offset() or 0)  # the end when that was noticed
        if found:
            self.consumer.commit(
                offsets=[TopicPartition(self.topic, p, offset) for p, offset in self._next.items()],
                asynchronous=False,
            )
        return found

    def _end(self, partition: int) -> int:
        place = TopicPartition(self.topic, partition)
        return int(self.consumer.get_watermark_offsets(place, timeout=PATIENCE_S)[1])

    def read(self, most: int | None = None) -> list[str]:
        """The values of `messages`."""
        return [(message.value() or b"").decode() for message in self.messages(most)]

    def start_over(self) -> None:
        """Back to the first record of every partition that it has."""
        for partition in self.assigned or []:
            self.consumer.seek(TopicPartition(self.topic, partition, 0))
            self._next[partition] = 0

    def close(self) -> None:
        _open.discard(self)
        self.consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Crew:
    """Several members of one group, each in a thread; a member's work takes `work_ms[i]`."""

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        group: str,
        workers: int,
        work_ms: Sequence[float] = (),
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        own = {"auto.offset.reset": "earliest", **(settings or {})}
        self.readers = [Reader(cluster, topic, group, own) for _ in range(workers)]
        self.work_ms = [*work_ms, *[0.0] * (workers - len(work_ms))]
        self.got: list[list[str]] = [[] for _ in range(workers)]
        self.gone: set[int] = set()
        self._ending = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(n,)) for n in range(workers)]
        for thread in self._threads:
            thread.start()

    def _work(self, number: int) -> None:
        reader = self.readers[number]
        while not self._ending.is_set() and number not in self.gone:
            message = reader.consumer.poll(0.1)
            if message is None or message.error() is not None:
                continue
            time.sleep(self.work_ms[number] / 1000)
            self.got[number].append((message.value() or b"").decode())
        reader.close()

    def wait_for_partitions(self) -> None:
        """Until every member knows its partitions, even if they are none."""
        self._wait(lambda: all(reader.assigned is not None for reader in self.readers), "a member")

    def wait_for_shares(self, partitions: int) -> None:
        """Until each member has some of this many partitions, and each partition one member."""
        self._wait(lambda: self._shared(partitions), f"a share of {partitions} partitions for each")

    def _shared(self, partitions: int) -> bool:
        owned = [reader.assigned or [] for reader in self.readers]
        return all(owned) and sorted(p for own in owned for p in own) == list(range(partitions))

    def wait_for(self, records: int) -> None:
        """Until that many records have been processed by all members together."""
        self._wait(lambda: sum(map(len, self.got)) >= records, f"{records} records")

    def leave(self, number: int) -> None:
        """This member stops, and leaves the group."""
        self.gone.add(number)
        self._threads[number].join(PATIENCE_S)

    def _wait(self, done: Any, what: str) -> None:
        until = time.monotonic() + PATIENCE_S
        while not done():
            if time.monotonic() > until:
                raise ClusterError(f"The group waits for {what}; so far {self.got}.")
            time.sleep(0.02)

    def close(self) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join(PATIENCE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
