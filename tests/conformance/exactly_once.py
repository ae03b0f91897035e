"""Read, transform and write in transactions, with a crash at any step: each input counts once.

    python -m tests.conformance.exactly_once                    200 runs on the engine
    python -m tests.conformance.exactly_once --runs 10 --on local

    poll    a few records of `in`
    begin   a transaction
    write   what they become to `out`
    offsets the group's, into the same transaction
    commit

A crash gives up the producer and the consumer as they are.  The next incarnation has the same
transactional.id: `init_transactions` ends what the last one left open, and fences it.  It reads on
from the committed offsets.  A run crashes twice behind each step, in an order that its seed says.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from random import Random

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from kit.clusters import engine, local
from kit.clusters.kafka_cluster import KafkaCluster

PARTITIONS, INPUTS, PER_TRANSACTION = 3, 60, 5
PATIENCE_S = 60.0
STEPS = ("poll", "begin", "write", "offsets", "commit", "nothing")
"""The application crashes behind this step; `nothing` is a round without a crash."""


@dataclass
class Application:
    """One incarnation; `assign` instead of a group's assignment, so that a crash is no wait."""

    cluster: KafkaCluster
    name: str
    consumer: Consumer = field(init=False)
    producer: Producer = field(init=False)

    def __post_init__(self) -> None:
        there = {"bootstrap.servers": self.cluster.bootstrap, "log_level": 0}
        self.producer = Producer({**there, "transactional.id": self.name, "linger.ms": 0})
        self.producer.init_transactions(PATIENCE_S)
        self.consumer = Consumer(
            {
                **there,
                "group.id": self.name,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": 20,
            }
        )
        self.consumer.assign(self.committed())

    def committed(self) -> list[TopicPartition]:
        """Where the group stands; asked again while its coordinator is not ready."""
        places = [TopicPartition(f"{self.name}-in", index) for index in range(PARTITIONS)]
        ends = time.monotonic() + PATIENCE_S
        while True:
            try:
                return self.consumer.committed(places, PATIENCE_S / 3)
            except KafkaException:
                if time.monotonic() > ends:
                    raise

    def round(self, crash: str) -> int:
        """One transaction; how many inputs it has counted."""
        records = self.consumer.consume(PER_TRANSACTION, 0.2)
        if crash == "poll":
            return 0
        self.producer.begin_transaction()
        if crash == "begin":
            return 0
        for record in records:
            assert record.error() is None, record.error()
            self.producer.produce(f"{self.name}-out", record.value(), partition=0)
        self.producer.flush(PATIENCE_S)
        if crash == "write":
            return 0
        places = self.consumer.position(self.consumer.assignment())
        self.producer.send_offsets_to_transaction(
            [each for each in places if each.offset >= 0],
            self.consumer.consumer_group_metadata(),
            PATIENCE_S,
        )
        if crash == "offsets":
            return 0
        self.producer.commit_transaction(PATIENCE_S)
        return len(records)


def committed(cluster: KafkaCluster, topic: str) -> list[str]:
    """What a reader with read_committed finds, from the start to the end."""
    reader = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    reader.assign([TopicPartition(topic, 0, 0)])
    values: list[str] = []
    while True:
        message = reader.poll(PATIENCE_S)
        assert message is not None, "the end was not reached"
        if message.error() is not None:
            reader.close()
            return values
        values.append(message.value().decode())


def run(cluster: KafkaCluster, seed: int) -> None:
    """One run, with two crashes behind each step."""
    name = f"app-{seed}"
    cluster.create_topic(f"{name}-in", partitions=PARTITIONS, replicas=3)
    cluster.create_topic(f"{name}-out", partitions=1, replicas=3)
    inputs = [str(number) for number in range(INPUTS)]
    writer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    for number, value in enumerate(inputs):
        writer.produce(f"{name}-in", value, partition=number % PARTITIONS)
    assert writer.flush(PATIENCE_S) == 0

    chance = Random(seed)
    crashes, counted = [*STEPS, *STEPS], 0
    chance.shuffle(crashes)
    gone: dict[str, Application] = {}
    app = Application(cluster, name)
    while counted < INPUTS:
        crash = crashes.pop() if crashes else "nothing"
        counted += app.round(crash)
        if crash != "nothing":
            gone[crash] = app
            app = Application(cluster, name)
            counted = sum(each.offset for each in app.committed() if each.offset > 0)
    assert not crashes
    assert sorted(committed(cluster, f"{name}-out"), key=int) == inputs

    zombie = gone["commit"].producer
    zombie.begin_transaction()
    zombie.produce(f"{name}-out", "late", partition=0)
    with pytest.raises(KafkaException) as refused:
        zombie.commit_transaction(PATIENCE_S)
    assert refused.value.args[0].code() == KafkaError._FENCED
    assert sorted(committed(cluster, f"{name}-out"), key=int) == inputs


def main() -> None:
    parser = argparse.ArgumentParser(description="Exactly once, through a crash at every step.")
    parser.add_argument("--on", choices=("engine", "local"), default="engine")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--jobs", type=int, default=8, help="runs at once; they mostly wait")
    chosen = parser.parse_args()
    begun = time.monotonic()
    start = {"engine": engine.start, "local": local.start}[chosen.on]
    with start() as cluster, ThreadPoolExecutor(chosen.jobs) as pool:
        seeds = range(chosen.first, chosen.first + chosen.runs)
        under_way = [pool.submit(run, cluster, seed) for seed in seeds]
        for done, each in enumerate(as_completed(under_way), 1):
            each.result()
            spent = time.monotonic() - begun
            print(f"{done} runs, {done * INPUTS} inputs counted once, {spent:.0f} s")


if __name__ == "__main__":
    main()
