"""The judge's side of notebook 03: partitions, batches and sends.

The predictions are in `predictions`, and the quiz is here.  Each exercise has its own module, with
its judge.
"""

from __future__ import annotations

from kit.exercises.exercise import Question
from lessons.nb03_partitioning.exercises import fleet_settings, hashed, predictions, refused, vip

QUIZ = (
    Question(
        "03-12",
        "An application needs the events of each order in their order. Which of these endanger it?",
        ("a sixth partition is added to a topic of five",
         "a second service writes to the topic with another client library",
         "the producer compresses its batches",
         "the order id is the key, and one order has 60 % of the events",
         "linger.ms is raised from 5 to 100"),
        right=frozenset("ab"),
        explanation="Order holds inside a partition. Another partition count, or another hash, "
        "sends the next event of an order elsewhere. A hot key, compression and linger.ms cost "
        "time or space, but they change no partition.",
        because={
            "c": "A batch is compressed as a whole, and its records keep their order.",
            "d": "A hot key makes one partition large, and its order holds.",
            "e": "Records wait in their batch in the order in which they came.",
        },
    ),
    Question(
        "03-13",
        "Which of these statements about batches hold for Kafka's Java client?",
        ("a batch holds records of one partition",
         "linger.ms=0 puts every record into a batch of its own",
         "a record larger than batch.size is refused",
         "a request may carry one batch for each of several partitions",
         "a batch takes batch.size bytes of buffer.memory when it begins"),
        right=frozenset("ade"),
        explanation="A batch belongs to one partition and takes its memory at once. A request "
        "takes at most one batch of each partition that the broker leads.",
        because={
            "b": "Records still gather while the requests before them are in flight.",
            "c": "It goes out alone, in a batch of its own size. max.request.size refuses.",
        },
    ),
)  # fmt: skip

EXERCISES = (
    *predictions.PREDICTIONS,
    hashed.EXERCISE,
    vip.EXERCISE,
    fleet_settings.EXERCISE,
    refused.EXERCISE,
    *QUIZ,
)
