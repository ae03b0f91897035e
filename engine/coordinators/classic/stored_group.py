"""A classic group as it is stored: generation, protocol, leader, and every member.

The record holds what a successor needs to go on as if nothing had happened: each member's
subscription and assignment, its timeouts, and the instance id of a static member.  It does not
hold a join phase under way; its members start over.

A group of simple consumers, which only commit offsets, has no such record.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.coordinators.classic.group import Group, Member
from engine.coordinators.classic.states import GroupState
from engine.wire import messages as m


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """A group's stored form (a `GroupMetadataValue`), or its removal when None."""

    group: str
    value: m.GroupMetadataValue | None


def group_record(group: Group, assignments: dict[str, bytes]) -> GroupRecord:
    """The group as it is now, with `assignments` by member id."""
    value = m.GroupMetadataValue(
        protocol_type=group.protocol_type,
        generation=group.generation,
        protocol=group.protocol,
        leader=group.leader,
        current_state_timestamp=group.state_timestamp_ms,
        members=[
            m.GroupMetadataValue.MemberMetadata(
                member_id=each.id,
                group_instance_id=each.instance_id,
                client_id=each.client_id,
                client_host=each.client_host,
                rebalance_timeout=each.rebalance_timeout_ms,
                session_timeout=each.session_timeout_ms,
                subscription=each.metadata(group.protocol),
                assignment=assignments[each.id],
            )
            for each in group.members.values()
        ],
    )
    return GroupRecord(group.id, value)


def restore_group(group_id: str, value: m.GroupMetadataValue) -> Group:
    """The group that a record describes: stable with its members, or empty."""
    group = Group(
        group_id,
        state=GroupState.STABLE if value.members else GroupState.EMPTY,
        generation=value.generation,
        protocol_type=value.protocol_type,
        protocol=value.protocol,
        leader=value.leader,
        state_timestamp_ms=value.current_state_timestamp,
    )
    for each in value.members:
        group.add(
            Member(
                each.member_id,
                each.group_instance_id,
                each.client_id,
                each.client_host,
                each.session_timeout if each.rebalance_timeout < 0 else each.rebalance_timeout,
                each.session_timeout,
                {value.protocol or "": each.subscription},
                each.assignment,
            )
        )
    group.restore_subscriptions()
    return group
