"""Brokers and their controller as one object: processes, links and timers as data.

Nodes are state machines (engine/events.py).  This module carries out their effects: it
keeps one queue of things that will happen, in order of time, and hands each to the node
it concerns.  It has no clock of its own; the two drivers bring one:

    engine/server/server.py   real time; client connections come in over TCP
    engine/sim         virtual time; the clock jumps to the next thing in the queue

so that a fault means the same in both, and a test can compare them.

    Send     -> a call, and its request on its way to the other node
    Reply    -> the answer on its way back, or to a client's connection
    SetTimer -> an Expired in the queue        Flush -> the disk, then Flushed

What can happen to a node as a process is in engine/cluster/processes.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.broker.broker import Broker
from engine.cluster.agenda import LATE, Call
from engine.cluster.muted_clients import Channel, Channels
from engine.cluster.network import Carriage, Latency, Network, NodeId, NoLatency
from engine.cluster.processes import PAUSED, Processes
from engine.cluster.spec import ClusterSpec
from engine.events import (
    NO_ANSWER,
    AnyRequest,
    CancelTimer,
    Disconnected,
    Effect,
    Expired,
    Flush,
    Flushed,
    Halt,
    HangUp,
    Reply,
    Request,
    Response,
    Send,
    SetTimer,
    Trace,
)
from engine.replication.truncation import RULES
from engine.storage.disk import Disk

_HERE = "cluster.cluster.Cluster"


class Cluster(Processes):
    """Nodes, what they wait for, and what is under way; see the module's prologue.

    `outgoing` collects the replies to connections that are no nodes, for the driver, and
    `hang_ups` the connections to close.
    """

    def __init__(
        self,
        spec: ClusterSpec,
        disks: Mapping[int, Disk],
        now: int,
        latency: Latency | None = None,
        trace_limit: int | None = None,
        carriage: Carriage | None = None,
    ) -> None:
        super().__init__(spec, disks, now, trace_limit)
        self.latency = latency or NoLatency()
        self.carriage = carriage
        self.network = Network()
        self.channels = Channels()
        self.happened = 0
        self.outgoing: list[tuple[NodeId, Reply]] = []
        self.hang_ups: list[tuple[NodeId, HangUp]] = []

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

    # -- what happens next

    @property
    def next_at(self) -> int | None:
        """When the next thing happens; None if nothing will."""
        return self.agenda.next_at

    def run(self, now: int, events: int) -> None:
        """Lets what is due by `now` happen, at most so many events; `next_at` tells if more is."""
        while events > 0 and (at := self.next_at) is not None and at <= now:
            self.step(now)
            events -= 1
        # What is overdue still happens at its own time, or everybody would seem silent for long.
        if (at := self.next_at) is None or at > now:
            self.now = max(self.now, now)

    def step(self, until: int | None = None) -> NodeId | None:
        """Lets the next thing happen; gives the node that took a step, if one did.

        What concerns nobody any more is passed over on the way; nothing after `until` happens.
        """
        # Here and not while effects are carried out: a timer is known only once it is pushed.
        self.agenda.prune()
        heap = self.agenda.heap
        while heap and (until is None or heap[0][0] <= until):
            node_id = self._next()
            if node_id is not None:
                return node_id
        return None

    def catch_up(self, happened: int) -> None:
        """Lets things happen until so many have; in a replay, those that concern nobody."""
        while self.happened < happened and self.agenda.heap:
            self._next()

    def _next(self) -> NodeId | None:
        found = self.agenda.pop()
        if found is None:
            return None
        at, item = found
        self.happened += 1
        self.now = max(self.now, at)
        return self._happen(item)

    def _happen(self, item: Any) -> NodeId | None:
        match item[0]:
            case "request":
                call = self.agenda.calls.get(item[1])
                return None if call is None else self._arrive(item, call)
            case "received":
                return self._arrive(item, item[-1])
            case "again":
                _, node_id, version, body, sender = item
                if self.carriage is not None:
                    body = self.carriage.unpack_request(body)
                # Its answer goes to a connection that is no more: no call has this number.
                request = Request(sender, (0,), version, body, _client_id(sender))
                return self.give(node_id, item, request)
            case "unmute":
                _, node_id, incarnation, channel = item
                if self.incarnations.get(node_id, 0) != incarnation:
                    return None
                if self.states[node_id] == PAUSED:
                    self.paused[node_id].append(item)
                    return None
                channel.unmute()
                return self._take_up(channel)
            case "answer":
                _, number, body = item
                call = self.agenda.calls.get(number)
                if call is None:
                    return None
                if self.states.get(call.sender) != PAUSED:
                    del self.agenda.calls[number]
                    if body is None and call.channel is not None:
                        call.channel.is_lost = True
                    if self.carriage is not None and body:
                        body = self.carriage.unpack_answer(body)
                return self.give(call.sender, item, Response(call.destination, call.token, body))
            case "timer" | "late-timer":
                kind, node_id, token = item
                if kind == "late-timer" and self.agenda.timers.get((node_id, token)) != LATE:
                    return None  # cancelled, or set anew, since its process goes on
                if self.states[node_id] == PAUSED:
                    self.agenda.timers[node_id, token] = LATE
                    self.paused[node_id].append(("late-timer", node_id, token))
                    return None
                del self.agenda.timers[node_id, token]
                return self.give(node_id, item, Expired(token))
            case "flush":
                _, node_id, incarnation, path, token = item
                if self.incarnations[node_id] != incarnation or node_id not in self.nodes:
                    return None
                self.disks[node_id].flush(path)
                return self.give(node_id, ("flushed", *item[1:]), Flushed(token))
            case "flushed":
                _, node_id, incarnation, _, token = item
                if self.incarnations[node_id] != incarnation:
                    return None
                return self.give(node_id, item, Flushed(token))
            case _:
                return self.give(item[1], item, item[2])

    def _arrive(self, item: Any, call: Call) -> NodeId | None:
        """A request is there.  Once it is, it makes no difference whether its sender gives up:
        a process that stands still finds it in its socket's buffer when it goes on.

        Simplified: a node hears as soon as its process runs.  A broker of Kafka lets nobody
        in until it is unfenced, and so does engine/server/server.py with clients from outside.
        """
        number, version, body = item[1:4]
        present = self.incarnations.get(call.destination, 0)
        if call.destination not in self.nodes or call.incarnation != present:
            # Refused if nobody has listened since; a process that has gone ended it.
            if call.incarnation > present:
                self.transmit(call.destination, call.sender, ("answer", number, None))
            return None
        received = ("received", number, version, body, call)
        if self.states[call.destination] == PAUSED:
            self.paused[call.destination].append(received)
            return None
        if call.channel is None:
            return self._handle(received)
        call.channel.waiting.append(received)
        return self._take_up(call.channel)

    def _take_up(self, channel: Channel) -> NodeId | None:
        """Lets a node handle the next request of a connection, if it is that one's turn."""
        received = channel.take()
        if received is None:
            return None
        _, number, _, _, call = received
        self.channels.handled[call.destination, number] = channel
        return self._handle(received)

    def _handle(self, received: Any) -> NodeId | None:
        _, number, version, body, call = received
        if self.carriage is not None:
            body = self.carriage.unpack_request(body)
        request = Request(
            call.sender, (number,), version, body, call.client_id, envelope=call.envelope
        )
        return self.give(call.destination, received, request)

    # -- effects

    def carry_out(self, node_id: NodeId, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Trace():
                    self.trace_count += 1
                    self.trace.append((self.now, node_id, effect))
                case Send():
                    self._call(node_id, effect)
                case Reply():
                    self._reply(node_id, effect)
                case SetTimer(token, at):
                    if node_id in self.clocks:
                        at = self.clocks[node_id].rings(self.now, at)
                    self.agenda.set_timer(max(at, self.now), node_id, token)
                case CancelTimer(token):
                    self.agenda.timers.pop((node_id, token), None)
                case Flush(path, token):
                    at = self.now + self.latency.flush_us(node_id)
                    self.agenda.push(
                        at, ("flush", node_id, self.incarnations[node_id], path, token)
                    )
                case HangUp():
                    self._hang_up_on(node_id, effect)
                case Halt():
                    self.halt(node_id)

    def hang_up(self, node_id: NodeId) -> None:
        self.channels.forget(node_id)
        self.agenda.drop_timers(node_id)
        for number, call in tuple(self.agenda.calls.items()):
            if call.sender == node_id:
                del self.agenda.calls[number]
            elif call.destination == node_id:
                # The end of a connection comes after what was sent before it.
                self.transmit(node_id, call.sender, ("answer", number, None))
        self.network.forget(node_id)

    def _call(self, sender: NodeId, effect: Send) -> None:
        client_id, destination = _client_id(sender), effect.destination
        incarnation = self.incarnations.get(destination, 0)
        if destination not in self.nodes:
            incarnation += 1  # whoever will listen when it arrives
        name = effect.connection
        channel = None if name is None else self.channels.between(sender, destination, name)
        number = self.agenda.call(
            Call(
                sender, destination, incarnation, effect.token, client_id, channel, effect.envelope
            )
        )
        body, version = effect.body, type(effect.body).LATEST
        if self.carriage is not None:
            body = self.carriage.pack_request(client_id, version, body)
        item = ("request", number, version, body)
        self.transmit(sender, destination, item)
        self.agenda.push(self.now + effect.timeout_us, ("answer", number, None))

    def _reply(self, node_id: NodeId, effect: Reply) -> None:
        destination = effect.destination
        if destination in self.states:
            if effect.token[0] in self.agenda.calls and destination in self.nodes:
                body = NO_ANSWER if effect.body is None else effect.body
                if self.carriage is not None and body:
                    body = self.carriage.pack_answer(effect.version, body)
                self.transmit(node_id, destination, ("answer", effect.token[0], body))
            self._answered(node_id, effect)
        else:
            if self.meter is not None:
                self.meter.answered(effect)
            self.outgoing.append((node_id, effect))

    def _answered(self, node_id: NodeId, effect: Reply) -> None:
        """The answer is out: the next request of its connection is handled, now or later."""
        channel = self.channels.handled.pop((node_id, effect.token[0]), None)
        if channel is None:
            return  # the request had a connection to itself
        if channel.waiting or effect.mute_ms:
            at = self.now + effect.mute_ms * 1000
            incarnation = self.incarnations.get(node_id, 0)
            self.agenda.push(at, ("unmute", node_id, incarnation, channel))
        else:
            channel.unmute()

    def _hang_up_on(self, node_id: NodeId, effect: HangUp) -> None:
        """The connection ends that a request came on: a client of the driver's, or a node's."""
        if effect.destination not in self.states:
            self.hang_ups.append((node_id, effect))
            return
        channel = self.channels.handled.pop((node_id, effect.token[0]), None)
        if channel is not None:
            channel.waiting.clear()
        for number, call in self.agenda.calls.items():
            came_on_it = channel is not None and call.channel is channel
            if came_on_it or number == effect.token[0]:
                self.transmit(node_id, call.sender, ("answer", number, None))

    def transmit(self, source: NodeId, destination: NodeId, item: Any) -> None:
        """Sends a request or an answer on its way, whatever befalls it there."""
        for at, each in self.network.carry(self.now, source, destination, item, self.latency):
            self._depart(at, each)

    def _depart(self, at: int, item: Any) -> None:
        self.agenda.push(at, item)

    # -- clients of the driver

    def submit(self, node_id: int, request: AnyRequest, at: int = 0) -> None:
        """A request from a client's connection arrives at a node: now, or later at `at`."""
        self.agenda.push(max(self.now, at), ("event", node_id, request))

    def disconnected(self, node_id: int, source: str) -> None:
        self.agenda.push(self.now, ("event", node_id, Disconnected(source)))


def _client_id(sender: NodeId) -> str:
    return f"broker-{sender}" if isinstance(sender, int) else sender
