"""The links between nodes, as data: who reaches whom, how slowly, and what is on its way.

A link behaves like a TCP connection that both ends keep open.  What is sent one way
arrives in order.  A cut holds what is sent until it heals, as retransmission would; nobody
is told, only time-outs reveal it.  It may be one way only.  A slow link delays everything
by a fixed time.

TCP never loses, doubles or reorders anything by itself.  But connections break, proxies
fail and clients try again, and then the same happens to whole messages:

    delay       the next messages take longer; what follows them waits behind them
    drop        the connection breaks with the message on it.  A request is lost before it
                is processed, an answer after; whoever asked is told the same in both cases
    duplicate   a request is processed twice, as when a client that saw its connection break
                asks again on a new one; the first answer to arrive counts
    reorder     the next messages travel on a connection of their own, and what is sent
                after them overtakes them
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from engine.cluster.items import Answer, Arriving, Item, Message, NodeId, Repeated
from engine.plain import Plain

Way = tuple[NodeId, NodeId]
"""From one node to another."""
DELAY, DROP, DUPLICATE, REORDER = "delay", "drop", "duplicate", "reorder"


class Carriage(Protocol):
    """How a message travels between nodes; see engine/sim/world/carriage.py."""

    def pack_request(self, client_id: str, version: int, body: Any) -> Any: ...

    def unpack_request(self, packed: Any) -> Any: ...

    def pack_answer(self, version: int, body: Any) -> Any: ...

    def unpack_answer(self, packed: Any) -> Any: ...


class Latency(Protocol):
    """How long things take, in microseconds."""

    def network_us(self, source: NodeId, destination: NodeId) -> int: ...

    def flush_us(self, node_id: NodeId) -> int: ...


class NoLatency:
    """Everything at once: what the server uses.  The simulator brings its own."""

    def network_us(self, source: NodeId, destination: NodeId) -> int:
        return 0

    def flush_us(self, node_id: NodeId) -> int:
        return 0


@dataclass(slots=True)
class Trouble:
    """What happens to the next `left` messages on one way; of one API only, unless it is None."""

    kind: str
    left: int
    delay_us: int = 0
    api_key: int | None = None


@dataclass(slots=True)
class Network:
    """Cut ways, slow ones, and troubles ahead; `held` is what waits at a cut, in order."""

    cut: dict[Way, None] = field(default_factory=dict)
    delay_us: dict[Way, int] = field(default_factory=dict)
    troubles: dict[Way, list[Trouble]] = field(default_factory=dict)
    held: dict[Way, list[Message]] = field(default_factory=dict)
    last_arrival: dict[Way, int] = field(default_factory=dict)

    def is_cut(self, source: NodeId, destination: NodeId) -> bool:
        return bool(self.cut) and (source, destination) in self.cut

    def carry(
        self, now: int, source: NodeId, destination: NodeId, message: Message, latency: Latency
    ) -> list[tuple[int, Item]]:
        """Sends a message: the moments at which it arrives, each with what arrives then.

        A cut way holds it back, so nothing arrives.  An answer without a body is the end of the
        connection, and no trouble concerns that.
        """
        if self.is_cut(source, destination):
            self.held.setdefault((source, destination), []).append(message)
            return []
        latency_us = latency.network_us(source, destination)
        trouble = None
        if self.troubles and message.body:
            trouble = self._trouble(source, destination, message)
        if trouble is None:
            return [(self._arrival(now, source, destination, latency_us), message)]
        at = now + latency_us + trouble.delay_us
        if trouble.kind == DROP:
            # The sender of the request sees the connection break, and not how far it came.
            return [(at, Answer(message.number, None))]
        if trouble.kind == REORDER:
            return [(at, message)]
        late_us = latency_us + trouble.delay_us
        arrives_us = self._arrival(now, source, destination, late_us)
        if trouble.kind == DUPLICATE and isinstance(message, Arriving):
            again = Repeated(destination, message.version, message.body, source)
            return [
                (arrives_us, message),
                (at + latency.network_us(source, destination), again),
            ]
        return [(arrives_us, message)]

    def _arrival(self, now: int, source: NodeId, destination: NodeId, latency_us: int) -> int:
        """When something sent now arrives: never before what was sent earlier that way."""
        at = now + latency_us
        if self.delay_us:
            at += self.delay_us.get((source, destination), 0)
        if at > now or (source, destination) in self.last_arrival:
            at = max(at, self.last_arrival.get((source, destination), 0))
            self.last_arrival[source, destination] = at
        return at

    def _trouble(self, source: NodeId, destination: NodeId, message: Message) -> Trouble | None:
        """The trouble ahead that concerns a message, if there is one."""
        ahead = self.troubles.get((source, destination), [])
        for trouble in ahead:
            if trouble.kind == DUPLICATE and not isinstance(message, Arriving):
                continue
            if trouble.api_key in (None, _api_key(message.body)):
                trouble.left -= 1
                if not trouble.left:
                    ahead.remove(trouble)
                return trouble
        return None

    def broken(self) -> list[Way]:
        """Every way that is not as it should be."""
        return [*dict.fromkeys((*self.cut, *self.delay_us, *self.troubles))]

    def heal(self, source: NodeId, destination: NodeId) -> list[Message]:
        """Mends one way; gives what was held back."""
        way = (source, destination)
        self.cut.pop(way, None)
        self.delay_us.pop(way, None)
        self.troubles.pop(way, None)
        return self.held.pop(way, [])

    def forget(self, node: NodeId) -> None:
        """A process is gone; the connections of its successor wait for nothing sent on its own."""
        self.last_arrival = {way: at for way, at in self.last_arrival.items() if node not in way}

    def describe(self) -> list[Plain]:
        """The broken links, as a snapshot shows them."""
        return [
            *self._links("cut", self.cut),
            *self._links("slow", {w: us for w, us in self.delay_us.items() if w not in self.cut}),
        ]

    def _links(self, state: str, ways: dict[Way, Any]) -> Iterator[Plain]:
        for (a, b), us in ways.items():
            if (b, a) not in ways:
                yield {
                    "between": [a, b],
                    "state": f"{state} one way",
                    "delay_ms": (us or 0) // 1000,
                }
            elif str(a) <= str(b):
                yield {"between": [a, b], "state": state, "delay_ms": (us or 0) // 1000}


def _api_key(body: Any) -> int:
    """Of a message object, or of a packed one (engine/sim/world/carriage.py)."""
    return int(body[0] if isinstance(body, tuple) else type(body).API_KEY)
