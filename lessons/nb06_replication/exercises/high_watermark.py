"""06-4: the high watermark of a leader, as Kafka 4.3 sets it."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

WATERMARKS = (
    ({101: 3}, [101], 1, 0),
    ({101: 7, 102: 3}, [101, 102], 1, 0),
    ({101: 7, 102: 3, 103: 5}, [101, 102, 103], 1, 0),
    ({101: 7, 102: 3}, [101], 1, 3),
    ({101: 7, 102: 3, 103: 5}, [101, 103], 2, 3),
    ({101: 7, 102: 3, 103: 5}, [101], 2, 3),
    ({101: 7, 102: 3, 103: 7}, [101, 102, 103], 2, 5),
)


def watermark(source: Random) -> tuple:
    """A leader 101, followers that are behind it, and an HW that may be above one of them."""
    replicas = list(range(101, 101 + source.randrange(2, 6)))
    log_end = source.randrange(20, 200)
    log_ends = {broker: source.randrange(log_end // 2, log_end + 1) for broker in replicas}
    log_ends[101] = log_end
    isr = [101, *source.sample(replicas[1:], k=source.randrange(len(replicas)))]
    lowest = min(log_ends[broker] for broker in isr)
    current = source.choice([0, lowest, source.randrange(log_end), lowest + source.randrange(9)])
    return log_ends, isr, source.randrange(1, min(4, len(replicas) + 1)), current


def high_watermark(log_ends: dict, isr: list, min_isr: int, current: int) -> int:
    if len(isr) < min_isr:
        return current
    return max(current, min(log_ends[broker] for broker in isr))


def explain_watermark(arguments: tuple, expected: int, seen: Any) -> str:
    log_ends, isr, min_isr, current = arguments
    if not isinstance(seen, int):
        return "Give one offset."
    if len(isr) < min_isr:
        return (
            f"The ISR has {len(isr)} and the minimum is {min_isr}: the high watermark stays at "
            f"{current} (KIP-966)."
        )
    if seen < current:
        return (
            f"The high watermark of a leader never goes back: {current} stays, even if a member "
            f"of the ISR is only known to have come to {min(log_ends[each] for each in isr)}."
        )
    if seen == max(log_ends.values()):
        return f"The log ends at {seen}: that is what is written, not what is committed."
    behind = [broker for broker, end in log_ends.items() if end == seen and broker not in isr]
    if behind:
        return f"You waited for {behind[0]}, which is not in the ISR."
    if seen < expected:
        return f"Every member of the ISR has the records below {expected}: they are committed."
    return f"Not every member of the ISR has the records below {seen}."


EXERCISE = Exercise(
    "06-4",
    "The rule of the high watermark",
    (
        "When is a record committed? Say it in one sentence that has the word every in it.",
        "Only the ISR counts, and only while it is not smaller than the minimum. And what may a "
        "high watermark never do?",
        "If the ISR is smaller than the minimum, nothing moves. Otherwise look for the smallest "
        "log end among the members of the ISR, and return it unless the high watermark is "
        "already above it.",
    ),
    lambda answer, context: compare_results(
        context.inputs, answer, high_watermark, explain_watermark
    ),
    {
        "the leader's log end": "def high_watermark(log_ends, isr, min_isr, current):\n"
        "    return max(log_ends.values())",
        "every replica": "def high_watermark(log_ends, isr, min_isr, current):\n"
        "    return max(current, min(log_ends.values()))",
        "as before KIP-966": "def high_watermark(log_ends, isr, min_isr, current):\n"
        "    return max(current, min(log_ends[b] for b in isr))",
        "it may go back": "def high_watermark(log_ends, isr, min_isr, current):\n"
        "    return min(log_ends[b] for b in isr) if len(isr) >= min_isr else current",
        "a majority is enough": "def high_watermark(log_ends, isr, min_isr, current):\n"
        "    ends = sorted(log_ends.values(), reverse=True)\n"
        "    return max(current, ends[len(ends) // 2]) if len(isr) >= min_isr else current",
    },
    cases(WATERMARKS, watermark, count=40),
    minutes=6,
)
