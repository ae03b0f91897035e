"""The links between nodes, as data: which are cut, how slow each is, and which messages wait.

A link behaves like a TCP connection that both ends keep open.  What is sent one way
arrives in order.  A cut holds messages until it heals, as retransmission would.  No node
learns of a cut directly; only timeouts reveal it.  A cut may be one way only.  A slow link delays
everything by a fixed time.

TCP by itself never loses, duplicates or reorders anything.  But connections break, proxies
fail and clients retry, and then the same happens to whole messages:

    delay       the next messages take longer, and later ones wait behind them
    drop        the connection breaks with the message on it.  A request is lost before it
                is processed, an answer after; the sender cannot tell which
    duplicate   a request is processed twice, as when a client that saw its connection break
                asks again on a new one; the first answer to arrive counts
    strand      the connection breaks with a request on it, and the request is processed all the
                same, later: it was in a buffer on the way
    reorder     the next messages travel on a connection of their own, and later ones
                overtake them
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from engine.cluster.items import Answer, Arriving, Item, Message, NodeId, Repeated
from engine.plain import Plain

Way = tuple[NodeId, NodeId]
"""From one node to another."""
DELAY, DROP, DUPLICATE, REORDER, STRAND = "delay", "drop", "duplicate", "reorder", "strand"


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
    """Nothing takes time: what the server uses.  The simulator brings its own."""

    def network_us(self, source: NodeId, destination: NodeId) -> int:
        return 0

    def flush_us(self, node_id: NodeId) -> int:
        return 0


@dataclass(slots=True)
class Trouble:
    """Hits the next `left` messages on one way, of one API only unless it is None."""

    kind: str
    left: int
    delay_us: int = 0
    api_key: int | None = None


@dataclass(slots=True)
class Network:
    """Cut ways, slow ones, and troubles ahead; `held` has the messages at each cut, in order."""

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
        """Sends a message: the moments at which something arrives, and what arrives.

        A cut way holds the message, so nothing arrives.  An answer without a body is the end of
        the connection; no trouble affects it.
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
            # The sender sees the connection break, not how far its request came.
            return [(at, Answer(message.number, None))]
        if trouble.kind == STRAND and isinstance(message, Arriving):
            stranded = Repeated(destination, message.version, message.body, source)
            return [(now + latency_us, Answer(message.number, None)), (at, stranded)]
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
        """The trouble that hits this message, if any."""
        ahead = self.troubles.get((source, destination), [])
        for trouble in ahead:
            if trouble.kind in (DUPLICATE, STRAND) and not isinstance(message, Arriving):
                continue
            if trouble.api_key in (None, _api_key(message.body)):
                trouble.left -= 1
                if not trouble.left:
                    ahead.remove(trouble)
                return trouble
        return None

    def broken(self) -> list[Way]:
        """Every way that is cut, slow or in trouble."""
        return [*dict.fromkeys((*self.cut, *self.delay_us, *self.troubles))]

    def heal(self, source: NodeId, destination: NodeId) -> list[Message]:
        """Mends one way; returns the messages that were held."""
        way = (source, destination)
        self.cut.pop(way, None)
        self.delay_us.pop(way, None)
        self.troubles.pop(way, None)
        return self.held.pop(way, [])

    def forget(self, node: NodeId) -> None:
        """Forgets the order of a process that is gone: its successor has new connections."""
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
    """The API key of a message object, or of a packed one (engine/sim/world/carriage.py)."""
    return int(body[0] if isinstance(body, tuple) else type(body).API_KEY)
