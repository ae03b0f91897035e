"""08-6: how many attempts fit into delivery.timeout.ms when the broker never answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kit.exercises.exercise import Exercise, compare_results

CASES = (
    (1_000, 1_000, 100, 1_000),
    (1_100, 1_000, 100, 1_000),
    (2_000, 1_000, 100, 1_000),
    (2_000, 1_000, 500, 5_000),
    (2_500, 1_000, 100, 1_000),
    (20_000, 1_000, 100, 1_000),
    (120_000, 30_000, 100, 1_000),
    (10_000, 500, 2_000, 1_000),
)


def tries(delivery_ms: int, request_ms: int, backoff_ms: int, backoff_max_ms: int) -> int:
    return _begun(delivery_ms, request_ms, lambda n: min(backoff_ms * 2 ** (n - 1), backoff_max_ms))


def _begun(delivery_ms: int, request_ms: int, rest: Callable[[int], int]) -> int:
    """The attempts that begin if `rest(n)` follows the n-th."""
    now, count = 0, 0
    while now < delivery_ms:
        count += 1
        now += request_ms + rest(count)
    return count


def explain(arguments: tuple, expected: int, seen: Any) -> str:
    delivery_ms, request_ms, backoff_ms, most_ms = arguments
    if seen == delivery_ms // request_ms and seen > expected:
        return "Between two tries the batch rests: the backoff counts too."
    if seen == delivery_ms // request_ms and seen < expected:
        return "The last try need not be over in time: it only has to begin."
    if isinstance(seen, int) and seen > 1_000:
        return "retries is 2147483647, and does not end this: the clock does."
    if seen == _begun(
        delivery_ms + 1, request_ms, lambda n: min(backoff_ms * 2 ** (n - 1), most_ms)
    ):
        return "Less than delivery_ms: when it is over, no try begins, not even at that moment."
    if seen == _begun(delivery_ms, request_ms, lambda n: backoff_ms):
        return "The rests double, up to retry.backoff.max.ms (KIP-580, since 3.7)."
    if seen == _begun(delivery_ms, request_ms, lambda n: backoff_ms * 2 ** (n - 1)):
        return "The rests do not double for ever: backoff_max_ms is the longest."
    if seen == _begun(delivery_ms, request_ms, lambda n: min(backoff_ms * 2**n, most_ms)):
        return "The first rest is backoff_ms itself; only the second is twice that."
    return ""


def _loop(below: str, rest: str) -> str:
    return (
        "def tries(delivery_ms, request_ms, backoff_ms, backoff_max_ms):\n"
        "    now = count = 0\n"
        f"    while now {below} delivery_ms:\n"
        "        count += 1\n"
        f"        now += request_ms + {rest}\n"
        "    return count"
    )


EXERCISE = Exercise(
    "08-6",
    "How many tries",
    (
        "Write it as a loop over a clock that starts at 0: a try, then a rest, then again.",
        "A try without an answer takes request.timeout.ms. The n-th rest is backoff_ms * 2 ** "
        "(n - 1), at most backoff_max_ms. Jitter is left out here.",
        "now = count = 0; while now < delivery_ms: count += 1; now += request_ms + "
        "min(backoff_ms * 2 ** (count - 1), backoff_max_ms); return count",
    ),
    lambda answer, context: compare_results(CASES, answer, tries, explain),
    {
        "retries says": "def tries(delivery_ms, request_ms, backoff_ms, backoff_max_ms):\n"
        "    return 2147483647",
        "no rest": "def tries(delivery_ms, request_ms, backoff_ms, backoff_max_ms):\n"
        "    return delivery_ms // request_ms",
        "the same rest each time": _loop("<", "backoff_ms"),
        "one more at the very end": _loop(
            "<=", "min(backoff_ms * 2 ** (count - 1), backoff_max_ms)"
        ),
        "the first rest is doubled": _loop("<", "min(backoff_ms * 2 ** count, backoff_max_ms)"),
        "no longest rest": _loop("<", "backoff_ms * 2 ** (count - 1)"),
    },
    CASES,
)
