"""What limits a consumer: its own handler, one broker that stands still, or another reader's load.

Times and rates are measured; what is compared between the sides is what they lead to.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any

from confluent_kafka import Producer

from engine.client.consumer.settings import ConsumerSettings
from engine.records import batch
from engine.wire import messages as m
from kit import jars
from kit.both.outcomes import measured
from kit.clusters.interface import Cluster
from kit.probes import requests
from kit.probes.java_client import JavaProgram
from kit.probes.raw_client import RawClient
from kit.tables import Table
from lessons.nb10_offsets.java_runs import SOURCE
from lessons.nb10_offsets.reading import (
    PATIENCE_S,
    TOPIC,
    Reader,
    numbered,
    statistics_into,
    write,
)

ALL = [101, 102, 103]
REPLICAS = {0: ALL}
FILLED, WORK_S = 300, 0.003
TINY = {"max.partition.fetch.bytes": 1_000}
BATCH_BYTES = 40_000
MEBIBYTE = 1 << 20
IN_EACH = 4
"""Records in each of the partitions that three brokers lead."""
OLD, OLD_BYTES, SLOW_RATE = 50, 100_000, 350_000
Seen = Mapping[str, Any]


def answers(cluster: Cluster) -> Seen:
    """What the two byte limits leave of one answer: batches of 40 kB in six partitions."""
    cluster.create_topic(TOPIC, assignment=dict.fromkeys(range(6), ALL))
    for partition in (0, 1, 2, 3, 4, 4, 4, 5, 5, 5):
        write(cluster, TOPIC, ["x" * BATCH_BYTES], partition)
    return {
        "kB of whole batches in one answer": {
            "two partitions, 100 kB for each": _kilobytes(cluster, (4, 5), partition_bytes=100_000),
            "six partitions, 100 kB in all": _kilobytes(cluster, range(6), answer_bytes=100_000),
            "six partitions, 100 bytes in all": _kilobytes(cluster, range(6), answer_bytes=100),
        }
    }


def _kilobytes(
    cluster: Cluster,
    partitions: Sequence[int],
    partition_bytes: int = requests.PARTITION_BYTES,
    answer_bytes: int = requests.ANSWER_BYTES,
) -> list[int]:
    """The whole batches of each partition in the answer to one Fetch request."""
    request = requests.fetching(TOPIC, partitions=partitions)
    request.max_bytes = answer_bytes
    for part in request.topics[0].partitions:
        part.partition_max_bytes = partition_bytes
    with RawClient(cluster, 101, "reader") as client:
        answer = client.ask(request)
    whole = {
        part.partition_index: sum(h.size_in_bytes for h, _ in batch.iterate(part.records or b""))
        for part in answer.responses[0].partitions
    }
    return [whole[partition] // 1_000 for partition in partitions]


def allowed(*partitions: int) -> Table:
    """What the defaults allow for so many partitions of one broker: in all, and in one answer."""
    defaults = ConsumerSettings()
    each, answer = defaults.max_partition_fetch_bytes, defaults.fetch_max_bytes
    rows = []
    for count in partitions:
        total = count * each
        sizes = (total / MEBIBYTE, min(total, answer) / MEBIBYTE)
        rows.append([str(count), *(f"{size:.0f} MiB" for size in sizes), str(-(-total // answer))])
    return Table(
        "What the defaults allow",
        ("partitions", "all together", "one answer, at most", "answers, at least"),
        rows,
        f"max.partition.fetch.bytes is {each // MEBIBYTE} MiB, fetch.max.bytes "
        f"{answer // MEBIBYTE} MiB.",
    )


def one_stands_still(cluster: Cluster) -> Seen:
    """Three leaders with four records each; a consumer that starts after 101's pause reads all."""
    cluster.create_topic(TOPIC, assignment={0: [101], 1: [102], 2: [103]})
    for partition in range(3):
        write(cluster, TOPIC, numbered(IN_EACH), partition)
    under_way = _under_way(cluster)
    there = cluster.snapshot()["brokers"][102]
    own = {"bootstrap.servers": f"{there['host']}:{there['port']}"}  # the metadata is not of 101
    reads = Reader(cluster, own, partitions=[0, 1, 2], starts=False)
    with reads as reader, _paused(cluster):
        reader.start()
        reader.run(lambda: len(reader.processed) >= 2 * IN_EACH)
        reader.run(for_s=0.5)
        read = sorted({partition for partition, _, _ in reader.processed})
    return {"requests under way to 101, 102, 103": under_way, "partitions read": read}


