"""Ten records, of which one can never be processed, and six ways for a loop to go on.

Each way is a function of the record: it processes, or decides what happens instead.  The loop
around them is the same: at least once, a synchronous commit after each record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from confluent_kafka import OFFSET_STORED, Consumer, Producer, TopicPartition

from kit.clusters.interface import Cluster, ClusterError
from kit.probes import clients
from lessons.nb10_offsets.reading import PATIENCE_S, TOPIC, Reader, numbered, write

REPLICAS = {0: [101, 102, 103]}
RETRY, DEAD = "orders-retry", "orders-dlq"
POISON = "order-3"
BAD_OFFSET = 3
COUNT, CAP = 10, 3
Seen = Mapping[str, Any]


class Broken(Exception):
    """The handler cannot process this record, now or later."""


class Stopped(Exception):
    """The loop ends here; its supervisor would start it again, with the same result."""


class Handler:
    """Does the work; `attempts` counts its calls for the bad record, repaired or not."""

    def __init__(self, broken: str = POISON) -> None:
        self.broken = broken
        self.done: list[str] = []
        self.attempts = 0

    def __call__(self, value: str) -> None:
        self.attempts += value.startswith(POISON)
        if value == self.broken:
            raise Broken(f"{value} breaks a rule")
        self.done.append(value)


Way = Callable[[Cluster, Handler, str, int], None]


def six_ways(cluster: Cluster) -> Seen:
    """What is processed, the lag, and where the bad record is then, for each way."""
    ways: Mapping[str, Way] = {
        "stop": _stop,
        "skip": _skip,
        "retry in place, then stop": _retry,
        "another handler": _other_handler,
        "retry topic": _retry_topic,
        "dead-letter topic": _dead_letter,
    }
    return {label: _played(cluster, way) for label, way in ways.items()}


def _played(cluster: Cluster, way: Way) -> Seen:
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
    retries, dead = clients.values(cluster, RETRY), clients.values(cluster, DEAD)
    place = _place(handler, committed, retries, dead)
    seen: dict[str, Any] = {
        "records": f"{len(handler.done)} processed, lag {COUNT - committed}",
        "the bad record": f"attempts {handler.attempts}, {place}",
    }
    if way in RESTARTED:
        seen["a restart reads"] = _restarted(cluster)
    if retries:
        seen |= _drained(cluster, handler)
    if dead:
        seen["its headers"] = _headers(cluster)
    return seen


def _restarted(cluster: Cluster) -> str:
    """The numbers of the orders that the group's next reader gets."""
    place = TopicPartition(TOPIC, 0, OFFSET_STORED)
    with Reader(cluster, partitions=[place]) as reader:
        reader.rest()
    return " ".join(value.removeprefix("order-") for value in reader.values) or "nothing"


def _place(handler: Handler, committed: int, retries: list[str], dead: list[str]) -> str:
    """Where the bad record is when the loop has ended."""
    if retries:
        return f"in {RETRY}"
    if dead:
        return f"in {DEAD}"
    if any(value.startswith(POISON) for value in handler.done):
        return "processed"
    return "left behind" if committed > BAD_OFFSET else "the next to read"


def _drained(cluster: Cluster, first: Handler) -> Seen:
    """A reader with a group of its own handles the retry topic, when the failure has passed."""
    handler = Handler(broken="")
    with Reader(cluster, {"group.id": RETRY}, topic=RETRY, partitions=[0]) as reader:
        before = reader.committed()
        reader.read(1)
        handler(reader.values[-1])
        reader.commit(reader.offsets[-1] + 1)
        committed = [before, reader.committed()]
    order = [value.removeprefix("order-") for value in [*first.done, *handler.done]]
    return {
        "order of its key": " ".join(order),
        f"committed in {RETRY}, before and after": committed,
    }


def _headers(cluster: Cluster) -> list[str]:
    """The headers of the first dead letter."""
    own = {"bootstrap.servers": cluster.bootstrap, "group.id": DEAD, "log_level": 0}
    consumer = Consumer({**own, "auto.offset.reset": "earliest"})
    try:
        consumer.assign([TopicPartition(DEAD, 0, 0)])
        message = consumer.poll(PATIENCE_S)
        headers: Any = message.headers() if message else None
        return [value.decode() for _, value in headers or ()]
    finally:
        consumer.close()


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


RESTARTED = (_stop, _skip)
"""The ways after which a restart is shown."""


