"""06-4: where the high watermark of a leader stands, as Kafka 4.3 has it."""

from __future__ import annotations

from typing import Any

from kit.exercises.exercise import Exercise, compare_results

WATERMARKS = (
    ({101: 3}, [101], 1, 0),
    ({101: 7, 102: 3}, [101, 102], 1, 0),
    ({101: 7, 102: 3}, [101], 1, 3),
    ({101: 7, 102: 3, 103: 5}, [101, 103], 2, 3),
    ({101: 7, 102: 3, 103: 5}, [101], 2, 3),
    ({101: 7, 102: 3, 103: 7}, [101, 102, 103], 2, 5),
)


def high_watermark(log_ends: dict, isr: list, min_isr: int, current: int) -> int:
    if len(isr) < min_isr:
        return current
    return max(current, min(log_ends[broker] for broker in isr))


def explain_watermark(arguments: tuple, expected: int, seen: Any) -> str:
    log_ends, isr, min_isr, current = arguments
    if len(isr) < min_isr:
        return (
            f"The ISR has {len(isr)} and the minimum is {min_isr}: the HW stands still (KIP-966)."
        )
    if isinstance(seen, int) and seen < current:
        return "The HW of a leader never goes back, whatever a follower that rejoins may hold."
    if seen == max(log_ends.values()):
        return "That is where the log ends: what is written, not what is committed."
    if seen == min(log_ends.values()):
        return "You waited for a replica that is not in the ISR."
    return ""


EXERCISE = Exercise(
    "06-4",
    "The rule of the high watermark",
    (
        "When is a record committed? Say it in one sentence that has the word every in it.",
        "Only the ISR counts, and only while it is not smaller than min_isr.",
        "max(current, min(log_ends[b] for b in isr)), unless len(isr) < min_isr.",
    ),
    lambda answer, context: compare_results(WATERMARKS, answer, high_watermark, explain_watermark),
    {
        "the leader's log end": "def high_watermark(log_ends, isr, min_isr, current):\n"
        "    return max(log_ends.values())",
        "every replica": "def high_watermark(log_ends, isr, min_isr, current):\n"
        "    return max(current, min(log_ends.values()))",
        "as before KIP-966": "def high_watermark(log_ends, isr, min_isr, current):\n"
        "    return max(current, min(log_ends[b] for b in isr))",
        "it may go back": "def high_watermark(log_ends, isr, min_isr, current):\n"
        "    return min(log_ends[b] for b in isr) if len(isr) >= min_isr else current",
    },
    WATERMARKS,
)
