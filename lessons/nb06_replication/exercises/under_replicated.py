"""06-6: the metric UnderReplicatedPartitions, counted where Kafka counts it."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

OFFLINE = -1


def partition(leader: int, replicas: list[int], isr: list[int]) -> dict[str, Any]:
    return {"leader": leader, "replicas": replicas, "isr": isr}


METRICS: tuple[tuple, ...] = (
    ([],),
    ([partition(101, [101, 102], [101, 102])],),
    ([partition(101, [101, 102, 103], [101, 103])],),
    ([partition(101, [101, 102, 103], [101])],),
    ([partition(OFFLINE, [102, 103], [])],),
    (
        [
            partition(101, [102, 101], [101]),
            partition(101, [101, 102], [101]),
            partition(103, [103, 101], [103, 101]),
            partition(OFFLINE, [102], []),
        ],
    ),
)


def some_partitions(source: Random) -> tuple:
    return ([_some_partition(source) for _ in range(source.randrange(1, 8))],)


def _some_partition(source: Random) -> dict[str, Any]:
    replicas = source.sample([101, 102, 103, 104], k=source.randrange(2, 4))
    if source.random() < 0.2:
        return partition(OFFLINE, replicas, [])
    isr = source.sample(replicas, k=source.randrange(1, len(replicas) + 1))
    return partition(isr[0], replicas, sorted(isr))


def under_replicated(partitions: list[dict]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for each in partitions:
        if each["leader"] != OFFLINE and len(each["isr"]) < len(each["replicas"]):
            counts[each["leader"]] = counts.get(each["leader"], 0) + 1
    return counts


def explain_metric(arguments: tuple, expected: dict, seen: Any) -> str:
    (partitions,) = arguments
    if not isinstance(seen, Mapping) or not all(isinstance(broker, int) for broker in seen):
        return "Give a dictionary: the number of a broker, and its metric."
    if OFFLINE in seen:
        return "An offline partition has no leader, so no broker counts it: that is another metric."
    if zeros := [broker for broker, count in seen.items() if count == 0]:
        return f"{zeros[0]} has a zero here: leave out brokers whose metric is zero."
    missing = {b: 0 for p in partitions for b in p["replicas"]}
    for each in partitions:
        for broker in each["replicas"]:
            missing[broker] += each["leader"] != OFFLINE and broker not in each["isr"]
    if seen == {broker: count for broker, count in missing.items() if count}:
        return (
            f"Here {next(iter(seen))} counts itself, because it is out of sync. It cannot know "
            "that: the leader counts."
        )
    led = {each["leader"] for each in partitions}
    if strangers := [broker for broker in seen if broker not in led]:
        return f"{strangers[0]} leads none of these partitions: each is counted by its leader."
    wrong = min(broker for broker in {*expected, *seen} if expected.get(broker) != seen.get(broker))
    behind = expected.get(wrong, 0)
    return (
        f"{wrong} leads {behind} partition{'' if behind == 1 else 's'} with an ISR that is smaller "
        f"than the replica list. You have {seen.get(wrong, 0)}: count partitions, not replicas."
    )


EXERCISE = Exercise(
    "06-6",
    "Under-replicated partitions",
    (
        "Which broker counts: the one that is missing, or the one that misses it?",
        "A partition is under-replicated when its ISR is smaller than its replica list. An "
        "offline partition has no leader to count it.",
        "Begin with no counts. Go through the partitions; if one has a leader and an ISR that is "
        "smaller than its replica list, add one to the count of that leader.",
    ),
    lambda answer, context: compare_results(
        context.inputs, answer, under_replicated, explain_metric
    ),
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
        "replicas instead of partitions": "def under_replicated(partitions):\n"
        "    counts = {}\n    for p in partitions:\n"
        "        missing = len(p['replicas']) - len(p['isr'])\n"
        "        if missing and p['leader'] != -1:\n"
        "            counts[p['leader']] = counts.get(p['leader'], 0) + missing\n"
        "    return counts",
        "at the preferred leader": "def under_replicated(partitions):\n"
        "    counts = {}\n    for p in partitions:\n"
        "        if p['leader'] != -1 and len(p['isr']) < len(p['replicas']):\n"
        "            first = p['replicas'][0]\n"
        "            counts[first] = counts.get(first, 0) + 1\n    return counts",
    },
    cases(METRICS, some_partitions),
    minutes=7,
)
