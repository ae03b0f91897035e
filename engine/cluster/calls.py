"""Requests and answers between the nodes of a cluster.

    Send --> Call --> Arriving ~~ link ~~> Received --> the node, when it is its turn
                                                          |
    Response <-- Answer <~~ link ~~ Reply <---------------+

Exactly one Response follows each Send.  It is the answer, or its body is None: the connection
was lost, or the request timed out.  A request is meant for one incarnation of its destination.
If that incarnation has ended, the sender learns it when the end of the connection reaches it.  A
request that has been received is handled even if its sender no longer waits: a process that was
paused finds it in its socket's buffer when it resumes.

Nothing here hands an event to a node.  A `Delivery` says what the cluster is to hand over.

Simplified: a node accepts requests as soon as its process runs.  Kafka's broker refuses
connections until it is unfenced; engine/server/server.py does the same for clients from outside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from engine.cluster.agenda import Agenda
from engine.cluster.channels import Channel, Channels
from engine.cluster.items import (
    Answer,
    Arriving,
    Call,
    Item,
    Message,
    NodeId,
    Received,
    Repeated,
    Unmute,
)
from engine.cluster.network import Carriage, Latency, Network
from engine.cluster.processes import Processes
from engine.events import NO_ANSWER, Event, HangUp, Reply, Request, Response, Send


class Delivery(NamedTuple):
    """An event for a node; while the node is paused, `item` is kept for it."""

    node: NodeId
    item: Item
    event: Event


@dataclass(frozen=True, slots=True)
class Sent:
    """A message leaves; `arrives_us` is None if it is held at a cut link."""

    at_us: int
    arrives_us: int | None
    call: Call
    message: Message


@dataclass(frozen=True, slots=True)
class Arrived:
    """A message reaches its node."""

    at_us: int
    call: Call
    message: Message


Listener = Callable[[Sent | Arrived], None]


class Calls:
    """The calls that await their answers, and the links and connections they travel on.

    `listeners` hear of each message that has a body.  They get the body as a message object, even
    if it travels in another form.
    """

    def __init__(
        self, agenda: Agenda, processes: Processes, latency: Latency, carriage: Carriage | None
    ) -> None:
        self.agenda = agenda
        self.processes = processes
        self.latency = latency
        self.carriage = carriage
        self.network = Network()
        self.channels = Channels()
        self.listeners: list[Listener] = []

    def __getstate__(self) -> dict[str, object]:
        """A copy has no listeners: they refer to this cluster and may not be picklable."""
        return {**vars(self), "listeners": []}

    # -- sending

    def send(self, now: int, sender: NodeId, effect: Send) -> None:
        """Sends a request from one node to another and schedules its timeout."""
        client_id, destination = client_id_of(sender), effect.destination
        life = self.processes.life(destination)
        if destination not in self.processes.nodes:
            life += 1  # the process that will listen when this arrives
        name = effect.connection
        channel = None if name is None else self.channels.between(sender, destination, name)
        number = self.agenda.call(
            Call(sender, destination, life, effect.token, client_id, channel, effect.envelope)
        )
        body, version = effect.body, type(effect.body).LATEST
        if effect.version_max is not None:
            version = min(version, effect.version_max)
        if self.carriage is not None:
            body = self.carriage.pack_request(client_id, version, body)
        self.transmit(now, sender, destination, Arriving(number, version, body))
        self.agenda.push(now + effect.timeout_us, Answer(number, None))

    def reply(self, now: int, node_id: NodeId, effect: Reply) -> None:
        """Sends a node's answer; then the next request of that connection is handled."""
        number, destination = effect.token, effect.destination
        if number in self.agenda.calls and destination in self.processes.nodes:
            body = NO_ANSWER if effect.body is None else effect.body
            if self.carriage is not None and body:
                body = self.carriage.pack_answer(effect.version, body)
            self.transmit(now, node_id, destination, Answer(number, body))
        channel = self.channels.handled.pop((node_id, number), None)
        if channel is None:
            return  # the request had a connection to itself
        if channel.waiting or effect.mute_ms:
            at = now + effect.mute_ms * 1000
            self.agenda.push(at, Unmute(node_id, self.processes.life(node_id), channel))
        else:
            channel.unmute()

    def hang_up(self, now: int, node_id: NodeId, effect: HangUp) -> None:
        """A node closes the connection that a request came on; all calls on it fail."""
        channel = self.channels.handled.pop((node_id, effect.token), None)
        if channel is not None:
            channel.waiting.clear()
        for number, call in self.agenda.calls.items():
            came_on_it = channel is not None and call.channel is channel
            if came_on_it or number == effect.token:
                self.transmit(now, node_id, call.sender, Answer(number, None))

    def forget(self, now: int, node_id: NodeId) -> None:
        """Ends the connections and calls of a process that is gone."""
        self.channels.forget(node_id)
        for number, call in tuple(self.agenda.calls.items()):
            if call.sender == node_id:
                del self.agenda.calls[number]
            elif call.destination == node_id:
                # The end of a connection comes after what was sent before it.
                self.transmit(now, node_id, call.sender, Answer(number, None))
        self.network.forget(node_id)

    def transmit(self, now: int, source: NodeId, destination: NodeId, message: Message) -> None:
        """Puts a message on its link."""
        arriving = self.network.carry(now, source, destination, message, self.latency)
        for at, item in arriving:
            self.agenda.push(at, item)
        if not self.listeners or (heard := self._heard(message)) is None:
            return
        if not arriving:
            self._tell(Sent(now, None, *heard))
        for at, item in arriving:
            if item is message:  # and not the end of a connection that broke
                self._tell(Sent(now, at, *heard))

    # -- arriving

    def arrive(self, now: int, item: Arriving | Received) -> Delivery | None:
        """A request arrives: its node handles it, or it waits for its turn."""
        call = item.call if isinstance(item, Received) else self.agenda.calls.get(item.number)
        if call is None:
            return None
        if self.listeners and isinstance(item, Arriving):
            self._tell(Arrived(now, call, self._unpacked(item)))
        if not self.processes.is_alive(call.destination, call.incarnation):
            # Refused if no process has started since; a process that ended has informed the sender.
            if call.incarnation > self.processes.life(call.destination):
                self.transmit(now, call.destination, call.sender, Answer(item.number, None))
            return None
        received = Received(item.number, item.version, item.body, call)
        if self.processes.is_paused(call.destination):
            self.processes.keep(call.destination, received)
            return None
        if call.channel is None:
            return self._deliver(received)
        call.channel.waiting.append(received)
        return self._take_up(call.channel)

    def unmute(self, item: Unmute) -> Delivery | None:
        """The next request of a connection may be handled."""
        if self.processes.life(item.node) != item.incarnation:
            return None
        if self.processes.is_paused(item.node):
            self.processes.keep(item.node, item)
            return None
        item.channel.unmute()
        return self._take_up(item.channel)

    def _take_up(self, channel: Channel) -> Delivery | None:
        received: Received | None = channel.take()
        if received is None:
            return None
        self.channels.handled[received.call.destination, received.number] = channel
        return self._deliver(received)

    def _deliver(self, received: Received) -> Delivery:
        call, body = received.call, received.body
        if self.carriage is not None:
            body = self.carriage.unpack_request(body)
        request = Request(call.sender, received.number, received.version, body, call.client_id,
                          envelope=call.envelope)  # fmt: skip
        return Delivery(call.destination, received, request)

    def repeat(self, item: Repeated) -> Delivery:
        """A request arrives a second time; no call has number 0, so its answer is discarded."""
        body = item.body if self.carriage is None else self.carriage.unpack_request(item.body)
        request = Request(item.sender, 0, item.version, body, client_id_of(item.sender))
        return Delivery(item.node, item, request)

    def answer(self, now: int, item: Answer) -> Delivery | None:
        """The answer arrives, or the news that there will be none."""
        call = self.agenda.calls.get(item.number)
        if call is None:
            return None
        body = item.body
        if not self.processes.is_paused(call.sender):
            if self.listeners and body is not None:
                self._tell(Arrived(now, call, self._unpacked(item)))
            del self.agenda.calls[item.number]
            if body is None and call.channel is not None:
                call.channel.is_lost = True
            if self.carriage is not None and body:
                body = self.carriage.unpack_answer(body)
        return Delivery(call.sender, item, Response(call.destination, call.token, body))

    # -- listening

    def held(self, now: int) -> list[Sent]:
        """The messages that wait at cut links."""
        waiting = (each for messages in self.network.held.values() for each in messages)
        found = (self._heard(message) for message in waiting)
        return [Sent(now, None, *heard) for heard in found if heard is not None]

    def _tell(self, what: Sent | Arrived) -> None:
        for listener in self.listeners:
            listener(what)

    def _heard(self, message: Message) -> tuple[Call, Message] | None:
        """What listeners learn about a message; None if they learn nothing."""
        call = self.agenda.calls.get(message.number)
        if call is None or message.body is None:
            return None
        return call, self._unpacked(message)

    def _unpacked(self, message: Message) -> Message:
        if self.carriage is None or not message.body:
            return message
        if isinstance(message, Arriving):
            body = self.carriage.unpack_request(message.body)
            return Arriving(message.number, message.version, body)
        return Answer(message.number, self.carriage.unpack_answer(message.body))


def client_id_of(sender: NodeId) -> str:
    """What a node calls itself in its requests' headers."""
    return f"broker-{sender}" if isinstance(sender, int) else sender
