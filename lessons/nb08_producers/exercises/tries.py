"""08-6: how many attempts fit into delivery.timeout.ms when the broker never answers."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

TIMES = (
    (1_000, 1_000, 100, 1_000),
    (1_100, 1_000, 100, 1_000),
    (2_000, 1_000, 100, 1_000),
    (2_000, 1_000, 500, 5_000),
    (2_500, 1_000, 100, 1_000),
    (20_000, 1_000, 100, 1_000),
    (120_000, 30_000, 100, 1_000),
    (10_000, 500, 2_000, 1_000),
)


def times(source: Random) -> tuple:
    """Some attempts, and an end between two of them or at the very moment of the next."""
    request_ms = source.randrange(1, 60) * 500
    backoff_ms = source.randrange(1, 20) * 50
    most_ms = source.randrange(1, 40) * 100
    attempts = source.randrange(1, 15)
    delivery_ms = sum(request_ms + _backoff(n, backoff_ms, most_ms) for n in range(1, attempts + 1))
    return delivery_ms + source.choice([0, 0, 1, -50]), request_ms, backoff_ms, most_ms


def tries(delivery_ms: int, request_ms: int, backoff_ms: int, backoff_max_ms: int) -> int:
    return _begun(delivery_ms, request_ms, lambda n: _backoff(n, backoff_ms, backoff_max_ms))


def _backoff(n: int, backoff_ms: int, most_ms: int) -> int:
    return min(backoff_ms * 2 ** (n - 1), most_ms)


def _begun(delivery_ms: int, request_ms: int, backoff: Callable[[int], int]) -> int:
    """The attempts that begin if `backoff(n)` follows the n-th."""
    now, count = 0, 0
    while now < delivery_ms:
        count += 1
        now += request_ms + backoff(count)
    return count


def explain(arguments: tuple, expected: int, seen: Any) -> str:
    delivery_ms, request_ms, backoff_ms, most_ms = arguments
    if not isinstance(seen, int):
        return "Give one number: how many attempts begin."
    if seen == delivery_ms // request_ms and seen > expected:
        return f"{seen} attempts fit only without a pause: after each one the batch waits."
    if seen == delivery_ms // request_ms and seen < expected:
        return (
            f"Attempt {expected} need not end in time: it only has to begin before {delivery_ms}."
        )
    if seen == 2147483647:
        return "retries is 2147483647, and does not end this: the clock does."
    if seen == _begun(delivery_ms + 1, request_ms, lambda n: _backoff(n, backoff_ms, most_ms)):
        return f"At {delivery_ms} ms the time is over: attempt {seen} would begin at that moment."
    if seen == _begun(delivery_ms, request_ms, lambda n: backoff_ms):
        return (
            f"You get {seen} if each pause is {backoff_ms} ms. The pauses double, up to {most_ms} "
            "ms (retry.backoff.max.ms, KIP-580, since 3.7)."
        )
    if seen == _begun(delivery_ms, request_ms, lambda n: backoff_ms * 2 ** (n - 1)):
        return f"You get {seen} if the pauses double without end; the longest is {most_ms} ms."
    if seen == _begun(delivery_ms, request_ms, lambda n: min(backoff_ms * 2**n, most_ms)):
        return f"You get {seen} if the first pause is doubled; it is {backoff_ms} ms itself."
    return f"The clock says {expected}: write down when each attempt begins, from 0 on."


def _loop(below: str, backoff: str) -> str:
    return (
        "def tries(delivery_ms, request_ms, backoff_ms, backoff_max_ms):\n"
        "    now = count = 0\n"
        f"    while now {below} delivery_ms:\n"
        "        count += 1\n"
        f"        now += request_ms + {backoff}\n"
        "    return count"
    )


EXERCISE = Exercise(
    "08-6",
    "How many attempts",
    (
        "Think of a clock that starts at 0: an attempt, then a pause, then the next attempt.",
        "An attempt without an answer takes the whole request timeout. Each pause is twice the one "
        "before, until the longest is reached. When does the last attempt have to begin?",
        "Keep a clock and a counter, both from zero. As long as the clock shows less than the "
        "delivery timeout, count one attempt and move the clock on by the request timeout and the "
        "pause after this attempt. The pause begins with the backoff and doubles each time, up to "
        "the longest.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, tries, explain),
    {
        "retries says": "def tries(delivery_ms, request_ms, backoff_ms, backoff_max_ms):\n"
        "    return 2147483647",
        "no pause": "def tries(delivery_ms, request_ms, backoff_ms, backoff_max_ms):\n"
        "    return delivery_ms // request_ms",
        "the same pause each time": _loop("<", "backoff_ms"),
        "one more at the very end": _loop(
            "<=", "min(backoff_ms * 2 ** (count - 1), backoff_max_ms)"
        ),
        "the first pause is doubled": _loop("<", "min(backoff_ms * 2 ** count, backoff_max_ms)"),
        "no longest pause": _loop("<", "backoff_ms * 2 ** (count - 1)"),
    },
    cases(TIMES, times, count=40),
    minutes=8,
)
