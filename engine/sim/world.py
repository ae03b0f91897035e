"""A cluster in virtual time: seeded, steppable, with faults at will.

    world = World(seed=7)
    world.create_topic("orders")
    world.load("orders")
    world.run(for_s=5)
    world.kill(world.leader("orders", 0))
    world.run(until=lambda w: w.leader("orders", 0) > 0)

The same seed and the same calls give the same trace, byte by byte, in any process: the
only source of chance is the world's own generator.  A world pickles, so `fork` is a copy.
Invariants are checked after every event unless `checked=False`.  With `encoded`, messages
travel as bytes (engine/sim/carriage.py).
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from engine.cluster import Cluster, ClusterSpec
from engine.network import NodeId
from engine.replication.truncation import DEFAULT_RULE
from engine.sim.carriage import EncodedCarriage
from engine.sim.clients import Admin, Producer
from engine.sim.consumer import Consumer
from engine.sim.invariants import Invariants
from engine.snapshot import snapshot
from engine.storage.memory_disk import MemoryDisk
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

EPOCH_US = 1_767_225_600_000_000  # 2026-01-01, where every simulation begins
FIRST_BROKER = 101
SETTINGS: Mapping[str, Any] = {
    "replica.lag.time.max.ms": 2_000,
    "broker.session.timeout.ms": 1_500,
    "broker.heartbeat.interval.ms": 500,
    "auto.leader.rebalance.enable": False,
    "auto.create.topics.enable": False,
    "offsets.topic.num.partitions": 1,
}


class SimulatedLatency:
    """Delays drawn from the world's generator, in microseconds."""

    def __init__(self, chance: Random, low_us: int = 100, high_us: int = 1_000) -> None:
        self.chance = chance
        self.low_us = low_us
        self.high_us = high_us

    def network_us(self, source: NodeId, destination: NodeId) -> int:
        return self.low_us + int(self.chance.random() * (self.high_us - self.low_us))

    def flush_us(self, node_id: NodeId) -> int:
        return 1_000 + int(self.chance.random() * 4_000)


