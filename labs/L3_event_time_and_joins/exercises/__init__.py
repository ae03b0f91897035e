"""The judge's side of lab L3, event time and joins.

Predictions are in `predictions`, the quiz here; each exercise, with its judge, has a module of
its own.  `spark_rules` is what the judges know of Spark's watermark.
"""

from __future__ import annotations

from kit.exercises.exercise import Question
from labs.L3_event_time_and_joins.exercises import (
    final_counts,
    future_clocks,
    paid,
    predictions,
    trips,
)

QUIZ = Question(
    "L3-13",
    "A query counts in windows, in append mode. Its lag is zero, and for an hour it has written no "
    "row. Which of these can be the cause?",
    (
        "one of its two topics is silent",
        "one partition of its only topic is silent",
        "a truck's clock is a day ahead, and each record since then is dropped",
        "some records are ten minutes late, as many as the watermark allows",
    ),
    right=frozenset("ac"),
    explanation="The watermark of a query is the smallest of its inputs' and never moves back.",
    because={
        "b": "Within one input Spark takes the newest event time of all partitions.",
        "d": "Late records do not hold the watermark back: it follows the newest event time.",
    },
)

EXERCISES = (
    *predictions.PREDICTIONS,
    final_counts.EXERCISE,
    future_clocks.EXERCISE,
    paid.EXERCISE,
    trips.EXERCISE,
    QUIZ,
)
