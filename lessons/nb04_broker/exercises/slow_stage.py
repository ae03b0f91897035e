"""04-6: two readings of a broker's timers; which stage is the slow one between them?"""

from __future__ import annotations

from typing import Any

from kit.exercises.exercise import Exercise, compare_results

Reading = dict[str, Any]


def reading(count: int, queue: float, local: float, remote: float, send: float) -> Reading:
    sums = {"RequestQueueTimeMs": queue, "LocalTimeMs": local, "RemoteTimeMs": remote,
            "ResponseSendTimeMs": send}  # fmt: skip
    return {"count": count, "sums_ms": sums}


NOTHING = reading(0, 0, 0, 0, 0)
SITUATIONS = (
    (NOTHING, reading(10, 5, 8, 60, 3)),
    (reading(1_000, 10, 90_000, 500, 50), reading(1_010, 400, 90_020, 520, 55)),
    (reading(1_000, 10, 900, 50_000, 50), reading(1_100, 20, 1_700, 50_100, 60)),
    (reading(7, 1, 2, 3, 900), reading(9, 1, 3, 23, 903)),
    (reading(50, 5, 5, 5, 5), reading(50, 5, 5, 5, 5)),
)


def slow_stage(before: Reading, after: Reading) -> list[Any] | None:
    count = after["count"] - before["count"]
    if not count:
        return None
    spent = {name: total - before["sums_ms"][name] for name, total in after["sums_ms"].items()}
    name = max(spent, key=lambda each: spent[each])
    return [name, round(spent[name] / count, 3)]


def explain(arguments: tuple, expected: Any, seen: Any) -> str:
    after = arguments[1]
    if expected is None:
        return "No request came between the readings: there is no mean. Return None."
    whole = max(after["sums_ms"], key=lambda name: after["sums_ms"][name])
    if isinstance(seen, list) and seen and seen[0] == whole != expected[0]:
        return "That stage was slowest since the broker started, not between the two readings."
    if isinstance(seen, list) and seen and seen[0] == expected[0]:
        return "The right stage; the mean is its time divided by the requests in between."
    return "Subtract the two readings, sums and counts, before you compare."


EXERCISE = Exercise(
    "04-6",
    "Which stage is the slow one?",
    (
        "The timers count since the broker started. What tells you about the last minute?",
        "Subtract the sums and the counts; the largest difference is the slow stage.",
        "[name, round(spent[name] / count, 3)] with spent = after - before; None if count is 0.",
    ),
    lambda answer, context: compare_results(SITUATIONS, answer, slow_stage, explain),
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
    },
    SITUATIONS,
)
