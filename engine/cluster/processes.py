"""The nodes of a cluster as processes: what a machine's operating system does to them.

            start             pause
    (no process) ──▶ running ◀──────▶ paused        as under SIGSTOP: what is for it waits
         ▲              │     resume     │
         │   stop: it leaves first,      │
         │   then its files are closed   │
         ├──── stopped ◀─┤               │
         └──── killed  ◀─┴───────────────┘          at once; what was written stays

Kill forgets the object; its files stay, and what the operating system had of them.  A node
whose disk fails halts, as Kafka does when its last log directory is gone.  One that dies
of an error of its own is a defect of this engine: the error is raised, or kept in `crashes`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping
from typing import Any, Protocol

from engine.broker.broker import Broker
from engine.broker.request_metrics import RequestMetrics
from engine.cluster.agenda import Agenda
from engine.cluster.clock import Clock
from engine.cluster.network import NodeId
from engine.cluster.spec import ClusterSpec, make_node
from engine.events import Effect, Event, Trace
from engine.storage.disk import Disk

_HERE = "cluster.processes.Processes"
RUNNING, PAUSED, STOPPED, KILLED = "running", "paused", "stopped", "killed"


class Node(Protocol):
    """A state machine that the cluster drives."""

    def start(self, now: int) -> list[Effect]: ...

    def step(self, now: int, event: Event) -> list[Effect]: ...


class DiskFailed(OSError):
    """Why a node halted: its disk could not take what was to be written."""


class Processes(ABC):
    """By node: its object while there is a process, and the state it is in.

    `paused` holds what waits for a paused node, in order; `clocks` those that are wrong.
    `crashes`, if it is a list, collects what killed a node from within; no other node is
    concerned.  `meter` sees each client's request begin and end; only a driver with a clock
    sets one.  `trace` holds (time, node, Trace); a bounded deque forgets the oldest lines.
    """

    def __init__(
        self, spec: ClusterSpec, disks: Mapping[int, Disk], now: int, trace_limit: int | None
    ) -> None:
        self.spec = spec
        self.disks = dict(disks)
        self.now = now
        self.agenda = Agenda()
        self.nodes: dict[NodeId, Any] = {}
        self.states: dict[NodeId, str] = {}
        self.incarnations: dict[NodeId, int] = {}
        self.clocks: dict[NodeId, Clock] = {}
        self.paused: dict[NodeId, list[Any]] = {}
        self.crashes: list[tuple[NodeId, Exception]] | None = None
        self.meter: RequestMetrics | None = None
        self.trace: deque[tuple[int, NodeId, Trace]] = deque(maxlen=trace_limit)
        self.trace_count = 0

    # -- what happens is told, and carried out

    @abstractmethod
    def carry_out(self, node_id: NodeId, effects: list[Effect]) -> None:
        """What a node decided happens."""

    @abstractmethod
    def hang_up(self, node_id: NodeId) -> None:
        """The connections of a process that is gone end, and its timers."""

    def note(self, rule: str, node_id: NodeId, kind: str, why: str, **fields: Any) -> None:
        """A trace line of the cluster's own: what was done to a process or a link."""
        self.trace_count += 1
        line = Trace(kind, "", tuple(fields.items()), why, rule)
        self.trace.append((self.now, node_id, line))

    # -- beginning

    def boot(self) -> None:
        """Starts the controller and every broker."""
        for node_id in (self.spec.controller, *self.spec.brokers):
            self.start(node_id)

    def add(self, node_id: str, node: Node) -> None:
        """Adds a node of another kind, such as a simulated client."""
        self.nodes[node_id] = node
        self.states[node_id] = RUNNING
        self.carry_out(node_id, node.start(self.now))

    def start(self, node_id: int) -> None:
        """Starts a node that is not running, on the disk it had."""
        if self.states.get(node_id) in (RUNNING, PAUSED):
            return
        self.incarnations[node_id] = self.incarnations.get(node_id, 0) + 1
        self.disks[node_id].failure = ""
        self.states[node_id] = RUNNING
        self.note(f"{_HERE}.start", node_id, "started", "the process starts")
        try:
            node = self.nodes[node_id] = make_node(
                self.spec, node_id, self.incarnations[node_id], self.disks[node_id]
            )
            effects = node.start(self.clock_of(node_id))
        except OSError:
            if not self._disk_has_failed(node_id):
                raise
            self._fail_disk(node_id)
            return
        self.carry_out(node_id, effects)

    def clock_of(self, node_id: NodeId) -> int:
        """What time a node believes it is."""
        clock = self.clocks.get(node_id) if self.clocks else None
        return self.now if clock is None else clock.shows(self.now)

    # -- running

    def give(self, node_id: NodeId, item: Any, event: Event) -> NodeId | None:
        """Hands an event to a node, or keeps the item while the node is paused."""
        if self.states.get(node_id) == PAUSED:
            self.paused[node_id].append(item)
            return None
        node = self.nodes.get(node_id)
        if node is None:
            return None
        if self.meter is not None:
            self.meter.begins(node_id, event)
        try:
            effects = node.step(self.clock_of(node_id), event)
        except Exception as error:
            if isinstance(error, OSError) and self._disk_has_failed(node_id):
                self._fail_disk(node_id)
                return node_id
            if self.crashes is None:
                raise
            self.crashes.append((node_id, error))
            self.note(f"{_HERE}.give", node_id, "crashed", f"{type(error).__name__}: {error}")
            self._gone(node_id, KILLED)
            return node_id
        self.carry_out(node_id, effects)
        if self.meter is not None:
            self.meter.ends(node_id, event)
        if self._disk_has_failed(node_id) and node_id in self.nodes:
            self._fail_disk(node_id)
        return node_id

    def pause(self, node_id: int) -> None:
        """The process stands still, as under SIGSTOP; what is for it waits."""
        if self.states.get(node_id) == RUNNING:
            self.states[node_id] = PAUSED
            self.paused[node_id] = []
            self.note(f"{_HERE}.pause", node_id, "paused", "the process stands still")

    def resume(self, node_id: int) -> None:
        if self.states.get(node_id) == PAUSED:
            self.states[node_id] = RUNNING
            self.note(f"{_HERE}.resume", node_id, "resumed", "the process goes on where it stood")
            for item in self.paused.pop(node_id):
                self.agenda.push(self.now, item)

    # -- ending

    def kill(self, node_id: int) -> None:
        """The process is gone at once; what it had written stays."""
        if self.states.get(node_id) in (RUNNING, PAUSED):
            self.note(f"{_HERE}.kill", node_id, "killed", "the process is gone; its files stay")
            self._gone(node_id, KILLED)

    def stop(self, node_id: int) -> None:
        """A clean stop: leaderships move away first, then files are closed."""
        if self.states.get(node_id) == PAUSED:
            self.resume(node_id)
        node = self.nodes.get(node_id)
        if node is None:
            return
        self.note(f"{_HERE}.stop", node_id, "stopping", "leaderships move away first")
        if isinstance(node, Broker):
            self.carry_out(node_id, node.stop(self.clock_of(node_id)))
        else:
            self.halt(node_id)

    def halt(self, node_id: NodeId) -> None:
        """A node that has left closes its files, and its process ends."""
        try:
            self.nodes[node_id].close()
        except OSError:
            if not self._disk_has_failed(node_id):
                raise
            self._fail_disk(node_id)
            return
        self.note(f"{_HERE}.halt", node_id, "stopped", "cleanly: files flushed and closed")
        self._gone(node_id, STOPPED)

    def _disk_has_failed(self, node_id: NodeId) -> bool:
        disk = self.disks.get(node_id) if isinstance(node_id, int) else None
        return disk is not None and bool(disk.failure)

    def _fail_disk(self, node_id: NodeId) -> None:
        """With its only log directory gone a broker halts at once, as Kafka does."""
        failure = self.disks[node_id].failure  # type: ignore[index]
        if self.crashes is not None:
            self.crashes.append((node_id, DiskFailed(failure)))
        self.note(f"{_HERE}._fail_disk", node_id, "disk-failed", f"it halts: {failure}")
        self._gone(node_id, KILLED)

    def _gone(self, node_id: NodeId, state: str) -> None:
        self.nodes.pop(node_id, None)
        self.states[node_id] = state
        self.paused.pop(node_id, None)
        self.hang_up(node_id)
