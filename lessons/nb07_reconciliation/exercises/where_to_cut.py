"""07-5: the follower's side. Where to cut the log?"""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

TOLD: tuple[tuple, ...] = (
    ([[0, 0]], 6, 0, 3),
    ([[0, 0]], 5, 0, 7),
    ([[0, 0], [1, 3]], 7, 1, 5),
    ([[0, 0], [1, 3]], 7, 0, 3),
    ([[0, 0], [1, 3]], 7, 0, 5),
    ([[0, 0], [1, 3], [2, 5]], 9, 1, 8),
    ([[0, 0], [2, 4]], 8, 1, 6),
    ([[0, 0], [2, 4]], 8, 1, 2),
    ([[0, 0], [1, 2], [4, 6]], 10, 3, 9),
)


def told(source: Random) -> tuple:
    """A follower's log, and the end of an epoch that it has or has not."""
    epochs, epoch, start = [], 0, 0
    for _ in range(source.randrange(1, 5)):
        epochs.append([epoch, start])
        epoch, start = epoch + source.randrange(1, 4), start + source.randrange(1, 30)
    sent_epoch = source.randrange(epochs[-1][0] + 1)
    return epochs, start, sent_epoch, source.randrange(1, start + 20)


def where_to_cut(epochs: list, log_end: int, sent_epoch: int, sent_end: int) -> int:
    epoch, own_end = _largest_up_to(epochs, log_end, sent_epoch)
    return min(own_end, sent_end) if epoch == sent_epoch else own_end


def _largest_up_to(epochs: list, log_end: int, sent_epoch: int) -> tuple[int, int]:
    """The follower's largest epoch up to `sent_epoch`, and where it ends in its log."""
    ends = [start for _, start in epochs[1:]] + [log_end]
    return [
        (epoch, end) for (epoch, _), end in zip(epochs, ends, strict=True) if epoch <= sent_epoch
    ][-1]


def explain(arguments: tuple, expected: int, seen: Any) -> str:
    epochs, log_end, sent_epoch, sent_end = arguments
    if not isinstance(seen, int):
        return "Give one offset."
    epoch, own_end = _largest_up_to(epochs, log_end, sent_epoch)
    if seen > log_end:
        return f"The log ends at {log_end}: there is nothing to cut at {seen}."
    if epoch != sent_epoch:
        return (
            f"This follower holds nothing of epoch {sent_epoch}, so the leader's end of it says "
            f"nothing about these records. Its largest epoch below is {epoch}, which ends at "
            f"{own_end} here: that is the safe cut, and not {seen}."
        )
    if seen == sent_end:
        return (
            f"The leader's epoch {sent_epoch} goes on to {sent_end}, the follower's own ends "
            f"at {expected}: what is between is of a later epoch, and not the leader's."
        )
    if seen < expected:
        return (
            f"Both hold epoch {sent_epoch} up to {expected}. A cut at {seen} takes away records "
            "that are the same on both."
        )
    return (
        f"The leader's epoch {sent_epoch} ends at {sent_end}, so the follower's records from "
        f"{expected} on are not the leader's. A cut at {seen} keeps some of them."
    )


EXERCISE = Exercise(
    "07-5",
    "Where to cut?",
    (
        "Both must hold an epoch for its end to mean anything to both.",
        "Find the follower's own end of the epoch that the leader named, and compare the two ends.",
        "Find the largest own epoch that is not above the one that the leader named, and where it "
        "ends in your log. If it is the same epoch, cut at the smaller of the two ends. If it is "
        "an older one, the leader's end does not count: cut at your own.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, where_to_cut, explain),
    {
        "only what the leader says": "def where_to_cut(epochs, log_end, sent_epoch, sent_end):\n"
        "    return min(sent_end, log_end)",
        "without looking at the log's end": "def where_to_cut(epochs, log_end, sent_epoch, "
        "sent_end):\n    return sent_end",
        "where the own last epoch begins": "def where_to_cut(epochs, log_end, sent_epoch, "
        "sent_end):\n    return epochs[-1][1]",
        "the own end alone": "def where_to_cut(epochs, log_end, sent_epoch, sent_end):\n"
        "    later = [start for epoch, start in epochs if epoch > sent_epoch]\n"
        "    return later[0] if later else log_end",
        "the smaller end of any epoch": "def where_to_cut(epochs, log_end, sent_epoch, "
        "sent_end):\n"
        "    later = [start for epoch, start in epochs if epoch > sent_epoch]\n"
        "    return min(sent_end, later[0] if later else log_end)",
    },
    cases(TOLD, told, count=60),
    minutes=8,
)
