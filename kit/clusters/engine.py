"""The embedded engine as a provider: one child process that is the whole cluster.

    kernel ── orders, snapshots, trace (JSON lines, loopback) ──▶ engine process
    clients ── the Kafka protocol ──▶ a port per broker ─────────┘

The engine runs outside the kernel, so a blocked cell does not stop its brokers.  "Kill"
and "pause" affect one broker within that process; its files stay as a killed process
would leave them.  Data is stored in the cluster's temporary area, in Kafka's own formats.

A cluster belongs to the process that started it and dies with it, unless it is shared:
then it stays until `kafkalab down`, and any process can attach to it.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import secrets
import shutil
import socket
import sys
import threading
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from kit import places
from kit.clusters import registry, settings_table
from kit.clusters.faults import FAULTS, Ways
from kit.clusters.interface import ClusterEnded, ClusterError, Node
from kit.clusters.kafka_cluster import KafkaCluster
from kit.clusters.reaper import Reaper
from kit.clusters.settings_table import BROKERS
from kit.clusters.topics import OwnTopics
from kit.course import PROJECT

HOST = "127.0.0.1"
CHILD = "engine"
INTERNAL_TOPICS = ("__consumer_offsets", "__transaction_state", "__share_group_state")
_READY_S = 60.0
_STOP_S = 30.0
_ORDER_S = 30.0
_POLL_S = 0.005
_GRACE_S = 0.0
"""The files go with the cluster, so a clean shutdown is not needed."""


class ControlClient:
    """Gives orders to an engine; one at a time, from any thread."""

    def __init__(self, port: int, secret: str) -> None:
        self._turn = threading.Lock()
        self._numbers = itertools.count(1)
        try:
            self._socket = socket.create_connection((HOST, port), _ORDER_S)
        except OSError:
            raise ClusterEnded(_ENDED) from None
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._lines = self._socket.makefile("rwb")
        self._lines.write(secret.encode() + b"\n")

    def order(self, what: str, *args: Any) -> Any:
        """Raises ClusterError with the engine's own sentence when it refuses."""
        with self._turn:
            number = next(self._numbers)
            answer: dict[str, Any] = {}
            try:
                request = json.dumps({"id": number, "do": what, "args": args})
                self._lines.write(request.encode() + b"\n")
                self._lines.flush()
                # An interrupted cell may have left an answer behind: skip it.
                while answer.get("id") != number:
                    answer = json.loads(self._lines.readline())
            except (OSError, ValueError):
                raise ClusterEnded(_ENDED) from None
        if "error" in answer:
            raise ClusterError(str(answer["error"]))
        return answer["ok"]

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._lines.close()
        self._socket.close()


_ENDED = "This engine has ended: start another with lab.engine()."


class EngineProvider:
    """The engine process of one cluster, through the reaper that holds it."""

    name = "engine"
    refusals: Mapping[str, str] = {}

    def __init__(self, registration: registry.Registration, reaper: Reaper) -> None:
        self.registration = registration
        self._directory = Path(registration.directory)
        self._reaper = reaper
        known = json.loads((self._directory / "engine.json").read_text())
        self._ports = {int(node): port for node, port in known["ports"].items()}
        self._controllers = {int(each): port for each, port in known["controller_ports"].items()}
        self._control = ControlClient(known["control"], known["secret"])
        self._lease = registry.Lease(registration.label) if registration.shared else None
        self.cluster_id: str = known["cluster_id"]
        self.bootstrap = registration.bootstrap
        self.bootstrap_controllers = ",".join(f"{HOST}:{p}" for p in self._controllers.values())
        offered = FAULTS.keys() - self.refusals.keys()
        orders = {name: partial(self._control.order, name) for name in offered}
        self.ways: Ways = {**orders, "stop": self._stop}

    # -- inspecting

    def nodes(self) -> dict[int, Node]:
        states = self._control.order("status")["states"]
        found = {}
        for node in (*self._controllers, *self._ports):
            port = self._ports.get(node)
            address = (HOST, port) if port else None
            data = str(self._directory / "data" / str(node))
            found[node] = Node(node, states[str(node)], address, data, port is None)
        return found

    def links(self) -> list[dict[str, Any]]:
        links: list[dict[str, Any]] = self._control.order("links")
        return links

    def snapshot(self, *, values: bool = False, tail: int = 20) -> dict[str, Any]:
        """The engine's own snapshot: the whole state at one moment."""
        return with_numbers(self._control.order("snapshot", values, tail))

    def trace(self, since: int = 0, limit: int = 1000) -> dict[str, Any]:
        """Trace lines from number `since` on: `lines`, and `next` to go on with."""
        lines: dict[str, Any] = self._control.order("trace", since, limit)
        return lines

    def request_metrics(self, broker: int, kind: str) -> dict[str, Any]:
        """Count, and per stage sums and percentiles, of one kind of request."""
        reported: dict[str, Any] = self._control.order("request_metrics", broker, kind)
        return reported

    def requests(self, broker: int, client_id: str | None = None) -> list[dict[str, Any]]:
        """The timelines of the last requests, of one client or of all."""
        reported: list[dict[str, Any]] = self._control.order("requests", broker, client_id)
        return reported

    def gauges(self, broker: int) -> dict[str, int]:
        """What waits at a broker now."""
        reported: dict[str, int] = self._control.order("gauges", broker)
        return reported

    def controller_metrics(self, controller: int) -> dict[str, int]:
        """A controller's own counts, by Kafka's names."""
        reported: dict[str, int] = self._control.order("controller_metrics", controller)
        return reported

    def pid(self) -> int:
        """The engine's process."""
        return int(self._reaper.children()[CHILD]["pid"])

    def log_file(self) -> Path:
        """What the engine's process wrote."""
        return self._directory / "engine.log"

    # -- faults

    def hold(self) -> None:
        if self._lease is not None:
            self._lease.take()

    def _stop(self, node: int) -> None:
        self._control.order("stop", node)
        deadline = time.monotonic() + _STOP_S
        while self._control.order("status")["states"][str(node)] != "stopped":
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"Node {node} has not stopped in {_STOP_S:.0f} s (a clean stop needs the "
                    f"controller): kill({node}) ends it."
                )
            time.sleep(_POLL_S)

    def close(self) -> None:
        self._control.close()
        if self._lease is not None:
            self._lease.release()
            self._reaper.disconnect()
        else:
            self._reaper.end()