def _under_way(cluster: Cluster) -> list[int]:
    """The requests that a consumer at the end of each log waits for: the middle of ten looks."""
    looks: list[Mapping[str, Any]] = []
    own = {"fetch.wait.max.ms": 500, **statistics_into(looks)}
    with Reader(cluster, own, partitions=[0, 1, 2]) as reader:
        reader.read(3 * IN_EACH)
        reader.run(for_s=0.6)  # no request is left but those that wait for new records
        looks.clear()
        reader.run(lambda: len(looks) >= 10)
    return [int(median(_waiting(look, broker) for look in looks)) for broker in ALL]


def _waiting(look: Mapping[str, Any], broker: int) -> int:
    """Requests to this broker that have no answer yet."""
    found = [each for each in look["brokers"].values() if each["nodeid"] == broker]
    return int(found[0]["waitresp_cnt"]) if found else 0


@contextmanager
def _paused(cluster: Cluster) -> Iterator[None]:
    """101 stands still inside the block; afterwards it leads partition 0 again."""
    cluster.pause(101)
    try:
        yield
    finally:
        cluster.resume(101)
        cluster.wait_until(lambda c: c.leader(TOPIC) == 101, PATIENCE_S, "101 to lead again")


def stalled(cluster: Cluster) -> Seen:
    """What one broker that stands still means for a consumer of three, and for the Java client."""
    return {**one_stands_still(cluster), **no_answer(cluster)}


def no_answer(cluster: Cluster) -> Seen:
    """A broker stands still: does the Java client close a connection within three seconds?"""
    try:
        with JavaProgram(SOURCE, cluster.bootstrap) as java:
            return {
                "request.timeout.ms 1000: closes a connection, opens one": _closes(
                    cluster, java, "1000"
                ),
                "the default of 30000": _closes(cluster, java, "30000"),
            }
    except jars.JarsMissing as missing:
        return {"the Java client": str(missing)}


def _closes(cluster: Cluster, java: JavaProgram, limit_ms: str) -> list[bool]:
    cluster.create_topic(TOPIC, assignment={0: [101]})
    write(cluster, TOPIC, numbered(4))
    java.ask("open", TOPIC, limit_ms)
    with _paused(cluster):
        return [int(count) > 0 for count in java.ask("closed", "3000")]


def bottleneck(cluster: Cluster) -> Seen:
    """The rate of a consumer with and without work, with small fetches and with the default."""
    cluster.create_topic(TOPIC, assignment=REPLICAS)
    batches = {"bootstrap.servers": cluster.bootstrap, "batch.num.messages": 10, "log_level": 0}
    producer = Producer(batches)
    for number in range(FILLED):
        producer.produce(TOPIC, str(number) * 300, partition=0)
    producer.flush(PATIENCE_S)
    slow, tuned = _rate(cluster, TINY, WORK_S), _rate(cluster, {}, WORK_S)
    return {
        "work of 3 ms, one batch per fetch": measured(slow, "records/s"),
        "work of 3 ms, the default": measured(tuned, "records/s"),
        "no work, one batch per fetch": measured(_rate(cluster, TINY, 0), "records/s"),
        "no work, the default": measured(_rate(cluster, {}, 0), "records/s"),
        "the setting doubles the rate of the slow handler": tuned > 2 * slow,
    }


def _rate(cluster: Cluster, settings: Mapping[str, Any], work_s: float) -> float:
    """Records per second, from the first record to the last."""
    with Reader(cluster, settings, partitions=[0]) as reader:
        reader.read(1)
        began = time.perf_counter()
        while len(reader.processed) < FILLED:
            if reader.poll():
                time.sleep(work_s)
        return FILLED / (time.perf_counter() - began)


