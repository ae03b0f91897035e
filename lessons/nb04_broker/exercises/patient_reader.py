"""04-7: settings for a reader that asks rarely and still gets its records in time."""

from __future__ import annotations

from typing import Any

from kit.exercises.exercise import Exercise, Verdict, right, wrong

FETCHES_MAX, DELAY_MAX_MS = 3.0, 600.0
RECORD_BYTES = 4_000
NAMES = ("fetch.min.bytes", "fetch.max.wait.ms")


def judge(answer: Any, context: Any) -> Verdict:
    """Runs the reader in the simulator with the learner's settings."""
    from lessons.nb04_broker.broker_runs import fetch_experiment

    wanted = f"at most {FETCHES_MAX:g} fetches a second, no record later than {DELAY_MAX_MS:g} ms"
    settings = answer if isinstance(answer, dict) else {}
    numbers = [settings.get(name) for name in NAMES]
    if "fetch.wait.max.ms" in settings:
        return wrong(
            "fetch.wait.max.ms is librdkafka's name for it; here it is fetch.max.wait.ms.",
            expected=wanted,
            seen=answer,
        )
    if not all(isinstance(number, int) and number >= 0 for number in numbers):
        return wrong(
            f"{_odd(settings)}: give a dictionary with whole numbers for fetch.min.bytes and "
            "fetch.max.wait.ms.",
            expected=wanted,
            seen=answer,
        )
    per_second, _, delay_ms = fetch_experiment(settings[NAMES[0]], settings[NAMES[1]], RECORD_BYTES)
    seen = f"{per_second:.1f} fetches a second, the longest delay {delay_ms:.0f} ms"
    min_bytes, max_wait_ms = numbers
    if per_second > FETCHES_MAX:
        return wrong(
            f"{per_second:.1f} fetches a second: the broker answers when {min_bytes:,} "
            f"byte{'s' * (min_bytes != 1)} came, or after {max_wait_ms:,} ms. Which of the two "
            "comes too early?",
            expected=wanted,
            seen=seen,
        )
    if delay_ms > DELAY_MAX_MS:
        return wrong(
            f"A record waits at the broker for {delay_ms:.0f} ms: until {min_bytes:,} bytes are "
            f"there, or {max_wait_ms:,} ms are over. Which of the two comes too late?",
            expected=wanted,
            seen=seen,
        )
    return right(f"In the simulator: {seen}.")


def _odd(settings: dict) -> str:
    for name in NAMES:
        if name not in settings:
            return f"{name} is missing"
        if not isinstance(settings[name], int) or settings[name] < 0:
            return f"{name} is {settings[name]!r}"
    return "This is something else"


EXERCISE = Exercise(
    "04-7",
    "A patient reader",
    (
        "A record of 4 kB comes every 20 ms. How many bytes come in half a second?",
        "The broker answers as soon as one of two things is there: enough bytes, or enough time. "
        "Which of the two bounds the delay of a record?",
        "Three fetches a second leave at least a third of a second between two answers. Choose a "
        "wait between that and the delay that is allowed, and ask for no fewer bytes than come in "
        "that time.",
    ),
    judge,
    {
        "a long wait alone": "reader = {'fetch.min.bytes': 1, 'fetch.max.wait.ms': 2_000}",
        "many bytes, a short wait": "reader = {'fetch.min.bytes': 100_000, "
        "'fetch.max.wait.ms': 100}",
        "bytes without a bound": "reader = {'fetch.min.bytes': 300_000, "
        "'fetch.max.wait.ms': 5_000}",
        "the table's": "reader = {'fetch.min.bytes': 50_000, 'fetch.max.wait.ms': 500}",
        "librdkafka's name": "reader = {'fetch.min.bytes': 100_000, 'fetch.wait.max.ms': 500}",
        "as text": "reader = {'fetch.min.bytes': '50000', 'fetch.max.wait.ms': '500'}",
        "the bytes alone": "reader = {'fetch.min.bytes': 100_000}",
    },
    minutes=6,
)
