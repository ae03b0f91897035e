"""A real Kafka as plain Java processes: controller 100 (or more), three brokers (101–103).

    client ────────────▶ CLIENT listener of a broker
    other brokers ─▶ link proxy ─▶ REPLICATION listener of a broker
    brokers ───────▶ link proxy ─▶ CONTROLLER listener of the controller

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
import random
import secrets
import shutil
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.wire import messages as m
from engine.wire import uuids
from kit import class_archives, jars, places
from kit.clusters import link_proxy, registry
from kit.clusters.connections import Connections, Unreachable
from kit.clusters.faults import Ways
from kit.clusters.interface import ClusterEnded, ClusterError, Node
from kit.clusters.kafka_cluster import KafkaCluster
from kit.clusters.local_plan import HOST, Plan, new_plan
from kit.clusters.reaper import Child, Reaper, ReaperGone
from kit.clusters.settings_table import BROKERS
from kit.clusters.topics import OwnTopics

_JVM_FLAGS = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
_START_TIMEOUT_S = 90.0
_STOP_TIMEOUT_S = 60.0
_SIGNAL_TIMEOUT_S = 30.0
_LOG_SIZE = "8MB"
_LEVELS = "bootstrap.checkpoint"
_LOGGING = f"""
status = error
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = ${{sys:kafka.log}}
appender.file.filePattern = ${{sys:kafka.log}}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = [%d] %p %m (%c)%n
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = {_LOG_SIZE}
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 1
appender.file.filter.unchanged.type = RegexFilter
appender.file.filter.unchanged.regex = .*Skipped the become-.*
appender.file.filter.unchanged.onMatch = DENY
appender.file.filter.unchanged.onMismatch = NEUTRAL
rootLogger.level = INFO
rootLogger.appenderRef.file.ref = file
logger.config.name = org.apache.kafka.common.config.AbstractConfig
logger.config.level = WARN
logger.config2.name = kafka.server.KafkaConfig
logger.config2.level = WARN
"""
"""INFO has the lines that an operator reads: the ISR, leadership, truncation, fetchers.

