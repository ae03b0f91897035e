"""The nodes of a cluster as processes: what a machine's operating system does to them.

            start             pause
    (no process) ──▶ running ◀──────▶ paused        as under SIGSTOP: what is for it waits
         ▲              │     resume     │
         │   stop: it leaves first,      │
         │   then its files are closed   │
         ├──── stopped ◀─┤               │
         └──── killed  ◀─┴───────────────┘          at once; what was written stays

Kill forgets the object; its files stay, and what the operating system had of them.  A node has
a number of lives, its incarnations: what was meant for one life does not reach the next.

This is the table of processes and no more.  What a change means for timers and messages is in
cluster.py.
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

    `paused` holds what waits for a paused node, in order; `clocks` those that are wrong.
    """

    def __init__(self, disks: Mapping[int, Disk]) -> None:
        self.disks = dict(disks)
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
        """The number of the node's present life, or of its last one."""
        return self.incarnations.get(node_id, 0)

    def is_alive(self, node_id: NodeId, life: int) -> bool:
        """Whether there is a process, and it is still the one of that life."""
        return node_id in self.nodes and self.life(node_id) == life

    def clock_of(self, now: int, node_id: NodeId) -> int:
        """What time a node believes it is."""
        clock = self.clocks.get(node_id) if self.clocks else None
        return now if clock is None else clock.shows(now)

    def disk_failure(self, node_id: NodeId) -> str:
        """Why the node's disk has failed; empty if it has not."""
        disk = self.disks.get(node_id) if isinstance(node_id, int) else None
        return "" if disk is None else disk.failure

    # -- changing

    def add(self, now: int, node_id: NodeId, node: Node) -> list[Effect]:
        """A node of another kind runs from now on, such as a simulated client."""
        self.nodes[node_id] = node
        self.states[node_id] = RUNNING
        return node.start(now)

    def start(self, now: int, node_id: int, spec: ClusterSpec) -> list[Effect]:
        """Begins the next life of a node, on the disk it had."""
        self.incarnations[node_id] = self.life(node_id) + 1
        self.disks[node_id].failure = ""
        self.states[node_id] = RUNNING
        node = make_node(spec, node_id, self.life(node_id), self.disks[node_id])
        self.nodes[node_id] = node
        effects: list[Effect] = node.start(self.clock_of(now, node_id))
        return effects

    def step(self, now: int, node_id: NodeId, event: Event) -> list[Effect]:
        """Hands an event to a running node; the effects are the caller's to carry out."""
        effects: list[Effect] = self.nodes[node_id].step(self.clock_of(now, node_id), event)
        return effects

    def pause(self, node_id: NodeId) -> None:
        self.states[node_id] = PAUSED
        self.paused[node_id] = []

    def keep(self, node_id: NodeId, item: Item) -> None:
        """Puts an item aside until the paused node goes on."""
        self.paused[node_id].append(item)

    def resume(self, node_id: NodeId) -> list[Item]:
        """The node goes on; gives what has waited for it."""
        self.states[node_id] = RUNNING
        return self.paused.pop(node_id)

    def end(self, node_id: NodeId, state: str) -> None:
        """There is no process any more."""
        self.nodes.pop(node_id, None)
        self.states[node_id] = state
        self.paused.pop(node_id, None)
