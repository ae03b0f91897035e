"""A toy with a cluster's face over a folder that a test has written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kit.clusters.interface import Node


class ToyCluster:
    """Brokers 101 and 102; each has its files in a folder of its own below `root`."""

    name = "engine"

    def __init__(self, root: Path, brokers: tuple[int, ...] = (101,)) -> None:
        self.root, self.brokers = root, list(brokers)
        self.logs: dict[int, dict[str, Any]] = {id: {"role": "leader"} for id in brokers}
        self.provider = self

    def nodes(self) -> dict[int, Node]:
        return {id: Node(id, "running", None, str(self.folder(id))) for id in self.brokers}

    def folder(self, broker: int) -> Path:
        return self.root / str(broker)

    def snapshot(self, **how: Any) -> dict[str, Any]:
        partition = {"leader": self.brokers[0], "logs": self.logs}
        return {"topics": {"orders": {"partitions": {0: partition}}}}