Left out: all settings at each start, and the line for each partition that did not change,
which would bury them.  A file that is full is kept once, as `101.log.1`.
"""


_KEEPS_ITS_POWER = (
    "A local Kafka cannot lose power: what its process wrote, the operating system keeps. "
    "kill is the nearest; the engine offers lose_power."
)
_HAS_NO_LINKS = "This local cluster was started without links that can be cut."


class LocalProvider:
    """The Java processes of one cluster, through the reaper that holds them."""

    name = "local"

    def __init__(self, registration: registry.Registration, reaper: Reaper) -> None:
        self.registration = registration
        self._directory = Path(registration.directory)
        self._plan = Plan.load(self._directory / "plan.json")
        self._reaper = reaper
        self._links = link_proxy.Links(str(self._directory / "links"))
        self._lease = registry.Lease(registration.label) if registration.shared else None
        self.bootstrap = self._plan.bootstrap
        self.bootstrap_controllers = self._plan.bootstrap_controllers
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
        for node in (*self._plan.controllers, *BROKERS):
            child = children.get(str(node))
            port = self._plan.client_ports.get(node)
            found[node] = Node(
                node,
                child["state"] if child else "stopped",
                (HOST, port) if port else None,
                str(self._directory / str(node)),
                node in self._plan.controllers,
            )
        return found

    def links(self) -> list[dict[str, Any]]:
        return self._links.state() if self._plan.has_links else []

    def pid(self, node: int) -> int:
        """The process id of a node that has been started."""
        return int(self._children()[str(node)]["pid"])

    def log_file(self, node: int) -> Path:
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

    def launch(self, node: int) -> None:
        """Starts a node's process on the files and ports it always has."""
        command = [
            jars.java(),
            *_JVM_FLAGS,
            *class_archives.BROKER.flags(),
            f"-Dlog4j2.configurationFile={self._directory / 'log4j2.properties'}",
            f"-Dkafka.log={self.log_file(node)}",
            *("-cp", jars.classpath(), "kafka.Kafka"),
            str(self._directory / f"{node}.properties"),
        ]
        self._spawn(str(node), command, self._directory / f"{node}.out")

    def bring_up(self) -> None:
        """First start: formats, launches all nodes, waits until each one knows all others.

        Only the first controller's directory is formatted by Kafka's tool, which writes the
        feature levels there; the other controllers get a copy, and a broker needs no more than its
        meta.properties.
        """
        first, *others = self._plan.controllers
        if self._plan.has_links:
            routes = [
                f"{node}:{port}:{self._plan.peer_ports[node]}"
                for node, port in self._plan.proxy_ports.items()
            ]
            program = [sys.executable, "-S", "-I", link_proxy.__file__]
            control = str(self._directory / "links")
            self._spawn("links", [*program, control, *routes], self._directory / "links.log")
        (self._directory / "log4j2.properties").write_text(_LOGGING)
        for node in (first, *others, *BROKERS):
            data = self._directory / str(node)
            properties = self._plan.properties(node, data)
            (self._directory / f"{node}.properties").write_text(properties)
            if node != first:
                data.mkdir()
                (data / "meta.properties").write_text(self._identity(node))
        formatting = self._format()
        for node in BROKERS:
            self.launch(node)
        if formatting.wait(_START_TIMEOUT_S) != 0:
            raise ClusterError(self._why("format"))
        for node in others:
            shutil.copy(self._directory / str(first) / _LEVELS, self._directory / str(node))
        for node in (first, *others):
            self.launch(node)
        self._await_all()

    def _format(self) -> Child:
        command = [
            *(jars.java(), *_JVM_FLAGS, *class_archives.TOOL.flags(), "-cp", jars.classpath()),
            *("kafka.tools.StorageTool", "format", "-t", self._plan.cluster_id),
            *("-c", str(self._directory / f"{self._plan.controllers[0]}.properties")),
        ]
        return self._spawn("format", command, self._directory / "format.log")

    def _identity(self, node: int) -> str:
        directory_id = uuids.to_text(uuids.new(random.SystemRandom()))
        return (
            f"version=1\ncluster.id={self._plan.cluster_id}\n"
            f"node.id={node}\ndirectory.id={directory_id}\n"
        )

    def _await_all(self) -> None:
        deadline = time.monotonic() + _START_TIMEOUT_S
        connections = Connections()
        waiting = list(BROKERS)
        while waiting:
            for node, state in ((n.id, n.state) for n in self.nodes().values()):
                if state in ("stopped", "killed"):
                    raise ClusterError(self._why(str(node)))
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"Brokers {waiting} were not ready after {_START_TIMEOUT_S:.0f} s: "
                    "is this machine very busy, or short of memory?"
                )
            with contextlib.suppress(Unreachable):
                address = (HOST, self._plan.client_ports[waiting[0]])
                answer = connections.ask(address, m.DescribeClusterRequest())
                if len(answer.brokers) == len(BROKERS):
                    waiting.pop(0)
                    continue
            time.sleep(0.05)
        connections.close()

    def _why(self, name: str) -> str:
        """Why a process ended: its last complaint, and where its log is kept."""
        files = [self._directory / f"{name}.{kind}" for kind in ("log", "out")]
        written = "".join(file.read_text(errors="replace") for file in files if file.exists())
        lines = written.splitlines()
        telling = [x for x in lines if "ERROR" in x or "xception" in x or "rror:" in x]
        kept = places.state_dir() / "last-failure.log"
        kept.write_text(written)
        reason = (telling or lines or ["it said nothing"])[-1].strip()
        return f"Kafka's process {name} ended while starting ({reason[:200]}): see {kept}"

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
                "This local cluster has ended: start another with lab.local()."
            ) from None

    def _child(self, node: int) -> Child:
        return Child(self._reaper, str(node), self.pid(node))

    def _await_state(self, node: int, state: str) -> None:
        deadline = time.monotonic() + _SIGNAL_TIMEOUT_S
        while (seen := self._child(node).state()) != state:
            if time.monotonic() > deadline:
                raise ClusterError(f"Node {node} is {seen}, not {state}: is it ending?")
            time.sleep(0.005)


def start(*, shared: bool = False, links: bool = True, controllers: int = 1) -> KafkaCluster:
    """Starts a local Kafka; several controllers (100, 200, …) are a quorum.

    A shared one stays until `kafkalab down`.  Without `links` brokers talk to each other
    directly: no link can be cut, and no proxy slows a measurement.
    """
    jars.java()
    jars.classpath()
    label = f"local-{secrets.token_hex(4)}"
    directory = registry.labelled_directory(label)
    plan = new_plan(links, controllers)
    plan.save(directory / "plan.json")
    registration = registry.Registration(
        label, "local", str(directory), shared, plan.bootstrap, os.getpid(), plan.cluster_id
    )
    reaper = Reaper.start_shared(registration.reaper_socket) if shared else Reaper.start()
    try:
        for path in (directory, registration.file, OwnTopics(plan.cluster_id).file):
            reaper.own(str(path))
        provider = LocalProvider(registration, reaper)
        provider.bring_up()
        registration.save()
    except BaseException:
        reaper.end()
        raise
    return KafkaCluster(provider)


def attach() -> KafkaCluster | None:
    """The shared local cluster, if one is up."""
    registration = registry.shared("local")
    if registration is None:
        return None
    return KafkaCluster(LocalProvider(registration, Reaper.connect(registration.reaper_socket)))
