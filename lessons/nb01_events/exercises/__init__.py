"""The judge's side of notebook 01: events and publish/subscribe."""

from __future__ import annotations

from kit.exercises.exercise import Question
from lessons.nb01_events.exercises import five_bytes, hops, state_at, who_gets
from lessons.nb01_events.exercises.predictions import PREDICTIONS

EXERCISES = (
    *PREDICTIONS,
    who_gets.EXERCISE,
    five_bytes.EXERCISE,
    state_at.EXERCISE,
    hops.EXERCISE,
    Question(
        "01-12",
        "Which of these does a log decouple, where a call does not?",
        ("the moments at which producer and reader run",
         "the meaning of the fields",
         "the speed of the producer and of a reader",
         "the number of readers and the producer's code",
         "the time at which a record is deleted, and the slowest reader"),
        right=frozenset("acde"),
        explanation="Only the format stays a contract between all of them. A new team adds a "
        "group, and no arrow from the producer to that team. The last point is not always good "
        "news: a log does not wait for a slow reader, so the reader may miss records.",
        because={"b": "A renamed field broke two services that the producer did not know."},
    ),
    Question(
        "01-13",
        "A team needs 50 workers for slow jobs that may be done in any order, on a topic with 4 "
        "partitions. What puts all 50 to work on Kafka 4.3?",
        ("one consumer group of 50",
         "50 consumer groups of one",
         "a share group of 50",
         "a consumer group of 50, and acks=all"),
        right=frozenset("c"),
        explanation="A share group hands out records, not partitions: whole batches by default, "
        "one at a time with share.acquire.mode=record_limit. The order is lost, and this team does "
        "not need it.",
        because={
            "a": "Four of them would get a partition each, and 46 none.",
            "b": "Each group reads every record, so each job would be done 50 times.",
            "d": "acks is a setting of the producer; it does not change who reads.",
        },
    ),
    Question(
        "01-14",
        "A program has been reading a topic since yesterday with default settings. At noon it was "
        "stopped for an hour. When does it miss what was written in that hour?",
        ("always: its default is latest",
         "if its group has no committed offset for the partition",
         "if the records were deleted within the hour",
         "never: a log keeps everything"),
        right=frozenset("bc"),
        explanation="With a committed offset it goes on from there, and auto.offset.reset is not "
        "asked. Without one, or with one that is out of range, it is.",
        because={
            "a": "The default counts only where there is no valid committed offset.",
            "d": "Up to its retention, and not longer.",
        },
    ),
    Question(
        "01-15",
        "Which of these are true?",
        ("Kafka was an Apache top-level project before its source was open",
         "before Kafka, LinkedIn could not join metrics and page views: two systems, two formats, "
         "and one came much later",
         "a broker of Kafka 4 runs with Java 11",
         "a wire tap on a topic needs one more group, and no change at the producer",
         "Connect's workers and Streams' applications are clients to a broker",
         "zero copy is what keeps readers from hindering each other",
         "a topic for change data is compacted, and its key is the primary key"),
        right=frozenset("bdeg"),
        explanation="Open source in 2011, top-level in 2012. Brokers of Kafka 4 need Java 17; "
        "clients and Streams run with 11. Pull and an offset for each group decouple readers, the "
        "log and its retention serve many of them, batches and zero copy throughput, partitions "
        "growth. Clicks have the user as their key, metrics a short retention; change data is "
        "compacted.",
        because={
            "a": "The source was open first, in January 2011.",
            "c": "Clients and Streams do; brokers need 17.",
            "f": "It serves throughput. Readers are decoupled because they pull, each with offsets "
            "of its own.",
        },
    ),
)  # fmt: skip
