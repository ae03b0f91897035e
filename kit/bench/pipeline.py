"""The first lab's pipeline, fed by the engine and by a local Kafka in turn.

Spark does the same work on either side, so what differs is how fast a cluster hands the
topic out.  Two rates are reported: records per second from the topic into bronze, where
the cluster matters most, and from the topic to gold.  A full run of each side before the
first round warms up Spark's JVM, which would otherwise slow the side that starts.

Most of the time is Spark's, and a busy machine makes one run three times as long and not the next.
So the two runs of a round stand next to each other in time, each round gives a ratio, and
the median of the ratios is what counts.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from statistics import median
from typing import Any

from kit.clusters import engine, local
from kit.clusters.interface import Cluster

LAB = "labs.L1_telemetry_pipeline.pipeline"
"""Loaded by its name, as the judge loads exercises: the kit imports no lab."""
EVENTS = 200_000
LEAST_RATIO = 0.9


def measure(rounds: int = 5, events: int = EVENTS) -> list[dict[str, Any]]:
    """A row for each of the two rates, in records per second.

    RuntimeError if a run's counts do not balance: then its time would mean nothing.
    """
    reports: dict[str, list[Any]] = {"engine": [], "local": []}
    with engine.start() as ours, local.start() as theirs:
        for cluster in (ours, theirs):
            _balanced(cluster, events)
        for number in range(rounds):
            turn = (ours, theirs) if number % 2 == 0 else (theirs, ours)
            for cluster in turn:
                reports[cluster.name].append(_balanced(cluster, events))
    pairs = list(zip(reports["engine"], reports["local"], strict=True))
    return [
        _row("pipeline, topic to bronze", pairs, lambda report: report.read_per_second),
        _row("pipeline, topic to gold", pairs, lambda report: report.per_second),
    ]


def _balanced(cluster: Cluster, events: int) -> Any:
    report = import_module(LAB).run(cluster, events=events)
    if not report.balances:
        raise RuntimeError(f"The pipeline does not balance, so it is not timed:\n{report.table()}")
    return report


def _row(
    name: str,
    pairs: list[tuple[Any, Any]],
    rate: Callable[[Any], float],
) -> dict[str, Any]:
    ratio = median(rate(ours) / rate(theirs) for ours, theirs in pairs)
    return {
        "name": name,
        "unit": "records/s",
        "ours": round(median(rate(ours) for ours, _ in pairs)),
        "theirs": round(median(rate(theirs) for _, theirs in pairs)),
        "ratio": round(ratio, 3),
        "budget": f"≥ {LEAST_RATIO}",
        "holds": ratio >= LEAST_RATIO,
    }
