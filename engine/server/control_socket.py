"""The back door of a served cluster: faults, snapshots and the trace, as JSON lines.

A notebook's kernel may be busy or blocked while brokers must go on running, so the engine
runs in a process of its own and takes commands here.  The socket listens on loopback only.
The first line must be the secret that was given at start, or the connection is closed.

    -> {"id": 7, "do": "kill", "args": [102]}
    <- {"id": 7, "ok": null}           or {"id": 7, "error": "one sentence"}

The id lets a client that was interrupted skip an answer that it no longer awaits.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import os
from typing import Any

from engine.control import metrics
from engine.plain import Plain
from engine.server.listener import HOST
from engine.server.server import Server
from engine.wire.errors import KafkaError

LINE_LIMIT = 1 << 20


class ControlSocket:
    """Carries out commands for `server`; the `shut_down` command sets `done`."""

    def __init__(self, server: Server, secret: str, done: asyncio.Event) -> None:
        self.server = server
        self.secret = secret
        self.done = done
        self.port = 0
        self.acceptor: asyncio.Server | None = None

    async def open(self) -> None:
        self.acceptor = await asyncio.start_server(self._serve, HOST, 0, limit=LINE_LIMIT)
        self.port = self.acceptor.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            first = (await reader.readline()).strip()
            if not hmac.compare_digest(first, self.secret.encode()):
                return
            while line := await reader.readline():
                writer.write(json.dumps(await self._answer(line)).encode() + b"\n")
                await writer.drain()
        except (OSError, ValueError):
            return
        finally:
            writer.close()

    async def _answer(self, line: bytes) -> Plain:
        number = None
        try:
            order = json.loads(line)
            number = order["id"]
            return {"id": number, "ok": await self.obey(order["do"], order.get("args", []))}
        except KafkaError as error:
            return {"id": number, "error": error.message}
        except OSError as error:
            return {"id": number, "error": str(error)}
        except (KeyError, TypeError, ValueError) as error:
            return {"id": number, "error": f"{type(error).__name__}: {error}"}

    async def obey(self, what: str, args: list[Any]) -> Any:
        """Carries out one command; see the names below."""
        server = self.server
        server.pump()  # a command acts now, so what is due happens first
        match what:
            case "kill" | "stop" | "pause" | "resume" | "lose_power" | "cut" | "isolate" | "slow":
                getattr(server, what)(*args)
            case "heal":
                server.heal(*args)
            case "start":
                server.start_node(*args)
            case "snapshot":
                return server.snapshot(*args)
            case "links":
                return server.cluster.network.describe()
            case "trace":
                return self.trace(*args)
            case "request_metrics":
                return server.metrics.of(*args)
            case "requests":
                return server.metrics.last(*args)
            case "gauges":
                return self.gauges(*args)
            case "controller_metrics":
                return metrics.of(server.cluster.nodes[args[0]])
            case "status":
                return {"bootstrap": server.bootstrap, "states": server.cluster.states,
                        "pid": os.getpid()}  # fmt: skip
            case "shut_down":
                self.done.set()
            case _:
                raise ValueError(f"there is no command {what!r}")
        return None

    def gauges(self, node_id: int) -> dict[str, int]:
        """The requests that wait at one broker, and its time spent on clients' requests."""
        server = self.server
        waiting = server.cluster.nodes[node_id].replicas.purgatory.operations.values()
        kinds = [type(operation).__name__ for operation, _ in waiting]
        connections = server.listeners[node_id].connections.values()
        return {
            "delayed produce": kinds.count("DelayedProduce"),
            "delayed fetch": kinds.count("DelayedFetch"),
            "unread requests": sum(len(each.channel.waiting) for each in connections),
            "connections": len(connections),
            "thread time us": server.metrics.spent_us.get(node_id, 0),
        }

    def trace(self, since: int = 0, limit: int = 1000) -> Plain:
        """Trace lines from number `since` on, at most `limit`; continue at `next`."""
        cluster = self.server.cluster
        oldest = cluster.trace_count - len(cluster.trace)
        first = max(since, oldest, 0)
        last = min(cluster.trace_count, first + limit)
        lines = [
            {
                "number": number,
                "time_us": at,
                "node": node,
                "kind": line.kind,
                "partition": line.partition,
                "fields": dict(line.fields),
                "why": line.why,
                "rule": line.rule,
            }
            for number, (at, node, line) in zip(
                range(oldest, cluster.trace_count), cluster.trace, strict=True
            )
            if first <= number < last
        ]
        return {"lines": lines, "next": last}
