"""A node's listener: its socket, and the connections that it has accepted.

    starting    bound, but closed: connections are refused
    unfenced    open; a controller's is open from the start
    gone        closed, its connections dropped; the port stays bound for the next start

As in Kafka, a starting broker refuses connections until it is unfenced: before that, its
metadata is out of date, its own address included.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from typing import Protocol

from engine.api import APIS, Api
from engine.broker.request_metrics import RequestMetrics
from engine.events import AnyRequest
from engine.quotas import connection_limits
from engine.server.connection import Connection
from engine.settings import Settings

HOST = "127.0.0.1"
BACKLOG = 1024
NO_LIMIT = -1
TOO_MANY = "its address has max.connections.per.ip connections"


class Brokers(Protocol):
    """The nodes behind the listeners, each by its number."""

    def is_paused(self, node_id: int) -> bool: ...

    def accepts(self) -> None:
        """A listener accepts clients from now on."""

    def settings_of(self, node_id: int) -> Settings | None:
        """The node's settings; None if it does not run."""

    def submit(self, node_id: int, request: AnyRequest) -> None:
        """Gives a node a request; the answer comes to `Connection.replied`."""

    def disconnected(self, node_id: int, client: str) -> None:
        """Tells a node that a client has gone."""


class Listener:
    """The listener of one of the `brokers`."""

    def __init__(
        self,
        node_id: int,
        port: int,
        brokers: Brokers,
        metrics: RequestMetrics,
        max_request_bytes: int,
        max_queued_bytes: int = NO_LIMIT,
    ) -> None:
        self.node_id = node_id
        self.brokers = brokers
        self.metrics = metrics
        self.max_request_bytes = max_request_bytes
        self.max_queued_bytes = max_queued_bytes
        self.offers: Mapping[str, Api] = APIS
        self.loop = asyncio.get_running_loop()
        self.socket = bind(port)  # listens while the broker runs, else reserves the port
        self.port: int = self.socket.getsockname()[1]
        self.serving: asyncio.Task[None] | None = None
        self.acceptor: asyncio.Server | None = None
        self.connections: dict[str, Connection] = {}
        self.last_connection = 0
        self.waiting_bytes = 0

    @property
    def is_paused(self) -> bool:
        return self.brokers.is_paused(self.node_id)

    @property
    def is_full(self) -> bool:
        return 0 < self.max_queued_bytes <= self.waiting_bytes

    def hold(self, size: int) -> None:
        was_full = self.is_full
        self.waiting_bytes += size
        if was_full != self.is_full:
            for connection in self.connections.values():
                connection.regulate()

    def open(self) -> None:
        self.serving = self.loop.create_task(self._serve())

    async def _serve(self) -> None:
        self.acceptor = await self.loop.create_server(
            self._accept, sock=self.socket, backlog=BACKLOG, start_serving=False
        )
        self.brokers.accepts()
        await self.acceptor.serve_forever()

    def close(self) -> None:
        """Stops listening and drops every connection, as when a process is killed."""
        if self.serving is not None:
            self.serving.cancel()
            self.serving = None
        if self.acceptor is not None:
            self.acceptor.close()
            self.acceptor = None
        self.socket.close()
        for connection in tuple(self.connections.values()):
            connection.drop()
        self.socket = bind(self.port)

    def _accept(self) -> Connection:
        self.last_connection += 1
        return Connection(self, f"client-{self.node_id}-{self.last_connection}")

    def opened(self, connection: Connection) -> None:
        verdict = self._admit(connection)
        if verdict == connection_limits.CLOSE:
            connection.abort(TOO_MANY)
            return
        connection.admitted = verdict == connection_limits.SERVE
        self.connections[connection.name] = connection
        connection.pause_changed()

    def _admit(self, connection: Connection) -> str:
        settings = self.brokers.settings_of(self.node_id)
        if settings is None:
            return connection_limits.SERVE
        served = (each.peer for each in self.connections.values() if each.admitted)
        return connection_limits.admit(settings, connection.peer, served)

    def _admit_next(self) -> None:
        """Admits the next waiting connection after one has gone, unless its address has too
        many by now."""
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
        self.brokers.disconnected(self.node_id, connection.name)

    def submit(self, request: AnyRequest) -> None:
        self.brokers.submit(self.node_id, request)

    def close_idle(self, max_idle_s: float) -> None:
        if self.is_paused:
            return
        now = self.loop.time()
        for connection in tuple(self.connections.values()):
            if now - connection.last_active > max_idle_s and not connection.is_waited_for:
                connection.drop()


def bind(port: int) -> socket.socket:
    """A listening address on loopback; port 0 takes a free one."""
    door = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
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
