"""Ten records, of which one can never be processed, and five ways for a loop to go on.

Each way is a function of the record: it processes, or decides what happens instead.  The loop
around them is the same: at least once, a synchronous commit after each record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from confluent_kafka import Producer

from kit.clusters.interface import Cluster, ClusterError
from kit.probes import clients
from kit.tables import Table
from lessons.nb10_offsets.reading import PATIENCE_S, TOPIC, Reader, numbered, write

REPLICAS = {0: [101, 102, 103]}
RETRY, DEAD = "orders-retry", "orders-dlq"
POISON = "order-3"
COUNT, CAP = 10, 3
Seen = Mapping[str, Any]


class Broken(Exception):
    """The handler cannot process this record, now or later."""


class Stopped(Exception):
    """The loop ends here; its supervisor would start it again, with the same result."""


class Handler:
    """Does the work; `attempts` counts calls for the record that fails."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.attempts = 0

    def __call__(self, value: str) -> None:
        if value == POISON:
            self.attempts += 1
            raise Broken(f"{value} breaks a rule")
        self.done.append(value)


def five_ways(cluster: Cluster) -> Seen:
    """What is processed, where the record is then, and the lag, for each way."""
    ways: Mapping[str, Callable[[Cluster, Handler, str, int], None]] = {
        "stop": _stop,
        "skip": _skip,
        "retry in place, then stop": _retry,
        "retry topic": _retry_topic,
        "dead-letter topic": _dead_letter,
    }
    return {label: _played(cluster, way) for label, way in ways.items()}


def _played(cluster: Cluster, way: Callable[[Cluster, Handler, str, int], None]) -> Seen:
    for topic in (TOPIC, RETRY, DEAD):
        cluster.create_topic(topic, assignment=REPLICAS)
    write(cluster, TOPIC, numbered(COUNT), key="customer-1")
    handler = Handler()
    with Reader(cluster, partitions=[0]) as reader:
        try:
            for _ in range(COUNT):
                reader.read(1)
                _, offset, value = reader.processed[-1]
                way(cluster, handler, value, offset)
                reader.commit(offset + 1)
        except Stopped:
            pass
        committed = reader.committed() or 0
    return {
        "processed": len(handler.done),
        "attempts with the bad record": handler.attempts,
        "lag": COUNT - committed,
        "in the retry topic": len(clients.values(cluster, RETRY)),
        "in the dead-letter topic": len(clients.values(cluster, DEAD)),
    }


def _stop(cluster: Cluster, handler: Handler, value: str, offset: int) -> None:
    try:
        handler(value)
    except Broken as failure:
        raise Stopped from failure


def _skip(cluster: Cluster, handler: Handler, value: str, offset: int) -> None:
    try:
        handler(value)
    except Broken:
        return


def _retry(cluster: Cluster, handler: Handler, value: str, offset: int) -> None:
    for _ in range(CAP):
        try:
            handler(value)
            return
        except Broken:
            continue
    raise Stopped


def _retry_topic(cluster: Cluster, handler: Handler, value: str, offset: int) -> None:
    try:
        handler(value)
    except Broken as failure:
        _send(cluster, RETRY, value, offset, failure, attempt=1)


def _dead_letter(cluster: Cluster, handler: Handler, value: str, offset: int) -> None:
    for _ in range(CAP):
        try:
            handler(value)
            return
        except Broken as failure:
            last = failure
    _send(cluster, DEAD, value, offset, last, attempt=CAP)


