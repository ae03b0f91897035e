"""04-4: how long a client over its byte rate is muted."""

from __future__ import annotations

from typing import Any

from kit.exercises.exercise import Exercise, compare_results

# Bytes in the windows, the seconds they are counted over, the limit in bytes a second.
SITUATIONS = (
    (100_000, 10.0, 10_000),
    (50_000, 10.0, 10_000),
    (110_000, 10.0, 10_000),
    (300_000, 10.0, 10_000),
    (1_155_000, 10.5, 100_000),
    (220_000, 11.0, 10_000),
)


def throttle_time_ms(in_windows: int, over_s: float, limit: int) -> int:
    rate = in_windows / over_s
    if rate <= limit:
        return 0
    return round((rate - limit) / limit * over_s * 1000)


def explain(arguments: tuple, expected: int, seen: Any) -> str:
    in_windows, over_s, limit = arguments
    if isinstance(seen, int | float) and seen < 0:
        return "Below the limit nobody waits: the time is never negative."
    if seen == round((in_windows - limit) / limit * 1000):
        return "You counted all bytes above one second's worth as too many; the limit is a rate."
    if expected and seen == round((in_windows / over_s - limit) / limit * 1000):
        return "That brings one second back to the limit; the rate is over all the windows."
    if seen == expected / 1000:
        return "In milliseconds, please."
    return "Wait until in_windows bytes over (over_s + wait) seconds are the limit again."


EXERCISE = Exercise(
    "04-4",
    "For how long is the client muted?",
    (
        "If nothing more came, the same bytes would be spread over a longer time. How much longer?",
        "in_windows / (over_s + wait) = limit. Solve for wait; below the limit it is 0.",
        "round((rate - limit) / limit * over_s * 1000) with rate = in_windows / over_s.",
    ),
    lambda answer, context: compare_results(SITUATIONS, answer, throttle_time_ms, explain),
    {
        "one second only": "def throttle_time_ms(in_windows, over_s, limit):\n"
        "    rate = in_windows / over_s\n"
        "    return max(0, round((rate - limit) / limit * 1000))",
        "all bytes but one second's": "def throttle_time_ms(in_windows, over_s, limit):\n"
        "    return max(0, round((in_windows - limit) / limit * 1000))",
        "negative below the limit": "def throttle_time_ms(in_windows, over_s, limit):\n"
        "    rate = in_windows / over_s\n"
        "    return round((rate - limit) / limit * over_s * 1000)",
    },
    SITUATIONS,
)
