"""Strange requests, and a served cluster that meets defects: each in a process of its own.

    with served() as (ports, ended):    # broker -> port
        sent, answered = send_strange_requests(ports, count=10_000, seed=1)
    assert ended.nodes == [100, 101, 102, 103]

A strange request is a random one of any API and version; one in thirty is cut, changed or made
longer.  One in ten is a sound Produce to the topic that others wait for.  One in twenty carries a
defect in the last bits of its correlation id: the server's process is patched to fail when it
writes that answer, or when it handles that request.  A long poll on that topic has answers that
cannot be written; they leave in one go with those of all others that wait there.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import multiprocessing
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection as Pipe
from typing import Any

from engine import api
from engine.broker.broker import Broker
from engine.cluster import defects, spec
from engine.events import AnyRequest
from engine.server.connection import Connection
from engine.server.listener import HOST
from engine.server.server import Server
from engine.storage.memory_disk import MemoryDisk
from engine.wire import framing, schema
from kit.probes.raw_client import NAMED
from kit.probes.requests import fetching, first_partition, producing
from tests.engine.wire.random_messages import random_message

TOPIC = "awaited"
STRANGE = 1 << 30
"""Correlation ids from here on are the fuzz's."""
UNWRITABLE, RAISES, RAISES_LATE = 1, 2, 3
"""The last two bits of a correlation id: the defect that its request meets."""
WRITING, HANDLING = "writing", "handling"
"""The guards that a mutant of the server lacks."""

LEFT_OUT = ("UnregisterBroker",)
"""It takes a broker from the bystanders, as it should."""
CONNECTIONS, PIPELINED = 8, 24
SILENCE_S = 3
"""Then the sender opens a new connection: some requests have no answer, or wait for long."""


class Defect(Exception):
    """Raised in the server's process, by design."""


# -- the served cluster


@dataclass
class Ended:
    """What the server's process says at its end."""

    nodes: list[int] = field(default_factory=list)
    met: dict[int, int] = field(default_factory=dict)


@contextlib.contextmanager
def served(without: str = "") -> Iterator[tuple[dict[int, int], Ended]]:
    """Three brokers in a process; `without` is the guard that is taken out of it."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, without), daemon=True)
    process.start()
    there.close()
    ended = Ended()
    try:
        yield here.recv(), ended
        here.send("end")
        if here.poll(30):
            ended.nodes, ended.met = here.recv()
    finally:
        process.kill()
        process.join()


def _serve(pipe: Pipe, without: str) -> None:
    logging.disable()
    spec.APIS = replace(spec.APIS, dispatch=_dispatch)
    framing.write_response = _write_response
    if without == WRITING:
        Connection.write = _write_unguarded  # type: ignore[method-assign]

    async def serve() -> None:
        server = Server({node: MemoryDisk() for node in (100, 101, 102, 103)}, spec.ClusterSpec())
        if without == HANDLING:
            defects.settled = lambda now, node, event: server.cluster.kill(node.node_id) or []
        server.start()
        assert await server.wait(server.is_ready, 30)
        brokers = server.cluster.spec.brokers
        pipe.send({broker: server.listeners[broker].port for broker in brokers})
        await asyncio.get_running_loop().run_in_executor(None, pipe.recv)
        pipe.send((sorted(server.cluster.nodes), dict(_met)))
        server.close()

    asyncio.run(serve())


_met: Counter[int] = Counter()
"""How often the server's process met each defect."""
_sound_response = framing.write_response


def _write_response(key: int, version: int, correlation_id: int, body: Any) -> Any:
    _meet(correlation_id, UNWRITABLE)
    return _sound_response(key, version, correlation_id, body)


def _write_unguarded(self: Connection, key: int, version: int, body: Any, number: int) -> None:
    self.unsent = framing.write_response(key, version, number, body).chunks()
    self._send()


def _dispatch(broker: Broker, now: int, request: AnyRequest) -> None:
    number = getattr(request.token, "correlation_id", 0)
    _meet(number, RAISES)
    api.dispatch(broker, now, request)
    _meet(number, RAISES_LATE)


