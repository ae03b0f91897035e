"""The judge's side of lab L2, exactly once and a crash.

Predictions are in `predictions`, the quiz here; each exercise, with its judge, has a module of
its own.
"""

from __future__ import annotations

from kit.exercises.exercise import Question
from labs.L2_exactly_once_crash.exercises import appends, merges, predictions, repeats, starts

QUIZ = Question(
    "L2-11",
    "Which of these let a micro-batch run twice and leave each row once? Several are right.",
    (
        "a MERGE by a key that each row has",
        "a note with the batch number, written to a file before the rows",
        "the batch number in the same commit as the rows",
        "a checkpoint on a replicated file system",
    ),
    right=frozenset("ac"),
    explanation="Either the second run changes nothing by itself, or the rows carry the number of "
    "their batch in one commit.",
    because={
        "b": "A crash between the note and the rows loses the micro-batch.",
        "d": "It keeps the notes safe. Between the sink and the last note there is still a gap.",
    },
)

EXERCISES = (
    *predictions.PREDICTIONS,
    QUIZ,
    appends.EXERCISE,
    merges.EXERCISE,
    starts.EXERCISE,
    repeats.EXERCISE,
)
