"""Plays a trace script free-running: a real server, real time, a client on real sockets."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from engine.cluster.cluster import Cluster
from engine.cluster.spec import ClusterSpec
from engine.server.listener import HOST
from engine.server.server import Server
from engine.sim.scripts.player import PATIENCE_S
from engine.sim.scripts.scripts import Script, play
from engine.sim.world.faults import Fault
from engine.storage.disk import Disk
from engine.storage.memory_disk import MemoryDisk
from engine.storage.real_disk import RealDisk
from engine.wire import framing


class SocketStage:
    """A cluster behind sockets, driven by its own clock; one connection per request."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.asked = 0

    @property
    def cluster(self) -> Cluster:
        return self.server.cluster

    async def ask(self, broker: int, body: Any, version: int | None = None) -> Any:
        self.asked += 1
        version = type(body).LATEST if version is None else version
        listener = self.server.listeners[broker]
        assert await self.wait(lambda: listener.acceptor is not None), f"{broker} lets nobody in"
        reader, writer = await asyncio.open_connection(HOST, listener.port)
        try:
            writer.write(framing.write_request(version, self.asked, "script", body))
            size = int.from_bytes(await reader.readexactly(4), "big")
            frame = await reader.readexactly(size)
        finally:
            writer.close()
        number, answer = framing.read_response(type(body).API_KEY, version, frame)
        assert number == self.asked
        return answer

    async def wait(self, condition: Any) -> bool:
        return await self.server.wait(condition, PATIENCE_S)

    async def fault(self, fault: Fault) -> None:
        if fault.kind == "start":
            self.server.start_node(*fault.nodes)
        elif fault.kind in ("lose_power", "write_back"):
            fault.happen(self.cluster)
            self.server.pump()
        else:
            getattr(self.server, fault.kind)(*fault.nodes)


def spec_of(script: Script) -> ClusterSpec:
    brokers = tuple(range(101, 101 + script.brokers))
    return ClusterSpec(brokers=brokers, settings=script.settings, rule=script.rule)


async def play_free_running(script: Script, root: Path) -> str:
    """The outcome of a script over sockets, on real files unless a power loss is in it."""
    spec = spec_of(script)
    dark = any(command.verb == "lose_power" for command in script.commands)
    disks: dict[int, Disk] = {
        node: MemoryDisk() if dark else RealDisk(root / str(node))
        for node in (spec.controller, *spec.brokers)
    }
    server = Server(disks, spec)
    server.start()
    try:
        return await play(script, SocketStage(server))
    finally:
        server.close()