def _meet(correlation_id: int, defect: int) -> None:
    if correlation_id >= STRANGE and correlation_id & 3 == defect:
        _met[defect] += 1
        raise Defect


# -- their sender


def send_strange_requests(ports: dict[int, int], count: int, seed: int) -> tuple[int, int]:
    """Sends so many from a process of its own; how many were sent and answered."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(_send, (ports, count, seed))


def _send(ports: dict[int, int], count: int, seed: int) -> tuple[int, int]:
    async def send() -> tuple[int, int]:
        each = count // CONNECTIONS
        lanes = [_Sender([*ports.values()], each, f"{seed} {n}") for n in range(CONNECTIONS)]
        polling = asyncio.create_task(_poll_in_vain(ports[101]))
        done = await asyncio.gather(*(lane.run() for lane in lanes))
        polling.cancel()
        return sum(sent for sent, _ in done), sum(answered for _, answered in done)

    return asyncio.run(send())


async def _poll_in_vain(port: int) -> None:
    """Waits at the end of the topic's log, like others; every other answer cannot be written."""
    offset = 0
    while True:
        await asyncio.sleep(0.01)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection(HOST, port)
            try:
                for number in (STRANGE, STRANGE | UNWRITABLE):
                    body = fetching(TOPIC, offset, max_wait_ms=1_000)
                    writer.write(framing.write_request(NAMED, number, "fuzz", body))
                    size = int.from_bytes(await reader.readexactly(4), "big")
                    frame = await reader.readexactly(size)
                    _, answer = framing.read_response(body.API_KEY, NAMED, frame)
                    offset = max(offset, first_partition(answer).high_watermark)
            finally:
                writer.close()


class _Sender:
    """Sends its share, a few dozen pipelined requests at a time."""

    def __init__(self, ports: list[int], count: int, seed: str) -> None:
        self.ports, self.count = ports, count
        self.rng = random.Random(seed)
        self.apis = [
            (
                f"{name}Request",
                range(max(each.low, schema.find(f"{name}Request").versions.low), each.high + 1),
            )
            for name, each in api.APIS.items()
            if name not in LEFT_OUT
        ]
        self.sent = self.answered = 0

    async def run(self) -> tuple[int, int]:
        while self.sent < self.count:
            try:
                await self._one_connection()
            except ConnectionError:  # the broker is down, or the connection is gone
                self.sent += 1
                await asyncio.sleep(0.01)
        return self.sent, self.answered

    async def _one_connection(self) -> None:
        reader, writer = await asyncio.open_connection(HOST, self.rng.choice(self.ports))
        try:
            while self.sent < self.count:
                frames = [self.frame() for _ in range(PIPELINED)]
                self.sent += len(frames)
                writer.write(b"".join(frames))
                for _ in frames:
                    size = await asyncio.wait_for(reader.readexactly(4), SILENCE_S)
                    await reader.readexactly(int.from_bytes(size, "big"))
                    self.answered += 1
        except (TimeoutError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    def frame(self) -> bytes:
        rng = self.rng
        defect = rng.choice((UNWRITABLE, RAISES, RAISES_LATE)) if rng.random() < 1 / 20 else 0
        number = STRANGE | rng.getrandbits(28) << 2 | defect
        if rng.random() < 1 / 10:
            return framing.write_request(NAMED, number, "fuzz", producing(TOPIC, acks=-1))
        name, versions = rng.choice(self.apis)
        version = rng.choice(versions)
        body = random_message(name, version, rng.getrandbits(60))
        frame = framing.write_request(version, number, "fuzz", body)
        return damaged(frame, rng) if rng.random() < 1 / 30 else frame


def damaged(frame: bytes, rng: random.Random) -> bytes:
    """The frame cut, changed or made longer; its length is true."""
    content = bytearray(frame[4:])
    match rng.randrange(3):
        case 0:
            del content[rng.randrange(len(content)) :]
        case 1:
            for _ in range(rng.choice((1, 1, 3))):
                content[rng.randrange(len(content))] = rng.getrandbits(8)
        case _:
            content += rng.randbytes(rng.choice((1, 2, 50)))
    return len(content).to_bytes(4, "big") + content
