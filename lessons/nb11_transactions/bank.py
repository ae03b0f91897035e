"""A bank on two topics, and what is in their logs: for the scenarios of notebook 11.

    transfers-0     what customers want, such as "10": Alice pays 10 to Bob
    accounts-0, -1  the bookings: "Alice -10" in partition 0, "Bob +10" in partition 1

    teller = Teller(cluster, "teller")       a consumer of transfers and a transactional producer
    teller.take()                            polls the next transfer that the group has not done
    teller.book("Alice -10", 0)              writes one booking, and waits for its acknowledgement
    teller.offsets()                         the group's offset, into the open transaction
    teller.commit_offsets()                  the same without a transaction

Partitions are assigned by hand: that spares the wait for a group.  A crash is simulated: the
teller is not used any more, and nothing is closed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from engine.records import batch, control
from engine.records.control import ControlType
from kit.clusters.interface import Cluster, WaitTimeout
from kit.probes import clients, requests
from kit.probes.raw_client import NAMED

TRANSFERS, ACCOUNTS, GROUP = "transfers", "accounts", "ledger"
ALL = [101, 102, 103]
PATIENCE_S = 60.0
LEVELS = ("read_uncommitted", "read_committed")
"""Isolation levels by the number that a Fetch request carries."""
MARKERS = {ControlType.COMMIT: "COMMIT", ControlType.ABORT: "ABORT"}


def open_bank(cluster: Cluster, transfers: Iterable[str] = ("10",)) -> None:
    """Both topics, and the transfers that customers want."""
    cluster.create_topic(TRANSFERS, assignment={0: ALL})
    cluster.create_topic(ACCOUNTS, assignment={0: ALL, 1: ALL})
    write(cluster, TRANSFERS, transfers)


def write(cluster: Cluster, topic: str, values: Iterable[str], partition: int = 0) -> None:
    """Plain records, outside of any transaction; all are acknowledged."""
    producer = producer_of(cluster)
    for value in values:
        booked(producer, topic, value, partition)


def producer_of(cluster: Cluster, name: str = "", **settings: Any) -> Producer:
    """A producer; with a name, a transactional one that has called `init_transactions`."""
    own = {
        "bootstrap.servers": cluster.bootstrap,
        "linger.ms": 0,
        "log_level": 0,
        "log.queue": True,  # a fatal error is what a run is about; librdkafka would print it, too
        **settings,
    }
    if not name:
        return Producer(own)
    producer = Producer({**own, "transactional.id": name})
    producer.init_transactions(PATIENCE_S)
    return producer


def booked(producer: Producer, topic: str, value: str, partition: int) -> str:
    """Writes one record and waits for its acknowledgement: NONE, or the client's fatal error.

    There is no delivery callback: a fatal error that comes meanwhile would break it.
    """
    producer.produce(topic, value, partition=partition)
    try:
        if producer.flush(PATIENCE_S):
            raise WaitTimeout(f"{value} was not acknowledged within {PATIENCE_S:g} s.")
    except KafkaException as failure:
        return clients.name(failure.args[0])
    return "NONE"


def ended(call: Callable[..., Any], *arguments: Any) -> str:
    """NONE, or the name of the error that a call of a producer ends with."""
    try:
        call(*arguments)
    except KafkaException as failure:
        return clients.name(failure.args[0])
    return "NONE"


class Teller:
    """One incarnation of the application that books transfers."""

    def __init__(self, cluster: Cluster, name: str = "", group: str = GROUP) -> None:
        """With a name its producer is transactional, and an earlier teller of that name fenced."""
        self.producer = producer_of(cluster, name, **{"enable.idempotence": True})
        self.consumer = consumer_of(cluster, group)
        assign(self.consumer, TRANSFERS, max(0, self.committed()))

    def committed(self) -> int:
        """The group's offset; asked again while the group's coordinator is not ready."""
        ends = time.monotonic() + PATIENCE_S
        while True:
            try:
                wanted = [TopicPartition(TRANSFERS, 0)]
                (place,) = self.consumer.committed(wanted, PATIENCE_S / 3)
                return int(place.offset)
            except KafkaException:
                if time.monotonic() > ends:
                    raise

    def take(self) -> str:
        """The next transfer; empty at the end of the topic."""
        message = self.consumer.poll(PATIENCE_S)
        if message is None:
            raise WaitTimeout(f"No transfer came within {PATIENCE_S:g} s.")
        return "" if message.error() else (message.value() or b"").decode()

    def book(self, value: str, partition: int) -> str:
        return booked(self.producer, ACCOUNTS, value, partition)

    def offsets(self) -> None:
        """The group's offset becomes a part of the transaction."""
        self.producer.send_offsets_to_transaction(
            self._places(), self.consumer.consumer_group_metadata(), PATIENCE_S
        )

    def commit_offsets(self) -> None:
        """The group's offset, committed by the consumer alone."""
        self.consumer.commit(offsets=self._places(), asynchronous=False)

    def _places(self) -> list[TopicPartition]:
        return list(self.consumer.position([TopicPartition(TRANSFERS, 0)]))


