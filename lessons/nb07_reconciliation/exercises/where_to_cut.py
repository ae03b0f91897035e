"""07-5: the follower's side. Where to cut the log?"""

from __future__ import annotations

from typing import Any

from kit.exercises.exercise import Exercise, compare_results

TOLD: tuple[tuple, ...] = (
    ([[0, 0]], 6, 0, 3),
    ([[0, 0]], 5, 0, 7),
    ([[0, 0], [1, 3]], 7, 1, 5),
    ([[0, 0], [1, 3]], 7, 0, 3),
    ([[0, 0], [1, 3], [2, 5]], 9, 1, 8),
    ([[0, 0], [2, 4]], 8, 1, 6),
    ([[0, 0], [1, 2], [4, 6]], 10, 3, 9),
)


def where_to_cut(epochs: list, log_end: int, told_epoch: int, told_end: int) -> int:
    ends = [start for _, start in epochs[1:]] + [log_end]
    epoch, own_end = [
        (epoch, end) for (epoch, _), end in zip(epochs, ends, strict=True) if epoch <= told_epoch
    ][-1]
    return min(own_end, told_end) if epoch == told_epoch else own_end


def explain(arguments: tuple, expected: int, seen: Any) -> str:
    epochs, log_end, told_epoch, told_end = arguments
    if not isinstance(seen, int):
        return ""
    mine = [epoch for epoch, _ in epochs]
    if seen > log_end:
        return f"The log ends at {log_end}: there is nothing to cut at {seen}."
    if told_epoch not in mine:
        return (
            f"This follower holds nothing of epoch {told_epoch}, so the leader's end of it says "
            "nothing about these records. The safe cut is the end of its own largest epoch below."
        )
    if seen == told_end:
        return (
            f"The leader's epoch {told_epoch} goes on to {told_end}, the follower's own ends "
            f"at {expected}: what lies between is of a later epoch, and not the leader's."
        )
    if seen < expected:
        return f"Records below {expected} are the same on both. Cutting them loses safe records."
    return f"Records from {expected} on are not the leader's."


EXERCISE = Exercise(
    "07-5",
    "Where to cut?",
    (
        "Both must hold an epoch for its end to mean anything to both.",
        "Find the follower's own end of the epoch that was told, and compare the two ends.",
        "The smaller of the two ends if the epoch is known here; else the end of the largest own "
        "epoch below it.",
    ),
    lambda answer, context: compare_results(TOLD, answer, where_to_cut, explain),
    {
        "whatever the leader says": "def where_to_cut(epochs, log_end, told_epoch, told_end):\n"
        "    return min(told_end, log_end)",
        "without looking at the log's end": "def where_to_cut(epochs, log_end, told_epoch, "
        "told_end):\n    return told_end",
        "where the own last epoch begins": "def where_to_cut(epochs, log_end, told_epoch, "
        "told_end):\n    return epochs[-1][1]",
    },
    TOLD,
)
