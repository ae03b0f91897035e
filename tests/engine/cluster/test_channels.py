"""The silence after an answer: between nodes, and on a socket."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from engine.cluster.channels import Channel
from engine.cluster.spec import ClusterSpec
from engine.server.listener import HOST
from engine.server.server import Server
from engine.sim.clients.clients import Admin
from engine.storage.memory_disk import MemoryDisk
from engine.wire import framing
from tests.engine.quotas.quota_cluster import QuotaCluster, alteration, producing

PATIENCE_US = 3_000_000


def test_what_waits_on_a_channel_is_taken_one_by_one() -> None:
    channel = Channel()
    assert channel.take() is None
    channel.waiting += ["first", "second"]
    assert channel.take() == "first"
    assert channel.take() is None
    channel.unmute()
    assert channel.take() == "second"
    channel.unmute()
    assert channel.take() is None


def test_a_node_that_is_over_its_rate_is_not_heard_until_its_time_is_up() -> None:
    cluster = QuotaCluster()
    cluster.limit({"client-id": "admin"}, producer_byte_rate=1_000)
    admin = Admin()
    cluster.cluster.add("admin", admin)

    def send(value_bytes: int) -> int:
        admin.asked += 1
        body = producing(value_bytes=value_bytes)
        admin.outbox.send(101, ("admin", admin.asked), body, PATIENCE_US)
        cluster.cluster.carry_out("admin", admin.outbox.drain())
        return admin.asked

    began = cluster.cluster.now
    first, second, third = send(10_900), send(10), send(10)
    cluster.run_until(lambda: first in admin.answers)
    throttle_ms = admin.answers[first].throttle_time_ms
    assert cluster.cluster.now == began
    assert throttle_ms > 900
    cluster.run_until(lambda: second in admin.answers)
    assert cluster.cluster.now == began + throttle_ms * 1000
    cluster.run_until(lambda: third in admin.answers)
    log = cluster.cluster.nodes[101].replicas.partitions["orders", 0].log
    assert log.log_end_offset == 3


async def _ask(streams: Any, body: Any, version: int) -> Any:
    reader, writer = streams
    writer.write(framing.write_request(version, 1, "report", body))
    size = int.from_bytes(await reader.readexactly(4), "big")
    return framing.read_response(type(body).API_KEY, version, await reader.readexactly(size))[1]


async def _served() -> tuple[float, float, float]:
    """When the first answer came, what it said, and when the second came; in seconds."""
    spec = ClusterSpec(brokers=(101,), settings={"offsets.topic.num.partitions": 1})
    server = Server({node: MemoryDisk() for node in (100, 101)}, spec)
    server.start()
    try:
        assert await server.wait(server.is_ready, 20)
        streams = await asyncio.open_connection(HOST, server.listeners[101].port)
        limits = alteration({"client-id": "report"}, producer_byte_rate=1_000)
        assert (await _ask(streams, limits, 1)).entries[0].error_code == 0
        quotas = server.cluster.nodes[101].metadata.quotas
        assert await server.wait(lambda: quotas, 20)
        began = time.monotonic()
        first = await _ask(streams, producing(value_bytes=12_300), 12)
        answered = time.monotonic()
        streams[1].write(framing.write_request(12, 2, "report", producing(value_bytes=10)))
        await asyncio.sleep(first.throttle_time_ms / 4000)
        connection = next(iter(server.listeners[101].connections.values()))
        assert not connection.reading
        await streams[0].readexactly(4)
        again = time.monotonic()
        streams[1].close()
        # The silence begins with the answer, which was there before we were told of it.
        return answered - began, first.throttle_time_ms / 1000, again - began
    finally:
        server.close()


def test_a_connection_over_its_rate_is_not_read_until_its_time_is_up() -> None:
    to_first, throttle, to_second = asyncio.run(_served())
    assert to_first < throttle
    assert to_second >= 0.95 * throttle > 0
