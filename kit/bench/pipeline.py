"""The first lab's pipeline, fed by the engine and by a local Kafka in turn.

Spark does the same work on either side, so what differs is how fast a cluster hands the
topic out.  Two rates are told: records per second from the topic into bronze, where the
cluster matters most, and from the topic to gold.  Each side keeps its best round; a full run
of each before the first warms Spark's JVM up, which would otherwise slow whoever comes first.
"""

from __future__ import annotations

from typing import Any

from kit import pipeline
from kit.clusters import engine, local
from kit.clusters.interface import Cluster

EVENTS = 200_000
LEAST_RATIO = 0.9


def measure(rounds: int = 3, events: int = EVENTS) -> list[dict[str, Any]]:
    """A row for each of the two rates, in records per second.

    RuntimeError if a run's counts do not balance: then its time would mean nothing.
    """
    reports: dict[str, list[pipeline.Report]] = {"engine": [], "local": []}
    with engine.start() as ours, local.start() as theirs:
        for cluster in (ours, theirs):
            _balanced(cluster, events)
        for number in range(rounds):
            turn = (ours, theirs) if number % 2 == 0 else (theirs, ours)
            for cluster in turn:
                reports[cluster.name].append(_balanced(cluster, events))
    best = {name: max(r.read_per_second for r in found) for name, found in reports.items()}
    whole = {name: max(r.per_second for r in found) for name, found in reports.items()}
    return [
        _row("pipeline, topic to bronze", best["engine"], best["local"]),
        _row("pipeline, topic to gold", whole["engine"], whole["local"]),
    ]


def _balanced(cluster: Cluster, events: int) -> pipeline.Report:
    report = pipeline.run(cluster, events=events)
    if not report.balances:
        raise RuntimeError(f"The pipeline does not balance, so it is not timed:\n{report.table()}")
    return report


def _row(name: str, ours: float, theirs: float) -> dict[str, Any]:
    ratio = ours / theirs
    return {
        "name": name,
        "unit": "records/s",
        "ours": round(ours),
        "theirs": round(theirs),
        "ratio": round(ratio, 3),
        "budget": f"≥ {LEAST_RATIO}",
        "holds": ratio >= LEAST_RATIO,
    }