def _send(
    cluster: Cluster, topic: str, value: str, offset: int, failure: Exception, attempt: int
) -> None:
    """Writes the record with its origin, and waits: only then may the source's offset move."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": 0, "log_level": 0})
    origin = {
        "origin": f"{TOPIC}-0@{offset}",
        "error": f"{type(failure).__name__}: {failure}",
        "attempt": str(attempt),
    }
    refused: list[Any] = []
    producer.produce(
        topic,
        value,
        "customer-1",
        partition=0,
        headers=list(origin.items()),
        on_delivery=lambda error, _: refused.append(error) if error else None,
    )
    if producer.flush(PATIENCE_S) or refused:
        raise ClusterError(f"{topic} did not take the record: its offset must not be committed.")


# -- what goes wrong with dead letters and retries


def refused(cluster: Cluster) -> Seen:
    """The dead-letter topic refuses the record; a loop that does not look, and one that waits."""
    seen = {}
    for label, waits in (("goes on without looking", False), ("waits for the write", True)):
        cluster.create_topic(TOPIC, assignment=REPLICAS)
        cluster.create_topic(DEAD, assignment=REPLICAS, config={"max.message.bytes": 10})
        write(cluster, TOPIC, numbered(COUNT))
        handler = Handler()
        with Reader(cluster, partitions=[0]) as reader:
            ended = "at the end"
            for _ in range(COUNT):
                reader.read(1)
                _, offset, value = reader.processed[-1]
                try:
                    _dead_letter(cluster, handler, value, offset)
                except ClusterError:
                    if waits:
                        ended = f"at offset {offset}"
                        break
                reader.commit(offset + 1)
            committed = reader.committed() or 0
        seen[label] = {
            "the loop ends": ended,
            "committed": committed,
            "records that are processed or kept": len(handler.done)
            + len(clients.values(cluster, DEAD)),
            "lost": committed - len(handler.done) - len(clients.values(cluster, DEAD)),
        }
    return seen


def copied_back(cluster: Cluster) -> Seen:
    """Dead letters are copied to the main topic: where they stand in their key's order."""
    cluster.create_topic(TOPIC, assignment=REPLICAS)
    cluster.create_topic(DEAD, assignment=REPLICAS)
    states = ["created", "paid", "sent"]
    write(cluster, TOPIC, states, key="order-7")
    with Reader(cluster, partitions=[0]) as reader:
        reader.rest()
    write(cluster, DEAD, ["paid"], key="order-7")  # its handler had failed
    write(cluster, TOPIC, clients.values(cluster, DEAD), key="order-7")
    table: dict[str, str] = {}
    for value in clients.values(cluster, TOPIC):
        table["order-7"] = value
    return {"the topic": clients.values(cluster, TOPIC), "a table of the last state": table}


def pauses() -> Table:
    """The pause after each attempt: the sample's, an exponential one, and one with jitter."""
    chance = Random(10)
    rows = []
    for attempt in range(1, 6):
        exponential = min(2 ** (attempt - 1), 10)
        jittered = exponential * chance.uniform(0.8, 1.2)
        rows.append([str(attempt), f"{attempt} s", f"{exponential} s", f"{jittered:.1f} s"])
    linear = sum(range(1, 4))
    return Table(
        "Pauses between attempts",
        ("after attempt", "1000 ms x attempt", "exponential, at most 10 s", "with jitter"),
        rows,
        f"Three tries of the first kind cost {linear} s for each bad record; "
        f"{300 // linear} bad records in one poll reach max.poll.interval.ms (300 s).",
    )


def blocked(cluster: Cluster) -> Seen:
    """One partition retries in place, another goes on: the lag of each after every attempt."""
    cluster.create_topic(TOPIC, assignment={0: [101, 102, 103], 1: [101, 102, 103]})
    for partition in (0, 1):
        write(cluster, TOPIC, [POISON, *numbered(COUNT - 1, start=10)], partition)
    lags: dict[int, list[int]] = {0: [COUNT], 1: [COUNT]}
    for partition, passes in ((0, False), (1, True)):
        with Reader(cluster, partitions=[partition]) as reader:
            handler = Handler()
            for _ in range(CAP):
                if passes or not lags[partition][1:]:
                    reader.read(1)
                _, offset, value = reader.processed[-1]
                done = offset + 1
                try:
                    handler(value if not passes else "order-0")
                except Broken:
                    done = offset
                lags[partition].append(COUNT - done)
    return {
        "lag of the partition that retries": lags[0],
        "lag of the other one": lags[1],
    }
