"""DescribeGroups (key 15): a group's state, its members, and their assignments.

Subscriptions are shown when the group is Stable; before, its protocol is not settled.  In a
rebalance a member's assignment is still the last one.  An unknown group is not an error but Dead,
until version 6.  A group of the consumer protocol is unknown here: see
`consumer_group_describe`.

    v3      authorized operations, on request: with no authorizer, all of them (KIP-430)
    v4      group.instance.id (KIP-345)
    v6      an unknown group is GROUP_ID_NOT_FOUND, with a message (KIP-1043)

Left out: authorization.
Simplified: a classic group is shown as it is in memory; Kafka does not show a new one before its
first record is replicated.
"""

from __future__ import annotations

from engine.api.operations import GROUP_OPERATIONS
from engine.broker.broker import Broker
from engine.coordinators.classic.group import Member
from engine.coordinators.classic.states import GroupState
from engine.events import Request
from engine.wire import messages as m
from engine.wire.errors import Errors


def handle(broker: Broker, now: int, request: Request[m.DescribeGroupsRequest]) -> None:
    answer = m.DescribeGroupsResponse()
    for group_id in request.body.groups:
        described = _describe(broker, request.version, group_id)
        if request.body.include_authorized_operations and not described.error_code:
            described.authorized_operations = GROUP_OPERATIONS
        answer.groups.append(described)
    broker.outbox.reply(request, answer)


def _describe(
    broker: Broker, version: int, group_id: str
) -> m.DescribeGroupsResponse.DescribedGroup:
    described = m.DescribeGroupsResponse.DescribedGroup(group_id=group_id)
    shard, error = broker.groups.shard_of(group_id)
    if shard is None:
        described.error_code = error
        return described
    group = shard.classic.by_id.get(group_id)
    if group is None:
        described.group_state = str(GroupState.DEAD)
        if version >= 6:
            what = "is not a classic group" if group_id in shard.consumer.by_id else "not found"
            described.error_code = Errors.GROUP_ID_NOT_FOUND
            described.error_message = f"Group {group_id} {what}."
        return described
    stable = group.is_in(GroupState.STABLE)
    described.group_state = str(group.state)
    described.protocol_type = group.protocol_type
    described.protocol_data = (group.protocol or "") if stable else ""
    described.members = [
        _member(each, version, group.protocol if stable else None)
        for each in group.members.values()
    ]
    return described


def _member(
    member: Member, version: int, protocol: str | None
) -> m.DescribeGroupsResponse.DescribedGroupMember:
    described = m.DescribeGroupsResponse.DescribedGroupMember(
        member_id=member.id,
        group_instance_id=member.instance_id if version >= 4 else None,
        client_id=member.client_id,
        client_host=member.client_host,
        member_assignment=member.assignment,
    )
    if protocol is not None:
        described.member_metadata = member.metadata(protocol)
    return described
