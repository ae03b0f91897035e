"""Produces the fleet's records to any cluster, at a rate or as fast as the machine allows.

The producer is idempotent, so its own retries add nothing: what is twice in a topic was twice
in the records.  A broker may be killed in the middle; the records are in the topic when `write`
returns, or `write` says which were refused.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from labs.fleet.records import Record

if TYPE_CHECKING:
    from kit.clusters.interface import Cluster


class Refused(RuntimeError):
    """The cluster refused records; the message says how many, and the first error."""


class Pace:
    """Holds a loop to a rate in records per second; None is as fast as it goes."""

    def __init__(
        self,
        per_second: float | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        if per_second is not None and per_second <= 0:
            raise ValueError(f"a rate of {per_second} records per second: take a number above 0")
        self._per_second = per_second
        self._clock = clock
        self._sleep = sleep
        self._start = clock()

    def wait(self, number: int) -> None:
        """Returns when `number` records are due.  A loop that fell behind catches up."""
        if self._per_second is None:
            return
        ahead = self._start + number / self._per_second - self._clock()
        if ahead > 0:
            self._sleep(ahead)


def write(
    cluster: Cluster,
    records: Iterable[Record],
    per_second: float | None = None,
    at: Mapping[int, Callable[[], object]] = MappingProxyType({}),
) -> int:
    """Produces each record to its topic; returns how many were acknowledged.

    `at[n]` is called once n records are handed to the producer: something may be broken there,
    while records are in flight.  Raises Refused if the cluster refused a record.
    """
    from confluent_kafka import Producer

    refused: list[str] = []
    acknowledged = 0

    def on_delivery(error: Any, _: Any) -> None:
        nonlocal acknowledged
        if error is not None:
            refused.append(error.str())
        else:
            acknowledged += 1

    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "enable.idempotence": True,
            "linger.ms": 20,
            "log_level": 0,
        }
    )
    pace = Pace(per_second)
    for number, record in enumerate(records, 1):
        pace.wait(number)
        while True:
            try:
                producer.produce(record.topic, record.value, record.key, on_delivery=on_delivery)
                break
            except BufferError:  # the queue is full: let deliveries happen
                producer.poll(0.1)
        if number % 1000 == 0 or per_second is not None:
            producer.poll(0)
        if number in at:
            at[number]()
    producer.flush()
    if refused:
        raise Refused(f"{len(refused)} records were refused, the first with: {refused[0]}")
    return acknowledged
