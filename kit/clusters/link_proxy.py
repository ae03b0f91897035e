"""The network between real brokers, made of loopback connections that can be cut.

Processes on one machine share one network, so a link between two of them cannot be
unplugged.  Instead, each broker (and the controller) gives its peers a port of this proxy
in place of its own, and the proxy passes the bytes on:

    101 ──▶ proxy port of 102 ──▶ 102's inter-broker listener

The first request of a connection tells which node opened it: its client id names the node
(`broker-101-fetcher-0`, `raft-client-101`, plain `101`).  ZooKeeper's protocol names no client, so
each broker has a port of its own in front of each member of an ensemble.

A cut link loses no bytes and closes no connection, as with an unplugged cable: bytes wait
(TCP would repeat them) until the link is healed or one side times out.  Only a dead sender's
bytes are lost, because it cannot repeat them.  A slow link delays each direction.

Clients connect to brokers directly, not through here: their links are never cut.

This file is both ends: run as a program it is the proxy (standard library only), driven
by lines of JSON on a Unix socket.
"""

from __future__ import annotations

import asyncio
import collections
import json
import re
import socket
import struct
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

_FIRST_REQUEST = struct.Struct(">ihhih")  # size, api key, version, correlation id, length
_NODE = re.compile(r"(?:^|-)(\d+)(?:-|$)")
_HELD_BYTES_MAX = 1 << 20


def node_of(client_id: str) -> int | None:
    """The node that a client id names; None for a client id of another kind."""
    found = _NODE.search(client_id)
    return int(found[1]) if found else None


def first_client_id(received: bytes | bytearray) -> str | None:
    """The client id in the first request of a connection; None while it is incomplete."""
    if len(received) < _FIRST_REQUEST.size:
        return None
    length: int = _FIRST_REQUEST.unpack_from(received)[4]
    name = received[_FIRST_REQUEST.size : _FIRST_REQUEST.size + max(length, 0)]
    return name.decode("utf-8", "replace") if len(name) == max(length, 0) else None


