"""What notebook 00 asks clusters beside a client's own code: files on disk, features, settings."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from confluent_kafka.admin import ConfigResource

from kit.clusters.connections import Connection
from kit.clusters.interface import Cluster, NotOffered
from kit.probes.clients import admin

ANSWER_S = 5.0


def files(cluster: Any, topic: str, partition: int) -> dict[int, dict[str, int]]:
    """Broker -> the files of one partition -> their sizes in bytes.

    NotOffered where this machine cannot read the brokers' disks.
    """
    found = {}
    for node in cluster.provider.nodes().values():
        if node.is_controller:
            continue
        if node.data_dir is None:
            raise NotOffered(f"The files of the {cluster.name} cluster cannot be read from here.")
        folder = Path(node.data_dir) / f"{topic}-{partition}"
        found[node.id] = {file.name: file.stat().st_size for file in sorted(folder.glob("*"))}
    return found


def features(cluster: Cluster) -> dict[str, int]:
    """The finalised feature levels, as broker 101 answers ApiVersions."""
    broker = cluster.snapshot()["brokers"][101]
    with contextlib.closing(Connection((broker["host"], broker["port"]), ANSWER_S)) as connection:
        return dict(sorted(connection.finalized_features.items()))


def broker_setting(cluster: Cluster, name: str) -> str:
    """The value of a broker config, or a sentence that there is none of that name."""
    client, broker = admin(cluster), ConfigResource(ConfigResource.Type.BROKER, "101")
    entry = client.describe_configs([broker])[broker].result(20).get(name)
    return "no such setting" if entry is None else str(entry.value)
