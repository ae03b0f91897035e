"""The links between nodes, as data: who reaches whom, how slowly, and what is on its way.

A link behaves like a TCP connection that both ends keep open.  What is sent one way
arrives in order.  A cut link holds what is sent until it heals, as retransmission would;
nobody is told, only time-outs reveal it.  A slow link delays everything by a fixed time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

NodeId = int | str
Pair = tuple[NodeId, NodeId]


def pair(a: NodeId, b: NodeId) -> Pair:
    """A link's name, the same from both ends."""
    return (a, b) if str(a) <= str(b) else (b, a)


class Carriage(Protocol):
    """What becomes of a message on its way between nodes; see engine/sim/carriage.py."""

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
class Network:
    """Cut and slow links by pair; `held` is what waits at a cut link, in order."""

    cut: dict[Pair, None] = field(default_factory=dict)
    delay_us: dict[Pair, int] = field(default_factory=dict)
    held: dict[Pair, list[Any]] = field(default_factory=dict)
    last_arrival: dict[Pair, int] = field(default_factory=dict)

    def is_cut(self, a: NodeId, b: NodeId) -> bool:
        return bool(self.cut) and pair(a, b) in self.cut

    def hold(self, a: NodeId, b: NodeId, item: Any) -> None:
        """Keeps an item back until the link between a and b heals."""
        self.held.setdefault(pair(a, b), []).append(item)

    def arrival(self, now: int, source: NodeId, destination: NodeId, latency_us: int) -> int:
        """When something sent now arrives: never before what was sent earlier that way."""
        at = now + latency_us
        if self.delay_us:
            at += self.delay_us.get(pair(source, destination), 0)
        if at > now or (source, destination) in self.last_arrival:
            at = max(at, self.last_arrival.get((source, destination), 0))
            self.last_arrival[source, destination] = at
        return at

    def heal(self, a: NodeId, b: NodeId) -> list[Any]:
        """Mends one link; gives what it held back."""
        link = pair(a, b)
        self.cut.pop(link, None)
        self.delay_us.pop(link, None)
        return self.held.pop(link, [])

    def describe(self) -> list[dict[str, Any]]:
        """The broken links, as a snapshot shows them."""
        cut = [{"between": list(link), "state": "cut", "delay_ms": 0} for link in self.cut]
        slow = [
            {"between": list(link), "state": "slow", "delay_ms": delay // 1000}
            for link, delay in self.delay_us.items()
            if link not in self.cut
        ]
        return cut + slow
