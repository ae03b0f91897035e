"""The two stages of the fault tape: a world in virtual time, and a cluster behind sockets."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import ElectionType

from engine.client.producer import Producer
from engine.client.sockets import SocketDriver
from engine.records import batch
from engine.sim.world.world import World
from engine.wire import messages as m
from kit.clusters.interface import Cluster, WaitTimeout
from kit.probes.clients import elect, partition, values
from lessons.nb08_producers.fault_tape import QUICK, Recipe

PATIENCE_S = 60.0
REPLICAS = (101, 102, 103)


class Simulated:
    """In a world of its own; the same seed gives the same run."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.producers: dict[str, Producer] = {}

    def create(self, name: str, recipe: Recipe) -> None:
        config = {"min.insync.replicas": recipe.minimum}
        self.world.create_topic(name, assignment={0: list(REPLICAS)}, config=config)
        producer = Producer(name, REPLICAS, {**QUICK, **recipe.settings})
        self.producers[name] = self.world.add(name, producer)

    def send(self, name: str, *values: str) -> None:
        for value in values:
            self.world.tell(name, "send", name, value.encode(), None, 0)

    def until(self, holds: Callable[[], bool], what: str) -> None:
        if not self.world.run(until=lambda _: holds(), for_s=PATIENCE_S):
            raise WaitTimeout(f"gave up after waiting {PATIENCE_S:.0f} virtual seconds for {what}.")

    def lose_answer(self, name: str) -> None:
        self.world.drop(101, name, api="Produce")

    def lose_connection(self, name: str, requests: int) -> None:
        self.world.drop(name, 101, count=requests, api="Produce")

    def cut(self, a: int, b: int) -> None:
        self.world.cut(a, b)

    def heal(self) -> None:
        self.world.heal()

    def kill(self, broker: int) -> None:
        self.world.kill(broker)

    def isr(self, topic: str) -> list[int]:
        return sorted(self.world.partition(topic, 0).isr)

    def ends(self, topic: str) -> list[int]:
        return [self.world.replica(each, topic, 0).log.log_end_offset for each in REPLICAS]

    def leader(self, topic: str) -> int:
        return self.world.leader(topic, 0)

    def elect_unclean(self, topic: str) -> None:
        request = m.ElectLeadersRequest
        part = request.TopicPartitions(topic=topic, partitions=[0])
        body = request(election_type=1, topic_partitions=[part], timeout_ms=10_000)
        self.world.ask(body, 102)

    def log(self, topic: str) -> list[str]:
        return log_of(self.world, topic)


def log_of(world: World, topic: str, on: int = 0) -> list[str]:
    """The values in partition 0's log on its leader, or on another broker."""
    log = world.replica(on or world.leader(topic, 0), topic, 0).log
    data = log.read(log.log_start_offset, 1 << 24)
    return [(record.value or b"").decode() for record in batch.decode_all(data)]


class Live:
    """On a running cluster.  One thread runs all producers in turn."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.producers: dict[str, Producer] = {}
        self.drivers: dict[str, SocketDriver[Producer]] = {}

    def create(self, name: str, recipe: Recipe) -> None:
        config = {"min.insync.replicas": recipe.minimum}
        self.cluster.create_topic(name, assignment={0: REPLICAS}, config=config)
        self.producers[name] = Producer(name, REPLICAS, {**QUICK, **recipe.settings})
        self.drivers[name] = driver(self.cluster, self.producers[name])

    def send(self, name: str, *values: str) -> None:
        for value in values:
            self.drivers[name].send(name, value.encode(), partition=0)

    def until(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            if time.monotonic() > deadline:
                raise WaitTimeout(f"gave up after waiting {PATIENCE_S:.0f} s for {what}.")
            for each in self.drivers.values():
                each.poll()

    def lose_answer(self, name: str) -> None:
        self.drivers[name].lose_answers = 1

    def lose_connection(self, name: str, requests: int) -> None:
        self.drivers[name].lose_requests = requests

    def cut(self, a: int, b: int) -> None:
        self.cluster.cut(a, b)

    def heal(self) -> None:
        self.cluster.heal()

    def kill(self, broker: int) -> None:
        self.cluster.kill(broker)

    def isr(self, topic: str) -> list[int]:
        found: list[int] = partition(self.cluster, topic)["isr"]
        return found

    def ends(self, topic: str) -> list[int]:
        return [
            log.get("log_end_offset", -1) for log in partition(self.cluster, topic)["logs"].values()
        ]

    def leader(self, topic: str) -> int:
        return int(partition(self.cluster, topic)["leader"])

    def elect_unclean(self, topic: str) -> None:
        elect(self.cluster, topic, ElectionType.UNCLEAN)

    def log(self, topic: str) -> list[str]:
        # With acks=1 the last record's answer comes before a consumer may read it.
        self.until(lambda: self._all_committed(topic), f"{topic} to be committed")
        return values(self.cluster, topic)

    def _all_committed(self, topic: str) -> bool:
        seen = partition(self.cluster, topic)
        log = seen["logs"].get(seen["leader"], {})
        end = log.get("log_end_offset", -1)
        return bool(end >= 0 and log["high_watermark"] == end)

    def close(self) -> None:
        for each in self.drivers.values():
            each.close()


def driver(cluster: Cluster, producer: Producer) -> SocketDriver[Producer]:
    """A producer of the engine's on the sockets of any cluster."""
    brokers: dict[int, Any] = cluster.snapshot()["brokers"]
    addresses = {number: (seen["host"], seen["port"]) for number, seen in brokers.items()}
    return SocketDriver(producer, addresses)
