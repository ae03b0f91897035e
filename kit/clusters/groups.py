"""Reads the consumer groups of any Kafka over the protocol.

Each broker lists the groups that it coordinates; it alone can describe them.  The shape is that
of engine/cluster/snapshot.py.  No answer contains a classic group's generation, so it is -1
here, and while such a group rebalances, no answer says what its members own.  Of a group of the
consumer protocol (KIP-848) no answer says what a member must still give back.
"""

from __future__ import annotations

import contextlib
from typing import Any

from engine.wire import consumer_protocol
from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.clusters.connections import Address, Connections, Unreachable

CONSUMER = "consumer"


def describe(connections: Connections, addresses: list[Address]) -> dict[str, Any]:
    """Groups by id: state, coordinator, members, committed offsets."""
    groups: dict[str, Any] = {}
    ids = _broker_ids(connections, addresses)
    for address in addresses:
        with contextlib.suppress(Unreachable):
            listed = connections.ask(address, m.ListGroupsRequest()).groups
            ours = sorted((g.group_id, g.group_type) for g in listed
                          if g.protocol_type in ("consumer", ""))  # fmt: skip
            if ours:
                offsets = _committed(connections, address, [name for name, _ in ours])
                found = {
                    **_classic(connections, address, [n for n, kind in ours if kind != CONSUMER]),
                    **_consumer(connections, address, [n for n, kind in ours if kind == CONSUMER]),
                }
                for name, group in found.items():
                    group["coordinator"] = ids.get(address, -1)
                    group["offsets"] = offsets.get(name, {})
                groups |= found
    return dict(sorted(groups.items()))


def _broker_ids(connections: Connections, addresses: list[Address]) -> dict[Address, int]:
    with contextlib.suppress(Unreachable):
        answer = connections.ask_first(addresses, m.DescribeClusterRequest())
        return {(b.host, b.port): b.broker_id for b in answer.brokers}
    return {}


def _committed(
    connections: Connections, address: Address, names: list[str]
) -> dict[str, dict[str, dict[int, int]]]:
    asked = [m.OffsetFetchRequest.OffsetFetchRequestGroup(name, topics=None) for name in names]
    # Version 9 still names topics; from 10 on they are ids.
    fetched = connections.ask(address, m.OffsetFetchRequest(groups=asked), highest=9).groups
    return {group.group_id: _offsets(group) for group in fetched}


def _classic(connections: Connections, address: Address, names: list[str]) -> dict[str, Any]:
    if not names:
        return {}
    described = connections.ask(address, m.DescribeGroupsRequest(names)).groups
    return {
        group.group_id: {
            "type": "classic",
            "state": group.group_state,
            "generation": -1,
            "protocol_type": group.protocol_type,
            "protocol": group.protocol_data or None,
            "leader": None,
            "members": [
                {
                    "id": member.member_id,
                    "instance_id": member.group_instance_id,
                    "client_id": member.client_id,
                    "host": member.client_host,
                    "state": "stable" if group.group_state == "Stable" else "",
                    "owns": consumer_protocol.assigned_partitions(member.member_assignment) or {},
                }
                for member in group.members
            ],
        }
        for group in described
        if group.error_code == Errors.NONE
    }


def _consumer(connections: Connections, address: Address, names: list[str]) -> dict[str, Any]:
    if not names:
        return {}
    described = connections.ask(address, m.ConsumerGroupDescribeRequest(names)).groups
    return {
        group.group_id: {
            "type": CONSUMER,
            "state": group.group_state,
            "epoch": group.group_epoch,
            "assignment_epoch": group.assignment_epoch,
            "assignor": group.assignor_name,
            "protocol_type": "consumer",
            "members": [_member(member, group.group_epoch) for member in group.members],
        }
        for group in described
        if group.error_code == Errors.NONE
    }


def _member(member: Any, group_epoch: int) -> dict[str, Any]:
    topics, regex = list(member.subscribed_topic_names), member.subscribed_topic_regex
    return {
        "id": member.member_id,
        "instance_id": member.instance_id,
        "client_id": member.client_id,
        "host": member.client_host,
        "epoch": member.member_epoch,
        "state": "STABLE" if member.member_epoch == group_epoch else "BEHIND",
        "subscribed": {"topics": topics, "regex": regex or None},
        "owns": _by_topic(member.assignment),
        "target": _by_topic(member.target_assignment),
        "revoking": {},
    }


def _by_topic(assignment: Any) -> dict[str, list[int]]:
    return {each.topic_name: list(each.partitions) for each in assignment.topic_partitions}


def _offsets(group: Any) -> dict[str, dict[int, int]]:
    return {
        topic.name: {p.partition_index: p.committed_offset for p in topic.partitions}
        for topic in group.topics
    }
