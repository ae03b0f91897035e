"""What notebook 00 shows beside a client's own code: files on disk, and a first `both`."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from confluent_kafka.admin import ConfigResource

from kit.clusters.connections import Connection
from kit.clusters.interface import Cluster
from kit.probes.clients import admin, send, values
from kit.tables import Table

TOPIC = "greetings"
ANSWER_S = 5.0


def files(cluster: Any, topic: str, partition: int) -> Table:
    """The files of one partition on every broker: names and sizes."""
    found: dict[str, dict[int, str]] = {}
    for node in cluster.provider.nodes().values():
        folder = Path(node.data_dir or "") / f"{topic}-{partition}"
        for file in sorted(folder.glob("*")) if node.data_dir and folder.is_dir() else ():
            found.setdefault(file.name, {})[node.id] = f"{file.stat().st_size:,} B"
    brokers = cluster.brokers
    rows = [(name, *(sizes.get(b, "") for b in brokers)) for name, sizes in sorted(found.items())]
    return Table(f"{topic}-{partition}", ("file", *map(str, brokers)), rows)


def first_contact(cluster: Cluster) -> Mapping[str, Any]:
    """One record written and read, and what the cluster says about itself."""
    cluster.create_topic("first", partitions=1, replicas=3)
    told = send(cluster, "first", "hello")
    return {
        "told to the producer": told,
        "read back": values(cluster, "first"),
        "replicas": len(cluster.snapshot()["topics"]["first"]["partitions"][0]["replicas"]),
        "feature level": _features(cluster),
        "zookeeper.connect": _setting(cluster, "zookeeper.connect"),
    }


def _features(cluster: Cluster) -> dict[str, int]:
    broker = cluster.snapshot()["brokers"][101]
    with contextlib.closing(Connection((broker["host"], broker["port"]), ANSWER_S)) as connection:
        return dict(sorted(connection.finalized_features.items()))


def _setting(cluster: Cluster, name: str) -> str:
    client, broker = admin(cluster), ConfigResource(ConfigResource.Type.BROKER, "101")
    entry = client.describe_configs([broker])[broker].result(20).get(name)
    return "no such setting" if entry is None else str(entry.value)
