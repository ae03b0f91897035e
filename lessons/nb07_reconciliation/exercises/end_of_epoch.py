"""07-4: the leader's side. Where does an epoch end?

No follower asks here for an epoch that is older than all in the list.  No record has been
deleted from the beginning of these logs, so they know the follower's epoch or an older one.
Kafka answers that question, too; the answer is in NOT_ASKED.
"""

from __future__ import annotations

from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, compare_results, right

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


def end_of_epoch(epochs: list, log_end: int, asked: int) -> list:
    if asked > epochs[-1][0]:
        return [-1, -1]
    ends = [start for _, start in epochs[1:]] + [log_end]
    known = [[epoch, end] for (epoch, _), end in zip(epochs, ends, strict=True) if epoch <= asked]
    return known[-1]


def explain(arguments: tuple, expected: Any, seen: Any) -> str:
    epochs, log_end, asked = arguments
    if not isinstance(seen, list | tuple) or len(seen) != 2:
        return ""
    if expected == [-1, -1]:
        return (
            f"Epoch {asked} is younger than anything in this log: a leader that has never heard of "
            "it must not guess, and answers [-1, -1]."
        )
    if seen[0] == asked != expected[0]:
        return (
            f"This leader holds no record of epoch {asked}. It names the largest epoch below that "
            "it does hold, so that the follower can look for that one (KIP-279)."
        )
    if seen[1] == log_end:
        return (
            "The log's end is the end of its last epoch only. Any other epoch ends where the next "
            "begins."
        )
    if [seen[0], seen[1]] in epochs:
        return "That is where the epoch begins. The follower needs to know where it ends."
    return ""


def judge(answer: Any, context: Context) -> Verdict:
    verdict = compare_results(ASKED, answer, end_of_epoch, explain)
    return right(f"{verdict.message} {NOT_ASKED}") if verdict.passed else verdict


EXERCISE = Exercise(
    "07-4",
    "Where does an epoch end?",
    (
        "Look at the checkpoint file: it says where each epoch begins. What does that say about "
        "the one before?",
        "Take the largest epoch that is not above the one asked for; it ends where the next entry "
        "begins, or at the log's end.",
        "ends = [start for _, start in epochs[1:]] + [log_end], then the last pair with "
        "epoch <= asked; [-1, -1] if asked is above all.",
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
    },
    ASKED,
)
