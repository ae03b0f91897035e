"""What client libraries' own test suites say about the engine, beside a live Kafka.

The suites are not part of this project.  Each was run unmodified on a cluster of the engine and on
a local Kafka, both with the kit's settings, automatic creation of topics and four partitions for a
topic.  Counted are the tests that passed on Kafka, without those of security, and without those of
librdkafka that are transactional.  The fidelity page shows this table.

The set-up decides about a few.  confluent-kafka's test_incremental_alter_configs expects that
unclean.leader.election.enable is at its default, which the kit sets, and ran without that line.
kafka-python's test_alter_replica_log_dirs passes when a new replica happens to lie on the broker
that is listed first; its two tests of transactions ran later than the others, on a topic that was
there, from the sources of 17 August 2026.  Some of librdkafka's need broker ids, tools or limits of
older releases; they fail on both, and the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Suite:
    """One suite in one release; `failing` names each test that passes on Kafka alone, and why."""

    name: str
    release: str
    on_kafka: int
    on_engine: int
    apart: str
    failing: dict[str, str] = field(default_factory=dict)


SUITES = (
    Suite(
        "kafka-python, integration",
        "3.0.7, August 2026",
        53,
        52,
        "",
        {
            "test_alter_partition_reassignments": (
                "AlterPartitionReassignments is not offered: replicas stay where they are"
            )
        },
    ),
    Suite(
        "confluent-kafka, integration, classic groups",
        "2.15.0",
        20,
        20,
        "one test of SCRAM users",
    ),
    Suite(
        "confluent-kafka, integration, group.protocol=consumer",
        "2.15.0",
        18,
        18,
        "one test of SCRAM users",
    ),
    Suite(
        "librdkafka, the tests that need a broker",
        "2.0.2",
        76,
        76,
        "0055_producer_latency and 0061_consumer_lag, whose second halves are transactional",
    ),
)
