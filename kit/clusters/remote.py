"""A remote Kafka, named by `KAFKA_BOOTSTRAP`, which the kit inspects and never breaks.

The kit reads and writes only in topics that it made there, and starts or stops nothing.
The cluster's own metadata names its brokers; a fenced one is shown as stopped.
Plain connections only: no TLS, no SASL.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from engine.wire import messages as m
from kit.clusters.connections import Address, Connections, Unreachable
from kit.clusters.faults import FAULTS, Ways
from kit.clusters.interface import ClusterError, Node
from kit.clusters.kafka_cluster import KafkaCluster

VARIABLE = "KAFKA_BOOTSTRAP"


class RemoteProvider:
    """Brokers that the kit does not own."""

    name = "remote"
    refusals: Mapping[str, str] = {
        name: f"This cluster belongs to others, so the kit will not {fault.verb}: "
        f"use {fault.offered_by} for that."
        for name, fault in FAULTS.items()
    }

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.ways: Ways = {"heal": lambda: None}  # nothing was broken
        self._addresses = addresses(bootstrap)
        self._connections = Connections()
        self._known: dict[int, Node] = {}

    def nodes(self) -> dict[int, Node]:
        request = m.DescribeClusterRequest(include_fenced_brokers=True)
        known = [node.address for node in self._known.values() if node.address is not None]
        try:
            answer = self._connections.ask_first([*self._addresses, *known], request)
        except Unreachable:
            raise ClusterError(
                f"No Kafka answers at {self.bootstrap}: is {VARIABLE} right, and can this "
                "machine reach it?"
            ) from None
        self._known = {
            b.broker_id: Node(
                b.broker_id, "stopped" if b.is_fenced else "running", (b.host, b.port)
            )
            for b in sorted(answer.brokers, key=lambda b: b.broker_id)
        }
        return self._known

    def links(self) -> list[dict[str, Any]]:
        """Not visible from outside."""
        return []

    def hold(self) -> None:
        """Nothing here is ever broken."""

    def close(self) -> None:
        self._connections.close()


def attach(bootstrap: str | None = None) -> KafkaCluster:
    """The cluster at `bootstrap` (`host:port,…`), or at `KAFKA_BOOTSTRAP`; it must answer."""
    named = bootstrap or os.environ.get(VARIABLE)
    if not named:
        raise ClusterError(
            f'No remote Kafka is named: set {VARIABLE}=host:port, or call lab.remote("host:port").'
        )
    provider = RemoteProvider(named)
    provider.nodes()
    return KafkaCluster(provider)


def addresses(bootstrap: str) -> list[Address]:
    """`host:port,host:port` taken apart."""
    found = []
    for part in bootstrap.split(","):
        host, _, port = part.strip().rpartition(":")
        if not host or not port.isdigit():
            raise ClusterError(
                f"{part.strip()!r} is not host:port: write bootstrap servers like "
                "broker1:9092,broker2:9092."
            )
        found.append((host.strip("[]"), int(port)))
    return found
