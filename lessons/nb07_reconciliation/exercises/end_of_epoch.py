"""07-4: the leader's side. Where does an epoch end?

No follower asks here for an epoch that is older than all in the list.  No record has been
deleted from the beginning of these logs, so they know the follower's epoch or an older one.
Kafka answers that question, too; the answer is in NOT_ASKED.
"""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, cases, compare_results, right

ASKED: tuple[tuple, ...] = (
    ([[0, 0]], 3, 0),
    ([[0, 0], [1, 3]], 7, 0),
    ([[0, 0], [1, 3]], 7, 1),
    ([[0, 0], [3, 5]], 9, 2),
    ([[0, 0], [2, 4], [3, 5]], 6, 2),
    ([[0, 0], [1, 3]], 7, 2),
    ([[0, 0], [1, 3], [4, 8], [5, 11]], 20, 3),
)
NOT_ASKED = (
    "Not asked here: once retention has deleted the oldest records, the first entry may be newer "
    "than the epoch asked for. Kafka then answers [asked, the first entry's start]."
)


def asked(source: Random) -> tuple:
    """A checkpoint with gaps between its epochs, and an epoch that is in it, between, or above."""
    first = epoch = source.randrange(3)
    start, epochs = 0, []
    for _ in range(source.randrange(1, 6)):
        epochs.append([epoch, start])
        epoch, start = epoch + source.randrange(1, 4), start + source.randrange(1, 40)
    return epochs, start, source.randrange(first, epoch + 1)


def end_of_epoch(epochs: list, log_end: int, asked: int) -> list:
    if asked > epochs[-1][0]:
        return [-1, -1]
    ends = [start for _, start in epochs[1:]] + [log_end]
    known = [[epoch, end] for (epoch, _), end in zip(epochs, ends, strict=True) if epoch <= asked]
    return known[-1]


def explain(arguments: tuple, expected: Any, seen: Any) -> str:
    epochs, log_end, asked = arguments
    if not isinstance(seen, list) or len(seen) != 2:
        return "Give a list of two: an epoch, and the offset at which it ends."
    if expected == [-1, -1]:
        return (
            f"Epoch {asked} is above {epochs[-1][0]}, the last in this log: this leader has never "
            "heard of it, must not guess, and answers [-1, -1]."
        )
    if seen == [-1, -1]:
        return f"[-1, -1] is for an epoch above all in the list, and {asked} is not above them."
    if seen[0] == asked != expected[0]:
        return (
            f"This leader holds no record of epoch {asked}. It names the largest epoch below that "
            "it does hold, so that the follower can look for that one (KIP-279)."
        )
    epoch, end = expected
    if seen[0] != epoch:
        return f"The largest epoch up to {asked} in this list is {epoch}, not {seen[0]}."
    if seen in epochs:
        return f"Epoch {epoch} begins at {seen[1]}. The follower needs to know where it ends."
    if seen[1] == log_end:
        return (
            f"The log's end is the end of its last epoch. Epoch {epoch} ends where the next begins."
        )
    if seen[1] == end - 1:
        return f"{seen[1]} is the last record of epoch {epoch}. Its end is the offset after that."
    return f"Epoch {epoch} does not end at {seen[1]}."


def judge(answer: Any, context: Context) -> Verdict:
    verdict = compare_results(context.inputs, answer, end_of_epoch, explain)
    return right(f"{verdict.message} {NOT_ASKED}") if verdict.passed else verdict


EXERCISE = Exercise(
    "07-4",
    "Where does an epoch end?",
    (
        "Look at the checkpoint file: it says where each epoch begins. What does that say about "
        "the one before?",
        "The list has where each epoch begins, and the answer needs an end. What if the epoch "
        "asked for is not in the list, because this leader has no record of it?",
        "If the epoch asked for is above all in the list, the answer is the pair of minus ones. "
        "Otherwise give each entry an end: the start of the entry after it, and for the last the "
        "log's end. Then return the last entry whose epoch is not above the one asked for.",
    ),
    judge,
    {
        "the log's end": "def end_of_epoch(epochs, log_end, asked):\n"
        "    return [asked, log_end] if asked <= epochs[-1][0] else [-1, -1]",
        "where it begins": "def end_of_epoch(epochs, log_end, asked):\n"
        "    return [e for e in epochs if e[0] <= asked][-1] if asked < epochs[-1][0] "
        "else [asked, log_end]",
        "as in KIP-101": "def end_of_epoch(epochs, log_end, asked):\n"
        "    later = [start for epoch, start in epochs if epoch > asked]\n"
        "    return [asked, later[0] if later else log_end]",
        "a guess for the future": "def end_of_epoch(epochs, log_end, asked):\n"
        "    ends = [s for _, s in epochs[1:]] + [log_end]\n"
        "    return [[e, end] for (e, _), end in zip(epochs, ends) if e <= asked][-1]",
        "the last record of the epoch": "def end_of_epoch(epochs, log_end, asked):\n"
        "    if asked > epochs[-1][0]:\n        return [-1, -1]\n"
        "    ends = [s for _, s in epochs[1:]] + [log_end]\n"
        "    return [[e, end - 1] for (e, _), end in zip(epochs, ends) if e <= asked][-1]",
    },
    cases(ASKED, asked, count=40),
    minutes=8,
)
