"""Scenarios of notebook 03 for `lab.both` about the order of events: what keeps it, what loses it.

The producer is the engine's own (kit/probes/own_producer.py), on the sockets of either side, except
where only the partition of each record counts.  The readers are confluent-kafka's.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from confluent_kafka import Consumer

from engine.client.producer_batch import Sent
from kit.clusters.interface import Cluster, ClusterError
from kit.probes.clients import values
from kit.probes.own_producer import OwnProducer
from lessons.nb03_partitioning.measure import PATIENCE_S, producer, reports

Seen = Mapping[str, Any]
STATES = ("prepared", "shipped", "delivered")
MEMBER = {
    "group.id": "order-readers",
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "heartbeat.interval.ms": 200,
    "log_level": 0,
}
"""A member of a group: it hears of a rebalance within 200 ms."""


def order_of_events(cluster: Cluster) -> Seen:
    """Ten orders go through three states; then each partition is read to its end."""
    keyed = [_order(cluster, partitions, True) for partitions in (1, 3, 6)]
    three, loose = keyed[1], _order(cluster, 3, False)
    return {
        "the order id is the key": {
            "orders in one partition": three["orders in one partition"],
            "read in their order, with 1, 3, 6 partitions": [each["in order"] for each in keyed],
            "a partition with two orders": next(
                each for each in keyed[2]["read"] if len(each) == 2 * len(STATES)
            ),
            "in order, four workers for each of 6 partitions": sum(
                _in_order(_four_workers(each)) for each in keyed[2]["read"]
            ),
        },
        "no key, round robin": {
            "orders in one partition": loose["orders in one partition"],
            "orders read in their order": loose["in order"],
        },
        "events 1, 2 and 3 are lost and sent again": {
            "not idempotent": _sent_again(cluster, idempotent=False),
            "idempotent": _sent_again(cluster, idempotent=True),
        },
        "a group of two readers, 6 partitions": _one_group(cluster),
        "largest share; orders, customers, cars in order": _by_key(cluster),
    }


def _order(cluster: Cluster, partitions: int, with_key: bool) -> dict[str, Any]:
    cluster.create_topic("orders", partitions=partitions)
    sent = _write(cluster, with_key)
    read = [values(cluster, "orders", index) for index in range(partitions)]
    return {
        "orders in one partition": sum(
            len({r.partition for r in sent if r.text.startswith(f"{n} ")}) == 1 for n in range(10)
        ),
        "in order": _in_order([event for each in read for event in each]),
        "read": read,
    }


def _write(cluster: Cluster, with_key: bool) -> list[Sent]:
    """The three events of each of ten orders, state by state."""
    settings = {"partitioner.class": "murmur2" if with_key else "round-robin"}
    with OwnProducer(cluster, "orders", settings) as made:
        for state in STATES:
            for order in range(10):
                made.send(f"{order} {state}", key=f"order-{order}" if with_key else None)
        made.wait()
        return made.records


def _in_order(events: Sequence[str]) -> int:
    """How many orders have their three states in order."""
    states: dict[str, list[str]] = {}
    for event in events:
        order, state = event.split()
        states.setdefault(order, []).append(state)
    return sum(each == [*STATES] for each in states.values())


def _four_workers(events: Sequence[str]) -> list[str]:
    """The events as four workers finish them: each takes the next one when it is free, and one
    event in four takes twenty times as long."""
    chance = Random(3)
    free = [0] * 4
    done = []
    for event in events:
        worker = free.index(min(free))
        free[worker] += 20 if chance.random() < 1 / 4 else 1
        done.append((free[worker], event))
    return [event for _, event in sorted(done, key=lambda each: each[0])]


def _sent_again(cluster: Cluster, *, idempotent: bool) -> list[str]:
    """The log of three events.  Each has a request of its own, and the connection ends under all of
    them."""
    cluster.create_topic("orders")
    settings = {"enable.idempotence": idempotent, "linger.ms": 0, "batch.size": 0}
    with OwnProducer(cluster, "orders", settings) as made:
        assert made.driver is not None
        made.driver.lose_requests = 3
        made.send("1", "2", "3")
        made.wait()
    return values(cluster, "orders")


def _one_group(cluster: Cluster) -> dict[str, Any]:
    """Two members share the partitions; then ten orders are written, and the members read them."""
    cluster.create_topic("orders", partitions=6)
    readers = [Consumer({"bootstrap.servers": cluster.bootstrap, **MEMBER}) for _ in range(2)]
    handled: list[tuple[int, int, str]] = []  # reader, partition, event
    until = time.monotonic() + PATIENCE_S

    def poll_each() -> None:
        for number, reader in enumerate(readers):
            message = reader.poll(0.02)
            if message is not None and message.error() is None:
                event = (message.value() or b"").decode()
                handled.append((number, int(message.partition() or 0), event))
        if time.monotonic() > until:
            raise ClusterError(f"The group read {len(handled)} of 30 events: run the cell again.")

    try:
        for reader in readers:
            reader.subscribe(["orders"])
        while [len(reader.assignment()) for reader in readers] != [3, 3]:
            poll_each()
        _write(cluster, with_key=True)
        while len(handled) < 10 * len(STATES):
            poll_each()
        shares = [len(reader.assignment()) for reader in readers]
    finally:
        for reader in readers:
            reader.close()
    pairs = {(reader, partition) for reader, partition, _ in handled}
    read = {partition for _, partition in pairs}
    return {
        "partitions of each reader, and of both": [*shares, len(pairs) - len(read)],
        "orders handled in order": _in_order([event for *_, event in handled]),
    }


# -- which key


def _by_key(cluster: Cluster) -> dict[str, str]:
    """The events of 600 orders, keyed by order, by customer and by car: how uneven the load is, and
    of how many orders, customers and cars the events are in order.

    An order has one customer of 50 and one car of 20.  Some of them have many orders.
    """
    chance = Random(3)
    orders = [
        {
            "order": f"order-{number}",
            "customer": f"customer-{int(50 * chance.random() ** 2)}",
            "car": f"car-{int(20 * chance.random() ** 2)}",
        }
        for number in range(600)
    ]
    events = [order for _ in STATES for order in orders]
    seen = {}
    for key in ("order", "customer", "car"):
        cluster.create_topic("orders", partitions=6)
        made = producer(cluster, {"partitioner": "murmur2_random"})
        heard = reports(made, "orders", [{"key": event[key]} for event in events])
        places = [(report.partition, report.offset) for report in heard]
        used = [partition for partition, _ in places]
        share = 100 * max(used.count(n) for n in range(6)) / len(used)
        kept = [_kept([event[name] for event in events], places) for name in orders[0]]
        seen[f"the {key} is the key"] = f"{share:.0f} %; {', '.join(map(str, kept))}"
    return seen


def _kept(names: Sequence[str], places: Sequence[tuple[int, int]]) -> int:
    """How many names have all their events in one partition, in the order of sending."""
    at: dict[str, list[tuple[int, int]]] = {}
    for name, place in zip(names, places, strict=True):
        at.setdefault(name, []).append(place)
    return sum(
        len({partition for partition, _ in each}) == 1 and each == sorted(each)
        for each in at.values()
    )
