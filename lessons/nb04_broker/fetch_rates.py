"""Measures how often a reader asks, and how long a broker lets each fetch wait.

    with writing(cluster, every_ms=20, value_bytes=1_000):
        rate = read_on(cluster, seconds=2, max_wait_ms=500, min_bytes=1)
    rate.a_second, rate.mean_ms, rate.records

The reader is the simplest there is: one fetch at a time, from the end of the log, and the
next one as soon as the answer is there.  A Kafka consumer does the same for each broker.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kit.clusters.interface import Cluster
from kit.probes.raw_client import RawClient
from kit.probes.requests import fetching, first_partition, listing, producing, records_in

TOPIC = "orders"
LIST_OFFSETS = 7


@dataclass(frozen=True)
class Rate:
    """Fetches of one reader: how many, the records in them, and the seconds they took."""

    fetches: int
    records: int
    took_s: float

    @property
    def a_second(self) -> float:
        return self.fetches / self.took_s

    @property
    def mean_ms(self) -> float:
        """From the request to its answer, as consumers report it in fetch-latency-avg."""
        return 1000 * self.took_s / self.fetches


def read_on(cluster: Cluster, seconds: float, **terms: Any) -> Rate:
    """Fetches from the end of `orders` until `seconds` have passed.

    `terms` are those of `fetching`: `max_wait_ms` and `min_bytes`.
    """
    fetches = records = 0
    with RawClient(cluster, 101, "reader") as reader:
        offset = first_partition(reader.ask(listing(TOPIC), LIST_OFFSETS)).offset
        began = now = time.monotonic()
        while now - began < seconds:
            got = records_in(reader.ask(fetching(TOPIC, offset + records, **terms)))
            fetches, records, now = fetches + 1, records + got, time.monotonic()
    return Rate(fetches, records, now - began)


@contextmanager
def writing(cluster: Cluster, every_ms: float, value_bytes: int) -> Iterator[None]:
    """Inside the block a thread writes one record every few milliseconds."""
    end = threading.Event()

    def write() -> None:
        with RawClient(cluster, 101, "writer") as writer:
            due = time.monotonic()
            while not end.is_set():
                writer.ask(producing(TOPIC, value_bytes))
                due += every_ms / 1000
                end.wait(max(0.0, due - time.monotonic()))

    thread = threading.Thread(target=write, name="writer", daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()
