"""Brokers and their controller as one object: processes, links and timers as data.

Nodes are state machines (engine/events.py).  This module carries out their effects: it keeps
one agenda of what will happen, in order of time, and hands each thing to the node it concerns.
It has no clock of its own; the two drivers bring one:

    engine/server      real time; client connections come in over TCP
    engine/sim         virtual time; the clock jumps to the next thing on the agenda

so a fault means the same in both, and a test can compare them.

    Send, Reply   --> a call, its request and its answer                    calls.py
    SetTimer      --> an Expired, when its time has come                    agenda.py
    Flush         --> the disk, then Flushed
    Halt          --> the process ends                                      processes.py

A node whose disk fails halts, as Kafka does when its last log directory fails.  Any other
exception in a node's code is a defect of this engine.  In virtual time it is raised: a test must
see it.  Behind sockets it is kept in `defects`, and the node goes on (defects.py): a client that
repeats such a request must not take the brokers one by one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.broker.broker import Broker
from engine.broker.request_metrics import RequestMetrics
from engine.cluster import defects
from engine.cluster.agenda import LATE, Agenda
from engine.cluster.calls import Calls, Delivery, Listener
from engine.cluster.items import (
    Answer,
    Arriving,
    Durable,
    Flushing,
    FromOutside,
    Item,
    NodeId,
    Received,
    Repeated,
    Ringing,
    Unmute,
)
from engine.cluster.network import Carriage, Latency, Network, NoLatency
from engine.cluster.processes import KILLED, STOPPED, Node, Processes
from engine.cluster.spec import ClusterSpec
from engine.events import (
    AnyRequest,
    CancelTimer,
    Disconnected,
    Effect,
    Event,
    Expired,
    Flush,
    Flushed,
    Halt,
    HangUp,
    Reply,
    Send,
    SetTimer,
    Trace,
)
from engine.quorum.formatting import format_new
from engine.replication.truncation import RULES
from engine.storage.disk import Disk
from engine.wire.errors import KafkaError

_HERE = "cluster.cluster.Cluster"


class DiskFailed(OSError):
    """A node halted because its disk could not take a write."""


class Cluster:
    """Nodes, what they wait for, and messages on their way; see the module's prologue.

    The driver takes the replies to its own connections from `outgoing`, and the connections to
    close from `hang_ups`.  `defects`, if it is a list, collects each exception that a node's code
    raised, and `DiskFailed` for a node that halted.  `meter` sees each client's request begin and
    end; only a driver with a clock sets one.  `trace` holds (time, node, Trace); a bounded deque
    drops the oldest lines.
    """

    def __init__(
        self,
        spec: ClusterSpec,
        disks: Mapping[int, Disk],
        now: int,
        latency: Latency | None = None,
        trace_limit: int | None = None,
        carriage: Carriage | None = None,
        tier: Disk | None = None,
    ) -> None:
        self.spec = spec
        self.now = now
        self.agenda = Agenda()
        self.processes = Processes(disks, tier)
        self.latency = latency or NoLatency()
        self.calls = Calls(self.agenda, self.processes, self.latency, carriage)
        self.happened = 0
        self.outgoing: list[tuple[NodeId, Reply]] = []
        self.hang_ups: list[tuple[NodeId, HangUp]] = []
        self.defects: list[tuple[NodeId, Exception]] | None = None
        self.meter: RequestMetrics | None = None
        self.trace: deque[tuple[int, NodeId, Trace]] = deque(maxlen=trace_limit)
        self.trace_count = 0
        # Short names for what every room reads.
        self.nodes, self.states = self.processes.nodes, self.processes.states
        self.disks, self.clocks = self.processes.disks, self.processes.clocks

    @property
    def network(self) -> Network:
        """The links between the nodes."""
        return self.calls.network

    @property
    def controller(self) -> Any:
        """The active one: of those that take themselves for it, that of the latest epoch.

        A node; with an ensemble, the controller part of a broker (engine/zookeeper).  Of several
        clusters on one ensemble, it is the first one's.
        """
        if self.spec.ensemble:
            members = (self.nodes.get(each) for each in self.spec.ensemble)
            epochs = [each.controller_epoch(self.spec.first_chroot) for each in members if each]
            last = max(epochs, default=0)
            brokers = (self.nodes.get(each) for each in self.spec.first_cluster)
            parts = [each.plane.controller for each in brokers if each is not None]
            nodes = [each for each in parts if each.epoch >= last]
        else:
            there = (self.nodes.get(each) for each in self.spec.controllers)
            nodes = [each for each in there if each is not None]
        active = [each for each in nodes if each.is_active]
        return max(active, key=lambda each: each.epoch, default=None)

    def use_rule(self, rule: str) -> None:
        """Followers truncate by another rule from now on, running ones included."""
        self.spec = replace(self.spec, rule=rule)
        for node in self.nodes.values():
            if isinstance(node, Broker):
                node.replicas.rule = RULES[rule]
                for fetcher in node.replicas.fetchers.values():
                    fetcher.rule = RULES[rule]
        why = f"followers truncate by {rule} from now on"
        self.note(f"{_HERE}.use_rule", self.spec.controller, "rule", why)

    def note(self, rule: str, node_id: NodeId, kind: str, why: str, **fields: Any) -> None:
        """Traces what was done to a process or a link."""
        self.trace_count += 1
        line = Trace(kind, "", tuple(fields.items()), why, rule)
        self.trace.append((self.now, node_id, line))

    # -- what happens next

    @property
    def next_at(self) -> int | None:
        """When the next thing happens; None if nothing will."""
        return self.agenda.next_at

    def run(self, now: int, events: int) -> None:
        """Runs what is due by `now`, at most so many events; `next_at` tells if more is due.

        Work in the background comes after all else, and after the answers there are.
        """
        while events > 0 and (at := self.next_at) is not None and at <= now:
            if self.agenda.is_background_next:
                if at < now:
                    self.agenda.put_off_next(now)
                    continue
                if self.outgoing:
                    return
            self.step(now)
            events -= 1
        # Overdue events happen at their own time, or every node would seem long silent.
        if (at := self.next_at) is None or at > now:
            self.now = max(self.now, now)

    def step(self, until: int | None = None) -> NodeId | None:
        """Runs the next event; returns the node that took a step, if one did.

        Skips what no longer concerns a node, and runs nothing after `until`.
        """
        # Not while effects are carried out: a timer is known only once it is pushed.
        self.agenda.prune()
        heap = self.agenda.heap
        while heap and (until is None or heap[0][0] <= until):
            node_id = self._next()
            if node_id is not None:
                return node_id
        return None

    def catch_up(self, happened: int) -> None:
        """Runs until `happened` items have left the agenda; some of a replay belong to no node."""
        while self.happened < happened and self.agenda.heap:
            self._next()

    def _next(self) -> NodeId | None:
        found = self.agenda.pop()
        if found is None:
            return None
        at, item = found
        self.happened += 1
        self.now = max(self.now, at)
        delivery = self._happen(item)
        return None if delivery is None else self._give(*delivery)

    def _happen(self, item: Item) -> Delivery | None:
        """Turns a due item into a delivery; None if it concerns no node."""
        match item:
            case Arriving() | Received():
                return self.calls.arrive(self.now, item)
            case Answer():
                return self.calls.answer(self.now, item)
            case Ringing():
                return self._ring(item)
            case Flushing(node_id, life, path, token):
                if not self.processes.is_alive(node_id, life):
                    return None
                self.disks[node_id].flush(path)
                return Delivery(node_id, Durable(node_id, life, token), Flushed(token))
            case Durable(node_id, life, token):
                if self.processes.life(node_id) != life:
                    return None
                return Delivery(node_id, item, Flushed(token))
            case Unmute():
                return self.calls.unmute(item)
            case Repeated():
                return self.calls.repeat(item)
            case FromOutside(node_id, event):
                return Delivery(node_id, item, event)

    def _ring(self, item: Ringing) -> Delivery | None:
        node_id, timers = item.node, self.agenda.timers
        if item.is_late and timers.get((node_id, item.token)) != LATE:
            return None  # cancelled, or set again
        if self.processes.is_paused(node_id):
            timers[node_id, item.token] = LATE
            self.processes.keep(node_id, Ringing(node_id, item.token, is_late=True))
            return None
        del timers[node_id, item.token]
        return Delivery(node_id, item, Expired(item.token))

    def _give(self, node_id: NodeId, item: Item, event: Event) -> NodeId | None:
        """Hands an event to a node, or keeps the item while the node is paused."""
        if self.processes.is_paused(node_id):
            self.processes.keep(node_id, item)
            return None
        if node_id not in self.nodes:
            return None
        if self.meter is not None:
            self.meter.begins(node_id, event)
        try:
            effects = self.processes.step(self.now, node_id, event)
        except Exception as error:
            if isinstance(error, OSError) and self.processes.disk_failure(node_id):
                self._fail_disk(node_id)
                return node_id
            if self.defects is None:
                raise
            self.defects.append((node_id, error))
            self.note(f"{_HERE}._give", node_id, "defect", f"{type(error).__name__}: {error}")
            effects = defects.settled(self.now, self.nodes[node_id], event)
        self.carry_out(node_id, effects)
        if self.meter is not None:
            self.meter.ends(node_id, event)
        if self.processes.disk_failure(node_id) and node_id in self.nodes:
            self._fail_disk(node_id)
        return node_id

    # -- effects

    def carry_out(self, node_id: NodeId, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Trace():
                    self.trace_count += 1
                    self.trace.append((self.now, node_id, effect))
                case Send():
                    self.calls.send(self.now, node_id, effect)
                case Reply():
                    self._reply(node_id, effect)
                case SetTimer(token, at):
                    if node_id in self.clocks:
                        at = self.clocks[node_id].rings(self.now, at)
                    self.agenda.set_timer(max(at, self.now), node_id, token)
                case CancelTimer(token):
                    self.agenda.timers.pop((node_id, token), None)
                case Flush(path, token):
                    assert isinstance(node_id, int)
                    at = self.now + self.latency.flush_us(node_id)
                    life = self.processes.life(node_id)
                    self.agenda.push(at, Flushing(node_id, life, path, token))
                case HangUp(destination):
                    if destination in self.states:
                        self.calls.hang_up(self.now, node_id, effect)
                    else:
                        self.hang_ups.append((node_id, effect))
                case Halt():
                    self.halt(node_id)

    def _reply(self, node_id: NodeId, effect: Reply) -> None:
        if effect.destination in self.states:
            self.calls.reply(self.now, node_id, effect)
            return
        if self.meter is not None:
            self.meter.answered(effect)
        self.outgoing.append((node_id, effect))

    # -- what is done to processes

    def boot(self) -> dict[int, KafkaError]:
        """Starts the controllers and every broker; of the controllers, a majority is enough.

        Gives those whose files it cannot go on with, and raises the first if they are too many.
        """
        spec, refused = self.spec, dict[int, KafkaError]()
        controllers = spec.controllers
        if spec.voters:
            format_new(self.disks, controllers, spec.voters, spec.cluster_id, spec.addresses,
                       spec.seed, self.now // 1000)  # fmt: skip
        for node_id in self.spec.nodes:
            try:
                self.start(node_id)
            except KafkaError as error:
                refused[node_id] = error
                self.note(f"{_HERE}.boot", node_id, "refused", error.message)
                if node_id not in controllers or 2 * len(refused) >= len(controllers):
                    raise
        return refused

    def add(self, node_id: str, node: Node) -> None:
        """Adds a node of another kind, such as a simulated client."""
        self.carry_out(node_id, self.processes.add(self.now, node_id, node))

    def start(self, node_id: int) -> None:
        """Starts a node that is not running, on its old disk."""
        if self.processes.exists(node_id):
            return
        self.note(f"{_HERE}.start", node_id, "started", "the process starts")
        try:
            effects = self.processes.start(self.now, node_id, self.spec)
        except KafkaError:
            self.processes.end(node_id, STOPPED)  # it refuses its files
            raise
        except OSError:
            if not self.processes.disk_failure(node_id):
                raise
            self._fail_disk(node_id)
            return
        self.carry_out(node_id, effects)

    def pause(self, node_id: NodeId) -> None:
        """Suspends the process, as SIGSTOP does; its messages and timers wait."""
        if self.processes.exists(node_id) and not self.processes.is_paused(node_id):
            self.processes.pause(node_id)
            self.note(f"{_HERE}.pause", node_id, "paused", "the process stands still")

    def resume(self, node_id: NodeId) -> None:
        if self.processes.is_paused(node_id):
            self.note(f"{_HERE}.resume", node_id, "resumed", "the process goes on where it stood")
            for item in self.processes.resume(node_id):
                self.agenda.push(self.now, item)

    def kill(self, node_id: NodeId) -> None:
        """Ends the process at once; what it had written stays."""
        if self.processes.exists(node_id):
            self.note(f"{_HERE}.kill", node_id, "killed", "the process is gone; its files stay")
            self._end(node_id, KILLED)

    def stop(self, node_id: int) -> None:
        """Stops a node cleanly: leaderships move away first, then files are closed."""
        self.resume(node_id)
        node = self.nodes.get(node_id)
        if node is None:
            return
        self.note(f"{_HERE}.stop", node_id, "stopping", "leaderships move away first")
        self.carry_out(node_id, node.stop(self.processes.clock_of(self.now, node_id)))

    def halt(self, node_id: NodeId) -> None:
        """Closes the files of a node that has left, and ends its process."""
        try:
            self.nodes[node_id].close()
        except OSError:
            if not self.processes.disk_failure(node_id):
                raise
            self._fail_disk(node_id)
            return
        self.note(f"{_HERE}.halt", node_id, "stopped", "cleanly: files flushed and closed")
        self._end(node_id, STOPPED)

    def _fail_disk(self, node_id: NodeId) -> None:
        failure = self.processes.disk_failure(node_id)
        if self.defects is not None:
            self.defects.append((node_id, DiskFailed(failure)))
        self.note(f"{_HERE}._fail_disk", node_id, "disk-failed", f"it halts: {failure}")
        self._end(node_id, KILLED)

    def _end(self, node_id: NodeId, state: str) -> None:
        """Ends a process with its timers and connections."""
        self.processes.end(node_id, state)
        self.agenda.drop_timers(node_id)
        self.calls.forget(self.now, node_id)

    # -- what comes from outside

    def submit(self, node_id: int, request: AnyRequest, at: int = 0) -> None:
        """Takes in a request from a client's connection: it reaches the node now, or at `at`."""
        self.agenda.push(max(self.now, at), FromOutside(node_id, request))

    def disconnected(self, node_id: int, source: str) -> None:
        self.agenda.push(self.now, FromOutside(node_id, Disconnected(source)))

    def listen(self, listener: Listener) -> None:
        """Calls back for each message between nodes, as it leaves and as it arrives."""
        self.calls.listeners.append(listener)

    def unlisten(self, listener: Listener) -> None:
        self.calls.listeners.remove(listener)
