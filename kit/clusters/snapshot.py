"""Reads the whole state of any Kafka over the protocol, as plain data.

The shape is that of engine/cluster/snapshot.py.  This
module reads the metadata, `replica_logs.py` the replicas, and `groups.py` the groups.
Broker epochs and partition epochs are not visible from outside, so they are -1.  Internal
topics are left out.

Brokers learn of changes one after the other, and a broker that is cut off from the
controller learns of none.  So brokers with a healthy link to it are asked first.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Any

from engine.metadata.records import METADATA_TOPIC
from engine.wire import messages as m
from engine.wire import uuids
from kit.clusters import groups, older_brokers
from kit.clusters.connections import Address, Connections, NotSpoken, Unreachable
from kit.clusters.interface import Node
from kit.clusters.replica_logs import ReplicaLogs
from kit.clusters.topics import described

_TOPIC = 2
_SET_ON_TOPIC = 1


class Inspector:
    """Takes snapshots of one cluster; remembers what was last known of its topics."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._logs = ReplicaLogs(connections)
        self._topics: dict[str, Any] = {}

    def snapshot(
        self,
        nodes: Mapping[int, Node],
        links: list[dict[str, Any]],
        *,
        values: bool,
        tail: int,
    ) -> dict[str, Any]:
        """The cluster's state in the shape of engine/cluster/snapshot.py."""
        witnesses = order_of_trust(nodes, links)
        topics = self.topics(witnesses)
        configs = self._configs(witnesses, sorted(topics))
        logs = self._logs.read(nodes, topics, values=values, tail=tail)
        quorum = self._quorum(nodes, witnesses)
        return {
            "time_us": time.time_ns() // 1000,
            "controller": _active(nodes, quorum),
            "controllers": _controllers(nodes, quorum),
            "brokers": self._brokers(nodes, witnesses),
            "links": links,
            "topics": {
                name: {
                    "id": uuids.to_text(topic.topic_id),
                    "config": configs.get(name, {}),
                    "partitions": {
                        p.partition_index: {
                            "leader": p.leader_id,
                            "leader_epoch": p.leader_epoch,
                            "partition_epoch": -1,
                            "isr": sorted(p.isr_nodes),
                            "elr": sorted(p.eligible_leader_replicas or []),
                            "last_known_elr": sorted(p.last_known_elr or []),
                            "replicas": list(p.replica_nodes),
                            "logs": logs[name, p.partition_index],
                        }
                        for p in sorted(topic.partitions, key=lambda each: each.partition_index)
                    },
                }
                for name, topic in topics.items()
            },
            "groups": groups.describe(self._connections, witnesses),
        }

    def topics(self, witnesses: list[Address]) -> dict[str, Any]:
        """Topics by name, from the best-informed broker; if none answers, those last known."""
        with contextlib.suppress(Unreachable):
            known = described(self._connections, witnesses)
            self._topics = {topic.name: topic for topic in known if not topic.is_internal}
        return dict(sorted(self._topics.items()))

    def _configs(self, witnesses: list[Address], names: list[str]) -> dict[str, dict[str, str]]:
        """What was set on each topic itself."""
        wanted = [m.DescribeConfigsRequest.DescribeConfigsResource(_TOPIC, n, None) for n in names]
        if not wanted:
            return {}
        try:
            answer = self._connections.ask_first(witnesses, m.DescribeConfigsRequest(wanted))
        except Unreachable:
            return {}
        return {
            result.resource_name: {
                c.name: c.value for c in result.configs if c.config_source == _SET_ON_TOPIC
            }
            for result in answer.results
        }

    def _quorum(self, nodes: Mapping[int, Node], witnesses: list[Address]) -> Any:
        """What DescribeQuorum says of the metadata log; None if no broker answers."""
        if any(node.is_controller for node in nodes.values()) and not have_quorum(nodes):
            return None  # brokers would wait for an active controller before they answer
        with contextlib.suppress(Unreachable, NotSpoken):
            return quorum_in(self._connections.ask_first(witnesses, quorum_request()))
        return None

    def _brokers(
        self, nodes: Mapping[int, Node], witnesses: list[Address]
    ) -> dict[int, dict[str, Any]]:
        known: dict[int, Any] = {}
        with contextlib.suppress(Unreachable):
            found = older_brokers.brokers(lambda r: self._connections.ask_first(witnesses, r))
            known = {b.broker_id: b for b in found}
        shown = {}
        for node in nodes.values():
            if node.is_controller:
                continue
            seen = known.get(node.id)
            host, port = node.address or (seen.host if seen else "", seen.port if seen else -1)
            shown[node.id] = {
                "state": node.state,
                "fenced": seen.is_fenced if seen else True,
                "rack": seen.rack if seen else None,
                "epoch": -1,
                "host": host,
                "port": port,
            }
        return shown