def consumer_of(
    cluster: Cluster, group: str, isolation: str = "read_committed", **settings: str | int | bool
) -> Consumer:
    """A consumer that commits only on a call; no `isolation` is the client's default."""
    own: dict[str, Any] = {"isolation.level": isolation} if isolation else {}
    return Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": group,
            **own,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 20,
            "fetch.error.backoff.ms": 20,
            "topic.metadata.refresh.fast.interval.ms": 20,
            "reconnect.backoff.ms": 10,
            "log_level": 0,
            **settings,
        }
    )


def assign(consumer: Consumer, topic: str, offset: int, partition: int = 0) -> None:
    """Lets a consumer read from here on.

    After a call such as `committed` librdkafka knows the brokers but not the topic, and would look
    for it a second later.
    """
    consumer.list_topics(topic, PATIENCE_S)
    consumer.assign([TopicPartition(topic, partition, offset)])


def read(
    cluster: Cluster, partition: int = 0, isolation: str = "read_committed", topic: str = ACCOUNTS
) -> list[tuple[int, str]]:
    """Offset and value of each record that a reader of this isolation level gets now."""
    reader = consumer_of(cluster, "downstream", isolation)
    reader.assign([TopicPartition(topic, partition, 0)])
    found: list[tuple[int, str]] = []
    try:
        while (message := reader.poll(PATIENCE_S)) is not None:
            error = message.error()
            if error is None:
                found.append((int(message.offset() or 0), (message.value() or b"").decode()))
            elif error.code() == KafkaError._PARTITION_EOF:
                return found
    finally:
        reader.close()
    raise WaitTimeout(f"The end of {topic}-{partition} was not reached within {PATIENCE_S:g} s.")


def values(cluster: Cluster, *where: Any) -> list[str]:
    return [value for _, value in read(cluster, *where)]


def total(cluster: Cluster, isolation: str = "read_committed") -> int:
    """The sum of all bookings that a reader of this isolation level gets."""
    bookings = [value for n in (0, 1) for value in values(cluster, n, isolation)]
    return sum(int(booking.split()[1]) for booking in bookings)


def log_of(cluster: Cluster, partition: int = 0, topic: str = ACCOUNTS) -> list[str]:
    """What is at each offset of the leader's log: values, and markers in capital letters."""
    return entries(fetched(cluster, partition, topic))


def logs(cluster: Cluster) -> dict[str, list[str]]:
    """Both partitions of `accounts`, as soon as no transaction is open in them."""
    wait_until_stable(cluster, ACCOUNTS, 0, 1)
    return {f"the log of partition {n}": log_of(cluster, n) for n in (0, 1)}


def entries(part: Any) -> list[str]:
    """The same of one partition's Fetch answer."""
    found: list[str] = []
    data = bytes(part.records or b"")
    for header, position in batch.iterate(data):
        for record in batch.decode(data, position):
            if header.is_control:
                found.append(MARKERS.get(control.control_type(record), "CONTROL"))
            else:
                found.append((record.value or b"").decode())
    return found


def ends(cluster: Cluster, partition: int = 0, topic: str = ACCOUNTS) -> tuple[int, int]:
    """The last stable offset and the high watermark, as the leader answers a consumer's Fetch."""
    part = fetched(cluster, partition, topic)
    return int(part.last_stable_offset), int(part.high_watermark)


def fetched(cluster: Cluster, partition: int = 0, topic: str = ACCOUNTS,
            isolation: str = "read_uncommitted") -> Any:  # fmt: skip
    """What the leader answers to a Fetch from offset 0."""
    named: str | bytes = topic
    if topic.startswith("__"):  # a cluster's snapshot leaves these out
        found = clients.admin(cluster).list_topics(topic, PATIENCE_S).topics[topic]
        leader = int(found.partitions[partition].leader)
    else:
        named, leader = clients.topic_id(cluster, topic), cluster.leader(topic, partition)
    wanted = requests.fetching(named, partitions=[partition])
    wanted.isolation_level = LEVELS.index(isolation)
    highest = NAMED if isinstance(named, str) else None
    return requests.first_partition(clients.ask(cluster, leader, wanted, highest))


def wait_for_marker(cluster: Cluster, count: int, partition: int = 0) -> None:
    """Waits until so many markers may be read in a partition of `accounts`."""

    def there(found: Cluster) -> bool:
        stands = log_of(found, partition)
        return sum(each in MARKERS.values() for each in stands) >= count

    cluster.wait_until(there, PATIENCE_S, f"{count} marker(s) in {ACCOUNTS}-{partition}")


def wait_until_stable(cluster: Cluster, topic: str = ACCOUNTS, *partitions: int) -> None:
    """Waits until no transaction is open in these partitions, or in partition 0."""

    def is_stable(found: Cluster) -> bool:
        each_ends = [ends(found, partition, topic) for partition in partitions or (0,)]
        return all(stable == high_watermark for stable, high_watermark in each_ends)

    cluster.wait_until(is_stable, PATIENCE_S, f"the transactions of {topic} to end")
