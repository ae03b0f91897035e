"""What a record costs the fleet's pipeline when there are few records, and when there are many.

State that grows, a table's log that is read again and again, or a MERGE that looks at more and more
rows would all make the later records dearer.  So the same pipeline takes a small and a large fleet
to gold on the engine, each in a driver process of its own, and its cost per record must stay within
a fifth.

The cost is that of the records after the first micro-batch.  The first one pays for the queries'
start, for new tables and for what Java compiles; a fleet of that size is timed by itself, and its
time is taken off.  The small fleets are timed in each round, since one micro-batch more is
little beside a start; the large one is timed once.  The start of a session is not counted.

The cost is measured by the clock, and as the processor time that Spark's JVM used, which other
work on the machine does not change much.

It takes ten minutes, so it runs only when it is named: `kafkalab bench pipeline_scale`.
"""

from __future__ import annotations

from statistics import median
from typing import Any

from kit.clusters import engine
from labs.bench.pipeline import balanced_apart, produced

FIRST, SMALL, LARGE = 50_000, 100_000, 2_000_000
"""The first is the size of a micro-batch (labs/pipeline/driver.py)."""
WITHIN = (0.8, 1.2)


def measure(
    rounds: int = 3, first: int = FIRST, small: int = SMALL, large: int = LARGE
) -> list[dict[str, Any]]:
    """A row by the clock and one by the processor, in microseconds per record.

    RuntimeError if a run's numbers are not the truth: then its time would mean nothing.
    """
    used: dict[int, list[tuple[float, float]]] = {first: [], small: [], large: []}
    with engine.start() as cluster:
        for events in (*(first, small) * rounds, large):
            report = balanced_apart(cluster, produced(cluster, events))
            seconds = (report["seconds"], report["processor_seconds"])
            used[events].append(tuple(sum(each.values()) for each in seconds))
    rows = []
    for place, what in enumerate(("time", "processor time")):
        took = {size: median(each[place] for each in used[size]) for size in used}
        cost = {size: 1e6 * (took[size] - took[first]) / (size - first) for size in (large, small)}
        name = f"pipeline, {what}: {large:,} records beside {small:,}"
        rows.append(_row(name, cost[large], cost[small]))
    return rows


def _row(name: str, large: float, small: float) -> dict[str, Any]:
    ratio = large / small
    return {
        "name": name,
        "unit": "µs/record",
        "ours": round(large, 1),
        "theirs": round(small, 1),
        "ratio": round(ratio, 3),
        "budget": f"{WITHIN[0]} to {WITHIN[1]}",
        # Below zero the times differed by less than their noise: then nothing was measured.
        "holds": small > 0 and WITHIN[0] <= ratio <= WITHIN[1],
    }
