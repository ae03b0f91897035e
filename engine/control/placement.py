"""Where the replicas of a new partition go: Kafka's striped, rack-aware placement.

Wanted: leaders spread over the brokers, replicas of one partition spread over the racks,
and not always the same brokers together.  Each rack deals out its brokers in turn, and
each partition starts one rack further:

    rack A: 101 104   rack B: 102 105   rack C: 103 106

    partition 0   A B C   101 102 103
    partition 1   B C A   105 106 104      every rack has turned one on
    partition 2   C A B   103 101 102

After as many partitions as there are usable brokers everything is shuffled, so that a
broker's load, when it dies, does not fall on the same neighbor again and again.  Fenced
brokers come last within their rack and never first in a partition: the first replica is
the preferred leader.  Brokers without a rack form one rack.

Source: StripedReplicaPlacer of Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random

from engine.wire.errors import Errors, KafkaError


@dataclass(frozen=True, slots=True)
class UsableBroker:
    """A broker that may be given replicas: registered and not shutting down."""

    id: int
    rack: str | None = None
    fenced: bool = False


@dataclass(slots=True)
class _Turn:
    """Brokers dealt out in turn, each at most once per partition, one further each time."""

    brokers: list[int] = field(default_factory=list)
    offset: int = 0
    dealt: int = 0
    partition: int = 0

    def next(self, partition: int) -> int | None:
        if not self.brokers:
            return None
        if self.partition != partition:
            self.partition = partition
            self.dealt = 0
            self.offset = (self.offset + 1) % len(self.brokers)
        if self.dealt == len(self.brokers):
            return None
        broker = self.brokers[(self.dealt + self.offset) % len(self.brokers)]
        self.dealt += 1
        return broker


@dataclass(slots=True)
class _Rack:
    unfenced: _Turn = field(default_factory=_Turn)
    fenced: _Turn = field(default_factory=_Turn)

    def next(self, partition: int) -> int | None:
        broker = self.unfenced.next(partition)
        return self.fenced.next(partition) if broker is None else broker


def place(
    partitions: int, replication_factor: int, brokers: Iterable[UsableBroker], ids: Random
) -> list[tuple[int, ...]]:
    """Replica lists for that many partitions; KafkaError(INVALID_REPLICATION_FACTOR) if
    there are too few brokers."""
    usable = sorted(brokers, key=lambda broker: broker.id)
    unfenced = sum(not broker.fenced for broker in usable)
    _check(replication_factor, len(usable), unfenced)

    racks: dict[str | None, _Rack] = {}
    for broker in usable:
        rack = racks.setdefault(broker.rack, _Rack())
        (rack.fenced if broker.fenced else rack.unfenced).brokers.append(broker.id)
    for rack in racks.values():
        for turn in (rack.fenced, rack.unfenced):
            if turn.brokers:
                turn.offset = ids.randrange(len(turn.brokers))
    names = sorted(racks, key=lambda name: (name is not None, name or ""))
    start = ids.randrange(len(names))

    placed = []
    for number in range(partitions):
        if number and unfenced > 1 and number % unfenced == 0:
            ids.shuffle(names)
            for rack in racks.values():
                ids.shuffle(rack.unfenced.brokers)
                ids.shuffle(rack.fenced.brokers)
        order = [racks[name] for name in names[start:] + names[:start]]
        placed.append(_place_one(replication_factor, order, number))
        start = (start + 1) % len(names)
    return placed


def _place_one(replication_factor: int, racks: list[_Rack], number: int) -> tuple[int, ...]:
    """One partition: an unfenced leader, then one broker of each rack, round and round."""
    chosen: list[int] = []
    leader_rack: _Rack | None = None
    for rack in racks:
        leader = rack.unfenced.next(number)
        if leader is not None:
            chosen.append(leader)
            leader_rack = rack
            break
    while len(chosen) < replication_factor:
        for rack in racks:
            if rack is leader_rack:
                leader_rack = None  # it has had its turn in the first round
                continue
            broker = rack.next(number)
            if broker is not None and len(chosen) < replication_factor:
                chosen.append(broker)
    return tuple(chosen)


def _check(replication_factor: int, brokers: int, unfenced: int) -> None:
    if replication_factor <= 0:
        problem = f"a replication factor of {replication_factor} is not positive."
    elif unfenced == 0:
        problem = "all brokers are fenced."
    elif replication_factor > brokers:
        problem = f"only {brokers} broker(s) are registered."
    else:
        return
    raise KafkaError(
        Errors.INVALID_REPLICATION_FACTOR,
        f"Unable to replicate the partition {replication_factor} time(s): {problem}",
    )
