"""The judge's side of notebook 08: reliable producers.

The predictions are in `predictions`, and the quiz is here.  Each exercise has its own module, with
its judge.
"""

from __future__ import annotations

from kit.exercises.exercise import Question
from lessons.nb08_producers.exercises import predictions, recipe, tries, verdict, window

QUIZ = (
    Question(
        "08-8",
        "Which of these does enable.idempotence=true protect from?",
        ("a second copy because an answer was lost",
         "a second copy because the application calls send() again after a timeout",
         "a second copy because the application crashed and sends its last order again",
         "batches that overtake each other, five in flight",
         "the loss of a record that the leader acknowledged and no follower had copied"),
        right=frozenset("ad"),
        explanation="It recognizes a batch that this producer instance sends again by itself. A "
        "new send() gets a new number, a restarted producer a new id; and acks and "
        "min.insync.replicas prevent loss.",
        because={
            "b": "To the broker that is a new record: see the run with pay 10.",
            "c": "The new instance has another producer id.",
            "e": "acks=all and min.insync.replicas=2 are for that.",
        },
    ),
    Question(
        "08-10",
        "Replication factor 3, min.insync.replicas=2, a producer with Kafka's defaults. What can "
        "still lose an acknowledged record, or store one twice?",
        ("the leader is killed at any moment", "an unclean election",
         "the power fails on all brokers within a second", "the application sends again after an "
         "error", "a rolling restart"),
        right=frozenset("bcd"),
        explanation="Two brokers have the record when the producer gets its answer, in memory and "
        "not yet flushed to disk. What remains: all copies lost at once, a leader that was chosen "
        "without having the record, and what the application does by itself.",
        because={
            "a": "An in-sync replica has it and remembers its sequence number.",
            "e": "One broker at a time, and the client retries.",
        },
    ),
)  # fmt: skip

EXERCISES = (
    *predictions.PREDICTIONS,
    verdict.EXERCISE,
    window.EXERCISE,
    recipe.EXERCISE,
    tries.EXERCISE,
    *QUIZ,
)
