"""The judge's side of lab L1, the telemetry pipeline.

Predictions are in `predictions`, the quiz here; each exercise, with its judge, has a module of
its own.
"""

from __future__ import annotations

from kit.exercises.exercise import Question
from labs.L1_telemetry_pipeline.exercises import archive, parse, predictions, read, within

QUIZ = Question(
    "L1-10",
    "Silver and gold were deleted by mistake, and the topic has deleted its old records. From "
    "what can both tables be computed again?",
    (
        "the dead letters",
        "bronze",
        "silver's checkpoint, with its state",
        "nothing: without the topic they are lost",
    ),
    right=frozenset("b"),
    explanation="Gold is made of silver, and silver of bronze. What a watermark drops depends on "
    "where the micro-batches end: that alone may differ the second time.",
    because={
        "a": "These are the records that silver does not have.",
        "c": "A checkpoint holds offsets and event ids, and no speeds.",
        "d": "Bronze has each record of the topic, byte for byte.",
    },
)

EXERCISES = (
    *predictions.PREDICTIONS,
    QUIZ,
    read.EXERCISE,
    parse.EXERCISE,
    archive.EXERCISE,
    within.EXERCISE,
)
