"""The judge's side of lab L4, skew and scale: predictions, a quiz, and three exercises."""

from __future__ import annotations

from kit.exercises.exercise import Question
from labs.L4_skew_and_scale.exercises import options, predictions, sides, totals

QUIZ = Question(
    "L4-11",
    "A stage has 12 tasks and runs on 12 cores for ten minutes; 11 of its tasks end within one "
    "minute. What makes it shorter?",
    (
        "24 cores",
        "24 partitions of the shuffle",
        "the rows of the one key in two tasks, if the work allows it",
        "a larger maxOffsetsPerTrigger",
    ),
    right=frozenset("c"),
    explanation="One task has almost all rows, so its core works alone for nine minutes.",
    because={
        "a": "Eleven cores wait already.",
        "b": "More partitions separate keys from each other. One key stays in one of them.",
        "d": "That gives the long task more rows.",
    },
)

EXERCISES = (
    *predictions.PREDICTIONS,
    QUIZ,
    totals.EXERCISE,
    options.EXERCISE,
    sides.EXERCISE,
)
