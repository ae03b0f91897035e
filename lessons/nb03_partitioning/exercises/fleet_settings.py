"""03-11: three settings for a fleet, judged by a second of it in virtual time."""

from __future__ import annotations

import secrets
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, right, wrong

NAMES = ("batch.size", "linger.ms", "compression.type")
REQUESTS_MOST, SHARE_MOST, P99_MOST = 80, 0.6, 90


def judge_settings(answer: Any, context: Context) -> Verdict:
    from engine.client.settings import ProducerSettings
    from engine.wire.errors import KafkaError
    from lessons.nb03_partitioning.fleet import RECORDS, drive

    if not isinstance(answer, dict) or set(answer) != set(NAMES):
        return wrong("Give a dictionary with these three settings, and no others.",
                     expected=sorted(NAMES), seen=answer)  # fmt: skip
    try:
        ProducerSettings.of(answer)
    except KafkaError as refusal:
        return wrong(f"The client refuses these settings: {refusal.message}",
                     expected="a producer", seen="ConfigException")  # fmt: skip
    seen = drive(answer, seed=secrets.randbelow(1_000_000))
    if seen.acknowledged < RECORDS:
        return wrong("Not all positions were acknowledged within five seconds.",
                     expected=RECORDS, seen=seen.acknowledged)  # fmt: skip
    if seen.p99_ms > P99_MOST:
        return wrong(
            "The slowest positions arrive too late: they wait in their batch for linger.ms, and "
            "then for the way to the broker and back.",
            expected=f"at most {P99_MOST} ms in 99 of 100 cases", seen=f"{seen.p99_ms:.0f} ms",
        )  # fmt: skip
    if seen.requests > REQUESTS_MOST:
        return wrong(
            "There are too many requests: batches leave before enough positions have come.",
            expected=f"at most {REQUESTS_MOST} requests in the second", seen=seen.requests,
        )  # fmt: skip
    if seen.share > SHARE_MOST:
        return wrong(
            "The log takes too many bytes: there is no codec, it compresses little, or the "
            "batches are too small for it.",
            expected=f"at most {SHARE_MOST:.0%} of the plain values", seen=f"{seen.share:.0%}",
        )  # fmt: skip
    return right(
        f"The judge played a second of the fleet: {seen.requests} requests, {seen.share:.0%} of "
        f"the bytes, and 99 of 100 positions acknowledged within {seen.p99_ms:.0f} ms."
    )


def _answer(batch_size: int, linger_ms: int, codec: str) -> str:
    return (
        f'fleet = {{"batch.size": {batch_size}, "linger.ms": {linger_ms}, '
        f'"compression.type": "{codec}"}}'
    )


EXERCISE = Exercise(
    "03-11",
    "Settings for a fleet",
    (
        "Which of the three settings decides how many positions share a request at this rate?",
        "500 positions a second to six partitions: in 5 ms a partition gets less than one. How "
        "long must a batch wait to hold several?",
        "Choose linger.ms as a large part of the allowed time, leave batch.size large enough for "
        "what comes in that time, and take a codec.",
    ),
    judge_settings,
    {
        "the defaults": _answer(16_384, 5, "none"),
        "too patient": _answer(16_384, 500, "zstd"),
        "no codec": _answer(16_384, 60, "none"),
    },
    minutes=8,
)
