"""Drives a cluster in real time: TCP for clients, the cluster's queue for all else.

One asyncio loop serves all brokers of a cluster.  A client's request goes into the
cluster's queue; `pump` runs everything that is due, writes the answers, and sleeps until the
next timer.  Messages between brokers never leave the process.

    TCP frame -> Connection -> Cluster.submit -> pump -> Cluster.run(now) -> replies -> TCP

When the process could not run for a while, requests wait in the sockets, and timers are overdue.
What happens between brokers then happens in its order of time.  Clients' deadlines wait a second
longer, until the sockets have been read: the members of a group did send their heartbeats.

An answer is written only after the step that made it has written its records to the
operating system, so a killed process loses nothing that it acknowledged.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice

from engine import api
from engine.broker.request_metrics import RequestMetrics
from engine.cluster import link_faults, machine_faults
from engine.cluster.cluster import Cluster, DiskFailed
from engine.cluster.items import NodeId
from engine.cluster.processes import PAUSED, RUNNING
from engine.cluster.snapshot import snapshot
from engine.cluster.spec import ClusterSpec
from engine.events import AnyRequest, Source
from engine.plain import Plain
from engine.server.connection import Connection
from engine.server.listener import HOST, Listener
from engine.settings import Settings
from engine.storage.disk import Disk

log = logging.getLogger("engine")
TRACE_LINES = 20_000
EVENTS_IN_ONE_GO = 2_000
"""After so many events the sockets get their turn, even if more are due between brokers."""

LATE_US = 500_000
"""The process could not run for longer than that."""
GRACE_US = 1_000_000
"""So much later than now a client's deadline ends that ran out meanwhile."""


