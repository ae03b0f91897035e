"""When a cluster has come to rest, so that a script can go on.

Quiet means: no replica will change any more by itself.  Idle fetches and heartbeats go on for
ever, but no node learns anything new from them.
"""

from __future__ import annotations

from engine.cluster.cluster import Cluster
from engine.cluster.items import Answer
from engine.cluster.processes import PAUSED, RUNNING
from engine.metadata.image import PartitionImage
from engine.replication.partition import Partition
from engine.replication.questions import Question


def is_quiet(cluster: Cluster) -> bool:
    """Whether nothing more will happen to any replica by itself.

    Every broker in reach has registered and knows all metadata; every other one is fenced.  No
    ISR change is in flight.  Every ISR member holds what its leader holds, and knows the same
    high watermark.
    """
    controller = cluster.controller
    if controller is None:
        return False
    image = controller.image
    for broker in cluster.spec.brokers:
        known = image.brokers.get(broker)
        if known is None or known.fenced != is_away(cluster, broker):
            return False
        node = cluster.nodes.get(broker)
        if node is not None and node.lifecycle.leaving:
            return False
        if not known.fenced and (node is None or node.metadata.offset != image.offset):
            return False
    return all(
        _is_settled(cluster, topic.name, index, partition)
        for topic in image.topics.values()
        for index, partition in topic.partitions.items()
    )


def is_away(cluster: Cluster, broker: int) -> bool:
    """Not running, or out of the controller's reach."""
    active = cluster.spec.controller if cluster.controller is None else cluster.controller.node_id
    return cluster.states.get(broker) != RUNNING or cluster.network.is_cut(broker, active)


def _is_settled(cluster: Cluster, topic: str, index: int, image: PartitionImage) -> bool:
    if image.leader < 0:
        return True
    leader = replica_on(cluster, image.leader, topic, index)
    if leader is None or not leader.is_leader or leader.isr.in_flight:
        return False
    if not leader.is_under_min_isr and leader.high_watermark != leader.log.log_end_offset:
        return False
    for broker in image.replicas:
        if is_away(cluster, broker) or cluster.network.is_cut(broker, image.leader):
            if broker in image.isr:
                return False
            continue
        replica = replica_on(cluster, broker, topic, index)
        if replica is None or broker not in image.isr or _position(replica) != _position(leader):
            return False
    return True


def is_still(cluster: Cluster, broker: int) -> bool:
    """Whether a paused broker has had all its answers: nothing written later can reach it."""
    waiting = cluster.processes.paused.get(broker, ())
    answered = [item.number for item in waiting if isinstance(item, Answer)]
    return all(
        number in answered
        for number, call in cluster.agenda.calls.items()
        if call.sender == broker and isinstance(call.token, Question)
    )


def replica_on(cluster: Cluster, broker: int, topic: str, index: int) -> Partition | None:
    if cluster.states.get(broker) == PAUSED or broker not in cluster.nodes:
        return None
    found: Partition | None = cluster.nodes[broker].replicas.partition(topic, index)
    return found


def _position(replica: Partition) -> tuple[int, int, int, int]:
    log = replica.log
    return replica.leader_epoch, log.log_start_offset, log.log_end_offset, replica.high_watermark
