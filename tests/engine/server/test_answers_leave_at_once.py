"""An answer does not wait in the operating system for the client to acknowledge the one before."""

from __future__ import annotations

import asyncio
import socket

from engine.cluster.spec import ClusterSpec
from engine.server.listener import HOST
from engine.server.server import Server
from engine.storage.memory_disk import MemoryDisk
from tests.engine.server.test_queued_bytes import eventually


async def no_delay() -> list[int]:
    """TCP_NODELAY of each connection that a broker has accepted (Kafka sets it, too)."""
    server = Server({node: MemoryDisk() for node in (100, 101)}, ClusterSpec((101,)))
    server.start()
    listener = server.listeners[101]
    try:
        assert await server.wait(server.is_ready, 10)
        _, writer = await asyncio.open_connection(HOST, listener.port)
        await eventually(lambda: bool(listener.connections))
        sockets = [
            each.transport.get_extra_info("socket") for each in listener.connections.values()
        ]
        found = [each.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for each in sockets]
        writer.close()
    finally:
        server.close()
    return found


def test_a_brokers_connections_send_without_delay() -> None:
    assert asyncio.run(no_delay()) == [1]
