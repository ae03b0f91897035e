"""What a column is played on: a simulated world or Java processes, in one vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.wire.errors import Errors

KRAFT, ZOOKEEPER = "KRaft", "ZooKeeper"
NONE, NO_ANSWER = "NONE", "no answer"
NONE_ACTIVE = (-1, -1)
"""The id and the epoch while no controller is active."""
TOPIC = "orders"
PERIOD_S = 0.1
"""The writer sends a record so often."""
WARM = 5
"""So many records are acknowledged before the scenario begins."""
ANSWER_S = 3.0
"""How long a client waits for an answer, and how long it asks again for a controller."""
FLUSH_S = 20.0
"""How long the writer waits at the end for what is under way."""
TRY_AGAIN = frozenset({Errors.NOT_CONTROLLER.name, Errors.COORDINATOR_NOT_AVAILABLE.name})


@dataclass(frozen=True, slots=True)
class Election:
    """From this moment on (seconds of the stage's clock) this node is active; -1: none is."""

    at: float
    active: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Led:
    """Partition 0 of a topic as the cluster knows it; the leader is -1 if there is none."""

    leader: int = -1
    epoch: int = -1
    isr: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """What the writer knows at its end."""

    acknowledged: Sequence[str]
    errors: int
    longest_pause_s: float


class Stage(Protocol):
    """A cluster with three brokers, and a writer to TOPIC."""

    design: str
    controllers: list[int]
    """Nodes that can become active: KRaft's controllers, or with ZooKeeper the brokers."""
    metadata_nodes: list[int]
    """Nodes that keep the metadata: KRaft's controllers, or ZooKeeper's members."""
    brokers: list[int]
    elections: list[Election]
    """Each change of the active controller so far."""

    def now(self) -> float:
        """Seconds."""
        ...

    def do(self, fault: str, *nodes: int) -> None:
        """A fault, named as a cluster's method; `stop` and `start` wait until it is done."""
        ...

    def advance(self, until: Callable[[], object] | None, for_s: float) -> bool:
        """Lets time pass until the condition holds or `for_s` are over; whether it holds."""
        ...

    def create(self, name: str, partitions: int, replicas: int,
               assignment: Mapping[int, list[int]] | None) -> str:  # fmt: skip
        """One CreateTopics request: NONE, an error's name or NO_ANSWER."""
        ...

    def partition(self, topic: str) -> Led:
        """`Led()` if no broker knows the topic."""
        ...

    def in_service(self, broker: int) -> bool:
        """Whether the others count it in: not fenced, or with a session."""
        ...

    def believes(self, node: int) -> bool:
        """Whether a running node takes itself for the active controller."""
        ...

    def start_writer(self) -> None: ...

    def acknowledged(self) -> int:
        """How many of the writer's records so far."""
        ...

    def written(self) -> Written:
        """Ends the writer."""
        ...

    def read(self) -> list[str]:
        """All values of TOPIC; ClusterError if it cannot be read."""
        ...

    def close(self) -> None: ...


def longest_pause_s(moments: Sequence[float], ended: float) -> float:
    """The longest time without an acknowledgement, from the first one until the writer ended."""
    ends = [*moments[1:], ended]
    return max((end - begin for begin, end in zip(moments, ends, strict=False)), default=0.0)
