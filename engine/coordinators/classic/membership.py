"""SyncGroup, Heartbeat and LeaveGroup: a member's life after it joined.

SyncGroup comes from every member after each JoinGroup.  The leader's carries the
assignment, the others' are empty; all wait until the assignment is replicated in
`__consumer_offsets`.  No member owns a partition before that, so a coordinator that dies
in between leaves no member with an assignment that its successor does not know.

Heartbeat says "I am alive"; its answer says when a rebalance began.  LeaveGroup spares the
others the wait for the session timeout.  From version 3 on it removes several members at
once, and an administrator may remove a static member by its instance id alone (KIP-345).
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.coordinators.classic import rebalance
from engine.coordinators.classic.group import Group
from engine.coordinators.classic.groups import ClassicGroups, SessionTimer, SyncTimer
from engine.coordinators.classic.rebalance import propagate, synced
from engine.coordinators.classic.states import HEARTBEAT_ANSWERS, GroupEvent, GroupState
from engine.coordinators.classic.stored_group import group_record
from engine.events import Request
from engine.wire import messages as m
from engine.wire.errors import Errors


def check_sync(request: Request[m.SyncGroupRequest]) -> Errors:
    """What is wrong with a SyncGroup on any broker, its coordinator or not."""
    body = request.body
    if request.version >= 5 and None in (body.protocol_type, body.protocol_name):
        return Errors.INCONSISTENT_GROUP_PROTOCOL
    return Errors.NONE if body.group_id else Errors.INVALID_GROUP_ID


def sync(groups: ClassicGroups, now: int, request: Request[m.SyncGroupRequest]) -> None:
    """Answers at once, or parks the request until the assignment is stored."""
    body = request.body
    group = groups.by_id.get(body.group_id)
    error = Errors.UNKNOWN_MEMBER_ID if group is None else _check_member(group, body)
    if error is not Errors.NONE or group is None:
        groups.outbox.reply(request, m.SyncGroupResponse(error_code=error))
        return
    member = group.members[body.member_id]
    if group.is_in(GroupState.PREPARING_REBALANCE):
        groups.outbox.reply(request, m.SyncGroupResponse(error_code=Errors.REBALANCE_IN_PROGRESS))
        return
    group.pending_syncs.pop(member.id, None)
    if not group.pending_syncs:
        groups.outbox.cancel_timer(SyncTimer(group.id))
    if group.is_in(GroupState.STABLE):
        groups.outbox.reply(request, synced(group, member, Errors.NONE))
        return
    replaced, member.syncing = member.syncing, request
    if replaced is not None:
        groups.outbox.reply(replaced, m.SyncGroupResponse(error_code=Errors.REBALANCE_IN_PROGRESS))
    if member.id == group.leader:
        given = {each.member_id: bytes(each.assignment) for each in body.assignments}
        assignments = {each: given.get(each, b"") for each in group.members}
        then = AssignmentStored(groups, group, group.generation, assignments)
        groups.log.store(now, [group_record(group, assignments)], then)


def _check_member(group: Group, body: m.SyncGroupRequest) -> Errors:
    if group.is_in(GroupState.EMPTY):
        return Errors.UNKNOWN_MEMBER_ID
    error = group.check_member(body.member_id, body.group_instance_id)
    if error is not Errors.NONE:
        return error
    if body.generation_id != group.generation:
        return Errors.ILLEGAL_GENERATION
    if body.protocol_type not in (None, group.protocol_type) or body.protocol_name not in (
        None,
        group.protocol,
    ):
        return Errors.INCONSISTENT_GROUP_PROTOCOL
    return Errors.NONE


@dataclass(slots=True)
class AssignmentStored:
    """What follows once the leader's assignment is replicated, or is not."""

    groups: ClassicGroups
    group: Group
    generation: int
    assignments: dict[str, bytes]

    def stored(self, now: int, error: Errors) -> None:
        groups, group = self.groups, self.group
        if not group.is_in(GroupState.COMPLETING_REBALANCE) or group.generation != self.generation:
            return  # another rebalance began, and answered everybody
        if error is not Errors.NONE:
            propagate(groups, now, group, {}, error)
            rebalance.prepare(groups, now, group, "the assignment could not be stored")
            return
        group.moves(now, GroupEvent.ASSIGNMENT_STORED)
        groups.trace(
            "coordinators.classic.membership.sync", group, "the leader's assignment is replicated"
        )
        propagate(groups, now, group, self.assignments, Errors.NONE)


def heartbeat(groups: ClassicGroups, now: int, body: m.HeartbeatRequest) -> Errors:
    """The answer to a heartbeat; the member's session starts again."""
    group = groups.by_id.get(body.group_id)
    if group is None:
        return Errors.UNKNOWN_MEMBER_ID
    error = group.check_member(body.member_id, body.group_instance_id)
    if error is not Errors.NONE:
        return error
    if body.generation_id != group.generation:
        return Errors.ILLEGAL_GENERATION
    groups.heard_from(now, group, group.members[body.member_id])
    return HEARTBEAT_ANSWERS[group.state]


def leave(
    groups: ClassicGroups, now: int, group_id: str, leaving: list[tuple[str, str | None]]
) -> list[Errors]:
    """Removes members given as (member id, instance id); an error for each."""
    group = groups.by_id.get(group_id)
    if group is None:
        return [Errors.UNKNOWN_MEMBER_ID] * len(leaving)
    errors = [_leave(groups, group, *each) for each in leaving]
    if Errors.NONE in errors:
        if group.is_in(GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
            rebalance.prepare_or_complete(groups, now, group, "a member left")
        elif group.is_in(GroupState.PREPARING_REBALANCE):
            rebalance.complete_if_all_joined(groups, now, group)
    return errors


def _leave(groups: ClassicGroups, group: Group, member_id: str, instance_id: str | None) -> Errors:
    if not member_id:
        if instance_id not in group.static_members:
            return Errors.UNKNOWN_MEMBER_ID
        member_id = group.static_members[instance_id or ""]
    elif member_id in group.pending_members:
        group.remove(member_id)
        groups.outbox.cancel_timer(SessionTimer(group.id, member_id))
        return Errors.NONE
    error = group.check_member(member_id, instance_id)
    if error is Errors.NONE:
        rebalance.forget(groups, group, group.members[member_id])
    return error
