"""Keeps a cluster's snapshots as numbered frames for the panel.

A panel never asks a cluster anything itself.  It shows frames of a source, the newest one
or, when the learner looks back, an older one.  `LiveSource` takes its frames from any
`Cluster` by asking for a snapshot now and then, so it misses what happens in between.  A
source over the simulator's trace can offer every step through the same interface.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kit.clusters.interface import NotOffered

Snapshot = Mapping[str, Any]

TRACE_ROUNDS = 10
TRACE_LINES = 200


@dataclass(frozen=True)
class Line:
    """One line of the engine's trace, as `engine.events.Trace` with a time and a place."""

    time_us: int
    node: int
    kind: str
    partition: str = ""
    fields: Mapping[str, Any] | None = None
    why: str = ""
    rule: str = ""

    def __getitem__(self, name: str) -> Any:
        return (self.fields or {}).get(name)


@dataclass(frozen=True)
class Frame:
    """A snapshot, its place in the sequence, and the trace lines since the frame before.

    `event` is the number of the simulator's event that led here; 0 on a running cluster.
    """

    number: int
    snapshot: Snapshot
    lines: tuple[Line, ...] = ()
    event: int = 0

    @property
    def time_us(self) -> int:
        return int(self.snapshot.get("time_us", 0))


class Source(Protocol):
    """Where a panel's frames come from."""

    @property
    def frames(self) -> Sequence[Frame]:
        """All frames at hand, oldest first, with consecutive numbers; never empty."""

    def now(self) -> Frame:
        """The newest frame."""

    def poll(self) -> bool:
        """Looks again; True if there is a new frame.  May block, so not on the kernel's loop."""


def without_groups(snapshot: Snapshot) -> Snapshot:
    """What the Cluster panel shows of a snapshot."""
    return {name: part for name, part in snapshot.items() if name != "groups"}


class LiveSource:
    """Frames of a running cluster; the last `keep` of them stay at hand.

    `shown` is what a panel shows of a snapshot: if nothing of it changes, there is no new frame.
    With a `tail`, snapshots have the values of each log's last records.  `more` gives lines
    beside those of the trace, and is asked after the snapshot.
    """

    def __init__(
        self,
        cluster: Any,
        keep: int = 240,
        tail: int = 16,
        shown: Callable[[Snapshot], Snapshot] = without_groups,
        more: Callable[[], Sequence[Line]] = tuple,
    ) -> None:
        self._cluster = cluster
        self._tail = tail
        self._keep = keep
        self._shown = shown
        self._more = more
        self._frames: tuple[Frame, ...] = ()
        self._trace = tracer(cluster)
        self._traced = 0

    @property
    def frames(self) -> Sequence[Frame]:
        if not self._frames:
            self.poll()
        return self._frames

    def now(self) -> Frame:
        if not self._frames:
            self.poll()
        return self._frames[-1]

    def poll(self) -> bool:
        whole = self._cluster.snapshot(values=self._tail > 0, tail=self._tail)
        snapshot = self._shown(whole)
        lines = tuple(sorted((*self._read_trace(), *self._more()), key=lambda line: line.time_us))
        before = self._frames[-1] if self._frames else None
        if before is not None:
            snapshot = remember_logs(before.snapshot, snapshot)
            if not lines and same_state(before.snapshot, snapshot):
                return False
        number = 0 if before is None else before.number + 1
        # replaced, not changed: the kernel's loop reads while a thread polls
        self._frames = (*self._frames[1 - self._keep :], Frame(number, snapshot, lines))
        return True

    def _read_trace(self) -> tuple[Line, ...]:
        """The trace's lines since the last look; empty if the provider has no trace."""
        lines: list[Line] = []
        if self._trace is None:
            return ()
        for _ in range(TRACE_ROUNDS):
            try:
                traced = self._trace(self._traced)
            except NotOffered:
                self._trace = None
                return ()
            self._traced = traced["next"]
            lines += map(read_line, traced["lines"])
            if not traced["lines"]:
                break
        return tuple(lines[-TRACE_LINES:])


def tracer(cluster: Any) -> Callable[[int], Mapping[str, Any]] | None:
    """The cluster's own `trace(since)`, or its provider's; None on a real Kafka."""
    own = getattr(cluster, "trace", None)
    return own or getattr(getattr(cluster, "provider", None), "trace", None)


def read_line(traced: Any) -> Line:
    """A trace line from a provider's form of it: a mapping, or an object with the same names."""
    get = (
        traced.get
        if isinstance(traced, Mapping)
        else lambda name, other: getattr(traced, name, other)
    )
    return Line(
        time_us=int(get("time_us", 0)),
        node=int(get("node", -1)),
        kind=str(get("kind", "")),
        partition=str(get("partition", "") or ""),
        fields=dict(get("fields", ()) or ()),
        why=str(get("why", "") or ""),
        rule=str(get("rule", "") or ""),
    )


def same_state(one: Snapshot, other: Snapshot) -> bool:
    """Whether two snapshots differ in nothing but the clock and the metadata log's growth."""
    return _still_parts(one) == _still_parts(other)


def _still_parts(snapshot: Snapshot) -> dict[str, Any]:
    parts = {name: part for name, part in snapshot.items() if name != "time_us"}
    controller = parts.get("controller") or {}
    parts["controller"] = {k: v for k, v in controller.items() if k != "metadata_offset"}
    parts["controllers"] = {
        each: [seen.get(name) for name in ("state", "role", "epoch", "is_active")]
        for each, seen in snapshot.get("controllers", {}).items()
    }
    return parts


def remember_logs(before: Snapshot, snapshot: Snapshot) -> Snapshot:
    """Keeps the log of a broker that is down in the picture.

    Its files are still on its disk, unchanged, but a provider that cannot read them leaves
    the log out of its snapshot.  A broker that was started again has lost the high watermark
    of its memory; until it has read its checkpoint, it is not known which one it will have.
    """
    topics = {}
    for name, topic in snapshot.get("topics", {}).items():
        old = before.get("topics", {}).get(name)
        if old is None or old.get("id") != topic.get("id"):
            topics[name] = topic
            continue
        partitions = {}
        for index, partition in topic["partitions"].items():
            known = old["partitions"].get(index, {}).get("logs", {})
            logs = dict(partition.get("logs", {}))
            for replica in partition.get("replicas", ()):
                unknown = "log_end_offset" not in logs.get(replica, {})
                if unknown and replica in known:
                    logs[replica] = {**known[replica], "role": "offline"}
                    if snapshot.get("brokers", {}).get(replica, {}).get("state") == "running":
                        logs[replica].pop("high_watermark", None)
            partitions[index] = {**partition, "logs": logs}
        topics[name] = {**topic, "partitions": partitions}
    return {**snapshot, "topics": topics}
