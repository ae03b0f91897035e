"""Where everything of one Kafka with ZooKeeper is: ports, each broker's properties, each member's.

Members of the ensemble are 1, 2, 3.  A broker believes a member to be at a port of the proxy that
no other broker uses, because ZooKeeper's protocol does not say who connects.  Members find each
other directly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kit.clusters import settings_table
from kit.clusters.interface import ClusterError
from kit.clusters.local_plan import HOST, Plan, as_lines, free_ports
from kit.clusters.settings_table import BROKERS

SESSION_TIMEOUT = "zookeeper.session.timeout.ms"
SETTINGS = {
    # As broker.session.timeout.ms in settings_table.py; the default is 18 s, before 2.5 it was 6.
    SESSION_TIMEOUT: "3000",
    # A broker is started beside the ensemble, and waits until that is up.
    "zookeeper.connection.timeout.ms": "60000",
}
TICK_MS = 500
"""ZooKeeper's unit of time.  Sessions are looked after once a tick, and a shorter session than two
ticks is made that long.  Its usual 2000 would allow no session under 4 s."""
LARGEST_ENSEMBLE = 5
SHORTEST_SESSION_MS, LONGEST_SESSION_MS = 2 * TICK_MS, 40_000


@dataclass(frozen=True)
class MemberPorts:
    """Where a member listens: for clients, for followers while it leads, and for votes."""

    client: int
    quorum: int
    election: int


@dataclass(frozen=True)
class ZooKeeperPlan(Plan):
    """As `Plan`; brokers alone have ports for their peers."""

    members: dict[int, MemberPorts]
    session_ports: dict[int, dict[int, int]]
    """Where each broker believes each member to listen."""

    @property
    def metadata_nodes(self) -> list[int]:
        return list(self.members)

    def routes(self) -> list[str]:
        to_members = [
            f"{member}:{port}:{self.members[member].client}:{broker}"
            for broker, ports in self.session_ports.items()
            for member, port in ports.items()
        ]
        return [*super().routes(), *to_members]

    def properties(self, node: int, log_dir: Path) -> str:
        """A broker's server.properties, or a member's configuration."""
        if node in self.members:
            return as_lines(self._of_member(node, log_dir))
        members = self.session_ports[node].values()
        own = {
            "broker.id": str(node),
            **self.listeners(node),
            "listener.security.protocol.map": "CLIENT:PLAINTEXT,REPLICATION:PLAINTEXT",
            "zookeeper.connect": ",".join(f"{HOST}:{port}" for port in members),
            "log.dirs": str(log_dir),
            "log.initial.task.delay.ms": "500",  # internal: the first look at retention after 30 s
        }
        # Of the table's settings 3.9 passes over those that are only for controllers, or later.
        return as_lines({**own, **settings_table.as_dict(), **SETTINGS, **self.settings})

    def _of_member(self, node: int, data_dir: Path) -> dict[str, str]:
        others = {
            f"server.{each}": f"{HOST}:{ports.quorum}:{ports.election}"
            for each, ports in self.members.items()
        }
        return {
            "tickTime": str(TICK_MS),
            "initLimit": "20",
            "syncLimit": "10",
            "maxSessionTimeout": str(LONGEST_SESSION_MS),
            "dataDir": str(data_dir),
            "clientPortAddress": HOST,
            "clientPort": str(self.members[node].client),
            "maxClientCnxns": "0",  # by default 60 of one address, and here all have the same
            "admin.enableServer": "false",
            **(others if len(self.members) > 1 else {}),
        }


def new_plan(ensemble: int = 1, settings: Mapping[str, str] | None = None) -> ZooKeeperPlan:
    """A fresh cluster on free ports.

    ClusterError for a session that ZooKeeper would not keep, and an ensemble that cannot be.
    """
    if not 1 <= ensemble <= LARGEST_ENSEMBLE:
        raise ClusterError(f"An ensemble has 1 to {LARGEST_ENSEMBLE} members here, not {ensemble}.")
    wanted = int({**SETTINGS, **(settings or {})}[SESSION_TIMEOUT])
    if not SHORTEST_SESSION_MS <= wanted <= LONGEST_SESSION_MS:
        raise ClusterError(
            f"ZooKeeper would not keep to {SESSION_TIMEOUT}={wanted}: give a number from "
            f"{SHORTEST_SESSION_MS} to {LONGEST_SESSION_MS}."
        )
    members = range(1, ensemble + 1)
    ports = iter(free_ports(len(BROKERS) * (3 + ensemble) + 3 * ensemble))
    client, peer, proxy = ({node: next(ports) for node in BROKERS} for _ in range(3))
    return ZooKeeperPlan(
        "",  # the first broker gives the cluster its id
        client,
        peer,
        proxy,
        {node: MemberPorts(next(ports), next(ports), next(ports)) for node in members},
        {broker: {node: next(ports) for node in members} for broker in BROKERS},
        settings=dict(settings or {}),
    )
