"""The judge's side of notebook 10: offsets and delivery semantics.

The predictions are in `predictions`, and the quiz is here.  Each exercise has its own module, with
its judge.
"""

from __future__ import annotations

from kit.exercises.exercise import Question
from lessons.nb10_offsets.exercises import (
    at_least_once,
    exactly_once,
    first_offset,
    predictions,
    retry_topics,
    send_again,
)

QUIZ = (
    Question(
        "10-13",
        "Which of these can make a group skip records that are still in the topic, without an "
        "error in the application?",
        ("a crash of a loop that processes first and commits afterwards",
         "auto.offset.reset=latest after the committed offset has left the log",
         "a consumer that joins the group",
         "a topic that is deleted and created again while its consumers go on",
         "a commit of an offset that is too low",
         "a record that is larger than the consumer's fetch.max.bytes"),
        right=frozenset("bd"),
        explanation="latest jumps to the end, and a client that keeps its position in a new topic "
        "of the same name begins in its middle. A record above the consumer's byte limits still "
        "arrives: only the producer and the broker refuse one for its size. The others repeat "
        "records at most.",
        because={
            "a": "Such a loop repeats; it never loses.",
            "c": "The new owner starts at the committed offset: that repeats.",
            "e": "It shows when a consumer starts there, and then records come again.",
            "f": "The limit is soft: the first batch of an answer comes even if it is larger.",
        },
    ),
    Question(
        "10-14",
        "A service charges cards and must not charge twice. Which of these are of use?",
        ("a unique key on the order's id, in the same transaction as the charge",
         "a commit before each charge, so that nothing comes twice, and nothing else",
         "an idempotency key for the payment service, made of the order's id",
         "enable.idempotence=true at the producer",
         "a set of the ids that this process has charged"),
        right=frozenset("ac"),
        explanation="A repeat must be recognized where the effect happens, by something that "
        "outlives the process.",
        because={
            "b": "Then a crash loses charges: at most once.",
            "d": "It removes the copies of the producer's client, not the repeats of a reader.",
            "e": "It dies with the process, in the very moment in which it is needed.",
        },
    ),
)  # fmt: skip

EXERCISES = (
    *predictions.PREDICTIONS,
    at_least_once.EXERCISE,
    exactly_once.EXERCISE,
    send_again.EXERCISE,
    first_offset.EXERCISE,
    retry_topics.EXERCISE,
    *QUIZ,
)