def _retry(cluster: Cluster, handler: Handler, value: str, offset: int) -> None:
    for _ in range(CAP):
        try:
            handler(value)
            return
        except Broken:
            continue
    raise Stopped


def _other_handler(cluster: Cluster, handler: Handler, value: str, offset: int) -> None:
    try:
        handler(value)
    except Broken:
        handler(f"{value} with another amount")


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


def pitfalls(cluster: Cluster) -> Seen:
    """A partition that waits, a dead letter that is refused, and one that is copied back."""
    return {
        "one of two partitions retries in place": blocked(cluster),
        "the dead-letter write": refused(cluster),
        "a dead letter is copied back": copied_back(cluster),
    }


def refused(cluster: Cluster) -> Seen:
    """A loop that does not look at the write's result, one that waits, one that dies behind it."""
    return {
        "refused, goes on without looking": _written(cluster, 10, waits=False),
        "refused, waits for it": _written(cluster, 10),
        "taken, dies before the commit, starts again": _written(cluster, 1_000, dies=True),
    }


def _written(cluster: Cluster, limit: int, waits: bool = True, dies: bool = False) -> str:
    cluster.create_topic(TOPIC, assignment=REPLICAS)
    cluster.create_topic(DEAD, assignment=REPLICAS, config={"max.message.bytes": limit})
    write(cluster, TOPIC, numbered(COUNT))
    handler = Handler()
    committed = _until_it_ends(cluster, handler, 0, waits, dies)
    if dies:
        committed = _until_it_ends(cluster, handler, committed, waits)
    dead = clients.values(cluster, DEAD)
    lost = committed - len({*handler.done, *dead})
    return f"committed {committed}, lost {lost}, dead letters {len(dead)}"


def _until_it_ends(
    cluster: Cluster, handler: Handler, start: int, waits: bool, dies: bool = False
) -> int:
    """One life of the loop, from the committed offset on; the committed offset at its end."""
    with Reader(cluster, partitions=[TopicPartition(TOPIC, 0, start)]) as reader:
        while reader.offsets[-1:] != [COUNT - 1]:
            reader.read(1)
            _, offset, value = reader.processed[-1]
            try:
                _dead_letter(cluster, handler, value, offset)
            except ClusterError:
                if waits:
                    break
            if dies and offset == BAD_OFFSET:
                break
            reader.commit(offset + 1)
        return reader.committed() or 0


def copied_back(cluster: Cluster) -> Seen:
    """Dead letters are copied to the main topic: their place in their key's order."""
    cluster.create_topic(TOPIC, assignment=REPLICAS)
    cluster.create_topic(DEAD, assignment=REPLICAS)
    states = ["created", "paid", "sent"]
    write(cluster, TOPIC, states, key="order-7")
    write(cluster, DEAD, ["paid"], key="order-7")  # its handler had failed
    write(cluster, TOPIC, clients.values(cluster, DEAD), key="order-7")
    topic = clients.values(cluster, TOPIC)
    return {"the topic": topic, "a table of the last state": topic[-1]}


def blocked(cluster: Cluster) -> Seen:
    """A loop retries a record of one partition in place, and reads on in the other one.

    The lag of each by the committed offsets, before the first attempt and after each.
    """
    cluster.create_topic(TOPIC, assignment={0: [101, 102, 103], 1: [101, 102, 103]})
    write(cluster, TOPIC, [POISON, *numbered(COUNT - 1, start=10)], 0)
    write(cluster, TOPIC, numbered(COUNT, start=20), 1)
    stuck, other = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)
    handler = Handler()
    with Reader(cluster, partitions=[0, 1]) as reader:
        lags = {partition: [_lag(reader, partition)] for partition in (0, 1)}
        reader.consumer.pause([other])  # the bad record comes first
        reader.read(1)
        _, bad_offset, bad = reader.processed[-1]
        reader.consumer.pause([stuck])
        reader.consumer.resume([other])
        for _ in range(CAP):
            with suppress(Broken):
                handler(bad)
                reader.commit(bad_offset + 1)
            reader.read(1)
            partition, offset, value = reader.processed[-1]
            handler(value)
            reader.commit(offset + 1, partition)
            for each, seen in lags.items():
                seen.append(_lag(reader, each))
    return {"its lag": lags[0], "lag of the other one": lags[1]}


def _lag(reader: Reader, partition: int) -> int:
    return COUNT - (reader.committed(partition) or 0)
