"""Long work between two polls: with and without pausing the partition."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition

from kit.clusters.interface import Cluster
from kit.probes import clients
from lessons.nb10_offsets.reading import TOPIC, Reader, numbered, write

LIMITS = {"max.poll.interval.ms": 4_000, "session.timeout.ms": 4_000, "heartbeat.interval.ms": 500}
WORK_S = 6.0
Seen = Mapping[str, Any]


def long_work(cluster: Cluster) -> Seen:
    """The commit after six seconds of work, with max.poll.interval.ms at four."""
    return {
        "in one piece": _worked(cluster, polls=False),
        "paused, with polls in between": _worked(cluster, polls=True),
    }


def _worked(cluster: Cluster, polls: bool) -> Seen:
    cluster.create_topic(TOPIC, assignment={0: [101, 102, 103]})
    write(cluster, TOPIC, numbered(10))
    taken: list[str] = []

    def on_revoke(consumer: Consumer, partitions: list[TopicPartition]) -> None:
        taken.extend(f"{each.topic}-{each.partition}" for each in partitions)

    with Reader(cluster, LIMITS, on_revoke=on_revoke) as reader:
        reader.read(1)
        consumer = reader.consumer
        owned = consumer.assignment()
        if polls:
            consumer.pause(owned)
        ends = time.monotonic() + WORK_S
        while time.monotonic() < ends:
            if polls:
                reader.poll()
            else:
                time.sleep(ends - time.monotonic())
        read_meanwhile = len(reader.processed) - 1
        try:
            reader.commit(1)
            committed = "NONE"
        except KafkaException as failure:
            committed = clients.name(failure.args[0])
        if polls:
            consumer.resume(owned)
        stayed = committed == "NONE"
        reader.run(lambda: (stayed and reader.at_end) or reader.offsets.count(0) > 1, for_s=10)
        return {
            "the commit": committed,
            "records read meanwhile": read_meanwhile,
            "partitions taken away": list(taken),
            "times the first record is processed": reader.offsets.count(0),
        }
