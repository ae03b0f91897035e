"""04-4: how long a client over its byte rate is muted."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

# Bytes in the windows, the seconds they are counted over, the limit in bytes a second.
SITUATIONS = (
    (100_000, 10.0, 10_000),
    (50_000, 10.0, 10_000),
    (110_000, 10.0, 10_000),
    (300_000, 10.0, 10_000),
    (1_155_000, 10.5, 100_000),
    (220_000, 11.0, 10_000),
)


def situation(source: Random) -> tuple:
    """Whole milliseconds come out, so that the order of a calculation cannot change the result."""
    limit = source.randrange(1, 200) * 1_000
    over_ms = source.choice([10_000, 10_250, 10_500, 10_750, 11_000])
    wait_ms = source.choice([-1, 1, 1]) * source.randrange(1, 9_000)
    return limit // 1_000 * (over_ms + wait_ms), over_ms / 1_000, limit


def throttle_time_ms(in_windows: int, over_s: float, limit: int) -> int:
    rate = in_windows / over_s
    if rate <= limit:
        return 0
    return round((rate - limit) / limit * over_s * 1000)


def explain(arguments: tuple, expected: int, seen: Any) -> str:
    in_windows, over_s, limit = arguments
    if not isinstance(seen, int | float):
        return "Give one number, in milliseconds."
    counted = f"{in_windows:,} bytes over {over_s:g} s are {in_windows / over_s:,.0f} a second"
    if expected == 0:
        return f"{counted}, not more than {limit:,}: no client waits, and the time is 0."
    if seen == round((in_windows - limit) / limit * 1000):
        return (
            f"{seen} ms is what one second's worth of {limit:,} bytes leaves over; but the bytes "
            f"were counted over {over_s:g} s."
        )
    if seen == round((in_windows / over_s - limit) / limit * 1000):
        return (
            f"{seen} ms bring one second back to the limit; the rate is over {over_s:g} s, and all "
            "of them must come back."
        )
    if seen in (expected / 1000, round(expected / 1000)):
        return f"{seen} is in seconds; the broker answers milliseconds."
    if seen < 0:
        return f"{counted}, more than {limit:,}: the client waits, and no wait is negative."
    after = in_windows / (over_s + seen / 1000)
    return f"{counted}. With a pause of {seen} ms it is {after:,.0f}, and the limit is {limit:,}."


EXERCISE = Exercise(
    "04-4",
    "For how long is the client muted?",
    (
        "If nothing more came, the same bytes would be spread over a longer time. How much longer?",
        "After the pause, the same bytes over the old time and the pause together are exactly the "
        "limit. Solve that for the pause; a client below its limit has none.",
        "Work out the rate over the windows. If it is above the limit, take the part of the limit "
        "by which it is too high, and pause for that part of the time over which the bytes were "
        "counted. Turn seconds into milliseconds, then round.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, throttle_time_ms, explain),
    {
        "one second only": "def throttle_time_ms(in_windows, over_s, limit):\n"
        "    rate = in_windows / over_s\n"
        "    return max(0, round((rate - limit) / limit * 1000))",
        "all bytes but one second's": "def throttle_time_ms(in_windows, over_s, limit):\n"
        "    return max(0, round((in_windows - limit) / limit * 1000))",
        "negative below the limit": "def throttle_time_ms(in_windows, over_s, limit):\n"
        "    rate = in_windows / over_s\n"
        "    return round((rate - limit) / limit * over_s * 1000)",
        "in seconds": "def throttle_time_ms(in_windows, over_s, limit):\n"
        "    rate = in_windows / over_s\n"
        "    return max(0, round((rate - limit) / limit * over_s))",
    },
    cases(SITUATIONS, situation),
    minutes=8,
)
