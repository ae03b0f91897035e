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
        "01-20",
        "Which Kafka building block serves which integration pattern (router, splitter, "
        "aggregator, wire tap, dead letter channel)? Mark the right pairs.",
        ("router: a consumer that produces to one topic or another",
         "splitter: a partitioner that spreads a record over partitions",
         "aggregator: a stream processor with state",
         "wire tap: one more group",
         "dead letter channel: a topic that the broker fills"),
        right=frozenset("acd"),
        explanation="Router and splitter: a consumer that produces. Aggregator: a stream processor "
        "with state. Wire tap: one more group, and no change at the producer. Dead letter channel: "
        "a topic that your code or Connect writes.",
        because={
            "b": "A partitioner picks the one partition of a record. A splitter is a consumer that "
            "produces several records for one.",
            "e": "A broker does not know that a reader failed; your code or Connect writes there.",
        },
    ),
    Question(
        "01-16",
        "LinkedIn polled its metrics and collected its page views in batches. Why was it hard to "
        "correlate the two?",
        ("they were in two systems, each with a format of its own",
         "both were in one topic, without a key",
         "the page views came much later than the metrics",
         "a log cannot hold two kinds of data"),
        right=frozenset("ac"),
        explanation="Two systems and two formats, and one came much later than the other: a drop "
        "in page views could not be seen beside the metrics of that minute.",
        because={
            "b": "There were no topics yet: each of the two had a system of its own.",
            "d": "A topic for each kind is enough, and one log system carries both.",
        },
    ),
    Question(
        "01-17",
        "Put in order: Kafka becomes an Apache top-level project; its source is opened; its "
        "founders leave for Confluent; a release has no ZooKeeper.",
        ("top-level project, open source, Confluent, without ZooKeeper",
         "open source, top-level project, Confluent, without ZooKeeper",
         "open source, Confluent, top-level project, without ZooKeeper",
         "open source, top-level project, without ZooKeeper, Confluent"),
        right=frozenset("b"),
        explanation="About 2010 first used at LinkedIn; January 2011 open source, and in the "
        "Apache incubator; 2012 top-level project; 2014 Confluent; 2025 Kafka 4.0, without "
        "ZooKeeper. This course uses 4.3.",
        because={
            "a": "The source was open first, in January 2011.",
            "c": "It was a top-level project in 2012; the founders left in 2014.",
            "d": "ZooKeeper went with Kafka 4.0, eleven years after Confluent was founded.",
        },
    ),
    Question(
        "01-18",
        "Which lines of this fact sheet about Kafka are right?",
        ("written in Java and Scala, under the Apache license 2.0",
         "made at LinkedIn by Jay Kreps, Neha Narkhede and Jun Rao; first released in January 2011",
         "a broker of Kafka 4 runs with Java 11",
         "clients and Streams of Kafka 4 run with Java 11",
         "a broker's answer to ApiVersions names its release",
         "Connect's workers and Streams' applications run inside the brokers"),
        right=frozenset("abd"),
        explanation="Java and Scala, Apache license 2.0, first released in January 2011, today a "
        "project of the Apache Software Foundation. Brokers of Kafka 4 need Java 17; clients and "
        "Streams run with 11. ApiVersions lists requests, their versions and feature levels: "
        "metadata.version 30 came with 4.3.",
        because={
            "c": "Clients and Streams do; brokers need 17.",
            "e": "It has versions of requests, and feature levels such as metadata.version 30. No "
            "request asks for a release.",
            "f": "To a broker they are clients.",
        },
    ),
    Question(
        "01-15",
        "Kafka was built with four aims. Which mechanism serves which?",
        ("readers that do not hinder each other: zero copy",
         "many readers, also late ones: the log and its retention",
         "throughput: batches and zero copy",
         "growth by adding machines: more replicas of each partition",
         "readers that do not hinder each other: pull, and an offset for each group"),
        right=frozenset("bce"),
        explanation="Pull and an offset for each group decouple readers, the log and its "
        "retention serve many of them, batches and zero copy throughput, partitions growth.",
        because={
            "a": "It serves throughput. Readers are decoupled because they pull, each with offsets "
            "of its own.",
            "d": "Replicas protect the records, and each costs work. Partitions spread the work.",
        },
    ),
    Question(
        "01-19",
        "Which topic design fits its use?",
        ("clicks: a topic for each kind, the user as key",
         "metrics: compacted, the server as key",
         "change data: compacted, the primary key as key",
         "requests between services: the entity as key",
         "stream processing: joined inputs of 6 and 8 partitions"),
        right=frozenset("acd"),
        explanation="Clicks have the user as their key, requests their entity: its records keep "
        "their order. Change data is compacted, so the last value of each primary key stays. "
        "Metrics have one schema and a short retention. What is processed together has the same "
        "partition count.",
        because={
            "b": "Compaction keeps each server's last value, and a chart needs them all; a short "
            "retention fits.",
            "e": "A key would be in partitions of different numbers, which different members read.",
        },
    ),
)  # fmt: skip
