"""The composed cluster: `docker-compose.yml` through Docker's Python SDK.

All its parts carry the label `kafka-inside-out.part` and are found by it, under any project
name.

Isolation takes a container off its network, so that clients on this machine lose it too.
Single links cannot be cut or slowed, and files cannot be read from outside: epochs come
from the leader.

A cluster from `up` stays until `kafkalab down`; one from `start` ends with this kernel
(docker_guard.py).  Faults need the lease.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.wire import messages as m
from kit import places
from kit.clusters import registry
from kit.clusters.connections import Connections, Unreachable
from kit.clusters.faults import Ways
from kit.clusters.interface import ClusterError, Node
from kit.clusters.kafka_cluster import KafkaCluster
from kit.clusters.reaper import Reaper
from kit.clusters.settings_table import BROKERS, CONTROLLER
from kit.clusters.topics import OwnTopics

HOST = "127.0.0.1"
LABEL = "kafka-inside-out.part"
PROJECT = "kafka-inside-out"
CLUSTER_ID = "S2Fma2FJbnNpZGVPdXQtMQ"
COMPOSE_FILE = Path(__file__).parents[2] / "docker-compose.yml"
_START_TIMEOUT_S = 120.0
_DOWN_S = 9.0
_LOG_LINES = 20_000
_STATES = {"running": "running", "paused": "paused", "restarting": "running"}
_KILLED_EXIT_CODE = 137


def port(broker: int) -> int:
    """The published port of a broker, as docker-compose.yml has it."""
    return 29_000 + broker


class DockerProvider:
    """The containers of the composed cluster."""

    name = "docker"
    refusals: Mapping[str, str] = {
        "lose_power": (
            "A container cannot lose power: what its process wrote, the operating system keeps. "
            "kill is the nearest; the engine offers lose_power."
        ),
        "cut": (
            "Docker cannot cut a single link: isolate takes a node off the network; "
            "the engine and the local cluster cut single links."
        ),
        "slow": "Docker cannot slow a link: the engine and the local cluster can.",
    }

    def __init__(self, client: Any) -> None:
        self._client = client
        self._lease = registry.Lease("docker")
        self._reaper: Reaper | None = None
        self.bootstrap = ",".join(f"{HOST}:{port(broker)}" for broker in BROKERS)
        self.ways: Ways = {
            "kill": self._kill,
            "stop": lambda node: self._container(node).stop(timeout=60),
            "start": lambda node: self._container(node).start(),
            "pause": lambda node: self._container(node).pause(),
            "resume": self._resume,
            "isolate": self._isolate,
            "heal": self._heal,
        }

    def nodes(self) -> dict[int, Node]:
        found = {}
        containers = self._containers()
        for node in (CONTROLLER, *BROKERS):
            address = (HOST, port(node)) if node != CONTROLLER else None
            state = _state(containers[node]) if node in containers else "stopped"
            found[node] = Node(node, state, address, is_controller=node == CONTROLLER)
        return found

    def links(self) -> list[dict[str, Any]]:
        """An isolated node has lost all its links."""
        containers = self._containers()
        lonely = [
            node
            for node, container in containers.items()
            if _state(container) in ("running", "paused") and not _networks(container)
        ]
        pairs = {
            tuple(sorted((node, other))) for node in lonely for other in containers if other != node
        }
        return [{"between": list(p), "state": "cut", "delay_ms": 0} for p in sorted(pairs)]

    def hold(self) -> None:
        self._lease.take()

    def _kill(self, node: int) -> None:
        container = self._container(node)
        if container.status == "paused":
            container.unpause()  # Docker delivers no signal to a frozen container
        container.kill()
        container.wait(timeout=30)

    def _resume(self, node: int) -> None:
        container = self._container(node)
        if container.status == "paused":
            container.unpause()

    def _isolate(self, node: int) -> None:
        container = self._container(node)
        for network in _networks(container):
            self._client.networks.get(network).disconnect(container)

    def _heal(self) -> None:
        for container in self._containers().values():
            if not _networks(container):
                service = container.labels.get("com.docker.compose.service", container.name)
                for network in self._client.networks.list(filters={"label": LABEL}):
                    network.connect(container, aliases=[service])

    def close(self) -> None:
        self._lease.release()
        self._client.close()
        if self._reaper is not None:
            self._reaper.end()

    def log_of(self, node: int) -> str:
        """The last lines that the node's container wrote."""
        written: bytes = self._container(node).logs(tail=_LOG_LINES)
        return written.decode(errors="replace")

    def keep(self, reaper: Reaper) -> None:
        """Makes this object the owner of the cluster: `close` then ends it."""
        self._reaper = reaper

    def _containers(self) -> dict[int, Any]:
        listed = self._client.containers.list(
            all=True, filters={"label": LABEL}, ignore_removed=True
        )
        nodes = (c for c in listed if c.labels[LABEL].isdigit())  # others are Spark's
        return dict(sorted((int(c.labels[LABEL]), c) for c in nodes))

    def _container(self, node: int) -> Any:
        try:
            return self._containers()[node]
        except KeyError:
            raise ClusterError(
                f"There is no container for node {node}: run: kafkalab up docker"
            ) from None


