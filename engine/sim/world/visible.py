"""What there is to see in a simulated world: its picture, its metadata, one replica,
its trace.

Nothing here changes a world, or costs it an event.
"""

from __future__ import annotations

from typing import Any

from engine.cluster.cluster import Cluster
from engine.cluster.network import NodeId
from engine.cluster.snapshot import snapshot
from engine.events import Trace

EPOCH_US = 1_767_225_600_000_000  # 2026-01-01, where every simulation begins


class Visible:
    """What can be looked at; ValueError, with the remedy, for what is not there."""

    cluster: Cluster

    def snapshot(self, values: bool = False, tail: int = 12) -> dict[str, Any]:
        return snapshot(self.cluster, values, tail)

    def image(self) -> Any:
        """The controller's metadata image."""
        return self._running(self.cluster.spec.controller).image

    def partition(self, topic: str, index: int) -> Any:
        partitions = self.partitions(topic)
        if index not in partitions:
            known = ", ".join(map(str, partitions))
            raise ValueError(f"{topic} has no partition {index}; it has {known}.")
        return partitions[index]

    def partitions(self, topic: str) -> Any:
        """A topic's partitions by index, as the controller has them."""
        image = self.image()
        if topic not in image.topic_ids:
            known = ", ".join(sorted(image.topic_ids)) or "none"
            raise ValueError(
                f"There is no topic {topic!r}, there are: {known}; "
                f"world.create_topic({topic!r}) makes it."
            )
        return image.topics[image.topic_ids[topic]].partitions

    def leader(self, topic: str, index: int) -> int:
        """The leader's broker id, -1 if there is none."""
        return int(self.partition(topic, index).leader)

    def replica(self, broker: int, topic: str, index: int) -> Any:
        """The replica object on a running broker."""
        held = self._running(broker).replicas.partitions
        if (topic, index) not in held:
            raise ValueError(f"Broker {broker} holds no replica of {topic}-{index}.")
        return held[topic, index]

    def client(self, name: str) -> Any:
        """A node that was added."""
        if name not in self.cluster.nodes:
            known = ", ".join(map(str, self.cluster.nodes))
            raise ValueError(f"There is no node {name!r} now; there are {known}.")
        return self.cluster.nodes[name]

    def is_fenced(self, broker: int) -> bool:
        known = self.image().brokers.get(broker)
        return known is None or known.fenced

    def trace_lines(self, kinds: tuple[str, ...] = ()) -> list[str]:
        """The trace as text: seconds, node, what happened, why."""
        lines = self.cluster.trace
        return [self.trace_line(each) for each in lines if not kinds or each[2].kind in kinds]

    def trace_line(self, entry: tuple[int, NodeId, Trace]) -> str:
        at, node, line = entry
        why = f"  ({line.why})" if line.why else ""
        return f"{(at - EPOCH_US) / 1e6:10.6f} {node} {line}{why}"

    def _running(self, node: int) -> Any:
        if node in self.cluster.nodes:
            return self.cluster.nodes[node]
        if node not in self.cluster.disks:
            known = ", ".join(map(str, self.cluster.disks))
            raise ValueError(f"There is no node {node}; there are {known}.")
        name = "The controller" if node == self.cluster.spec.controller else f"Broker {node}"
        raise ValueError(f"{name} is not running; world.start({node}) starts it.")
