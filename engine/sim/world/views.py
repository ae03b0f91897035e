"""Views of a cluster: its metadata, one partition, one replica, its trace.

Looking changes nothing and costs no event.  ValueError, with the remedy, for what is not there.
"""

from __future__ import annotations

from typing import Any

from engine.cluster.cluster import Cluster
from engine.cluster.items import NodeId
from engine.cluster.snapshot import newest_image
from engine.events import Trace
from engine.metadata.image import MetadataImage, PartitionImage
from engine.replication.partition import Partition
from engine.sim.world.run import EPOCH_US
from engine.zookeeper.tree import Znode


def image(cluster: Cluster) -> MetadataImage:
    """The controller's metadata image; while it is away, that of the best-informed broker."""
    found = newest_image(cluster)
    if found is None:
        first = cluster.spec.nodes[0]
        name = "a member of the ensemble" if cluster.spec.ensemble else "the controller"
        raise ValueError(f"No node is running; world.start({first}) starts {name}.")
    return found


def partitions(cluster: Cluster, topic: str) -> dict[int, PartitionImage]:
    """A topic's partitions by index, as the newest image has them."""
    known = image(cluster)
    if topic not in known.topic_ids:
        names = ", ".join(sorted(known.topic_ids)) or "none"
        raise ValueError(
            f"There is no topic {topic!r}, there are: {names}; "
            f"world.create_topic({topic!r}) makes it."
        )
    return known.topics[known.topic_ids[topic]].partitions


def partition(cluster: Cluster, topic: str, index: int) -> PartitionImage:
    """One partition, as the newest image has it."""
    found = partitions(cluster, topic)
    if index not in found:
        known = ", ".join(map(str, found))
        raise ValueError(f"{topic} has no partition {index}; it has {known}.")
    return found[index]


def replica(cluster: Cluster, broker: int, topic: str, index: int) -> Partition:
    """The replica object on a running broker."""
    held: dict[tuple[str, int], Partition] = _running(cluster, broker).replicas.partitions
    if (topic, index) not in held:
        raise ValueError(f"Broker {broker} holds no replica of {topic}-{index}.")
    return held[topic, index]


def client(cluster: Cluster, name: str) -> Any:
    """A node that was added."""
    if name not in cluster.nodes:
        known = ", ".join(map(str, cluster.nodes))
        raise ValueError(f"There is no node {name!r} now; there are {known}.")
    return cluster.nodes[name]


def is_served(cluster: Cluster, topic: str) -> bool:
    """Whether every broker that a topic is placed on has opened its replicas."""
    for index, placed in partitions(cluster, topic).items():
        for broker in placed.replicas:
            node = cluster.nodes.get(broker)
            if node is None or (topic, index) not in node.replicas.partitions:
                return False
    return True


def znodes(cluster: Cluster, below: str = "/") -> dict[str, Znode]:
    """ZooKeeper's znodes by path, as the member that has carried out most has them."""
    if not cluster.spec.ensemble:
        raise ValueError("This cluster has no ZooKeeper; make one with control_plane='zookeeper'.")
    members = [cluster.nodes[each] for each in cluster.spec.ensemble if each in cluster.nodes]
    if not members:
        raise ValueError("No member of the ensemble is running; world.start(1) starts one.")
    tree = max(members, key=lambda each: each.agreement.applied).tree
    return {path: tree.nodes[path] for path in sorted(tree.nodes) if path.startswith(below)}


def trace_line(entry: tuple[int, NodeId, Trace]) -> str:
    """One line of the trace as text: seconds, node, what happened, why."""
    at, node, line = entry
    why = f"  ({line.why})" if line.why else ""
    return f"{(at - EPOCH_US) / 1e6:10.6f} {node} {line}{why}"


def _running(cluster: Cluster, node: int) -> Any:
    if node in cluster.nodes:
        return cluster.nodes[node]
    if node not in cluster.disks:
        known = ", ".join(map(str, cluster.disks))
        raise ValueError(f"There is no node {node}; there are {known}.")
    name = f"Broker {node}"
    if node in cluster.spec.ensemble:
        name = f"Member {node}"
    elif node in cluster.spec.controllers:
        name = "The controller" if len(cluster.spec.controllers) == 1 else f"Controller {node}"
    raise ValueError(f"{name} is not running; world.start({node}) starts it.")
