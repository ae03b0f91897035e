"""Where a replica's files are, and what its broker says of it.

The bytes come from the files.  Where the log starts and how far it is committed a running broker
knows better than its checkpoints, which are up to a minute old: that comes from the cluster's
snapshot, and the checkpoints' word is shown beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from kit.clusters.data_dirs import data_dir
from kit.clusters.interface import ClusterError
from kit.segment_panel.files import Folder
from kit.segment_panel.folder import Replica, Vanished, look


@dataclass(frozen=True, slots=True)
class Known:
    """What the broker says of its replica; None where it says nothing."""

    role: str = ""
    log_start: int | None = None
    high_watermark: int | None = None
    log_end: int | None = None


class Source(Protocol):
    """Where a panel's replica comes from."""

    broker: int
    brokers: list[int]
    known: Known
    replica: Replica | None

    def poll(self) -> bool:
        """Looks again; True if something is not as it was.  May block."""


class LiveSource:
    """One partition of a running cluster; `replica` is looked at again with each `poll`."""

    def __init__(self, cluster: Any, topic: str, partition: int, broker: int | None) -> None:
        self.cluster, self.topic, self.partition = cluster, topic, partition
        self.broker = -1 if broker is None else broker
        self.brokers: list[int] = []
        self.known = Known()
        self.replica: Replica | None = None
        self._seen: object = None

    def poll(self) -> bool:
        """Looks again; True if something is not as it was.  May block."""
        state = self._partition()
        self.brokers = sorted(state["logs"])
        if self.broker not in self.brokers:
            if self.broker != -1:
                held = ", ".join(map(str, self.brokers))
                raise ClusterError(
                    f"Broker {self.broker} holds no replica of {self.topic}-{self.partition}: "
                    f"name one of {held}."
                )
            self.broker = state["leader"] if state["leader"] in self.brokers else self.brokers[0]
        log: Mapping[str, Any] = state["logs"][self.broker]
        live = log.get("role") != "offline"
        self.known = Known(
            str(log.get("role") or ""),
            log.get("log_start_offset") if live else None,
            log.get("high_watermark") if live else None,
            log.get("log_end_offset") if live else None,
        )
        root = data_dir(self.cluster, self.broker)
        directory = f"{self.topic}-{self.partition}"
        try:
            self.replica = look(Folder(root), directory)
        except Vanished as error:
            raise ClusterError(f"{error}. Look again.") from None
        if not self.replica.segments:
            raise ClusterError(f"Broker {self.broker} has no segment of {directory} on its disk.")
        seen = (self.broker, self.known, self.replica.segments, self.replica.others)
        changed, self._seen = seen != self._seen, seen
        return changed

    def _partition(self) -> Mapping[str, Any]:
        topics = self.cluster.snapshot()["topics"]
        if self.topic not in topics:
            raise ClusterError(f"There is no topic {self.topic!r}.")
        partitions = topics[self.topic]["partitions"]
        if self.partition not in partitions:
            raise ClusterError(
                f"{self.topic} has the partitions {', '.join(map(str, partitions))}."
            )
        found: Mapping[str, Any] = partitions[self.partition]
        return found
