"""Where everything of one local cluster is: cluster id, ports, and each node's properties.

Ports are chosen once and written down, so that peers and clients find a restarted node at
its old address.
"""

from __future__ import annotations

import contextlib
import json
import random
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Self

from engine.wire import uuids
from kit.clusters import settings_table
from kit.clusters.interface import ClusterError
from kit.clusters.settings_table import BROKERS, CONTROLLER

HOST = "127.0.0.1"
# Below the ephemeral ports of Linux and macOS, so that no outgoing connection takes one
# while its broker is down.
PORTS = range(20_000, 32_000)


@dataclass(frozen=True)
class Plan:
    """Where everything of one cluster is; kept in its directory for processes that attach."""

    cluster_id: str
    client_ports: dict[int, int]
    peer_ports: dict[int, int]
    """Where a node listens for other nodes."""
    proxy_ports: dict[int, int]
    """Where other nodes believe it listens; the same ports when there is no proxy."""
    settings: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    """Of every node, beside those of settings_table.py and instead of them."""
    voters: Mapping[int, str] = field(default_factory=dict, kw_only=True)
    """Directory ids of the first voters, if these may change (KIP-853); empty if all vote."""

    def elsewhere(self, broker: int) -> Self:
        """The same cluster, where this broker listens on two free ports."""
        client, peer = free_ports(2)
        return replace(
            self,
            client_ports={**self.client_ports, broker: client},
            peer_ports={**self.peer_ports, broker: peer},
            proxy_ports={**self.proxy_ports, broker: peer},
        )

    @property
    def controllers(self) -> list[int]:
        return [node for node in self.peer_ports if node not in self.client_ports]

    @property
    def metadata_nodes(self) -> list[int]:
        """The nodes that are no brokers: they keep the cluster's metadata."""
        return self.controllers

    @property
    def has_links(self) -> bool:
        return self.proxy_ports != self.peer_ports

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{HOST}:{port}" for port in self.client_ports.values())

    @property
    def bootstrap_controllers(self) -> str:
        return ",".join(f"{HOST}:{self.proxy_ports[each]}" for each in self.controllers)

    @property
    def initial_controllers(self) -> str:
        """The first voters, as `kafka-storage.sh format --initial-controllers` reads them."""
        return ",".join(
            f"{each}@{HOST}:{self.proxy_ports[each]}:{directory}"
            for each, directory in self.voters.items()
        )

    def save(self, file: Path) -> None:
        file.write_text(json.dumps(asdict(self)))

    @staticmethod
    def load(file: Path) -> Plan:
        data = json.loads(file.read_text())
        by_node = {
            name: {int(node): known for node, known in data.get(name, {}).items()}
            for name in ("client_ports", "peer_ports", "proxy_ports", "voters")
        }
        return Plan(data["cluster_id"], **by_node, settings=data.get("settings", {}))

    def routes(self) -> list[str]:
        """What the proxy is started with: a node, its port there, and the one behind it."""
        return [f"{node}:{port}:{self.peer_ports[node]}" for node, port in self.proxy_ports.items()]

    def listeners(self, broker: int) -> dict[str, str]:
        """A broker's part of its properties that says where it listens."""
        clients = f"CLIENT://{HOST}:{self.client_ports[broker]}"
        return {
            "broker.rack": settings_table.RACKS[broker],
            "listeners": f"{clients},REPLICATION://{HOST}:{self.peer_ports[broker]}",
            "advertised.listeners": f"{clients},REPLICATION://{HOST}:{self.proxy_ports[broker]}",
            "inter.broker.listener.name": "REPLICATION",
        }

    def properties(self, node: int, log_dir: Path) -> str:
        """The node's server.properties."""
        if node in self.controllers:
            role = {
                "process.roles": "controller",
                "listeners": f"CONTROLLER://{HOST}:{self.peer_ports[node]}",
                "advertised.listeners": f"CONTROLLER://{HOST}:{self.proxy_ports[node]}",
            }
        else:
            role = {"process.roles": "broker", **self.listeners(node)}
        quorum = {
            "controller.quorum.voters": ",".join(
                f"{each}@{HOST}:{self.proxy_ports[each]}" for each in self.controllers
            )
        }
        if self.voters:
            quorum = {"controller.quorum.bootstrap.servers": self.bootstrap_controllers}
        own = {
            "node.id": str(node),
            **role,
            **quorum,
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": (
                "CLIENT:PLAINTEXT,REPLICATION:PLAINTEXT,CONTROLLER:PLAINTEXT"
            ),
            "log.dirs": str(log_dir),
            "log.initial.task.delay.ms": "500",  # internal: the first look at retention after 30 s
        }
        return as_lines({**own, **settings_table.as_dict(), **self.settings})


def as_lines(values: Mapping[str, str]) -> str:
    """A file of properties."""
    return "".join(f"{name}={value}\n" for name, value in values.items())


def new_plan(
    links: bool, controllers: int = 1, voters: int = 0, settings: Mapping[str, str] | None = None
) -> Plan:
    """A fresh cluster on free ports; without `links`, nothing is between its nodes.

    ClusterError for more voters than controllers.
    """
    if not 0 <= voters <= controllers:
        raise ClusterError(f"Of {controllers} controllers, 1 to {controllers} can vote: {voters}?")
    nodes = (*(CONTROLLER * number for number in range(1, controllers + 1)), *BROKERS)
    ports = iter(free_ports(len(BROKERS) + 2 * len(nodes)))
    client = {node: next(ports) for node in BROKERS}
    peer = {node: next(ports) for node in nodes}
    proxy = {node: next(ports) for node in nodes} if links else peer
    ids = random.SystemRandom()
    cluster_id = uuids.to_text(uuids.new(ids))
    voting = {node: uuids.to_text(uuids.new(ids)) for node in nodes[:voters]}
    return Plan(cluster_id, client, peer, proxy, settings=dict(settings or {}), voters=voting)


def free_ports(count: int) -> list[int]:
    """Ports on loopback that are free now."""
    candidates = random.SystemRandom().sample(PORTS, len(PORTS))
    found: list[int] = []
    with contextlib.ExitStack() as held:
        for port in candidates:
            probe = held.enter_context(socket.socket())
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                probe.bind((HOST, port))
                found.append(port)
            if len(found) == count:
                return found
    raise ClusterError(f"Fewer than {count} free ports on {HOST}: end some servers.")
