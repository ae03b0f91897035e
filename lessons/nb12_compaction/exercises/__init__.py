"""The judge's side of notebook 12: retention and compaction.

The predictions are in `predictions`, and the quiz is here.  Each exercise has its own module, with
its judge.
"""

from __future__ import annotations

from kit.exercises.exercise import Question
from lessons.nb12_compaction.exercises import deleted, left_by_a_pass, next_to_clean, predictions

QUIZ = (
    Question(
        "12-11",
        "retention.ms is one hour, and a consumer reads a record that is three hours old. Which "
        "of these can be the reason?",
        ("the active segment takes a new record every few minutes, and is far from full",
         "a group has not yet committed the record",
         "message.timestamp.after.max.ms was raised, and a later record of the same segment has "
         "a timestamp of tomorrow",
         "the record has no key",
         "the consumer reads with isolation.level=read_uncommitted"),
        right=frozenset("ac"),
        explanation="A segment goes as a whole, by the newest timestamp in it.",
        because={
            "b": "Retention asks no group.",
            "d": "Keys matter to compaction; retention does not look at them.",
            "e": "That decides about transactions. No reader sees what was deleted.",
        },
    ),
    Question(
        "12-12",
        "A topic is compacted, and its cleaner has been everywhere it may go. Which of these "
        "are sure?",
        ("each key is there exactly once",
         "the last value of each key is there, unless a tombstone was last",
         "the offsets of the records that are left follow each other without gaps",
         "a table that is built from the whole topic is the one that all writes would give",
         "a reader that was slow has seen every value in the end"),
        right=frozenset("bd"),
        explanation="Compaction keeps the table, not the history.",
        because={
            "a": "The active segment may hold more records of a key.",
            "c": "Offsets never change, so there are gaps.",
            "e": "What was replaced before it came by is gone.",
        },
    ),
)  # fmt: skip

EXERCISES = (
    *predictions.PREDICTIONS,
    deleted.EXERCISE,
    left_by_a_pass.EXERCISE,
    next_to_clean.EXERCISE,
    *QUIZ,
)
