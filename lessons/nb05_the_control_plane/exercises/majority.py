"""05-3: the high watermark of the metadata log."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

ENDS = (
    ({100: 5, 200: 4, 300: 2}, [1, 1, 1, 1, 1], 1, 2),
    ({100: 5, 200: 4, 300: 4}, [1, 1, 2, 2, 2], 3, 1),
    ({100: 5, 200: 3, 300: 5}, [1, 1, 2, 2, 3], 3, 2),
    ({100: 3, 200: 0, 300: 0}, [2, 2, 2], 2, 0),
    ({100: 4, 200: 1, 300: 1}, [2, 2, 2, 2], 2, 3),
    ({100: 6, 200: 5, 300: 4, 400: 2, 500: 1}, [1, 1, 1, 3, 3, 3], 3, 1),
)


def made_ends(source: Random) -> tuple:
    size = source.randrange(1, 12)
    epochs = sorted(source.randrange(1, 4) for _ in range(size))
    epoch = max(epochs[-1], source.randrange(1, 5))
    voters = [100 * n for n in range(2, 1 + source.choice((3, 5)))]
    ends = {100: size, **{each: source.randrange(size + 1) for each in voters}}
    return ends, epochs, epoch, source.randrange(size + 1)


def high_watermark(ends: dict, epochs: list, epoch: int, before: int) -> int:
    held = sorted(ends.values(), reverse=True)[len(ends) // 2]
    if held <= before or epochs[held - 1] != epoch:
        return before
    return held


def explain_ends(arguments: tuple, expected: int, seen: Any) -> str:
    ends, epochs, epoch, before = arguments
    if isinstance(seen, bool) or not isinstance(seen, int):
        return "One offset is asked for."
    held = sorted(ends.values(), reverse=True)[len(ends) // 2]
    if seen < before:
        return f"A high watermark does not go back: {before} is committed."
    if seen == held and held > before:
        return (
            f"A majority has the records below {held}, but the last of them is of epoch "
            f"{epochs[held - 1]}. In epoch {epoch} the leader does not count it."
        )
    if seen > held:
        have = sum(end >= seen for end in ends.values())
        return f"{have} of {len(ends)} voters have the records below {seen}: no majority."
    if expected > seen:
        return f"A majority has the records below {expected}, and the last is of epoch {epoch}."
    return f"A majority has the records below {held}; the high watermark is {expected}."


WATERMARK = Exercise(
    "05-3",
    "What is committed",
    (
        "Sort the log ends. Which of them does a majority reach?",
        "With three voters it is the second largest, with five the third. Then look at the epoch "
        "of the last record below it.",
        "Take the log end in the middle of the sorted ones. If it is not above the high watermark "
        "so far, or the last record below it is not of the leader's own epoch, the high watermark "
        "stays. Otherwise it is that log end.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, high_watermark, explain_ends),
    {
        "all of them": "def high_watermark(ends, epochs, epoch, before):\n"
        "    held = min(ends.values())\n"
        "    ok = held > before and epochs[held - 1] == epoch\n"
        "    return held if ok else before",
        "counted in any epoch": "def high_watermark(ends, epochs, epoch, before):\n"
        "    return max(before, sorted(ends.values())[len(ends) // 2])",
        "the leader's end": "def high_watermark(ends, epochs, epoch, before):\n"
        "    return max(ends.values())",
        "it goes back": "def high_watermark(ends, epochs, epoch, before):\n"
        "    held = sorted(ends.values())[len(ends) // 2]\n"
        "    return held if held and epochs[held - 1] == epoch else min(held, before)",
    },
    inputs=cases(ENDS, made_ends),
)