def _state(container: Any) -> str:
    if container.status in _STATES:
        return _STATES[container.status]
    killed = container.attrs["State"].get("ExitCode") == _KILLED_EXIT_CODE
    return "killed" if killed else "stopped"


def _networks(container: Any) -> list[str]:
    return list(container.attrs["NetworkSettings"]["Networks"])


def connect() -> Any:
    """Docker's client; ClusterError when there is no daemon, or no SDK."""
    try:
        import docker
        from docker.errors import DockerException
    except ImportError:
        raise ClusterError(
            "Docker's Python SDK is not installed: run: pip install 'kafka-inside-out[docker]'"
        ) from None
    try:
        client = docker.from_env()
        client.ping()
    except DockerException:
        raise ClusterError(
            "Docker is not running (or this user may not use it): start it, for example with: "
            "sudo systemctl start docker"
        ) from None
    return client


def attach() -> KafkaCluster | None:
    """The composed cluster, if any of its containers is there."""
    provider = DockerProvider(connect())
    if not provider._containers():
        provider.close()
        return None
    return KafkaCluster(provider)


def up() -> KafkaCluster:
    """Starts the composed cluster and waits until every broker knows all others."""
    client = connect()
    _compose("up", "-d")
    provider = DockerProvider(client)
    _await_brokers(provider)
    return KafkaCluster(provider)


def start() -> KafkaCluster:
    """Starts the composed cluster for this kernel: it goes when the kernel goes."""
    reaper = Reaper.start()
    log = places.temporary_area() / f"{PROJECT}-guard-{os.getpid()}.log"
    reaper.own(str(log))
    reaper.spawn(
        [sys.executable, "-m", "kit.clusters.docker_guard"],
        name="docker-guard",
        label=f"{PROJECT}-docker",
        log_path=str(log),
        cwd=str(COMPOSE_FILE.parent),
        grace_s=_DOWN_S,
    )
    try:
        cluster = up()
    except BaseException:
        reaper.end()
        raise
    provider = cluster.provider
    assert isinstance(provider, DockerProvider)
    provider.keep(reaper)
    return cluster


def down() -> list[str]:
    """Removes everything that carries the label; returns what was removed, in words."""
    client = connect()
    removed = []
    with contextlib.closing(client):
        for container in client.containers.list(
            all=True, filters={"label": LABEL}, ignore_removed=True
        ):
            container.remove(force=True, v=True)
            removed.append(f"container {container.name}")
        for network in client.networks.list(filters={"label": LABEL}):
            network.remove()
            removed.append(f"network {network.name}")
        for volume in client.volumes.list(filters={"label": LABEL}):
            volume.remove(force=True)
            removed.append(f"volume {volume.name}")
    OwnTopics(CLUSTER_ID).forget()
    return removed


def _await_brokers(provider: DockerProvider) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    connections = Connections()
    waiting = list(BROKERS)
    while waiting:
        gone = [n.id for n in provider.nodes().values() if n.state in ("stopped", "killed")]
        if gone or time.monotonic() > deadline:
            which = ", ".join(map(str, gone or waiting))
            raise ClusterError(
                f"Node(s) {which} of the composed cluster did not start: "
                f"see: {' '.join(compose_command())} -p {PROJECT} logs"
            )
        with contextlib.suppress(Unreachable):
            answer = connections.ask((HOST, port(waiting[0])), m.DescribeClusterRequest())
            if len(answer.brokers) == len(BROKERS):
                waiting.pop(0)
                continue
        time.sleep(0.1)
    connections.close()


def _compose(*arguments: str) -> None:
    command = [*compose_command(), "-p", PROJECT, "-f", str(COMPOSE_FILE), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["it said nothing"]
        causes = [line for line in said if line.startswith("ERROR: for") or "Error" in line]
        raise ClusterError(f"{command[0]} {arguments[0]} failed: {(causes or said[-1:])[0]}")


def compose_command() -> list[str]:
    """`docker compose` (v2) if this Docker has it, else `docker-compose` (v1.29)."""
    if shutil.which("docker"):
        probe = subprocess.run(["docker", "compose", "version"], capture_output=True)
        if probe.returncode == 0:
            return ["docker", "compose"]
    if shutil.which("docker-compose"):
        return ["docker-compose"]
    raise ClusterError(
        "Docker Compose is missing: install it (Debian: apt-get install docker-compose)."
    )