def _active(nodes: Mapping[int, Node], quorum: Any) -> dict[str, Any]:
    if quorum is not None:
        return {
            "id": quorum.leader_id,
            "state": "running",
            "epoch": quorum.leader_epoch,
            "metadata_offset": quorum.high_watermark,
        }
    controllers = [node for node in nodes.values() if node.is_controller]
    only = controllers[0] if len(controllers) == 1 else None
    return {
        "id": only.id if only else -1,
        "state": only.state if only else "stopped",
        "epoch": -1,
        "metadata_offset": -1,
    }


def _controllers(nodes: Mapping[int, Node], quorum: Any) -> dict[int, dict[str, Any]]:
    """The processes, and what the leader knows of them: it answers for all."""
    found: dict[int, dict[str, Any]] = {
        node.id: {"state": node.state} for node in nodes.values() if node.is_controller
    }
    for voter in quorum.current_voters if quorum is not None else ():
        known = found.setdefault(voter.replica_id, {"state": "unknown"})
        leads = voter.replica_id == quorum.leader_id
        known |= {"is_active": leads, "log_end_offset": voter.log_end_offset}
        if leads:
            known |= {"role": "leader", "epoch": quorum.leader_epoch, "leader": quorum.leader_id,
                      "high_watermark": quorum.high_watermark}  # fmt: skip
    return dict(sorted(found.items()))


def quorum_request() -> m.DescribeQuorumRequest:
    """Asks for the voters of the metadata log, and how far each of them has it."""
    partition = m.DescribeQuorumRequest.PartitionData(0)
    return m.DescribeQuorumRequest([m.DescribeQuorumRequest.TopicData(METADATA_TOPIC, [partition])])


def quorum_in(answer: m.DescribeQuorumResponse) -> Any:
    """What the leader says; None if the one that was asked has just lost the lead."""
    if answer.error_code or answer.topics[0].partitions[0].error_code:
        return None
    return answer.topics[0].partitions[0]


def order_of_trust(nodes: Mapping[int, Node], links: list[dict[str, Any]]) -> list[Address]:
    """Running brokers, those with a link to the controller first."""
    deaf = cut_from_controller(nodes, links)
    running = [n for n in nodes.values() if n.state == "running" and not n.is_controller]
    running.sort(key=lambda node: (node.id in deaf, node.id))
    return [node.address for node in running if node.address is not None]


def have_quorum(nodes: Mapping[int, Node]) -> bool:
    """Whether a majority of the controllers runs."""
    controllers = [node for node in nodes.values() if node.is_controller]
    return 2 * sum(node.state == "running" for node in controllers) > len(controllers)


def cut_from_controller(nodes: Mapping[int, Node], links: list[dict[str, Any]]) -> frozenset[int]:
    """Nodes that cannot reach a majority of the controllers: their links are cut."""
    controllers = {node.id for node in nodes.values() if node.is_controller}
    cut = {tuple(link["between"]) for link in links if link["state"] == "cut"}
    return frozenset(
        node
        for node in nodes
        if 2 * sum((node, c) in cut or (c, node) in cut for c in controllers)
        >= len(controllers)
        > 0
    )
