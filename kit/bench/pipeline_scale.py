"""What a record costs the fleet's pipeline when there are few records, and when there are many.

State that grows, a table's log that is read again and again, or a MERGE that looks at more and more
rows would all make the later records dearer.  So the same pipeline takes a small and a large fleet
to gold in one session of Spark, on the engine, and its cost per record must stay within a fifth.

The cost is measured by the clock, and as the processor time that Spark's JVM used, which other
work on the machine does not change much.  A run of the small fleet comes first and is not counted:
it pays for the start of the session and for what Java compiles.

It takes minutes, so it runs only when it is named: `kafkalab bench pipeline_scale`.
"""

from __future__ import annotations

from statistics import median
from typing import Any

from kit.bench.pipeline import balanced, produced
from kit.clusters import engine

SMALL, LARGE = 100_000, 2_000_000
WITHIN = (0.8, 1.2)


def measure(rounds: int = 1, small: int = SMALL, large: int = LARGE) -> list[dict[str, Any]]:
    """A row by the clock and one by the processor, in microseconds per record.

    RuntimeError if a run's numbers are not the truth: then its time would mean nothing.
    """
    costs: dict[int, list[tuple[float, float]]] = {small: [], large: []}
    with engine.start() as cluster:
        balanced(cluster, produced(cluster, small))
        for _ in range(rounds):
            for events in (small, large):
                report = balanced(cluster, produced(cluster, events))
                used = (report.seconds, report.processor_seconds)
                costs[events].append(tuple(1e6 * sum(each.values()) / events for each in used))
    sizes = f"{large:,} records beside {small:,}"
    return [
        _row(f"pipeline, {what}: {sizes}", *(median(cost[place] for cost in costs[size])
                                             for size in (large, small)))
        for place, what in enumerate(("time", "processor time"))
    ]  # fmt: skip


def _row(name: str, large: float, small: float) -> dict[str, Any]:
    ratio = large / small
    return {
        "name": name,
        "unit": "µs/record",
        "ours": round(large, 1),
        "theirs": round(small, 1),
        "ratio": round(ratio, 3),
        "budget": f"{WITHIN[0]} to {WITHIN[1]}",
        "holds": WITHIN[0] <= ratio <= WITHIN[1],
    }
