"""The judge's side of notebook 08: reliable producers.

Predictions and quiz stand here; each exercise, with its judge, in a module of its own.
"""

from __future__ import annotations

from kit.exercises.exercise import Question
from lessons.nb08_producers.exercises import recipe, tries, verdict, window

EXERCISES = (
    Question(
        "08-1",
        "A producer with acks=all and idempotence off sends A. The leader stores it, all replicas "
        "copy it, and the answer is lost on the way. What do consumers read in the end?",
        ("nothing: without an answer the record is not committed", "A", "A A",
         "A, and the producer's callback gets an error"),
        right=frozenset("c"),
        explanation="The producer cannot tell a lost answer from a lost record, so it sends again, "
        "and the leader cannot tell the second try from a new record.",
        because={
            "a": "Committed means on every in-sync replica. Whether the producer hears of it does "
            "not matter.",
            "b": "That takes idempotence: something in the batch that says which one it is.",
            "d": "The second try succeeds, so the callback is told of success.",
        },
    ),
    Question(
        "08-2",
        "retries has its default, 2147483647. The leader goes away and never comes back, and no "
        "other may lead. When does the producer give a record up?",
        ("after 2147483647 tries", "after request.timeout.ms", "after delivery.timeout.ms",
         "never"),
        right=frozenset("c"),
        explanation="delivery.timeout.ms runs from the moment when the record's batch was made, "
        "and contains every try and every rest. The number of retries is no bound to rely on.",
        because={
            "a": "At 100 ms a try that would be seven years.",
            "b": "That ends one try. Then comes the next.",
            "d": "Since Kafka 2.1 a clock ends it (KIP-91).",
        },
    ),
    Question(
        "08-3",
        "Java client, idempotence off, three batches A, B, C under way to one broker. The "
        "connection ends before any of them is stored. In which order are they in the log?",
        ("A B C", "C B A", "B C A", "it depends on the broker"),
        right=frozenset("b"),
        explanation="Each failed batch goes back to the front of its queue, A first; then B before "
        "A, then C before B. With idempotence the sequence numbers put them in order.",
        because={
            "a": "That is what one request in flight, or idempotence, is for.",
            "c": "That happens if A alone is refused while B and C are stored.",
            "d": "The broker stores what comes, as it comes.",
        },
    ),
    verdict.EXERCISE,
    window.EXERCISE,
    tries.EXERCISE,
    recipe.EXERCISE,
    Question(
        "08-8",
        "Which of these does enable.idempotence=true protect from?",
        ("a second copy because an answer was lost",
         "a second copy because the application calls send() again after a time-out",
         "a second copy because the application crashed and sends its last order again",
         "batches that overtake each other, five in flight",
         "the loss of a record that the leader acknowledged and nobody copied"),
        right=frozenset("ad"),
        explanation="It recognises a batch that this producer instance sends again by itself. A "
        "new send() gets a new number, a restarted producer a new id; and acks and "
        "min.insync.replicas prevent loss.",
        because={
            "b": "To the broker that is a new record: look at the application's own retry.",
            "c": "The new instance has another producer id.",
            "e": "acks=all and min.insync.replicas=2 are for that.",
        },
    ),
    Question(
        "08-9",
        "A record's callback says TimeoutException. What do you know?",
        ("it is not in the log", "it is in the log", "it may be in the log",
         "it will never be in the log from now on"),
        right=frozenset("c"),
        explanation="If a try was under way, it may have been stored, or may still be: the broker "
        "reads it from its socket buffer when it can. The exception is the same when every try "
        "was refused.",
        because={
            "a": "A time-out is silence, and silence is no answer.",
            "b": "It may also be that nothing arrived.",
            "d": "What was under way may still arrive after you were told.",
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
        explanation="Two brokers have the record when you hear of it, in memory and not yet "
        "flushed to disk. Beyond that: all copies at once, a leader that was chosen without "
        "having it, and what the application does by itself. (The safe topic of the fault tape "
        "needed no unclean election: nothing was acknowledged by one broker alone.)",
        because={
            "a": "An in-sync replica has it and remembers its sequence number.",
            "e": "One broker at a time, and the client retries.",
        },
    ),
)  # fmt: skip
