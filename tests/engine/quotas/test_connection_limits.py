"""Who is let in, who waits at the door, and who is sent away, in Kafka's order."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine.cluster.spec import ClusterSpec
from engine.quotas.connection_limits import CLOSE, SERVE, WAIT, admit
from engine.server.listener import HOST
from engine.server.server import Server
from engine.storage.memory_disk import MemoryDisk
from engine.wire import framing
from engine.wire import messages as m

A, B, C = "127.0.0.1", "127.0.0.2", "127.0.0.3"
LIMITS = {
    "max.connections": 2,
    "max.connections.per.ip": 1,
    "max.connections.per.ip.overrides": f"{C}:2",
}
PATIENCE_S = 60


@pytest.mark.parametrize(
    ("address", "served", "verdict"),
    [
        (A, [], SERVE),
        (A, [A], CLOSE),
        (B, [A], SERVE),
        (A, [A, B], WAIT),
        (C, [C], SERVE),
        (C, [C, C], WAIT),
    ],
)
def test_while_a_broker_is_full_addresses_do_not_matter(
    address: str, served: list[str], verdict: str
) -> None:
    assert admit(LIMITS, address, served) == verdict


class Client:
    """A connection from an address of its own."""

    def __init__(self, server: Server) -> None:
        self.server = server

    async def come(self, address: str) -> Client:
        self.reader, self.writer = await asyncio.open_connection(
            HOST, self.server.listeners[101].port, local_addr=(address, 0)
        )
        body: Any = m.ApiVersionsRequest()
        self.writer.write(framing.write_request(0, 1, address, body))
        self.hears = asyncio.ensure_future(self.reader.read(1))
        return self

    async def outcome(self) -> str:
        """What becomes of it, however long that takes."""
        try:
            return "served" if await asyncio.wait_for(self.hears, PATIENCE_S) else "closed"
        except ConnectionResetError:
            return "closed"


async def _at_a_full_broker() -> tuple[list[str], bool, list[str]]:
    server = Server(
        {node: MemoryDisk() for node in (100, 101)}, ClusterSpec((101,), settings=LIMITS)
    )
    server.start()
    try:
        assert await server.wait(server.is_ready, PATIENCE_S)
        inside = [await Client(server).come(address) for address in (A, B)]
        let_in = [await each.outcome() for each in inside]
        behind = [await Client(server).come(address) for address in (B, C)]
        assert await server.wait(lambda: len(server.listeners[101].connections) == 4, PATIENCE_S)
        they_wait = not any(each.hears.done() for each in behind)
        inside[0].writer.close()
        return let_in, they_wait, [await each.outcome() for each in behind]
    finally:
        server.close()


def test_one_too_many_from_an_address_waits_at_a_full_broker_and_is_closed_in_its_turn() -> None:
    let_in, they_wait, at_last = asyncio.run(_at_a_full_broker())
    assert let_in == ["served", "served"]
    assert they_wait
    assert at_last == ["closed", "served"]
