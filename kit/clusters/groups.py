"""Reads the consumer groups of any Kafka over the protocol.

Each broker lists the groups that it coordinates; it alone can describe them.  No
answer contains the generation, so it is -1 here; the engine's own snapshot has it.
"""

from __future__ import annotations

import contextlib
from typing import Any

from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.clusters.connections import Address, Connections, Unreachable


def describe(connections: Connections, addresses: list[Address]) -> dict[str, Any]:
    """Groups by id: state, coordinator, members, committed offsets."""
    groups: dict[str, Any] = {}
    ids = _broker_ids(connections, addresses)
    for address in addresses:
        with contextlib.suppress(Unreachable):
            listed = connections.ask(address, m.ListGroupsRequest()).groups
            names = sorted(g.group_id for g in listed if g.protocol_type in ("consumer", ""))
            if names:
                groups |= _described(connections, address, names, ids.get(address, -1))
    return dict(sorted(groups.items()))


def _broker_ids(connections: Connections, addresses: list[Address]) -> dict[Address, int]:
    with contextlib.suppress(Unreachable):
        answer = connections.ask_first(addresses, m.DescribeClusterRequest())
        return {(b.host, b.port): b.broker_id for b in answer.brokers}
    return {}


def _described(
    connections: Connections, address: Address, names: list[str], coordinator: int
) -> dict[str, Any]:
    described = connections.ask(address, m.DescribeGroupsRequest(names)).groups
    asked = [m.OffsetFetchRequest.OffsetFetchRequestGroup(name, topics=None) for name in names]
    # Version 9 still names topics; from 10 on they are ids.
    fetched = connections.ask(address, m.OffsetFetchRequest(groups=asked), highest=9).groups
    offsets = {group.group_id: _offsets(group) for group in fetched}
    return {
        group.group_id: {
            "state": group.group_state,
            "generation": -1,
            "coordinator": coordinator,
            "members": [
                {
                    "id": member.member_id,
                    "instance_id": member.group_instance_id,
                    "client_id": member.client_id,
                    "host": member.client_host,
                }
                for member in group.members
            ],
            "offsets": offsets.get(group.group_id, {}),
        }
        for group in described
        if group.error_code == Errors.NONE
    }


def _offsets(group: Any) -> dict[str, dict[int, int]]:
    return {
        topic.name: {p.partition_index: p.committed_offset for p in topic.partitions}
        for topic in group.topics
    }
