"""Where a broker keeps its files, if this machine can read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kit.clusters.interface import ClusterError, NotOffered


def data_dir(cluster: Any, broker: int | None) -> Path:
    """A broker's data directory; ClusterError for an unknown broker, NotOffered for no files."""
    provider = getattr(cluster, "provider", None)
    nodes = provider.nodes() if provider is not None else {}
    if broker not in nodes:
        raise ClusterError(f"Name a broker with broker=…: {', '.join(map(str, cluster.brokers))}.")
    directory = nodes[broker].data_dir
    if directory is None:
        raise NotOffered(
            f"The files of the {cluster.name} cluster's brokers cannot be read from here: the "
            "engine and a local Kafka (KAFKALAB_REAL=local) show theirs."
        )
    return Path(directory)
