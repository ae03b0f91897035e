"""Measures confluent-kafka's producer: its rate flat out, and how long a lone record waits.

`surface` draws what was measured on each side over linger.ms and batch.size.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from confluent_kafka import KafkaException, Producer

from kit.both.outcomes import measured
from kit.clusters.interface import Cluster, ClusterError
from kit.drawings.surface import Surface
from kit.probes.clients import name

Grid = Mapping[tuple[int, int], float]
Grids = tuple[Grid, Grid]
PATIENCE_S = 30.0
LONE = 5
"""Lone records that are timed; the least wait counts, for other work can only add to it."""


def producer(cluster: Cluster, settings: Mapping[str, Any]) -> Producer:
    quiet = {"bootstrap.servers": cluster.bootstrap, "log_level": 0}
    return Producer({**quiet, **settings})


@dataclass(frozen=True)
class Report:
    """What the callback of one record received: NONE or an error's name, partition, offset."""

    error: str
    partition: int
    offset: int


def reports(made: Producer, topic: str, records: Sequence[Mapping[str, Any]]) -> list[Report]:
    """Sends records with these keys and partitions, and gives their reports in that order."""
    found: dict[int, Report] = {}

    def note(number: int) -> Callable[[Any, Any], None]:
        def report(error: Any, message: Any) -> None:
            offset = message.offset() if error is None else -1
            found[number] = Report(name(error), message.partition(), offset)

        return report

    for number, record in enumerate(records):
        try:
            made.produce(topic, f"{number}", on_delivery=note(number), **record)
        except KafkaException as refusal:
            found[number] = Report(name(refusal.args[0]), -1, -1)
    made.flush(PATIENCE_S)
    return [found[number] for number in range(len(records))]


def flat_out(made: Producer, topic: str, values: Sequence[str]) -> float:
    """Records a second: all are handed over as fast as it goes, until nine of ten are answered.

    The last batch is not full, and waits for linger.ms or for flush.
    """
    answered: list[float] = []
    began = time.monotonic()
    for value in values:
        made.produce(
            topic, value, partition=0, on_delivery=lambda *_: answered.append(time.monotonic())
        )
        made.poll(0)
    made.flush(PATIENCE_S)
    enough = len(values) * 9 // 10
    return enough / (answered[enough - 1] - began)


def costs(made: Producer, topic: str, values: Sequence[str]) -> dict[str, Any]:
    """The same flat out: CPU time of this process, and how long the slowest of 100 records wait."""
    sent: list[float] = []
    waits: list[float] = []

    def keep(number: int, error: Any, _: Any) -> None:
        if error is None:
            waits.append(time.monotonic() - sent[number])

    cpu_s = time.process_time()
    for number, value in enumerate(values):
        sent.append(time.monotonic())
        made.produce(topic, value, partition=0, on_delivery=partial(keep, number))
        made.poll(0)
    made.flush(PATIENCE_S)
    if len(waits) < len(values):
        raise ClusterError(f"{len(values) - len(waits)} records were not acknowledged.")
    cpu_ms = 1_000 * (time.process_time() - cpu_s)
    p99_ms = 1_000 * sorted(waits)[len(waits) * 99 // 100]
    return {
        "CPU for 1,000 records": measured(cpu_ms * 1_000 / len(values), "ms"),
        "99 of 100 acknowledged within": measured(p99_ms, "ms"),
    }


def lone_record_ms(made: Producer, topic: str, value: str) -> float:
    """Least milliseconds from send to the answer, for a record that no other one follows."""
    waits = []
    for _ in range(LONE):
        began = time.monotonic()
        made.produce(topic, value, partition=0)
        while len(made) and time.monotonic() - began < PATIENCE_S:
            made.poll(0.2)
        waits.append((time.monotonic() - began) * 1000)
    return min(waits)


def surface(grids: Mapping[str, Grids], lingers: Sequence[int], sizes: Sequence[int]) -> Surface:
    """`grids` has for each cluster the rates and the waits by (batch.size, linger.ms)."""
    units = ("records/s, flat out", "ms until a lone record's answer")
    drawn = {
        unit: {
            "engine" if side == "engine" else "Kafka": [
                [grids[side][which][size, linger] for linger in lingers] for size in sizes
            ]
            for side in sorted(grids, key=lambda side: side != "engine")
        }
        for which, unit in enumerate(units)
    }
    return Surface(("linger.ms", list(lingers)), ("batch.size", list(sizes)), drawn)