def start(
    *,
    shared: bool = False,
    brokers: int = len(BROKERS),
    controllers: int = 1,
    voters: int = 0,
    settings: dict[str, str] | None = None,
    rule: str = "",
) -> KafkaCluster:
    """Starts an engine of brokers 101, 102, … and returns when all of them serve.

    Its controllers are 100, 200, …; several are a quorum.  With `voters`, so many of them begin as
    voters, and that may change (kraft.version 1).

    `settings` are broker configs beside those that every cluster of the kit has.  With fewer
    than three brokers groups need a smaller offsets.topic.replication.factor among them, as in
    Kafka.  `rule` names a truncation rule of the past.

    A shared engine stays until `kafkalab down`.
    """
    label = f"engine-{secrets.token_hex(4)}"
    directory = registry.labelled_directory(label)
    socket_path = str(directory / "reaper")
    reaper = Reaper.start_shared(socket_path) if shared else Reaper.start()
    try:
        reaper.own(str(directory))
        nodes = controllers, voters, brokers
        known = _launch(reaper, directory, label, nodes, settings or {}, rule)
        bootstrap = ",".join(f"{HOST}:{port}" for port in known["ports"].values())
        registration = registry.Registration(
            label,
            EngineProvider.name,
            str(directory),
            shared,
            bootstrap,
            os.getpid(),
            known["cluster_id"],
        )
        for path in (registration.file, OwnTopics(known["cluster_id"]).file):
            reaper.own(str(path))
        provider = EngineProvider(registration, reaper)
        registration.save()
    except BaseException:
        reaper.end()
        raise
    return KafkaCluster(provider)


def attach() -> KafkaCluster | None:
    """The shared engine, if one is up."""
    registration = registry.shared(EngineProvider.name)
    if registration is None:
        return None
    return KafkaCluster(EngineProvider(registration, Reaper.connect(registration.reaper_socket)))


def _launch(
    reaper: Reaper,
    directory: Path,
    label: str,
    nodes: tuple[int, int, int],
    settings: dict[str, str],
    rule: str,
) -> dict[str, Any]:
    """Spawns the process and waits for what it announces: ports, control socket, secret.

    `nodes`: how many controllers, voters and brokers.
    """
    controllers, voters, brokers = nodes
    ids = range(BROKERS[0], BROKERS[0] + brokers)
    racks = ",".join(settings_table.RACKS.get(node, "") for node in ids)
    announced = directory / "engine.json"
    argv = [
        *(sys.executable, "-m", "engine", "--brokers", str(brokers), "--racks", racks),
        *("--controllers", str(controllers), "--voters", str(voters)),
        *("--data", str(directory / "data"), "--control", str(announced)),
        *(("--rule", rule) if rule else ()),
    ]
    for name, value in {**settings_table.as_dict(), **settings}.items():
        argv += ["--set", f"{name}={value}"]
    log = directory / "engine.log"
    child = reaper.spawn(
        argv, name=CHILD, label=label, log_path=str(log), cwd=str(PROJECT), grace_s=_GRACE_S
    )
    deadline = time.monotonic() + _READY_S
    while not announced.exists():
        if time.monotonic() > deadline or child.state() in ("stopped", "killed"):
            raise ClusterError(_why(log))
        time.sleep(_POLL_S)
    known: dict[str, Any] = json.loads(announced.read_text())
    return known


def _why(log: Path) -> str:
    """Why the engine did not start: its last words, and where its log is kept."""
    said = log.read_text(errors="replace").strip().splitlines() or ["it said nothing"]
    kept = places.state_dir() / "last-failure.log"
    shutil.copyfile(log, kept)
    return f"The engine did not start ({said[-1][:200]}): see {kept}"


def with_numbers(snapshot: dict[str, Any]) -> dict[str, Any]:
    """A snapshot that came as JSON: ids and indexes as numbers again, internal topics left out."""
    snapshot["controllers"] = _by_number(snapshot["controllers"])
    snapshot["brokers"] = _by_number(snapshot["brokers"])
    for name in INTERNAL_TOPICS:
        snapshot["topics"].pop(name, None)
    for topic in snapshot["topics"].values():
        topic["partitions"] = _by_number(topic["partitions"])
        for partition in topic["partitions"].values():
            partition["logs"] = _by_number(partition["logs"])
    for group in snapshot["groups"].values():
        group["offsets"] = {name: _by_number(each) for name, each in group["offsets"].items()}
    return snapshot


def _by_number(mapping: dict[str, Any]) -> dict[int, Any]:
    return {int(key): value for key, value in mapping.items()}
