"""A client's requests to a simulated cluster, answered in virtual time.

A notebook's `sim` cells talk to `engine.sim.world.world.World`; these functions spare them the
protocol.  `send` is one Produce request to the leader, `readable` is one Fetch as a consumer
sends it, so both show exactly the answer that a client gets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.sim.world.world import World
from engine.wire.errors import Errors
from kit.clusters.description import Description
from kit.probes import requests

ACKS = {"all": -1, "1": 1, "0": 0}


@dataclass(frozen=True)
class Answer:
    """A producer's answer: Kafka's error name, the first offset, and the time it took."""

    error: str
    offset: int
    after_ms: float

    def __str__(self) -> str:
        place = f" at offset {self.offset}" if self.offset >= 0 else ""
        return f"{self.error}{place} after {self.after_ms:.1f} ms"


def produce_request(world: World, topic: str, values: tuple[str, ...], acks: str,
                    timeout_ms: int, partition: int = 0) -> Any:  # fmt: skip
    """A Produce request with one batch of `values`, as any client would send it."""
    encoded = (value.encode() for value in values)
    records = requests.one_batch(*encoded, at_ms=world.cluster.now // 1000)
    return requests.producing(
        topic_id(world, topic),
        acks=ACKS[acks],
        records=records,
        partition=partition,
        timeout_ms=timeout_ms,
    )


def topic_id(world: World, topic: str) -> bytes:
    return bytes(world.image().topic_ids[topic])


def post(world: World, topic: str, *values: str, acks: str = "all") -> None:
    """Sends one batch to the leader of partition 0 and does not wait."""
    world.post(produce_request(world, topic, values, acks, 30_000), world.leader(topic, 0))


def send(world: World, topic: str, *values: str, acks: str = "all", timeout_ms: int = 1_500,
         partition: int = 0) -> Answer:  # fmt: skip
    """Sends one batch to the leader and waits, in virtual time, for its answer.

    With acks=0 there is no answer: the error is "no answer", at once.
    """
    body = produce_request(world, topic, values, acks, timeout_ms, partition)
    leader = world.leader(topic, partition)
    asked_us = world.now_us
    if acks == "0":
        world.post(body, leader)
        return Answer("no answer", -1, 0.0)
    answer = world.ask(body, leader)
    after_ms = (world.now_us - asked_us) / 1000
    if answer is None:
        return Answer("lost connection", -1, after_ms)
    part = requests.first_partition(answer)
    return Answer(Errors(part.error_code).name, part.base_offset, after_ms)


def readable(world: World, topic: str, partition: int = 0) -> list[str]:
    """The values that a consumer gets from the leader now: those below the high watermark."""
    body = requests.fetching(topic_id(world, topic), partitions=[partition])
    answer = world.ask(body, world.leader(topic, partition))
    return requests.values(requests.first_partition(answer).records)


def ends(world: World, topic: str, partition: int = 0) -> dict[int, tuple[int, int]]:
    """Per running replica: (log end offset, high watermark)."""
    logs = world.snapshot()["topics"][topic]["partitions"][partition]["logs"]
    return {
        broker: (log["log_end_offset"], log["high_watermark"])
        for broker, log in logs.items()
        if "log_end_offset" in log
    }


def describe(world: World, topic: str) -> Description:
    """A simulated topic as the table that `describe` gives for a live one."""
    return Description("the simulator", topic, world.snapshot()["topics"][topic])


def isr(world: World, topic: str, partition: int = 0) -> list[int]:
    return sorted(world.partition(topic, partition).isr)
