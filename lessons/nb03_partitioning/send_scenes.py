"""Scenarios of notebook 03 for `lab.both` about `send()` and how its answers arrive.

The producer is confluent-kafka's.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import ConfigResource, NewTopic

from kit.both.outcomes import measured
from kit.clusters.interface import Cluster
from kit.probes.clients import admin, name, outcome, values
from lessons.nb03_partitioning.measure import PATIENCE_S, producer

Seen = Mapping[str, Any]
Record = dict[str, Any]
"""What `produce()` takes beside the topic."""
Way = Callable[[Producer, str, Sequence[Record]], list[tuple[Any, Any]]]
"""Sends records to a topic; gives what its callbacks received, an error or None and a message."""
QUICK = {"log_level": 0, "acks": "all"}


def three_ways(cluster: Cluster, forget: Way, call_back: Way, wait: Way) -> Seen:
    """One record of three is refused: a compacted topic takes no null key.  Then the rates."""
    cluster.create_topic("table", config={"cleanup.policy": "compact"})
    cluster.create_topic("orders")
    made = producer(cluster, {**QUICK, "linger.ms": 50})  # so that three records share a batch
    records: list[Record] = [{"value": "x", "key": key} for key in ("a", None, "b")]
    nothing = forget(made, "table", records)
    made.flush(PATIENCE_S)
    kept = len(values(cluster, "table"))
    heard = call_back(made, "table", records)
    waited = wait(made, "table", records)
    elsewhere = call_back(made, "orders", records)
    order: list[int | None] = []
    threads: set[int] = set()

    def report(_: Any, message: Any) -> None:
        order.append(message.offset())
        threads.add(threading.get_ident())

    for number in range(1_000):
        made.produce("orders", f"{number}", on_delivery=report)
    before = len(order)
    made.flush(PATIENCE_S)
    return {
        "fire and forget": {
            "handed over, in the log": [len(records), kept],
            "errors that it sees": nothing,
            "a value of a wrong type": _call(made.produce, "table", 7),
        },
        "with a callback": {
            "the three callbacks": [name(error) for error, _ in heard],
            "to a topic that is not compacted": [name(error) for error, _ in elsewhere],
        },
        "waits for each answer": {"the three answers": [name(error) for error, _ in waited]},
        "records in the table": len(values(cluster, "table")),
        "1,000 records with callbacks": {
            "callbacks before the application polls": before,
            "callbacks after flush": len(order),
            "in the thread that calls flush()": threads == {threading.get_ident()},
            "offsets grow": all((a or 0) < (b or 0) for a, b in pairwise(order)),
        },
        "rate, fire and forget": measured(_rate(made, forget, 2_000), "records/s"),
        "rate, with a callback": measured(_rate(made, call_back, 2_000), "records/s"),
        "rate, each answer awaited": measured(_rate(made, wait, 100), "records/s"),
    }


def _rate(made: Producer, way: Way, count: int) -> float:
    """Records a second until the last one is answered."""
    records = [{"value": f"{number}"} for number in range(count)]
    began = time.monotonic()
    way(made, "orders", records)
    made.flush(PATIENCE_S)
    return count / (time.monotonic() - began)


def small_rules(cluster: Cluster) -> Seen:
    """Flush, a full queue, a dead address, a wrong type, and the default partition count."""
    cluster.create_topic("orders")
    told: list[str] = []
    first = producer(cluster, {})
    first.produce(
        "orders", "a",
        on_delivery=lambda _, m: told.append(f"{m.topic()}-{m.partition()}, offset {m.offset()}"),
    )  # fmt: skip
    first.flush(PATIENCE_S)
    lost = producer(cluster, {"linger.ms": 1_000})
    for _ in range(5):
        lost.produce("orders", "x")
    del lost  # the process ends here without flush()
    kept = producer(cluster, {"linger.ms": 1_000})
    for _ in range(3):
        kept.produce("orders", "y")
    kept.flush(PATIENCE_S)
    full = producer(cluster, {"queue.buffering.max.messages": 10, "linger.ms": 1_000})
    refused = _until_full(full)
    full.flush(PATIENCE_S)
    addresses = f"127.0.0.1:1,{cluster.bootstrap.split(',')[0]}"
    one = Producer({"bootstrap.servers": addresses, "client.id": "shop", "log_level": 0})
    found = one.list_topics(timeout=PATIENCE_S)
    client = admin(cluster)
    broker = ConfigResource(ConfigResource.Type.BROKER, "101")
    described = client.describe_configs([broker])[broker].result(PATIENCE_S)
    cluster.delete_topic("by-default")
    created = client.create_topics([NewTopic("by-default", num_partitions=-1)])
    error = outcome(created["by-default"])
    cluster.wait_until(lambda c: "by-default" in c.snapshot()["topics"], PATIENCE_S, "the topic")
    partitions = len(cluster.snapshot()["topics"]["by-default"]["partitions"])
    client.delete_topics(["by-default"])["by-default"].result(PATIENCE_S)
    return {
        "the report of a record": told[0],
        "handed over, and no flush": {"in the log": values(cluster, "orders").count("x")},
        "handed over, and flush": {"in the log": values(cluster, "orders").count("y")},
        "the queue takes 10 records": {"the 11th": refused},
        "one dead address, one live": {"brokers that the client knows": len(found.brokers)},
        "no live address": {"list_topics()": _without_a_broker()},
        "produce() without a topic": _call(one.produce),
        "createTopics with -1 partitions": {
            "error": error,
            "num-partitions, partitions": [int(described["num.partitions"].value), partitions],
        },
    }


def created_by_a_record(cluster: Cluster) -> int:
    """The number of partitions of a topic that a record creates, where a broker allows that."""
    made = producer(cluster, QUICK)
    made.produce("by-a-record", "x")
    made.flush(PATIENCE_S)
    partitions = len(cluster.snapshot()["topics"]["by-a-record"]["partitions"])
    client = admin(cluster)
    client.delete_topics(["by-a-record"])["by-a-record"].result(PATIENCE_S)
    return partitions


def _without_a_broker() -> str:
    """What a request for metadata raises where no broker answers."""
    alone = Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0})
    try:
        alone.list_topics(timeout=0.3)
    except KafkaException as failure:
        return f"KafkaException {name(failure.args[0])}"
    return "answered"


def _until_full(made: Producer) -> str:
    for _ in range(11):
        try:
            made.produce("orders", "z")
        except BufferError:
            return "BufferError, at once"
    return "accepted"


def _call(produce: Callable[..., None], *arguments: Any) -> str:
    try:
        produce(*arguments)
    except TypeError as error:
        return type(error).__name__
    return "accepted"
