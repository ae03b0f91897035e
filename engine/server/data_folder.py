"""The folder for a served cluster's files: locked, and marked with the cluster's id.

    DIR/.lock      held by the process that serves it: two would destroy each other's logs
    DIR/100/       the controller's disk
    DIR/101/ …     a broker's disk, each with a meta.properties as Kafka's tools write it
    DIR/tier/      the store of tiered storage, if it is on: one for all brokers

`meta.properties` names the cluster and the node that own the files.  The folder of another
cluster is refused: the engine would take its logs for replicas of topics that only share the
name.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import IO

from engine.storage import checkpoints
from engine.storage.checkpoints import MetaProperties
from engine.storage.real_disk import RealDisk
from engine.wire import uuids
from engine.wire.errors import KafkaError

LOCK = ".lock"
TIER = "tier"


class FolderRefused(RuntimeError):
    """The folder cannot be used; the message gives the reason and a remedy."""


class DataFolder:
    """A locked folder with a disk for each node; `cluster_id` is the one found, or a new one."""

    def __init__(
        self, root: Path, nodes: Iterable[int], ids: Random, cluster_id: str | None = None
    ) -> None:
        self.root = root
        try:
            root.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(root)
            self.disks = {node: RealDisk(root / str(node)) for node in nodes}
            self.cluster_id = self._claim(ids, cluster_id)
        except OSError as error:
            raise FolderRefused(
                f"Cannot write to {root} ({error.strerror}): "
                "choose another folder with --data, or give yourself the right to write there."
            ) from None

    def _claim(self, ids: Random, wanted: str | None) -> str:
        found = {node: self._properties(node) for node in self.disks}
        known = wanted or next((p.cluster_id for p in found.values() if p is not None), None)
        cluster_id = known or uuids.to_text(uuids.new(ids))
        for node, properties in found.items():
            owner = properties or MetaProperties(cluster_id, node, uuids.to_text(uuids.new(ids)))
            if (owner.cluster_id, owner.node_id) != (cluster_id, node):
                raise FolderRefused(
                    f"{self.root / str(node)} belongs to node {owner.node_id} of cluster "
                    f"{owner.cluster_id}, not to node {node} of {cluster_id}: "
                    "choose another folder with --data, or leave --cluster-id out."
                )
            if properties is None:
                checkpoints.write_meta_properties(self.disks[node], owner)
        return cluster_id

    def _properties(self, node: int) -> MetaProperties | None:
        try:
            return checkpoints.read_meta_properties(self.disks[node])
        except KafkaError as error:
            raise FolderRefused(f"{self.root / str(node)}: {error.message}.") from None


def _locked(root: Path) -> IO[str]:
    """Takes the lock; the operating system frees it however this process ends."""
    lock = open(root / LOCK, "a+", opener=lambda path, flags: os.open(path, flags, 0o600))  # noqa: SIM115
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        owner = lock.read().strip()
        lock.close()
        raise FolderRefused(
            f"{root} is served by process {owner} already: "
            f"choose another folder with --data, or end it with: kill {owner}"
        ) from None
    lock.truncate(0)
    lock.write(f"{os.getpid()}\n")
    lock.flush()
    return lock
