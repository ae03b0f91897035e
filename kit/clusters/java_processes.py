"""What a Kafka of plain Java processes does, with controllers or with ZooKeeper.

`local.py` is the first, `zookeeper.py` the second.  They differ in the plan (ports and properties),
in the programs that they start, and in what happens before the first start.

All ports are on loopback and stay the same when a node is restarted.  Kill is SIGKILL,
stop is SIGTERM, pause is SIGSTOP; the proxy cuts links.  A power loss takes what the
operating system has not written to disk, and killing a process cannot imitate that: only
the engine offers this fault.

A cluster belongs to the process that started it and dies with it, unless it is shared:
then it stays until `kafkalab down`, and any process can attach to it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from engine.wire import messages as m
from kit import places
from kit.clusters import link_proxy, registry
from kit.clusters.connections import Connections, Unreachable
from kit.clusters.faults import Ways
from kit.clusters.interface import ClusterEnded, ClusterError, Node
from kit.clusters.local_plan import HOST, Plan
from kit.clusters.reaper import Child, Reaper, ReaperGone
from kit.clusters.settings_table import BROKERS
from kit.clusters.topics import OwnTopics

JVM_FLAGS = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
START_TIMEOUT_S = 90.0
_STOP_TIMEOUT_S = 60.0
_SIGNAL_TIMEOUT_S = 30.0
LOG_SIZE = "8MB"
"""A log file that is full is kept once, as `101.log.1`."""

_KEEPS_ITS_POWER = (
    "A local Kafka cannot lose power: what its process wrote, the operating system keeps. "
    "kill is the nearest; the engine offers lose_power."
)
_HAS_NO_LINKS = "This local cluster was started without links that can be cut."


class JavaProcesses(ABC):
    """The Java processes of one cluster, through the reaper that holds them."""

    name: str

    def __init__(self, registration: registry.Registration, reaper: Reaper, plan: Plan) -> None:
        self.registration = registration
        self._directory = Path(registration.directory)
        self._plan = plan
        self._reaper = reaper
        self._links = link_proxy.Links(str(self._directory / "links"))
        self._lease = registry.Lease(registration.label) if registration.shared else None
        self.bootstrap = self._plan.bootstrap
        links: Ways = {
            "cut": self._links.cut,
            "isolate": self._links.isolate,
            "slow": self._links.slow,
        }
        self.ways: Ways = {
            "kill": self._kill,
            "stop": self._stop,
            "start": self.launch,
            "pause": self._pause,
            "resume": self._resume,
            "heal": self._heal,
            **(links if self._plan.has_links else {}),
        }
        self.refusals: Mapping[str, str] = {
            "lose_power": _KEEPS_ITS_POWER,
            **dict.fromkeys(links, _HAS_NO_LINKS),
        }

    def nodes(self) -> dict[int, Node]:
        children = self._children()
        found = {}
        for node in (*self._plan.metadata_nodes, *BROKERS):
            child = children.get(str(node))
            port = self._plan.client_ports.get(node)
            found[node] = Node(
                node,
                child["state"] if child else "stopped",
                (HOST, port) if port else None,
                str(self._directory / str(node)),
                node in self._plan.metadata_nodes,
            )
        return found

    def links(self) -> list[dict[str, Any]]:
        return self._links.state() if self._plan.has_links else []

    def pid(self, node: int) -> int:
        """The process id of a node that has been started."""
        return int(self._children()[str(node)]["pid"])

    def log_file(self, node: int | str) -> Path:
        """The node's log, through all its restarts; the part before it, if any, in `….log.1`."""
        return self._directory / f"{node}.log"

    def hold(self) -> None:
        if self._lease is not None:
            self._lease.take()

    def _kill(self, node: int) -> None:
        child = self._child(node)
        child.signal(signal.SIGKILL)
        child.wait(_STOP_TIMEOUT_S)

    def _stop(self, node: int) -> None:
        child = self._child(node)
        child.signal(signal.SIGTERM)
        try:
            child.wait(_STOP_TIMEOUT_S)
        except TimeoutError:
            raise ClusterError(
                f"Node {node} has not stopped in {_STOP_TIMEOUT_S:.0f} s (a clean stop needs the "
                f"controller): kill({node}) ends it."
            ) from None

    def _pause(self, node: int) -> None:
        self._child(node).signal(signal.SIGSTOP)
        self._await_state(node, "paused")

    def _resume(self, node: int) -> None:
        self._child(node).signal(signal.SIGCONT)
        self._await_state(node, "running")

    def _heal(self) -> None:
        if self._plan.has_links:
            self._links.heal()

    def close(self) -> None:
        if self._lease is not None:
            self._lease.release()
            self._reaper.disconnect()
        else:
            self._reaper.end()

    # -- starting

    @classmethod
    def started(cls, plan: Plan, shared: bool = False) -> Self:
        """A new cluster, with every broker in service."""
        label = f"{cls.name}-{secrets.token_hex(4)}"
        directory = registry.labelled_directory(label)
        registration = registry.Registration(
            label, cls.name, str(directory), shared, plan.bootstrap, os.getpid()
        )
        reaper = Reaper.start_shared(registration.reaper_socket) if shared else Reaper.start()
        try:
            reaper.own(str(directory))
            provider = cls(registration, reaper, plan)
            cluster_id = provider.bring_up()
            for path in (registration.file, OwnTopics(cluster_id).file):
                reaper.own(str(path))
            provider.registration = replace(registration, cluster_id=cluster_id)
            provider.registration.save()
        except BaseException:
            reaper.end()
            raise
        return provider

    def bring_up(self) -> str:
        """First start of all nodes; the cluster's id, when each broker knows all others."""
        if self._plan.has_links:
            program = [sys.executable, "-S", "-I", link_proxy.__file__]
            control = str(self._directory / "links")
            command = [*program, control, *self._plan.routes()]
            self._spawn("links", command, self._directory / "links.log")
        self._write_files()
        self._first_start()
        return self._await_all()

    def launch(self, node: int) -> None:
        """Starts a node's process on the files and ports it always has."""
        self._run(str(node))

    def _run(self, name: str) -> Child:
        return self._spawn(name, self._command(name), self._directory / f"{name}.out")

    @abstractmethod
    def _write_files(self) -> None:
        """What a node needs before its first start: properties, log settings, identity."""

    @abstractmethod
    def _first_start(self) -> None:
        """Launches all nodes."""

    @abstractmethod
    def _command(self, name: str) -> list[str]:
        """The command line of a node, by its name as a process: its properties' and log's."""

    def _await_all(self) -> str:
        deadline = time.monotonic() + START_TIMEOUT_S
        connections = Connections()
        waiting = list(BROKERS)
        cluster_id = ""
        while waiting:
            for node, state in ((n.id, n.state) for n in self.nodes().values()):
                if state in ("stopped", "killed"):
                    raise ClusterError(self._why(str(node)))
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"Brokers {waiting} were not ready after {START_TIMEOUT_S:.0f} s: "
                    "is this machine very busy, or short of memory?"
                )
            with contextlib.suppress(Unreachable):
                address = (HOST, self._plan.client_ports[waiting[0]])
                answer = connections.ask(address, m.DescribeClusterRequest())
                if len(answer.brokers) == len(BROKERS):
                    cluster_id = str(answer.cluster_id)
                    waiting.pop(0)
                    continue
            time.sleep(0.05)
        connections.close()
        return cluster_id

    def _why(self, name: str) -> str:
        """Why a process ended: its last complaint, and where its log is kept."""
        kept = places.state_dir() / "last-failure.log"
        kept.write_text("\n".join(self._said(name)))
        reason = self._last_complaint(name)[:200]
        return f"Kafka's process {name} ended while starting ({reason}): see {kept}"

    def _last_complaint(self, name: str) -> str:
        lines = [x for x in self._said(name) if not x.startswith("\tat ")]
        telling = [x for x in lines if "ERROR" in x or "xception" in x or "rror:" in x]
        return (telling or lines or ["it said nothing"])[-1].strip()

    def _said(self, name: str) -> list[str]:
        files = [self._directory / f"{name}.{kind}" for kind in ("log", "out")]
        written = "".join(file.read_text(errors="replace") for file in files if file.exists())
        return written.splitlines()

    # -- inside

    def _spawn(self, name: str, command: list[str], log: Path) -> Child:
        label = self.registration.label
        # Kafka's data goes with the cluster, so a clean shutdown is not needed.
        return self._reaper.spawn(
            command, name=name, label=label, log_path=str(log), cwd=str(self._directory), grace_s=0
        )

    def _children(self) -> dict[str, dict[str, Any]]:
        try:
            return self._reaper.children()
        except ReaperGone:
            raise ClusterEnded(
                f"This {self.name} cluster has ended: start another with lab.{self.name}()."
            ) from None

    def _child(self, node: int) -> Child:
        return Child(self._reaper, str(node), self.pid(node))

    def _await_state(self, node: int, state: str) -> None:
        deadline = time.monotonic() + _SIGNAL_TIMEOUT_S
        while (seen := self._child(node).state()) != state:
            if time.monotonic() > deadline:
                raise ClusterError(f"Node {node} is {seen}, not {state}: is it ending?")
            time.sleep(0.005)
