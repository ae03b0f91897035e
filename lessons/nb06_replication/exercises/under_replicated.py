"""06-6: the metric UnderReplicatedPartitions, counted where Kafka counts it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kit.exercises.exercise import Exercise, compare_results


def partition(leader: int, replicas: list[int], isr: list[int]) -> dict[str, Any]:
    return {"leader": leader, "replicas": replicas, "isr": isr}


METRICS: tuple[tuple, ...] = (
    ([],),
    ([partition(101, [101, 102], [101, 102])],),
    ([partition(101, [101, 102, 103], [101, 103])],),
    ([partition(-1, [102, 103], [])],),
    (
        [
            partition(101, [102, 101], [101]),
            partition(101, [101, 102], [101]),
            partition(103, [103, 101], [103, 101]),
            partition(-1, [102], []),
        ],
    ),
)


def under_replicated(partitions: list[dict]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for each in partitions:
        if each["leader"] != -1 and len(each["isr"]) < len(each["replicas"]):
            counts[each["leader"]] = counts.get(each["leader"], 0) + 1
    return counts


def explain_metric(arguments: tuple, expected: dict, seen: Any) -> str:
    if not isinstance(seen, Mapping):
        return ""
    if -1 in seen:
        return "Nobody leads an offline partition, so nobody counts it: that is another metric."
    if any(count == 0 for count in seen.values()):
        return "Leave out the brokers whose metric is zero."
    (partitions,) = arguments
    absent = {b for p in partitions for b in p["replicas"] if b not in p["isr"]}
    if absent & set(seen):
        return "A replica that is out of sync does not count itself: its leader does."
    return ""


EXERCISE = Exercise(
    "06-6",
    "Under-replicated partitions",
    (
        "Who counts: the broker that is missing, or the one that misses it?",
        "A partition is under-replicated when its ISR is smaller than its replica list.",
        "Count those with leader != -1 and len(isr) < len(replicas), by leader.",
    ),
    lambda answer, context: compare_results(METRICS, answer, under_replicated, explain_metric),
    {
        "counted at the missing broker": "def under_replicated(partitions):\n"
        "    counts = {}\n    for p in partitions:\n        for b in p['replicas']:\n"
        "            if b not in p['isr'] and p['leader'] != -1:\n"
        "                counts[b] = counts.get(b, 0) + 1\n    return counts",
        "offline ones, too": "def under_replicated(partitions):\n"
        "    counts = {}\n    for p in partitions:\n"
        "        if len(p['isr']) < len(p['replicas']):\n"
        "            counts[p['leader']] = counts.get(p['leader'], 0) + 1\n    return counts",
        "zeros kept": "def under_replicated(partitions):\n"
        "    counts = {p['leader']: 0 for p in partitions if p['leader'] != -1}\n"
        "    for p in partitions:\n"
        "        if p['leader'] != -1 and len(p['isr']) < len(p['replicas']):\n"
        "            counts[p['leader']] += 1\n    return counts",
    },
    METRICS,
)
