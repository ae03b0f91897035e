"""The state of a cluster as data, for views, tests and comparisons.

Taking a snapshot changes nothing.  The controller's metadata image tells a partition's leader,
ISR and epochs; each replica tells how far its own log reaches.  For a real Kafka the kit builds
the same shape from outside:

    time_us
    controller   id, state, epoch, metadata_offset
    controllers  by id: state, and of a running one role, epoch, leader, voted, granted (those who
                 vote for it), is_active, log_start_offset, log_end_offset, high_watermark, epochs;
                 voters (the set that it goes by), is_voter, directory (its id, empty if the voters
                 are fixed)
    brokers      by id: state (running, paused, stopped, killed), fenced, rack, epoch, host, port
    links        the broken ones: between, state (cut, slow), delay_ms
    topics       by name: id, config, partitions by index:
                 leader, leader_epoch, partition_epoch, isr, elr, last_known_elr, replicas,
                 logs by broker: log_start_offset, log_end_offset, high_watermark,
                 leader_epoch, epochs ([epoch, start]), role, batches (the newest ones)
    groups       by id: type (classic, consumer), state, generation, coordinator, protocol_type,
                 protocol, leader, offsets by topic and partition,
                 members: id, instance_id, client_id, host, state, owns (partitions by topic)
    transactions by transactional id: coordinator, coordinator_epoch, state, pending (the state on
                 its way), producer_id, producer_epoch, next_producer_id, timeout_ms, start_ms,
                 version, partitions and awaiting_markers by topic
    zookeeper    with the historic control plane only: members by id (state, role, epoch, zxid,
                 sessions connected here, znodes), brokers by id (session, member, controller,
                 controller_epoch)
"""

from __future__ import annotations

from engine.cluster.cluster import Cluster
from engine.cluster.processes import KILLED, STOPPED
from engine.metadata.image import MetadataImage
from engine.plain import Plain
from engine.records import batch
from engine.storage.log import Log
from engine.wire import uuids

READ_AHEAD = 1 << 20
DAMAGED = "(damaged)"
"""Stands for the values of a batch whose checksum is wrong."""


def snapshot(cluster: Cluster, values: bool = False, tail: int = 12) -> Plain:
    """The present state; `values` adds the record values of each log's last `tail` offsets."""
    state = _state(cluster, values, tail)
    return {**state, "zookeeper": _zookeeper(cluster)} if cluster.spec.ensemble else state


def _state(cluster: Cluster, values: bool, tail: int) -> Plain:
    active, image = cluster.controller, newest_image(cluster)
    controller_id = _controller_id(cluster) if active is None else active.node_id
    return {
        "time_us": cluster.now,
        "controller": {
            "id": controller_id,
            "state": cluster.states.get(controller_id, STOPPED),
            "epoch": image.epoch if image else -1,
            "metadata_offset": image.offset if image else 0,
        },
        "controllers": controllers(cluster),
        "brokers": {b: _broker(cluster, image, b) for b in cluster.spec.brokers},
        "links": cluster.network.describe(),
        "topics": {
            name: _topic(cluster, image, name, topic_id, values, tail)
            for name, topic_id in sorted(image.topic_ids.items())
        }
        if image
        else {},
        "groups": _groups(cluster),
        "transactions": _transactions(cluster),
    }


def _controller_id(cluster: Cluster) -> int:
    """While none is active: the only controller there is; -1 where several could be."""
    known = cluster.spec.controllers
    return known[0] if len(known) == 1 else -1


def newest_image(cluster: Cluster) -> MetadataImage | None:
    """The active controller's image; while there is none, that of the best-informed broker."""
    if cluster.controller is not None:
        image: MetadataImage = cluster.controller.image
        return image
    images = [cluster.nodes[b].metadata for b in cluster.spec.first_cluster if b in cluster.nodes]
    return max(images, key=lambda image: image.offset, default=None)


def controllers(cluster: Cluster) -> dict[int, Plain]:
    """The quorum: each controller as a voter, with how far it has the metadata log."""
    return {each: _controller(cluster, each) for each in cluster.spec.controllers}


def _controller(cluster: Cluster, controller_id: int) -> Plain:
    out: Plain = {"state": cluster.states.get(controller_id, STOPPED)}
    node = cluster.nodes.get(controller_id)
    if node is None:
        return out
    voter, log = node.replica.state, node.log
    return {
        **out,
        "role": str(voter.role),
        "epoch": voter.epoch,
        "leader": voter.leader,
        "voted": voter.voted,
        "granted": sorted(voter.ballot.granted) if voter.ballot is not None else [],
        "is_active": node.is_active,
        "voters": list(voter.voters),
        "is_voter": voter.is_voter,
        "directory": uuids.to_text(voter.directory) if voter.may_change else "",
        "log_start_offset": log.log.log_start_offset,
        "log_end_offset": log.end_offset,
        "high_watermark": log.high_watermark,
        "epochs": [list(entry) for entry in log.log.epochs.entries],
    }


