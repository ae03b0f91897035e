"""Once queued.max.request.bytes of requests wait at a broker, no socket is read again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from engine.cluster.spec import ClusterSpec
from engine.server.listener import HOST
from engine.server.server import Server
from engine.storage.memory_disk import MemoryDisk
from engine.wire import framing
from engine.wire import messages as m
from kit.probes.requests import producing

CLIENTS, REQUESTS, VALUE_BYTES, LIMIT = 12, 40, 30_000, 200_000
WAIT_MS = 1_500
READ_BYTES = 256 * 1024
"""So much may asyncio read from a socket at once, and from each that was ready with it."""
ONE_READ_EACH = CLIENTS * READ_BYTES
TOPIC = "orders"


async def eventually(condition: Callable[[], bool]) -> None:
    for _ in range(1_000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen in ten seconds")


def frame(number: int, body: m.FetchRequest | m.ProduceRequest) -> bytes:
    return framing.write_request(12, number, "client", body)


async def answer_to(reader: asyncio.StreamReader) -> bytes:
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))


async def create_topic(port: int) -> None:
    reader, writer = await asyncio.open_connection(HOST, port)
    topic = m.CreateTopicsRequest.CreatableTopic(TOPIC, 1, 1)
    body = m.CreateTopicsRequest([topic], timeout_ms=10_000)
    writer.write(framing.write_request(7, 0, "client", body))
    await answer_to(reader)
    writer.close()


def long_poll() -> m.FetchRequest:
    part = m.FetchRequest.FetchPartition(partition=0)
    asked = m.FetchRequest.FetchTopic(topic=TOPIC, partitions=[part])
    return m.FetchRequest(max_wait_ms=WAIT_MS, min_bytes=1 << 30, max_bytes=1 << 30,
                          session_epoch=-1, topics=[asked])  # fmt: skip


async def flood(settings: dict[str, int]) -> int:
    """Most bytes that waited while every client asked on behind a long poll."""
    spec = ClusterSpec((101,), settings=settings)
    server = Server({node: MemoryDisk() for node in (100, 101)}, spec)
    server.start()
    listener, most, answers = server.listeners[101], 0, 0
    try:
        assert await server.wait(server.is_ready, 10)
        await create_topic(listener.port)
        clients = [await asyncio.open_connection(HOST, listener.port) for _ in range(CLIENTS)]
        for _, writer in clients:
            writer.write(frame(0, long_poll()))
            for number in range(1, REQUESTS + 1):
                writer.write(frame(number, producing(TOPIC, VALUE_BYTES)))

        async def count(reader: asyncio.StreamReader) -> int:
            for number in range(REQUESTS + 1):
                assert int.from_bytes((await answer_to(reader))[:4], "big") == number
            return REQUESTS + 1

        reading = asyncio.gather(*(count(reader) for reader, _ in clients))
        while not reading.done():
            most = max(most, listener.waiting_bytes)
            await asyncio.sleep(0.005)
        answers = sum(await reading)
        for _, writer in clients:
            writer.close()
        await eventually(lambda: not listener.connections)
        assert listener.waiting_bytes == 0
    finally:
        server.close()
    assert answers == CLIENTS * (REQUESTS + 1)
    return most


def test_all_clients_together_stay_below_the_limit_and_all_are_answered() -> None:
    most = asyncio.run(flood({"queued.max.request.bytes": LIMIT}))
    assert LIMIT <= most <= LIMIT + ONE_READ_EACH


def test_without_a_limit_each_client_has_its_own() -> None:
    assert asyncio.run(flood({})) > 2 * (LIMIT + ONE_READ_EACH)