class Links:
    """A kit's handle on a running proxy."""

    def __init__(self, socket_path: str) -> None:
        self._socket_path = socket_path

    def cut(self, a: int, b: int) -> None:
        """Holds everything between two nodes."""
        self._ask({"ask": "cut", "between": [a, b]})

    def isolate(self, node: int) -> None:
        """Holds everything between a node and all others, the controller included."""
        self._ask({"ask": "isolate", "node": node})

    def slow(self, a: int, b: int, ms: int) -> None:
        """Delays each direction between two nodes by `ms`."""
        self._ask({"ask": "slow", "between": [a, b], "ms": ms})

    def heal(self) -> None:
        """Lifts every cut, isolation and delay; what was held arrives now."""
        self._ask({"ask": "heal"})

    def state(self) -> list[dict[str, Any]]:
        """The links that are not healthy, as a snapshot shows them."""
        return self._ask({"ask": "state"})

    def _ask(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(10)
            connection.connect(self._socket_path)
            connection.sendall(json.dumps(request).encode() + b"\n")
            answer: list[dict[str, Any]] = json.loads(connection.makefile().readline())
            return answer


class Rules:
    """Which links are cut or slow now."""

    def __init__(self, nodes: list[int]) -> None:
        self.nodes = nodes
        self.blocked: set[frozenset[int]] = set()
        self.delay_ms: dict[frozenset[int], int] = {}

    def change(self, request: dict[str, Any]) -> None:
        if request["ask"] == "cut":
            self.blocked.add(frozenset(request["between"]))
        elif request["ask"] == "isolate":
            others = [n for n in self.nodes if n != request["node"]]
            self.blocked |= {frozenset((request["node"], other)) for other in others}
        elif request["ask"] == "slow":
            self.delay_ms[frozenset(request["between"])] = request["ms"]
        elif request["ask"] == "heal":
            self.blocked.clear()
            self.delay_ms.clear()

    def state(self) -> list[dict[str, Any]]:
        pairs = sorted(sorted(p) for p in self.blocked | self.delay_ms.keys())
        return [
            {
                "between": pair,
                "state": "cut" if frozenset(pair) in self.blocked else "slow",
                "delay_ms": self.delay_ms.get(frozenset(pair), 0),
            }
            for pair in pairs
        ]


class Route(NamedTuple):
    """A port of the proxy, the node behind it, and who connects there if it is one node only."""

    node: int
    port: int
    target_port: int
    peer: int | None = None


class _Connection:
    """One connection through the proxy: two directions, each with a queue of held bytes."""

    def __init__(self, rules: Rules, route: Route, forget: Callable[[_Connection], None]) -> None:
        self.rules = rules
        self.target = route.node
        self.forget = forget
        self.ends_lost = 0
        self.known = route.peer is not None  # else when the first request has been read
        self.link = frozenset((route.peer, route.node)) if route.peer is not None else None
        self.ends: list[_End] = [_End(self, 0), _End(self, 1)]  # the peer's, the target's

    def identify(self, received: bytearray) -> None:
        client_id = first_client_id(received)
        if client_id is not None:
            self.known = True
            peer = node_of(client_id)
            if peer is not None and peer != self.target:
                self.link = frozenset((peer, self.target))

    def flow(self) -> None:
        for end in self.ends:
            end.flow()

    async def reach(self, target_port: int) -> None:
        """Connects to the target; if no process listens there, resets the peer's connection."""
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(lambda: self.ends[1], "127.0.0.1", target_port)
        except OSError:
            accepted = self.ends[0].transport
            if accepted is not None:
                accepted.abort()
            self.end_lost()

    def end_lost(self) -> None:
        self.ends_lost += 1
        if self.ends_lost == len(self.ends):
            self.forget(self)


class _End(asyncio.Protocol):
    """One socket of a connection; what arrives here is held, then leaves by the other end."""

    def __init__(self, connection: _Connection, side: int) -> None:
        self.connection = connection
        self.side = side
        self.transport: asyncio.Transport | None = None
        self.held: collections.deque[tuple[float, bytes | None]] = collections.deque()
        self.held_bytes = 0
        self.writable = True
        self.timer: asyncio.TimerHandle | None = None

    @property
    def other(self) -> _End:
        return self.connection.ends[1 - self.side]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        own_socket = transport.get_extra_info("socket")
        own_socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.other.flow()

    def data_received(self, data: bytes) -> None:
        self.hold(data)

    def eof_received(self) -> bool:
        return False  # closes this side; connection_lost tells the other

    def connection_lost(self, exc: Exception | None) -> None:
        if self.connection.link in self.connection.rules.blocked:
            self.held.clear()  # TCP would repeat them, but the sender is gone
        self.hold(None)  # an end of stream waits its turn like bytes
        self.connection.end_lost()

    def pause_writing(self) -> None:
        self.writable = False

    def resume_writing(self) -> None:
        self.writable = True
        self.other.flow()

    def hold(self, data: bytes | None) -> None:
        self.held.append((asyncio.get_running_loop().time(), data))
        self.held_bytes += len(data or b"")
        if not self.connection.known and self.side == 0:
            self.connection.identify(bytearray(b"".join(d for _, d in self.held if d)))
        self.flow()

    def flow(self) -> None:
        """Passes on what may leave now, and sets a timer for what may leave later."""
        link, rules = self.connection.link, self.connection.rules
        out = self.other.transport
        may_leave = self.connection.known or self.side == 1 or self.ended()
        while self.held and out is not None and may_leave and self.other.writable:
            if link in rules.blocked:
                break
            arrived, data = self.held[0]
            delay_ms = rules.delay_ms.get(link, 0) if link else 0
            loop = asyncio.get_running_loop()
            wait = arrived + delay_ms / 1000 - loop.time()
            if wait > 0:
                if self.timer is None:
                    self.timer = loop.call_later(wait, self.expire)
                break
            self.held.popleft()
            self.held_bytes -= len(data or b"")
            if data is None:
                out.close()
            elif not out.is_closing():
                out.write(data)
        self.throttle()

    def ended(self) -> bool:
        return bool(self.held) and self.held[-1][1] is None

    def expire(self) -> None:
        self.timer = None
        self.flow()

    def throttle(self) -> None:
        if self.transport is None or self.transport.is_closing():
            return
        if self.held_bytes > _HELD_BYTES_MAX:
            self.transport.pause_reading()
        elif not self.transport.is_reading():
            self.transport.resume_reading()


class _Program:
    """The proxy process."""

    def __init__(self, routes: list[Route]) -> None:
        self.routes = routes
        self.rules = Rules([route.node for route in routes])
        self.connections: dict[_Connection, asyncio.Task[None]] = {}

    def forget(self, connection: _Connection) -> None:
        self.connections.pop(connection, None)

    async def run(self, control_path: str) -> None:
        loop = asyncio.get_running_loop()
        for route in self.routes:
            await loop.create_server(self.factory(route), "127.0.0.1", route.port)
        control = await asyncio.start_unix_server(self.control, control_path)
        await control.serve_forever()

    def factory(self, route: Route) -> Callable[[], _End]:
        def accept() -> _End:
            connection = _Connection(self.rules, route, self.forget)
            reaching = connection.reach(route.target_port)
            self.connections[connection] = asyncio.get_running_loop().create_task(reaching)
            return connection.ends[0]

        return accept

    async def control(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await reader.readline()
        if line:
            self.rules.change(json.loads(line))
            for connection in list(self.connections):
                connection.flow()
            writer.write(json.dumps(self.rules.state()).encode() + b"\n")
            await writer.drain()
        writer.close()


def main(arguments: list[str]) -> None:
    """Entry point of the proxy process: control socket, then `node:port:target[:peer]` each."""
    program = _Program([Route(*map(int, route.split(":"))) for route in arguments[1:]])
    asyncio.run(program.run(arguments[0]))


if __name__ == "__main__":
    main(sys.argv[1:])
