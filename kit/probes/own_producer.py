"""The engine's own producer, on a cluster's sockets or in a world of virtual time, with its notes.

    with OwnProducer(cluster, "orders", {"linger.ms": 5}) as producer:
        producer.send("prepared", key="order-7")     # hands over, and does not wait
        producer.wait()                              # until each record has its verdict
    producer.batches, producer.requests, producer.records

It is the state machine of engine/client, with the Java client's settings.  It notes every record,
batch and request, so a lesson can count and draw what other clients hide.  A world's time runs only
in `wait` and `run`, or when the lesson runs the world.  On sockets time goes by meanwhile, but the
producer works only in calls of its methods.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from engine.client.producer import Producer
from engine.client.producer_batch import Sent
from engine.client.settings import ProducerSettings
from engine.client.sockets import SocketDriver
from engine.events import Trace
from engine.sim.world.world import World
from kit.clusters.interface import WaitTimeout
from kit.probes.raw_client import addresses

PATIENCE_S = 60.0
READY_S = 20.0
Note = tuple[float, Trace]
"""Milliseconds since the producer was made, and what it noted."""


@dataclass(frozen=True)
class Batch:
    """A batch as it was first sent: `waited_ms` is the time since its first record."""

    number: int
    partition: int
    records: int
    request: int
    waited_ms: float


class OwnProducer:
    """`checked=False` takes settings that Kafka's client refuses; `ready_s=0` waits for nothing."""

    def __init__(
        self,
        cluster: Any,
        topic: str,
        settings: Mapping[str, Any] | None = None,
        *,
        checked: bool = True,
        name: str = "app",
        seed: int = 0,
        ready_s: float = READY_S,
    ) -> None:
        self.cluster, self.topic, self.name = cluster, topic, name
        given = ProducerSettings.of(settings, checked=checked)
        known = addresses(cluster) if not isinstance(cluster, World) else {}
        brokers = tuple(known) or (101, 102, 103)
        producer = Producer(name, brokers, given, seed=seed)
        producer.metadata.add_topic(topic)
        self.driver: SocketDriver[Producer] | None = None
        if isinstance(cluster, World):
            self.began_us = cluster.cluster.now
            cluster.add(name, producer)
        else:
            self.driver = SocketDriver(producer, known)
            self.began_us = self.driver.began
        if ready_s and not self.run(until=self._is_ready, for_s=ready_s):
            raise WaitTimeout(f"The producer found no partition of {topic} within {ready_s:g} s.")

    def _is_ready(self) -> bool:
        """It knows the partitions, and its own id if it needs one."""
        identity = self.producer.identity
        has_id = identity is None or identity.is_known
        return has_id and self.producer.metadata.partitions(self.topic) > 0

    @property
    def producer(self) -> Producer:
        found: Producer = (
            self.cluster.client(self.name) if self.driver is None else self.driver.client
        )
        return found

    # -- the application's side

    def send(
        self, *values: str | bytes, key: str | None = None, partition: int | None = None
    ) -> None:
        """Hands records over.  Without a partition the partitioner chooses."""
        coded = None if key is None else key.encode()
        for value in values:
            data = value if isinstance(value, bytes) else value.encode()
            self._tell("send", self.topic, data, coded, partition)

    def run(self, until: Callable[[], bool] | None = None, for_s: float = PATIENCE_S) -> bool:
        """Lets time go by; False if the condition does not hold in time."""
        if self.driver is not None:
            return self.driver.run(until or (lambda: False), for_s)
        holds = until or (lambda: False)
        return bool(self.cluster.run(until=lambda _: holds(), for_s=for_s))

    def wait(self, for_s: float = PATIENCE_S) -> bool:
        """Until every record has its verdict; False if some have none when the time is over."""
        return self.run(lambda: self.producer.idle, for_s)

    def flush(self, for_s: float = PATIENCE_S) -> bool:
        """As `wait`, and batches that linger leave at once."""
        self._tell("flush")
        return self.wait(for_s)

    def _tell(self, method: str, *arguments: object) -> None:
        if self.driver is None:
            self.cluster.tell(self.name, method, *arguments)
        else:
            self.driver.tell(method, *arguments)

    def close(self) -> None:
        if self.driver is not None:
            self.driver.close()

    # -- what it knows

    @property
    def records(self) -> list[Sent]:
        """Every record in the order in which it was handed over, with its verdict."""
        return self.producer.sends

    @property
    def verdicts(self) -> list[str]:
        return [each.verdict for each in self.records]

    @property
    def notes(self) -> list[Note]:
        """Everything that the producer noted."""
        if self.driver is not None:
            return [(at / 1000, line) for at, line in self.driver.trace]
        return [
            ((at - self.began_us) / 1000, line)
            for at, node, line in self.cluster.cluster.trace
            if node == self.name
        ]

    def lines(self, kind: str) -> list[dict[str, Any]]:
        """The notes of one kind, each with its time: `record`, `sent`, `answered`, `blocked`, …"""
        return [{"ms": ms, **dict(line.fields), "partition": line.partition}
                for ms, line in self.notes if line.kind == kind]  # fmt: skip

    @property
    def batches(self) -> list[Batch]:
        """In the order in which they were first sent."""
        began: dict[int, float] = {}
        for line in self.lines("record"):
            began.setdefault(line["batch"], line["ms"])
        return [
            Batch(
                line["batch"], int(line["partition"].rpartition("-")[2]), line["records"],
                line["request"], line["ms"] - began.get(line["batch"], line["ms"]),
            )
            for line in self.lines("sent") if line["attempt"] == 1
        ]  # fmt: skip

    @property
    def requests(self) -> int:
        """How many Produce requests were sent."""
        return len({line["request"] for line in self.lines("sent")})

    @property
    def partitions_used(self) -> list[int]:
        return sorted({each.partition for each in self.records if each.partition >= 0})

    @property
    def waits_ms(self) -> list[float]:
        """For each record with a verdict: milliseconds from `send` to the verdict."""
        return [(each.done_us - each.made_us) / 1000 for each in self.records if each.done_us >= 0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