def _broker(cluster: Cluster, image: MetadataImage | None, broker_id: int) -> Plain:
    known = image.brokers.get(broker_id) if image else None
    host, port = cluster.spec.addresses.get(broker_id, ("", 0))
    return {
        "state": cluster.states.get(broker_id, STOPPED),
        "fenced": known.fenced if known else True,
        "rack": cluster.spec.racks.get(broker_id),
        "epoch": known.epoch if known else -1,
        "host": host,
        "port": port,
    }


def _topic(
    cluster: Cluster, image: MetadataImage, name: str, topic_id: bytes, values: bool, tail: int
) -> Plain:
    partitions = {}
    for index, partition in sorted(image.topics[topic_id].partitions.items()):
        partitions[index] = {
            "leader": partition.leader,
            "leader_epoch": partition.leader_epoch,
            "partition_epoch": partition.partition_epoch,
            "isr": sorted(partition.isr),
            "elr": sorted(partition.elr),
            "last_known_elr": sorted(partition.last_known_elr),
            "replicas": list(partition.replicas),
            "logs": {
                broker_id: _log(cluster, broker_id, (name, index), values, tail)
                for broker_id in partition.replicas
            },
        }
    config = dict(image.configs.get((2, name), {}))
    return {"id": uuids.to_text(topic_id), "config": config, "partitions": partitions}


def _log(cluster: Cluster, broker_id: int, key: tuple[str, int], values: bool, tail: int) -> Plain:
    broker = cluster.nodes.get(broker_id)
    partition = broker.replicas.partitions.get(key) if broker is not None else None
    if partition is None:
        role = "offline" if cluster.states.get(broker_id) in (KILLED, STOPPED) else "unknown"
        return {"role": role}
    log = partition.log
    out: Plain = {
        "log_start_offset": log.log_start_offset,
        "log_end_offset": log.log_end_offset,
        "high_watermark": partition.high_watermark,
        "leader_epoch": partition.leader_epoch,
        "epochs": [list(entry) for entry in log.epochs.entries],
        "role": "leader" if partition.is_leader else "follower",
    }
    if values:
        out["batches"] = last_batches(log, tail)
    return out


def last_batches(log: Log, tail: int) -> list[Plain]:
    """The batches that hold the last `tail` offsets, with record values as text."""
    out = []
    offset = max(log.log_start_offset, log.log_end_offset - tail)
    while offset < log.log_end_offset:
        data = log.read(offset, READ_AHEAD)
        if not data:
            break
        for header, position in batch.iterate(data):
            out.append(
                {
                    "base_offset": header.base_offset,
                    "last_offset": header.last_offset,
                    "epoch": header.partition_leader_epoch,
                    "values": _values(data, position),
                }
            )
            offset = header.next_offset
    return out


def _values(data: bytes, position: int) -> list[str]:
    try:
        batch.validate(data, position)
        return [_text(record.value) for record in batch.decode(data, position)]
    except batch.CorruptBatch:
        return [DAMAGED]


def _text(value: bytes | None) -> str:
    return "∅" if value is None else value[:64].decode("utf-8", "replace")


def _zookeeper(cluster: Cluster) -> Plain:
    members: dict[int, Plain] = {}
    for member in cluster.spec.ensemble:
        node = cluster.nodes.get(member)
        members[member] = {"state": cluster.states.get(member, STOPPED)}
        if node is not None:
            members[member] |= {
                "role": str(node.agreement.role),
                "epoch": node.agreement.epoch,
                "zxid": node.agreement.applied,
                "sessions": sorted(node.connections),
                "znodes": len(node.tree.nodes),
            }
    brokers = {b: cluster.nodes[b].plane.snapshot() for b in cluster.spec.brokers
               if b in cluster.nodes}  # fmt: skip
    return {"members": members, "brokers": brokers}


def _groups(cluster: Cluster) -> Plain:
    groups: Plain = {}
    for broker_id in cluster.spec.brokers:
        broker = cluster.nodes.get(broker_id)
        if broker is not None:
            for name, group in broker.groups.snapshot().items():
                groups[name] = {**group, "coordinator": broker_id}
    return groups


def _transactions(cluster: Cluster) -> Plain:
    ids: Plain = {}
    for broker_id in cluster.spec.brokers:
        broker = cluster.nodes.get(broker_id)
        if broker is not None:
            ids.update(broker.transactions.snapshot())
    return ids
