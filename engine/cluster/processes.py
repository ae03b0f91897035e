"""The nodes of a cluster as processes: starting, pausing, stopping and killing them.

            start             pause
    (no process) ──▶ running ◀──────▶ paused        as under SIGSTOP: its messages wait
         ▲              │     resume     │
         │   stop: it leaves first,      │
         │   then its files are closed   │
         ├──── stopped ◀─┤               │
         └──── killed  ◀─┴───────────────┘          at once; what was written stays

Kill drops the object; its files stay, cached pages included.  Each start is a new
*incarnation*: a message or timer meant for one does not reach the next.

This is only the table of processes.  cluster.py says what a change means for timers and
messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from engine.cluster.clock import Clock
from engine.cluster.items import Item, NodeId
from engine.cluster.spec import ClusterSpec, make_node
from engine.events import Effect, Event
from engine.storage.disk import Disk

RUNNING, PAUSED, STOPPED, KILLED = "running", "paused", "stopped", "killed"


class Node(Protocol):
    """A state machine that the cluster drives."""

    def start(self, now: int) -> list[Effect]: ...

    def step(self, now: int, event: Event) -> list[Effect]: ...


class Processes:
    """By node: its object while there is a process, its state, its disk, its number of lives.

    `tier` is the store that all brokers share, if there is one (KIP-405).
    `paused` holds the items that wait for a paused node, in order; `clocks` has the wrong clocks.
    """

    def __init__(self, disks: Mapping[int, Disk], tier: Disk | None = None) -> None:
        self.disks = dict(disks)
        self.tier = tier
        self.nodes: dict[NodeId, Any] = {}
        self.states: dict[NodeId, str] = {}
        self.incarnations: dict[NodeId, int] = {}
        self.clocks: dict[NodeId, Clock] = {}
        self.paused: dict[NodeId, list[Item]] = {}

    # -- looking

    def exists(self, node_id: NodeId) -> bool:
        return self.states.get(node_id) in (RUNNING, PAUSED)

    def is_paused(self, node_id: NodeId) -> bool:
        return self.states.get(node_id) == PAUSED

    def life(self, node_id: NodeId) -> int:
        """The number of the node's present life, or of its last if it has no process."""
        return self.incarnations.get(node_id, 0)

    def is_alive(self, node_id: NodeId, life: int) -> bool:
        """Whether the process of that life still exists."""
        return node_id in self.nodes and self.life(node_id) == life

    def clock_of(self, now: int, node_id: NodeId) -> int:
        """The time that a node's clock shows."""
        clock = self.clocks.get(node_id) if self.clocks else None
        return now if clock is None else clock.shows(now)

    def disk_failure(self, node_id: NodeId) -> str:
        """Why the node's disk has failed; empty if it has not."""
        disk = self.disks.get(node_id) if isinstance(node_id, int) else None
        return "" if disk is None else disk.failure

    # -- changing

    def add(self, now: int, node_id: NodeId, node: Node) -> list[Effect]:
        """Starts a node of another kind, such as a simulated client."""
        self.nodes[node_id] = node
        self.states[node_id] = RUNNING
        return node.start(now)

    def start(self, now: int, node_id: int, spec: ClusterSpec) -> list[Effect]:
        """Begins the next life of a node, on its old disk."""
        self.incarnations[node_id] = self.life(node_id) + 1
        self.disks[node_id].failure = ""
        self.states[node_id] = RUNNING
        node = make_node(spec, node_id, self.life(node_id), self.disks[node_id], self.tier)
        self.nodes[node_id] = node
        effects: list[Effect] = node.start(self.clock_of(now, node_id))
        return effects

    def step(self, now: int, node_id: NodeId, event: Event) -> list[Effect]:
        """Hands an event to a running node; the caller carries out the effects."""
        effects: list[Effect] = self.nodes[node_id].step(self.clock_of(now, node_id), event)
        return effects

    def pause(self, node_id: NodeId) -> None:
        self.states[node_id] = PAUSED
        self.paused[node_id] = []

    def keep(self, node_id: NodeId, item: Item) -> None:
        """Keeps an item until the paused node resumes."""
        self.paused[node_id].append(item)

    def resume(self, node_id: NodeId) -> list[Item]:
        """Resumes a node; returns the items that waited for it."""
        self.states[node_id] = RUNNING
        return self.paused.pop(node_id)

    def end(self, node_id: NodeId, state: str) -> None:
        """Removes the process.  Its files are closed: they may be others when it starts again."""
        if isinstance(node_id, int) and node_id in self.disks:
            self.disks[node_id].close()
        self.nodes.pop(node_id, None)
        self.states[node_id] = state
        self.paused.pop(node_id, None)
