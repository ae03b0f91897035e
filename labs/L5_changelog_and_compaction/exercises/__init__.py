"""The judge's side of lab L5, changelog and compaction.

Predictions are in `predictions`, the quiz here; each exercise, with its judge, has a module of
its own.
"""

from __future__ import annotations

from kit.exercises.exercise import Question
from labs.L5_changelog_and_compaction.exercises import (
    merge,
    newest_change,
    predictions,
    table_from_topic,
)

QUIZ = Question(
    "L5-11",
    "Someone asks how often an order changed its status last year. The compacted topic has run "
    "since then. Where is the answer?",
    (
        "in the compacted topic: its offsets count the changes",
        "in the table's rows: each has its LSN",
        "in the offsets that the topic no longer has",
        "in a copy of the feed that was kept without compaction, if there is one",
    ),
    right=frozenset("d"),
    explanation="Compaction keeps states. A history needs a topic or a table that only appends.",
    because={
        "a": "Offsets count records of a partition, of all its orders.",
        "b": "A row has the LSN of its last change only.",
        "c": "A gap says that records were there, not which.",
    },
)

EXERCISES = (
    *predictions.PREDICTIONS,
    QUIZ,
    newest_change.EXERCISE,
    merge.EXERCISE,
    table_from_topic.EXERCISE,
)
