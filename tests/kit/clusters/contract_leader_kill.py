"""A leader killed in the middle of a load, as a check that runs on any provider.

Each round writes with acks=all while the leader is killed and started again.  Afterwards:

    every acknowledged record is there, once, and those of one producer in order
    the leader epoch is one higher; the ISR has lost the dead leader and grows back

Then a second broker is killed, and a producer without retries sees the broker's refusal.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from kit.clusters.explain import explain
from kit.clusters.interface import Cluster

PATIENCE_S = 60
TRIES = 5
UNDECIDED = ("REQUEST_TIMED_OUT", "_TIMED_OUT", "_TRANSPORT")
"""A leader shows the small ISR in its metadata shortly before its logs know it.  A write that is
appended in between waits for a high watermark that a small ISR does not advance (KIP-966)."""
_QUIET: dict[str, Any] = {"log_level": 0}


@dataclass
class Round:
    """What one round saw."""

    topic: str
    leader: int
    new_leader: int = -1
    epoch_step: int = 0
    isr_without: list[int] = field(default_factory=list)
    acknowledged: list[int] = field(default_factory=list)
    found: list[int] = field(default_factory=list)


def leader_killed_under_load(cluster: Cluster, seed: int, records: int = 3_000) -> Round:
    """One round; everything is running again, and in sync, when it returns.

    The seed decides how many records are acknowledged when the leader is killed.
    """
    topic = f"killed-{seed}"
    cluster.create_topic(topic, config={"min.insync.replicas": 2})
    before = _partition(cluster, topic)
    seen = Round(topic, before["leader"])
    victim_dies_at = random.Random(seed).randrange(records // 10, records // 2)
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "acks": "all",
            "enable.idempotence": True,
            "linger.ms": 1,
            "message.timeout.ms": PATIENCE_S * 1000,
            **_QUIET,
        }
    )

    def delivered(error: KafkaError | None, message: Any) -> None:
        if error is None:
            seen.acknowledged.append(int(message.value()))

    for number in range(records):
        producer.produce(topic, str(number), partition=0, on_delivery=delivered)
        if number == victim_dies_at:
            while not seen.acknowledged:  # the load is under way, the last records are not
                producer.poll(0.001)
            cluster.kill(seen.leader)
    cluster.wait_until(lambda c: c.leader(topic) not in (seen.leader, -1), PATIENCE_S)
    left = producer.flush(PATIENCE_S)
    assert left == 0, f"{left} records are neither delivered nor failed"
    during = _partition(cluster, topic)
    seen.new_leader, seen.isr_without = during["leader"], during["isr"]
    seen.epoch_step = during["leader_epoch"] - before["leader_epoch"]
    cluster.start(seen.leader)
    cluster.wait_until(
        lambda c: len(_partition(c, topic)["isr"]) == len(before["isr"]), PATIENCE_S, "a whole ISR"
    )
    seen.found = read(cluster, topic)
    cluster.delete_topic(topic)
    return seen


def nothing_acknowledged_is_lost(seen: Round) -> None:
    """Asserts what every round must hold."""
    missing = set(seen.acknowledged) - set(seen.found)
    assert not missing, f"{len(missing)} acknowledged records are lost, such as {min(missing)}"
    assert seen.acknowledged, "nothing was acknowledged: the round proves nothing"
    assert seen.found == sorted(set(seen.found)), "records are doubled or out of order"
    assert seen.epoch_step == 1
    assert seen.new_leader != seen.leader
    assert seen.leader not in seen.isr_without


def second_broker_killed_refuses_writes(cluster: Cluster) -> str:
    """Kills two of three replicas; gives the kit's sentence about the refusal that is seen."""
    topic = "refused"
    cluster.create_topic(topic, config={"min.insync.replicas": 2})
    leader = _partition(cluster, topic)["leader"]
    for broker in [b for b in cluster.brokers if b != leader]:
        cluster.kill(broker)
    cluster.wait_until(lambda c: _partition(c, topic)["isr"] == [leader], PATIENCE_S, "a small ISR")
    error = _error_of_a_write(cluster, topic)
    for _ in range(TRIES):
        if error is None or error.name() not in UNDECIDED:
            break
        error = _error_of_a_write(cluster, topic)
    assert error is not None, "the write was acknowledged by one replica of the two wanted"
    assert error.name() in ("NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND")
    return explain(error, cluster.snapshot(), topic)


def _error_of_a_write(cluster: Cluster, topic: str) -> KafkaError | None:
    """What one write with acks=all and without retries is answered; None if it is acknowledged."""
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "acks": "all",
            "retries": 0,
            "linger.ms": 0,
            "request.timeout.ms": 5000,
            **_QUIET,
        }
    )
    errors: list[KafkaError | None] = []
    producer.produce(topic, "x", partition=0, on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(PATIENCE_S) == 0
    return errors[0]


def _partition(cluster: Cluster, topic: str) -> dict[str, Any]:
    found: dict[str, Any] = cluster.snapshot()["topics"][topic]["partitions"][0]
    return found


def read(cluster: Cluster, topic: str) -> list[int]:
    """All values of partition 0, to its high watermark."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": topic,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            **_QUIET,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[int] = []
    try:
        while True:
            message: Any = consumer.poll(PATIENCE_S)
            assert message is not None, "neither a record nor the end of the log came"
            if message.error() is None:
                found.append(int(message.value()))
            elif message.error().code() == KafkaError._PARTITION_EOF:
                return found
    finally:
        consumer.close()
