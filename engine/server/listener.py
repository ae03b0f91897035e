"""A broker's door: the socket on which it listens, and who came in through it.

    starting    bound, and nobody is let in: connections are refused
    unfenced    open
    gone        everyone inside is dropped; the port stays bound for its next life

As in Kafka a starting broker refuses connections until it is unfenced: what it would say
before is of the past, its own address included.
"""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

from engine.cluster.processes import PAUSED
from engine.events import Request
from engine.quotas import connection_limits
from engine.server.connection import Connection

if TYPE_CHECKING:
    from engine.server.server import Server

HOST = "127.0.0.1"
BACKLOG = 1024
TOO_MANY = "its address has max.connections.per.ip connections"


class Listener:
    """The door of one broker of `server`."""

    def __init__(self, server: Server, node_id: int, port: int) -> None:
        self.server = server
        self.node_id = node_id
        self.loop = server.loop
        self.socket = bind(port)  # listens while the broker runs, else keeps the port for it
        self.port: int = self.socket.getsockname()[1]
        self.serving: asyncio.Task[None] | None = None
        self.acceptor: asyncio.Server | None = None
        self.connections: dict[str, Connection] = {}
        self.max_request_bytes: int = server.settings["socket.request.max.bytes"]

    @property
    def is_paused(self) -> bool:
        return self.server.cluster.states.get(self.node_id) == PAUSED

    def open(self) -> None:
        self.serving = self.loop.create_task(self._serve())

    async def _serve(self) -> None:
        self.acceptor = await self.loop.create_server(
            self._accept, sock=self.socket, backlog=BACKLOG, start_serving=False
        )
        await self.acceptor.serve_forever()

    def close(self) -> None:
        """Shuts the door and drops everyone inside, as when a process dies."""
        if self.serving is not None:
            self.serving.cancel()
            self.serving = None
        if self.acceptor is not None:
            self.acceptor.close()
            self.acceptor = None
        self.socket.close()
        for connection in tuple(self.connections.values()):
            connection.closed = True
            connection.transport.abort()
        self.socket = bind(self.port)

    def _accept(self) -> Connection:
        self.server.last_connection += 1
        return Connection(self, f"client-{self.server.last_connection}")

    def opened(self, connection: Connection) -> None:
        connection.last_active = self.loop.time()
        verdict = self._admit(connection)
        if verdict == connection_limits.CLOSE:
            connection.abort(TOO_MANY)
            return
        connection.admitted = verdict == connection_limits.SERVE
        self.connections[connection.name] = connection
        self.server.connections[connection.name] = connection
        connection.pause_changed()

    def _admit(self, connection: Connection) -> str:
        broker = self.server.cluster.nodes.get(self.node_id)
        if broker is None:
            return connection_limits.SERVE
        served = (each.peer for each in self.connections.values() if each.admitted)
        return connection_limits.admit(broker.settings, connection.peer, served)

    def _admit_next(self) -> None:
        """A connection is gone: the next one of those that wait may come in, unless its
        address has too many by now."""
        waiting = [each for each in self.connections.values() if not each.admitted]
        for connection in waiting:
            verdict = self._admit(connection)
            if verdict == connection_limits.WAIT:
                break
            if verdict == connection_limits.CLOSE:
                connection.abort(TOO_MANY)
                continue
            connection.admitted = True
            connection.pause_changed()

    def lost(self, connection: Connection) -> None:
        self.connections.pop(connection.name, None)
        self._admit_next()
        self.server.connections.pop(connection.name, None)
        self.server.metrics.lost(connection.name)
        if self.node_id in self.server.cluster.nodes:
            self.server.cluster.disconnected(self.node_id, connection.name)
            self.server.pump()

    def submit(self, connection: Connection, request: Request) -> None:
        self.server.metrics.read(connection.name, request)
        # The queue's clock stands since the last event; a time-out counts from now.
        self.server.cluster.submit(self.node_id, request, self.server.now())
        self.server.pump()

    def close_idle(self, max_idle_s: float) -> None:
        if self.is_paused:
            return
        now = self.loop.time()
        for connection in tuple(self.connections.values()):
            if now - connection.last_active > max_idle_s and not connection.is_waited_for:
                connection.transport.close()


def bind(port: int) -> socket.socket:
    """A listening address on loopback; port 0 takes a free one."""
    door = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        door.bind((HOST, port))
    except OSError:
        door.close()
        raise PortTaken(
            f"Port {port} on {HOST} is taken; choose another with --port, or end its owner."
        ) from None
    return door


class PortTaken(OSError):
    """A port that was asked for is in use."""
