"""04-6: two readings of a broker's timers; which stage is the slow one between them?"""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

Reading = dict[str, Any]
STAGES = ("RequestQueueTimeMs", "LocalTimeMs", "RemoteTimeMs", "ResponseSendTimeMs")


def reading(count: int, queue: float, local: float, remote: float, send: float) -> Reading:
    return {"count": count, "sums_ms": dict(zip(STAGES, (queue, local, remote, send), strict=True))}


NOTHING = reading(0, 0, 0, 0, 0)
SITUATIONS = (
    (NOTHING, reading(10, 5, 8, 60, 3)),
    (reading(1_000, 10, 90_000, 500, 50), reading(1_010, 400, 90_020, 520, 55)),
    (reading(1_000, 10, 900, 50_000, 50), reading(1_100, 20, 1_700, 50_100, 60)),
    (reading(7, 1, 2, 3, 900), reading(9, 1, 3, 23, 903)),
    (reading(50, 5, 5, 5, 5), reading(50, 5, 5, 5, 5)),
)


def readings(source: Random) -> tuple:
    """Of requests that came in between, if any; the mean has three places at most."""
    count = source.randrange(1, 5_000)
    sums = [source.randrange(1, 100_000) for _ in STAGES]
    more = source.choice([0] * 4 + [1, 2, 4, 5, 8, 10, 20, 25, 40, 50, 100, 125])
    spent = source.sample(range(1, 3_000), k=len(STAGES)) if more else [0] * len(STAGES)
    after = [total + each for total, each in zip(sums, spent, strict=True)]
    return reading(count, *sums), reading(count + more, *after)


def slow_stage(before: Reading, after: Reading) -> list[Any] | None:
    count = after["count"] - before["count"]
    if not count:
        return None
    spent = {name: total - before["sums_ms"][name] for name, total in after["sums_ms"].items()}
    name = max(spent, key=lambda each: spent[each])
    return [name, round(spent[name] / count, 3)]


def explain(arguments: tuple, expected: Any, seen: Any) -> str:
    before, after = arguments
    if expected is None:
        return "No request came between the readings: there is no mean. Return None."
    if not isinstance(seen, list) or len(seen) != 2 or seen[0] not in STAGES:
        return "Give a list of two: the name of a stage, and its mean in ms."
    name, count = seen[0], after["count"] - before["count"]
    spent = after["sums_ms"][name] - before["sums_ms"][name]
    if name != expected[0]:
        whole = max(after["sums_ms"], key=lambda stage: after["sums_ms"][stage])
        since = f"{name} has the largest sum since the broker started. " * (name == whole)
        return f"{since}Between the readings {name} took {spent:g} ms, and {expected[0]} took more."
    if seen[1] == spent:
        return f"{spent:g} ms is the time of all {count} requests; the mean of one was asked for."
    if seen[1] in (spent / after["count"], round(spent / after["count"], 3)):
        return (
            f"{name} is right. But its {spent:g} ms belong to the {count} requests in between, "
            f"not to all {after['count']}."
        )
    return f"{name} is right; its mean is {spent:g} ms over {count} requests, to three places."


EXERCISE = Exercise(
    "04-6",
    "Which stage is the slow one?",
    (
        "The timers count since the broker started. What tells you about the last minute?",
        "The sums grew between the readings, and so did the count. The stage whose sum grew most "
        "is the slow one.",
        "Subtract the first count from the second; without a request in between there is no "
        "answer. Subtract the sums stage by stage, take the stage with the largest difference, "
        "divide that by the difference of the counts, and round to three places.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, slow_stage, explain),
    {
        "since the start": "def slow_stage(before, after):\n"
        "    if not after['count'] - before['count']:\n        return None\n"
        "    name = max(after['sums_ms'], key=after['sums_ms'].get)\n"
        "    return [name, round(after['sums_ms'][name] / after['count'], 3)]",
        "the mean since the start": "def slow_stage(before, after):\n"
        "    if not after['count'] - before['count']:\n        return None\n"
        "    spent = {n: t - before['sums_ms'][n] for n, t in after['sums_ms'].items()}\n"
        "    name = max(spent, key=spent.get)\n"
        "    return [name, round(spent[name] / after['count'], 3)]",
        "no requests": "def slow_stage(before, after):\n"
        "    spent = {n: t - before['sums_ms'][n] for n, t in after['sums_ms'].items()}\n"
        "    name = max(spent, key=spent.get)\n"
        "    return [name, round(spent[name] / max(1, after['count'] - before['count']), 3)]",
        "the sum": "def slow_stage(before, after):\n"
        "    if not after['count'] - before['count']:\n        return None\n"
        "    spent = {n: t - before['sums_ms'][n] for n, t in after['sums_ms'].items()}\n"
        "    name = max(spent, key=spent.get)\n"
        "    return [name, spent[name]]",
    },
    cases(SITUATIONS, readings),
    minutes=8,
)
