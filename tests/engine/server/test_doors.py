"""A broker that starts refuses connections until it is unfenced: before, it knows the past."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from engine.cluster.spec import ClusterSpec
from engine.server.listener import HOST
from engine.server.server import Server
from engine.storage.memory_disk import MemoryDisk
from engine.wire import framing
from engine.wire import messages as m

PATIENCE_S = 60
SPEC = ClusterSpec(brokers=(101,), settings={"broker.session.timeout.ms": 3_000})


async def is_refused(server: Server) -> bool:
    try:
        _, writer = await asyncio.open_connection(HOST, server.listeners[101].port)
    except ConnectionRefusedError:
        return True
    writer.close()
    return False


async def addresses(server: Server) -> dict[int, int]:
    """Ports by broker, as the broker tells them."""
    reader, writer = await asyncio.open_connection(HOST, server.listeners[101].port)
    writer.write(framing.write_request(12, 1, "door", m.MetadataRequest(topics=[])))
    size = int.from_bytes(await reader.readexactly(4), "big")
    body: Any = framing.read_response(3, 12, await reader.readexactly(size))[1]
    writer.close()
    return {each.node_id: each.port for each in body.brokers}


async def _on_the_files_of_a_dead_one() -> None:
    disks = {node: MemoryDisk() for node in (100, 101)}
    first = Server(disks, SPEC)
    first.start()
    assert await first.wait(first.is_ready, PATIENCE_S)
    first.close()

    second = Server(disks, replace(SPEC, seed=1))  # another seed, another incarnation
    second.start()
    try:
        seen = second.cluster.nodes[101].metadata.brokers[101]
        assert not seen.fenced, "the dead one is unfenced in the log"
        assert seen.port == first.listeners[101].port
        assert not second.is_ready()
        assert await is_refused(second)
        assert await second.wait(second.is_ready, PATIENCE_S)
        assert await addresses(second) == {101: second.listeners[101].port}
        assert second.listeners[101].port != first.listeners[101].port
    finally:
        second.close()


def test_a_cluster_on_the_files_of_a_dead_one_is_ready_when_its_new_address_is_known() -> None:
    asyncio.run(_on_the_files_of_a_dead_one())


async def _nothing_else_happens() -> None:
    server = Server({node: MemoryDisk() for node in (100, 101)}, SPEC)
    server.start()
    try:
        assert await server.wait(server.is_ready, PATIENCE_S)
        assert server.alarm is not None
        server.alarm.cancel()  # nothing else is due from now on
        server.listeners[101].close()
        server.listeners[101].open()
        assert not server.is_ready()
        assert await server.wait(server.is_ready, 5)
    finally:
        server.close()


def test_a_door_that_opens_is_news() -> None:
    asyncio.run(_nothing_else_happens())


async def _cut_off_from_the_controller() -> None:
    server = Server({node: MemoryDisk() for node in (100, 101)}, SPEC)
    server.start()
    try:
        assert await server.wait(server.is_ready, PATIENCE_S)
        assert not await is_refused(server)
        server.kill(101)
        assert await is_refused(server)
        server.cut(100, 101)
        server.start_node(101)
        await asyncio.sleep(0.3)
        assert await is_refused(server)
        server.kill(101)
        server.start_node(101)
        server.heal()
        assert await server.wait(server.is_ready, PATIENCE_S)
        assert not await is_refused(server)
    finally:
        server.close()


def test_a_broker_that_cannot_reach_the_controller_accepts_no_connection() -> None:
    asyncio.run(_cut_off_from_the_controller())
