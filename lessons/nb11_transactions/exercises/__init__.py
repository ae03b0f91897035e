"""The judge's side of notebook 11: transactions and exactly-once.

The predictions are in `predictions`, and the quiz is here.  Each exercise has its own module, with
its judge.
"""

from __future__ import annotations

from kit.exercises.exercise import Question
from lessons.nb11_transactions.exercises import (
    fencing,
    predictions,
    read_committed,
    several,
    stable_offset,
)

QUIZ = (
    Question(
        "11-10",
        "What does a reader with read_committed not get?",
        ("a plain record before an open transaction's first record",
         "a committed record behind an open transaction's first record",
         "a committed record of a producer that was fenced later",
         "a plain record behind an open transaction's first record",
         "a plain record behind an abort marker, when no transaction is open"),
        right=frozenset("bd"),
        explanation="It stops at the last stable offset, and everything behind that has to wait: "
        "committed records and plain ones as well.",
        because={
            "a": "It is below the last stable offset.",
            "c": "A commit stays a commit; fencing refuses what comes later.",
            "e": "A marker ends a transaction, and readers go on behind it.",
        },
    ),
    Question(
        "11-11",
        "An application reads transfers, books them, and commits its offsets. Which of these does "
        "it need, so that each transfer counts once?",
        ("a transactional.id that its successor has too",
         "one transaction for each record",
         "a transactional.id that is new at each start",
         "send_offsets_to_transaction in place of the consumer's commit",
         "one partition only"),
        right=frozenset("ad"),
        explanation="The same name ends and fences what the last instance left; the offset in the "
        "transaction shares the bookings' fate.",
        because={
            "b": "A transaction may hold many records; then its markers cost less.",
            "c": "Then an open transaction waits for its timeout, and no instance is fenced.",
            "e": "A transaction spans partitions; that is its purpose.",
        },
    ),
)  # fmt: skip

EXERCISES = (
    *predictions.PREDICTIONS,
    stable_offset.EXERCISE,
    read_committed.EXERCISE,
    several.EXERCISE,
    fencing.EXERCISE,
    *QUIZ,
)
