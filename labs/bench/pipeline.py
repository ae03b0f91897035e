"""The fleet's pipeline, fed by the engine and by a local Kafka in turn.

Spark does the same work on either side, so what differs is how fast a cluster hands the
topics out.  Two rates are reported: records per second from the topics into bronze, where
the cluster matters most, and from the topics to gold.  A full run of each side before the
first round warms up Spark's JVM, which would otherwise slow the side that starts.

Most of the time is Spark's, and a busy machine makes one run three times as long and not the next.
So the two runs of a round are next to each other in time, each round gives a ratio, and
the median of the ratios is what counts.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from kit import places, spark
from kit.clusters import engine, local
from kit.clusters.interface import Cluster
from labs.fleet.records import Fleet
from labs.fleet.truth import Truth
from labs.pipeline import command, driver
from labs.pipeline.balance import equations
from labs.pipeline.events import MENDED
from labs.pipeline.formats import storage_of

EVENTS = 200_000
LEAST_RATIO = 0.9

Seconds = dict[str, float]
"""By layer: bronze, silver, gold."""


def measure(rounds: int = 5, events: int = EVENTS) -> list[dict[str, Any]]:
    """A row for each of the two rates, in records per second.

    RuntimeError if a run's numbers are not the truth: then its time would mean nothing.
    """
    took: dict[str, list[Seconds]] = {"engine": [], "local": []}
    with engine.start() as ours, local.start(links=False) as theirs:
        truths = {cluster.name: produced(cluster, events) for cluster in (ours, theirs)}
        for number in range(rounds + 1):
            turn = (ours, theirs) if number % 2 == 0 else (theirs, ours)
            for cluster in turn:
                report = balanced(cluster, truths[cluster.name])
                took[cluster.name].append(report.seconds)
    pairs = list(zip(took["engine"], took["local"], strict=True))[1:]
    return [
        _row("pipeline, topics to bronze", events, pairs, lambda seconds: seconds["bronze"]),
        _row("pipeline, topics to gold", events, pairs, lambda seconds: sum(seconds.values())),
    ]


def produced(cluster: Cluster, events: int) -> Truth:
    """Writes the fleet's records; returns the truth about them."""
    return command.produce(cluster, Fleet(events=events))


def balanced(cluster: Cluster, truth: Truth) -> driver.Report:
    """Takes the topics to gold in a fresh folder; the driver's report."""
    folder = spark.temporary("fleet")
    try:
        job = driver.Job(cluster.bootstrap, folder)
        report = driver.run(storage_of(spark.session()), job, lambda line: None)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    must_balance(cluster, truth, report.tables)
    return report


def balanced_apart(cluster: Cluster, truth: Truth) -> dict[str, Any]:
    """The same in a driver process of its own; its report as JSON has it."""
    with tempfile.TemporaryDirectory(prefix="fleet-", dir=places.temporary_area()) as folder:
        file = Path(folder) / "report.json"
        command.drive(cluster, Path(folder), "--report", str(file), tell=lambda line: None)
        report: dict[str, Any] = json.loads(file.read_text())
    must_balance(cluster, truth, report["tables"])
    return report


def must_balance(cluster: Cluster, truth: Truth, tables: Any) -> None:
    """RuntimeError if a table's numbers are not the truth."""
    found = equations(tables, truth, MENDED)
    if broken := [str(each) for each in found if not each.holds]:
        raise RuntimeError(f"The pipeline on {cluster.name} is not timed: {'; '.join(broken)}")


def _row(
    name: str,
    records: int,
    pairs: list[tuple[Seconds, Seconds]],
    part: Callable[[Seconds], float],
) -> dict[str, Any]:
    ratio = median(part(theirs) / part(ours) for ours, theirs in pairs)
    return {
        "name": name,
        "unit": "records/s",
        "ours": round(records / median(part(ours) for ours, _ in pairs)),
        "theirs": round(records / median(part(theirs) for _, theirs in pairs)),
        "ratio": round(ratio, 3),
        "budget": f"≥ {LEAST_RATIO}",
        "holds": ratio >= LEAST_RATIO,
    }
