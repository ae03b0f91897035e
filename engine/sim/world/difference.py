"""Two worlds side by side: where their stories part, and what differs now.

Two worlds that share their past tell the same trace up to one event.  From there on, times
and logs drift apart; what counts is the state that each ends in: the leader, the ISR, and the
record at each offset.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from engine.cluster.snapshot import DAMAGED, snapshot
from engine.records import batch
from engine.sim.invariants.chains import is_intact
from engine.sim.world.run import Run
from engine.sim.world.views import trace_line
from engine.storage.log import Log

READ_BYTES = 1 << 24
CONTROL = ("leader", "leader_epoch", "isr", "elr")
REPLICA = ("role", "log_start_offset", "log_end_offset", "high_watermark", "leader_epoch")
Pair = tuple[Any, Any]
"""What one world has and what the other has; None for nothing."""


@dataclass(frozen=True)
class Parting:
    """The first trace line that differs: its event in each world (-1: unknown) and its text."""

    events: tuple[int, int]
    lines: tuple[str, str]

    @property
    def at(self) -> str:
        here, there = self.events
        return f"event {here}" if here == there else f"event {here} here, {there} there"


@dataclass
class ReplicaDifference:
    """Fields that differ, and per offset the record (epoch, value) that each has."""

    fields: dict[str, Pair] = field(default_factory=dict)
    records: dict[int, Pair] = field(default_factory=dict)


@dataclass
class PartitionDifference:
    """The fields in which the controllers differ, and each replica that differs, by broker."""

    fields: dict[str, Pair] = field(default_factory=dict)
    replicas: dict[int, ReplicaDifference] = field(default_factory=dict)


@dataclass(frozen=True)
class Difference:
    """`parting` is None while the traces are equal; `partitions` has those that differ."""

    parting: Parting | None
    actions: tuple[tuple[str, ...], tuple[str, ...]]
    partitions: dict[str, PartitionDifference]

    def __bool__(self) -> bool:
        return self.parting is not None or bool(self.partitions)

    @property
    def text(self) -> str:
        lines = []
        if self.parting is None:
            lines.append("the same story so far")
        else:
            lines.append(f"the stories diverge at {self.parting.at}:")
            lines += [f"  here   {self.parting.lines[0] or 'nothing'}"]
            lines += [f"  there  {self.parting.lines[1] or 'nothing'}"]
        for where, actions in zip(("here", "there"), self.actions, strict=True):
            lines += [f"done only {where}: {action}" for action in actions]
        for name, partition in self.partitions.items():
            lines.append(name)
            lines += _pairs("  ", partition.fields)
            for broker, replica in partition.replicas.items():
                lines.append(f"  on {broker}")
                lines += _pairs("    ", replica.fields)
                lines += [
                    f"    offset {offset}: {_record(here)} here, {_record(there)} there"
                    for offset, (here, there) in replica.records.items()
                ]
        return "\n".join(lines)

    __str__ = __repr__ = text.fget  # type: ignore[attr-defined]


def _pairs(indent: str, fields: dict[str, Pair]) -> list[str]:
    return [f"{indent}{name}: {here} here, {there} there" for name, (here, there) in fields.items()]


def _record(found: tuple[int, str] | None) -> str:
    return "nothing" if found is None else f"{found[1]} (epoch {found[0]})"


def difference(here: Run, there: Run) -> Difference:
    """Compares two worlds as they are now."""
    snapshots = [snapshot(each.cluster)["topics"] for each in (here, there)]
    partitions: dict[str, PartitionDifference] = {}
    for topic in sorted({**snapshots[0], **snapshots[1]}):
        both = [each.get(topic, {"partitions": {}})["partitions"] for each in snapshots]
        for index in sorted({**both[0], **both[1]}):
            found = _partition(here, there, (topic, index), *(each.get(index) for each in both))
            if found.fields or found.replicas:
                partitions[f"{topic}-{index}"] = found
    return Difference(_parting(here, there), _actions(here, there), partitions)


def _parting(here: Run, there: Run) -> Parting | None:
    for number, (a, b) in enumerate(zip_longest(here.cluster.trace, there.cluster.trace)):
        if a != b:
            timelines = (here.timeline, there.timeline)
            events = [each.event_of_line(number) if each else -1 for each in timelines]
            lines = [trace_line(entry) if entry else "" for entry in (a, b)]
            return Parting((events[0], events[1]), (lines[0], lines[1]))
    return None


def _actions(here: Run, there: Run) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The actions done to one world only, since the first difference."""
    a, b = here.tape[: here.on_tape], there.tape[: there.on_tape]
    shared = 0
    while shared < min(len(a), len(b)) and a[shared] == b[shared]:
        shared += 1
    return tuple(map(str, a[shared:])), tuple(map(str, b[shared:]))


def _partition(here: Run, there: Run, key: tuple[str, int], a: Any, b: Any) -> PartitionDifference:
    found = PartitionDifference(_fields(a, b, CONTROL))
    brokers = sorted({*(a["replicas"] if a else ()), *(b["replicas"] if b else ())})
    for broker in brokers:
        logs = [each["logs"].get(broker) if each else None for each in (a, b)]
        fields = _fields(logs[0], logs[1], REPLICA)
        records = _records(_log(here, broker, key), _log(there, broker, key))
        if fields or records:
            found.replicas[broker] = ReplicaDifference(fields, records)
    return found


def _fields(a: Any, b: Any, names: tuple[str, ...]) -> dict[str, Pair]:
    pairs = {name: ((a or {}).get(name), (b or {}).get(name)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _log(run: Run, broker: int, key: tuple[str, int]) -> Log | None:
    node = run.cluster.nodes.get(broker)
    replica = node.replicas.partitions.get(key) if node is not None else None
    return replica.log if replica is not None else None


def _records(a: Log | None, b: Log | None) -> dict[int, Pair]:
    """By offset, what differs; batches that are the same byte for byte are not opened."""
    batches = (_batches(a), _batches(b))
    found: list[dict[int, tuple[int, str]]] = [{}, {}]
    for number, (own, others) in enumerate((batches, batches[::-1])):
        for base_offset, content in own.items():
            if others.get(base_offset) == content:
                continue
            epoch = batch.read_header(content).partition_leader_epoch
            found[number].update((at, (epoch, value)) for at, value in _values(content))
    offsets = sorted({**found[0], **found[1]})
    pairs = {offset: (found[0].get(offset), found[1].get(offset)) for offset in offsets}
    return {offset: pair for offset, pair in pairs.items() if pair[0] != pair[1]}


def _values(content: bytes) -> Iterator[tuple[int, str]]:
    """Offset and value of each record of a batch."""
    if is_intact(content, 0):
        for record in batch.decode(content):
            value = record.value
            yield record.offset, "∅" if value is None else value.decode(errors="replace")
    else:
        header = batch.read_header(content)
        yield from ((at, DAMAGED) for at in range(header.base_offset, header.next_offset))


def _batches(log: Log | None) -> dict[int, bytes]:
    """Every batch of a log by its first offset."""
    found: dict[int, bytes] = {}
    offset = log.log_start_offset if log is not None else 0
    while log is not None and offset < log.log_end_offset:
        data = log.read(offset, READ_BYTES)
        if not data:
            break
        for header, position in batch.iterate(data):
            found[header.base_offset] = data[position : position + header.size_in_bytes]
            offset = header.next_offset
    return found