def live_reader(cluster: Cluster) -> Seen:
    """How late a live reader gets a new record, alone and beside a replay; and a replay's time."""
    cluster.create_topic(TOPIC, assignment=REPLICAS)
    cluster.create_topic("history", assignment=REPLICAS)
    for _ in range(OLD):
        write(cluster, "history", ["x" * OLD_BYTES])
    name = f"replay-{time.time_ns()}"  # a new name: a quota also counts what was sent before
    with Reader(cluster, partitions=[0]) as reader:
        alone = _delay_ms(cluster, reader)
        with _replaying(cluster, f"{name}-beside"):
            beside = _delay_ms(cluster, reader)
        with _limited(cluster, f"{name}-slow"), _replaying(cluster, f"{name}-slow"):
            slowed = _delay_ms(cluster, reader)
    free_s = _replay_s(cluster, f"{name}-free")
    with _limited(cluster, f"{name}-once"):
        entity = _entity(cluster, f"{name}-once")
        took_s = _replay_s(cluster, f"{name}-once")
    return {
        "a live record, no replay": measured(alone, "ms"),
        "a live record, beside a replay": measured(beside, "ms"),
        "a live record, beside a replay with a quota": measured(slowed, "ms"),
        "5 MB of history, without a quota": measured(free_s, "s"),
        "5 MB of history, with 350 kB/s for its client id": measured(took_s, "s"),
        "the quota's client-id, and its rate": entity,
        "the quota slows the replay": took_s > 2 * free_s,
    }


def _delay_ms(cluster: Cluster, reader: Reader, count: int = 15) -> float:
    """From `produce` to the reader's `poll`: the middle of several records."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": 0, "log_level": 0})
    times = []
    for number in range(count):
        began = time.perf_counter()
        producer.produce(TOPIC, str(number), partition=0)
        producer.flush(PATIENCE_S)
        reader.read(1)
        times.append((time.perf_counter() - began) * 1_000)
    return sorted(times)[count // 2]


def _replay_s(cluster: Cluster, client_id: str) -> float:
    """Reads the history once; the seconds that it took."""
    own = {"client.id": client_id, "group.id": "replay"}
    began = time.perf_counter()
    with Reader(cluster, own, topic="history", partitions=[0]) as reader:
        reader.read(OLD)
        return time.perf_counter() - began


@contextmanager
def _replaying(cluster: Cluster, client_id: str) -> Iterator[None]:
    """Another group reads the history again and again inside the block."""
    ended = threading.Event()

    def replay() -> None:
        own = {"client.id": client_id, "group.id": "replay"}
        with Reader(cluster, own, topic="history", partitions=[0]) as reader:
            while not ended.is_set():
                reader.poll()
                if reader.offsets[-1:] == [OLD - 1]:
                    reader.processed.clear()
                    reader.seek(0)

    thread = threading.Thread(target=replay)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(PATIENCE_S)


@contextmanager
def _limited(cluster: Cluster, client_id: str) -> Iterator[None]:
    """A consumer_byte_rate for one client id, inside the block."""
    _alter(cluster, client_id, SLOW_RATE)
    try:
        yield
    finally:
        _alter(cluster, client_id, None)


def _alter(cluster: Cluster, client_id: str, rate: float | None) -> None:
    request = m.AlterClientQuotasRequest
    entity = [request.EntityData("client-id", client_id)]
    limit = request.OpData(key="consumer_byte_rate", value=rate or 0.0, remove=rate is None)
    with RawClient(cluster, 101, "admin") as client:
        client.ask(request(entries=[request.EntryData(entity=entity, ops=[limit])]), 1)
    cluster.wait_until(lambda c: _limits(c, client_id) == ([rate] if rate else []), PATIENCE_S)


def _limits(cluster: Cluster, client_id: str) -> list[float]:
    """What broker 101, which leads the history, knows of this client id's quota."""
    return [each.value for entry in _quotas(cluster, client_id) for each in entry.values]


def _entity(cluster: Cluster, client_id: str) -> list[str | int]:
    """Whose quota 101 keeps, without the number that is in the name, and how much it allows."""
    (entry,) = _quotas(cluster, client_id)
    (entity,), (limit,) = entry.entity, entry.values
    return [re.sub(r"\d+", "N", entity.entity_name), int(limit.value)]


def _quotas(cluster: Cluster, client_id: str) -> list[Any]:
    request = m.DescribeClientQuotasRequest
    part = request.ComponentData("client-id", 0, client_id)
    with RawClient(cluster, 101, "admin") as client:
        return list(client.ask(request(components=[part], strict=True), 1).entries or [])