class World:
    """Brokers 101… and controller 100 on disks in memory."""

    def __init__(
        self,
        seed: int = 0,
        brokers: int = 3,
        settings: Mapping[str, Any] | None = None,
        racks: Mapping[int, str] | None = None,
        rule: str = DEFAULT_RULE,
        checked: bool = True,
        encoded: bool = False,
    ) -> None:
        self.seed = seed
        self.chance = Random(f"world/{seed}")
        ids = tuple(range(FIRST_BROKER, FIRST_BROKER + brokers))
        spec = ClusterSpec(
            brokers=ids,
            settings={**SETTINGS, **(settings or {})},
            racks=racks or {},
            seed=seed,
            rule=rule,
        )
        disks = {node: MemoryDisk() for node in (spec.controller, *ids)}
        self.cluster = Cluster(spec, disks, EPOCH_US, SimulatedLatency(self.chance),
                               carriage=EncodedCarriage() if encoded else None)  # fmt: skip
        self.invariants = Invariants(self.cluster) if checked else None
        self.events = 0
        self.clients = 0
        self.cluster.boot()
        self.cluster.add("admin", Admin())
        self.run(until=lambda w: all(not w.is_fenced(b) for b in ids), for_s=30)

    # -- time

    @property
    def now_us(self) -> int:
        """Virtual time since the world began."""
        return self.cluster.now - EPOCH_US

    def step(self) -> bool:
        """One event; False if nothing will ever happen again."""
        if self.cluster.step() is None:
            return False
        self.events += 1
        if self.invariants is not None:
            self.invariants.after_event()
        return True

    def run(
        self,
        until: Callable[[World], bool] | None = None,
        for_s: float | None = None,
        events: int | None = None,
    ) -> bool:
        """Runs until the condition holds, or for so long in virtual time, or so many events.

        True if the condition holds at the end (or none was given).
        """
        end_us = None if for_s is None else self.cluster.now + round(for_s * 1_000_000)
        last = None if events is None else self.events + events
        if until is None and end_us is None and last is None:
            raise ValueError("run needs until=, for_s= or events=, or it would never end.")
        while until is None or not until(self):
            at = self.cluster.next_at
            if at is None or (end_us is not None and at > end_us):
                self.cluster.now = max(self.cluster.now, end_us or 0)
                break
            if last is not None and self.events >= last:
                break
            self.step()
        return until is None or until(self)

    def fork(self) -> World:
        """An independent copy of everything, at this moment."""
        copy: World = pickle.loads(pickle.dumps(self))
        return copy

    # -- looking

    def snapshot(self, values: bool = False, tail: int = 12) -> dict[str, Any]:
        return snapshot(self.cluster, values, tail)

    def image(self) -> Any:
        """The controller's metadata image."""
        return self.cluster.nodes[self.cluster.spec.controller].image

    def partition(self, topic: str, index: int) -> Any:
        image = self.image()
        return image.topics[image.topic_ids[topic]].partitions[index]

    def leader(self, topic: str, index: int) -> int:
        """The leader's broker id, -1 if there is none."""
        return int(self.partition(topic, index).leader)

    def replica(self, broker: int, topic: str, index: int) -> Any:
        """The replica object on a running broker."""
        return self.cluster.nodes[broker].replicas.partitions[topic, index]

    def is_fenced(self, broker: int) -> bool:
        known = self.image().brokers.get(broker)
        return known is None or known.fenced

    def trace_lines(self, kinds: tuple[str, ...] = ()) -> list[str]:
        """The trace as text: seconds, node, what happened, why."""
        return [
            f"{(at - EPOCH_US) / 1e6:10.6f} {node} {line}" + (f"  ({line.why})" if line.why else "")
            for at, node, line in self.cluster.trace
            if not kinds or line.kind in kinds
        ]

    # -- faults

    def kill(self, broker: int) -> None:
        self.cluster.kill(broker)

    def stop(self, broker: int) -> None:
        self.cluster.stop(broker)

    def start(self, broker: int) -> None:
        self.cluster.start(broker)

    def pause(self, broker: int) -> None:
        self.cluster.pause(broker)

    def resume(self, broker: int) -> None:
        self.cluster.resume(broker)

    def lose_power(self, broker: int, torn: bool = False) -> None:
        self.cluster.lose_power(broker, torn)

    def cut(self, a: int, b: int) -> None:
        self.cluster.cut(a, b)

    def isolate(self, broker: int) -> None:
        self.cluster.isolate(broker)

    def slow(self, a: int, b: int, ms: int) -> None:
        self.cluster.slow(a, b, ms * 1000)

    def heal(self, a: int | None = None, b: int | None = None) -> None:
        self.cluster.heal(a, b)

    # -- work

    def ask(self, body: Any, broker: int | None = None) -> Any:
        """Sends one request to a broker (by default the first one alive) and runs to the answer."""
        alive = [b for b in self.cluster.spec.brokers if b in self.cluster.nodes]
        admin = self.cluster.nodes["admin"]
        number, effects = admin.ask(broker or alive[0], body)
        self.cluster.carry_out("admin", effects)
        self.run(until=lambda _: number in admin.answers, for_s=60)
        return admin.answers.pop(number, None)

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replicas: int = 3,
        config: Mapping[str, Any] | None = None,
        assignment: Mapping[int, list[int]] | None = None,
    ) -> None:
        """Creates a topic and runs until every replica is in the ISR; KafkaError if refused."""
        request = m.CreateTopicsRequest
        topic = request.CreatableTopic(
            name=name,
            num_partitions=-1 if assignment else partitions,
            replication_factor=-1 if assignment else replicas,
            assignments=[
                request.CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
                for index, brokers in (assignment or {}).items()
            ],
            configs=[
                request.CreatableTopicConfig(name=key, value=str(value))
                for key, value in (config or {}).items()
            ],
        )
        answer = self.ask(request(topics=[topic], timeout_ms=10_000)).topics[0]
        if answer.error_code != Errors.NONE:
            raise KafkaError(Errors(answer.error_code), answer.error_message or name)
        self.run(until=lambda w: w._is_served(name), for_s=30)

    def _is_served(self, topic: str) -> bool:
        image = self.image()
        for index, partition in image.topics[image.topic_ids[topic]].partitions.items():
            for broker in partition.replicas:
                node = self.cluster.nodes.get(broker)
                if node is None or (topic, index) not in node.replicas.partitions:
                    return False
        return True

    def load(self, topic: str, **options: Any) -> Producer:
        """Starts a producer on all partitions of a topic; see `Producer` for the options."""
        producer = Producer(self._client("producer"), topic, self._partitions(topic),
                            self.cluster.spec.brokers, **options)  # fmt: skip
        self.cluster.add(producer.name, producer)
        return producer

    def reader(self, topic: str) -> Consumer:
        """Starts a consumer that reads all partitions of a topic from the beginning."""
        consumer = Consumer(self._client("consumer"), topic, self._partitions(topic),
                            self.cluster.spec.brokers)  # fmt: skip
        self.cluster.add(consumer.name, consumer)
        return consumer

    def _client(self, kind: str) -> str:
        self.clients += 1
        return f"{kind}-{self.clients}"

    def _partitions(self, topic: str) -> int:
        image = self.image()
        return len(image.topics[image.topic_ids[topic]].partitions)
