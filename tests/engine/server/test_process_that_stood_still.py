"""A process that did not run for a while goes on where it was: no broker has been silent.

All brokers are one process: when the machine is busy, or the process is stopped, they all stand
still.  What became due meanwhile happens in its own order of time, heartbeats included, and only
then what clients and orders ask for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from engine.cluster.spec import ClusterSpec
from engine.server.control_socket import ControlSocket
from engine.server.listener import HOST
from engine.server.server import EVENTS_IN_ONE_GO, Server
from engine.storage.memory_disk import MemoryDisk
from engine.wire import framing
from engine.wire import messages as m

PATIENCE_S = 60
SESSION_MS = 1_000
SPEC = ClusterSpec(
    brokers=(101, 102, 103),
    settings={"broker.session.timeout.ms": SESSION_MS, "broker.heartbeat.interval.ms": 200},
)


def stands_still(server: Server, sessions: int) -> None:
    """The clock goes on, and no callback has run."""
    server.started_ns += sessions * SESSION_MS * 1_000_000


async def a_client_asks(server: Server) -> None:
    reader, writer = await asyncio.open_connection(HOST, server.listeners[101].port)
    stands_still(server, 5)
    writer.write(framing.write_request(12, 1, "early", m.MetadataRequest(topics=[])))
    size = int.from_bytes(await reader.readexactly(4), "big")
    body: Any = framing.read_response(3, 12, await reader.readexactly(size))[1]
    writer.close()
    assert [each.node_id for each in body.brokers] == [101, 102, 103]


async def somebody_looks(server: Server) -> None:
    stands_still(server, 5)
    states = await ControlSocket(server, "", asyncio.Event()).obey("snapshot", [])
    assert [each["fenced"] for each in states["brokers"].values()] == [False] * 3


async def more_is_due_than_is_done_in_one_go(server: Server) -> None:
    stands_still(server, 1_000)
    before = server.cluster.happened
    server.pump()
    assert server.cluster.happened - before >= EVENTS_IN_ONE_GO
    assert await server.wait(lambda: (server.cluster.next_at or 0) > server.now(), PATIENCE_S)


async def _who_was_fenced(wakes: Callable[[Server], Awaitable[None]]) -> list[int]:
    server = Server({node: MemoryDisk() for node in (100, 101, 102, 103)}, SPEC)
    server.start()
    try:
        assert await server.wait(server.is_ready, PATIENCE_S)
        await wakes(server)
        server.pump()
        return [node for _, node, line in server.cluster.trace if line.kind == "fenced"]
    finally:
        server.close()


@pytest.mark.parametrize(
    "wakes", [a_client_asks, somebody_looks, more_is_due_than_is_done_in_one_go]
)
def test_no_broker_is_fenced_for_the_time_in_which_the_process_stood_still(
    wakes: Callable[[Server], Awaitable[None]],
) -> None:
    assert asyncio.run(_who_was_fenced(wakes)) == []