class Server:
    """A cluster behind real sockets.  Made inside a running loop; `start`, then `close`."""

    def __init__(
        self,
        disks: Mapping[int, Disk],
        spec: ClusterSpec,
        ports: Mapping[int, int] | None = None,
        tier: Disk | None = None,
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self.settings = Settings(spec.settings)
        self.started_ns = time.time_ns() - time.monotonic_ns()
        self.metrics = RequestMetrics()
        limits = (
            self.settings["socket.request.max.bytes"],
            self.settings["queued.max.request.bytes"],
        )
        self.listeners = {
            node: Listener(node, (ports or {}).get(node, 0), self, self.metrics, *limits)
            for node in spec.nodes
        }
        for controller in spec.controllers:
            self.listeners[controller].offers = api.ON_CONTROLLERS
        addresses = {b: (HOST, listener.port) for b, listener in self.listeners.items()}
        self.cluster = Cluster(
            replace(spec, addresses=addresses),
            disks,
            self.now(),
            trace_limit=TRACE_LINES,
            tier=tier,
        )
        self.cluster.defects = []
        self.cluster.meter = self.metrics
        self.alarm: asyncio.TimerHandle | None = None
        self.pumping = self.closed = False
        self.changed = asyncio.Event()
        self.opening: dict[int, int] = {}  # broker -> number of trace lines before its start
        raise_file_limit()

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{HOST}:{self.listeners[b].port}" for b in self.cluster.spec.brokers)

    @property
    def bootstrap_controllers(self) -> str:
        ports = (self.listeners[each].port for each in self.cluster.spec.controllers)
        return ",".join(f"{HOST}:{port}" for port in ports)

    def now(self) -> int:
        """Microseconds since the epoch; they never go back."""
        return (self.started_ns + time.monotonic_ns()) // 1000

    def start(self) -> None:
        """Starts controller and brokers; `wait(server.is_ready, …)` until they accept clients."""
        self.cluster.now = self.now()
        self.opening = dict.fromkeys(self.cluster.spec.brokers, 0)
        for node_id, refused in self.cluster.boot().items():
            log.error("controller %d does not run: %s", node_id, refused.message)
        self.loop.call_later(60, self._close_idle)
        self.pump()

    def close(self) -> None:
        """Stops at once; files hold everything that was acknowledged."""
        self.closed = True
        if self.alarm is not None:
            self.alarm.cancel()
        for listener in self.listeners.values():
            listener.close()
            listener.socket.close()

    async def shut_down(self, patience_s: float = 10.0) -> None:
        """Stops every node cleanly, brokers first and the active controller last, then closes."""
        for broker_id in self.cluster.spec.brokers:
            self.stop(broker_id)
        await self.wait(
            lambda: not any(b in self.cluster.nodes for b in self.cluster.spec.brokers),
            patience_s,
        )
        controllers = self.cluster.spec.controllers
        for controller_id in sorted(controllers, key=self._is_active):
            self.stop(controller_id)
        await self.wait(lambda: not any(c in self.cluster.nodes for c in controllers), patience_s)
        self.close()

    def _is_active(self, controller_id: int) -> bool:
        controller = self.cluster.nodes.get(controller_id)
        return controller is not None and controller.is_active

    async def wait(self, condition: Callable[[], bool], patience_s: float) -> bool:
        """Waits until a condition holds; False if it does not in time."""
        try:
            async with asyncio.timeout(patience_s):
                while not condition():
                    self.changed.clear()
                    await self.changed.wait()
        except TimeoutError:
            return False
        return True

    def is_ready(self) -> bool:
        """Every running broker accepts clients and is unfenced, and all of them know it."""
        brokers = [
            self.cluster.nodes[b] for b in self.cluster.spec.brokers if b in self.cluster.nodes
        ]
        return all(
            self.listeners[each.node_id].acceptor is not None and each.is_known_to(other)
            for each in brokers
            for other in brokers
        )

    # -- the loop

    def pump(self) -> None:
        """Runs everything that is due, and sends the answers."""
        if self.pumping or self.closed:
            return
        self.pumping = True
        try:
            while True:
                if (at := self.cluster.next_at) is not None and self.now() - at > LATE_US:
                    self.cluster.agenda.put_off_deadlines(self.now() + GRACE_US)
                self.cluster.run(self.now(), EVENTS_IN_ONE_GO)
                self._hang_up()
                self._report_defects()
                if not self.cluster.outgoing:
                    break
                replies, self.cluster.outgoing = self.cluster.outgoing, []
                for node_id, reply in replies:
                    connection = self._connection(node_id, reply.destination)
                    if connection is not None:
                        connection.replied(reply)
        finally:
            self.pumping = False
            self.changed.set()
            self._open_or_close_listeners()
            self._report_recoveries()
            self._set_alarm()

    def _connection(self, node_id: NodeId, name: Source) -> Connection | None:
        return self.listeners[int(node_id)].connections.get(str(name))

    def _hang_up(self) -> None:
        """Closes the connections that brokers want closed."""
        effects, self.cluster.hang_ups = self.cluster.hang_ups, []
        for node_id, effect in effects:
            connection = self._connection(node_id, effect.destination)
            if connection is not None:
                connection.abort(effect.reason)

    def _report_defects(self) -> None:
        found, self.cluster.defects = self.cluster.defects or [], []
        for node_id, error in found:
            if isinstance(error, DiskFailed):
                log.error("broker %s halts: %s", node_id, error)
                continue
            log.error("node %s met a defect of the engine, and goes on", node_id, exc_info=error)

    def _report_recoveries(self) -> None:
        """Logs what brokers cut off their logs during recovery."""
        for broker_id, before in tuple(self.opening.items()):
            broker = self.cluster.nodes.get(broker_id)
            if broker is not None and not broker.is_serving:
                continue
            del self.opening[broker_id]
            news = islice(reversed(self.cluster.trace), self.cluster.trace_count - before)
            for _, node_id, line in news:
                if node_id == broker_id and line.kind == "recovered":
                    log.warning("broker %d: %s: %s", broker_id, line.partition, line.why)

    def _set_alarm(self) -> None:
        if self.alarm is not None:
            self.alarm.cancel()
        next_at = self.cluster.next_at
        self.alarm = None
        if next_at is not None:
            self.alarm = self.loop.call_later(max(0, next_at - self.now()) / 1e6, self.pump)

    def _open_or_close_listeners(self) -> None:
        for node_id, listener in self.listeners.items():
            node = self.cluster.nodes.get(node_id)
            if node is None and listener.serving is not None:
                listener.close()
            elif node is not None and listener.serving is None and self._takes_clients(node_id):
                listener.open()

    def _takes_clients(self, node_id: int) -> bool:
        node = self.cluster.nodes[node_id]
        return node_id in self.cluster.spec.controllers or node.is_known_to(node)

    def _close_idle(self) -> None:
        for listener in self.listeners.values():
            listener.close_idle(self.settings["connections.max.idle.ms"] / 1000)
        self.loop.call_later(60, self._close_idle)

    # -- what listeners ask

    def is_paused(self, node_id: int) -> bool:
        return self.cluster.states.get(node_id) == PAUSED

    def accepts(self) -> None:
        self.changed.set()

    def settings_of(self, node_id: int) -> Settings | None:
        broker = self.cluster.nodes.get(node_id)
        return None if broker is None else broker.settings

    def submit(self, node_id: int, request: AnyRequest) -> None:
        # The queue's clock still shows the last event; a timeout counts from now.
        self.cluster.submit(node_id, request, self.now())
        self.pump()

    def disconnected(self, node_id: int, client: str) -> None:
        if node_id in self.cluster.nodes:
            self.cluster.disconnected(node_id, client)
            self.pump()

    # -- what may be done to it

    def kill(self, node_id: int) -> None:
        self.cluster.kill(node_id)
        self.pump()

    def stop(self, node_id: int) -> None:
        self._wake(node_id)
        self.cluster.stop(node_id)
        self.pump()

    def start_node(self, node_id: int) -> None:
        """Starts a node that is not running; a broker accepts clients once it is unfenced."""
        if self.cluster.states.get(node_id) not in (RUNNING, PAUSED):
            if node_id in self.cluster.spec.brokers:
                self.opening[node_id] = self.cluster.trace_count
            self.cluster.start(node_id)
        self.pump()

    def pause(self, node_id: int) -> None:
        self.cluster.pause(node_id)
        self._tell(node_id)

    def resume(self, node_id: int) -> None:
        self._wake(node_id)
        self.pump()

    def _wake(self, node_id: int) -> None:
        self.cluster.resume(node_id)
        self.cluster.agenda.put_off_deadlines(self.now() + GRACE_US)
        self._tell(node_id)

    def _tell(self, node_id: int) -> None:
        listener = self.listeners.get(node_id)
        for connection in tuple(listener.connections.values()) if listener else ():
            connection.pause_changed()

    def lose_power(self, node_id: int) -> None:
        """Kills a node and removes from its disk what was not flushed."""
        machine_faults.lose_power(self.cluster, node_id)
        self.pump()

    def cut(self, a: int, b: int) -> None:
        link_faults.cut(self.cluster, a, b)

    def isolate(self, node_id: int) -> None:
        link_faults.isolate(self.cluster, node_id)

    def slow(self, a: int, b: int, delay_ms: int) -> None:
        link_faults.slow(self.cluster, a, b, delay_ms)

    def heal(self, a: int | None = None, b: int | None = None) -> None:
        link_faults.heal(self.cluster, a, b)
        self.pump()

    def snapshot(self, values: bool = False, tail: int = 12) -> Plain:
        self.pump()  # what is due happens first
        return snapshot(self.cluster, values, tail)


def raise_file_limit() -> None:
    """Raises the limit of open files as far as the system allows; clients and segments need it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
