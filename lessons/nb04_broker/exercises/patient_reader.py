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
            "Give a dictionary with whole numbers for fetch.min.bytes and fetch.max.wait.ms.",
            expected=wanted,
            seen=answer,
        )
    per_second, _, delay_ms = fetch_experiment(settings[NAMES[0]], settings[NAMES[1]], RECORD_BYTES)
    seen = f"{per_second:.1f} fetches a second, the longest delay {delay_ms:.0f} ms"
    if per_second > FETCHES_MAX:
        return wrong(
            f"Still {per_second:.1f} fetches a second: the broker answers too early. Let it wait "
            "for more bytes, or for more time.",
            expected=wanted,
            seen=seen,
        )
    if delay_ms > DELAY_MAX_MS:
        return wrong(
            "The reader is patient, its records are not: some lie at the broker for too long. "
            "Which of the two settings bounds the wait?",
            expected=wanted,
            seen=seen,
        )
    return right(f"In the simulator: {seen}.")


EXERCISE = Exercise(
    "04-7",
    "A patient reader",
    (
        "A record of 4 kB comes every 20 ms. How many bytes come in half a second?",
        "The broker answers when either is met: enough bytes, or enough time.",
        "As many bytes as come in half a second (100,000), and fetch.max.wait.ms=500.",
    ),
    judge,
    {
        "the defaults": "reader = {'fetch.min.bytes': 1, 'fetch.max.wait.ms': 500}",
        "bytes without a bound": "reader = {'fetch.min.bytes': 300_000, "
        "'fetch.max.wait.ms': 5_000}",
        "the table's": "reader = {'fetch.min.bytes': 50_000, 'fetch.max.wait.ms': 500}",
        "librdkafka's name": "reader = {'fetch.min.bytes': 100_000, 'fetch.wait.max.ms': 500}",
        "as text": "reader = {'fetch.min.bytes': '50000', 'fetch.max.wait.ms': '500'}",
    },
)
