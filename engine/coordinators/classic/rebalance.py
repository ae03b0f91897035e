"""A rebalance: how a group gets from one generation to the next.

    prepare    A member came, left or changed.  The others learn of it from their next
               heartbeat (REBALANCE_IN_PROGRESS), stop, and send JoinGroup, which parks.
    complete   All have joined, or the rebalance timeout is over and the silent members
               are dropped.  A new generation begins and all parked joins are answered;
               the leader's answer lists every member's subscription.
    propagate  The leader's assignment is stored; every parked SyncGroup is answered.

A group's first rebalance waits `group.initial.rebalance.delay.ms` instead, and waits again
for each batch of newcomers, so that ten consumers started together make one generation
and not ten (KIP-134).

Static members that miss a rebalance stay in the group, with the assignment the leader
gives them, until their session is over (KIP-345).
"""

from __future__ import annotations

from engine.coordinators.classic.group import Group, JoinRequest, Member
from engine.coordinators.classic.groups import (
    ClassicGroups,
    GroupTimer,
    JoinTimer,
    SessionTimer,
    SyncTimer,
)
from engine.coordinators.classic.states import GroupEvent, GroupState
from engine.coordinators.classic.stored_group import group_record
from engine.events import Outbox
from engine.wire import messages as m
from engine.wire.errors import Errors

_HERE = "coordinators.classic.rebalance"


def prepare_or_complete(groups: ClassicGroups, now: int, group: Group, why: str) -> None:
    """Starts a rebalance, or sees whether the one under way can end."""
    if group.can_rebalance:
        prepare(groups, now, group, why)
    else:
        complete_if_all_joined(groups, now, group)


def prepare(groups: ClassicGroups, now: int, group: Group, why: str) -> None:
    """Calls everybody to join again."""
    if group.is_in(GroupState.COMPLETING_REBALANCE):
        propagate(groups, now, group, {}, Errors.REBALANCE_IN_PROGRESS)
    group.pending_syncs.clear()
    groups.outbox.cancel_timer(SyncTimer(group.id))
    first = group.is_in(GroupState.EMPTY)
    group.moves(now, GroupEvent.REBALANCE)
    groups.trace(f"{_HERE}.prepare", group, why)
    if first:
        delay_ms = groups.settings["group.initial.rebalance.delay.ms"]
        group.new_member_added = False
        group.initial_delay_left_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
        groups.outbox.set_timer(JoinTimer(group.id), now + delay_ms * 1000)
    elif group.all_joined:
        complete(groups, now, group)
    else:
        groups.outbox.set_timer(JoinTimer(group.id), now + group.rebalance_timeout_ms * 1000)


def on_timer(groups: ClassicGroups, now: int, timer: GroupTimer) -> None:
    """A timer of one of these groups fired."""
    group = groups.by_id.get(timer.group)
    if group is None:
        return
    match timer:
        case SessionTimer():
            session_over(groups, now, group, timer.member)
        case JoinTimer():
            join_phase_over(groups, now, group)
        case SyncTimer():
            sync_phase_over(groups, now, group)


def join_phase_over(groups: ClassicGroups, now: int, group: Group) -> None:
    """The `join` timer fired."""
    if not group.is_in(GroupState.PREPARING_REBALANCE):
        return
    first = group.previous_state is GroupState.EMPTY
    if first and group.new_member_added and group.initial_delay_left_ms > 0:
        delay_ms = groups.settings["group.initial.rebalance.delay.ms"]
        wait_ms = min(delay_ms, group.initial_delay_left_ms)
        group.new_member_added = False
        group.initial_delay_left_ms = max(group.initial_delay_left_ms - delay_ms, 0)
        groups.outbox.set_timer(JoinTimer(group.id), now + wait_ms * 1000)
    else:
        complete(groups, now, group)


def complete_if_all_joined(groups: ClassicGroups, now: int, group: Group) -> None:
    """Ends the join phase early, except the first one, which waits for its delay."""
    if (
        group.is_in(GroupState.PREPARING_REBALANCE)
        and group.previous_state is not GroupState.EMPTY
        and group.all_joined
    ):
        complete(groups, now, group)


def complete(groups: ClassicGroups, now: int, group: Group) -> None:
    """Ends the join phase and answers all who wait."""
    groups.outbox.cancel_timer(JoinTimer(group.id))
    late = [each for each in group.members.values() if each.joining is None]
    for member in late:
        if member.instance_id is None:
            forget(groups, group, member)
    if not group.elect_leader() and group.members:
        # Only static members are left and none has joined: wait for them, or for the
        # end of their sessions.
        groups.outbox.set_timer(JoinTimer(group.id), now + group.rebalance_timeout_ms * 1000)
        return
    group.next_generation(now)
    groups.trace(f"{_HERE}.complete", group, f"{len(group.members)} members have joined")
    if group.is_in(GroupState.EMPTY):
        # If this write fails, a successor starts from the generation before, whose
        # members are gone and will be timed out again.
        groups.log.store(now, [group_record(group, {})])
        return
    for member in list(group.members.values()):
        request = group.take_join(member)
        if request is not None:
            groups.outbox.reply(request, joined(group, member, request.version))
        groups.heard_from(now, group, member)
        member.is_new = False
        group.pending_syncs[member.id] = None
    groups.outbox.set_timer(SyncTimer(group.id), now + group.rebalance_timeout_ms * 1000)


def joined(
    group: Group, member: Member, version: int, skip_assignment: bool = False
) -> m.JoinGroupResponse:
    """The good answer to JoinGroup; the leader's lists all members."""
    everybody = []
    if group.leader == member.id:
        everybody = [
            m.JoinGroupResponse.JoinGroupResponseMember(
                member_id=each.id,
                group_instance_id=each.instance_id if version >= 5 else None,
                metadata=each.metadata(group.protocol),
            )
            for each in group.members.values()
        ]
    return m.JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type if version >= 7 else None,
        protocol_name=group.protocol,
        leader=group.leader or "",
        skip_assignment=skip_assignment,
        member_id=member.id,
        members=everybody,
    )


def refuse_join(outbox: Outbox, request: JoinRequest, error: Errors, member_id: str = "") -> None:
    """An error answer to JoinGroup; before version 7 a protocol name cannot be null."""
    name = None if request.version >= 7 else ""
    outbox.reply(
        request,
        m.JoinGroupResponse(error_code=error, member_id=member_id, protocol_name=name),
    )


def propagate(
    groups: ClassicGroups, now: int, group: Group, assignments: dict[str, bytes], error: Errors
) -> None:
    """Gives every member its assignment; or an error to those that wait, and no assignment."""
    for member in group.members.values():
        member.assignment = assignments.get(member.id, b"")
        request, member.syncing = member.syncing, None
        if request is not None:
            groups.outbox.reply(request, synced(group, member, error))
            groups.heard_from(now, group, member)


def synced(group: Group, member: Member, error: Errors) -> m.SyncGroupResponse:
    if error is not Errors.NONE:
        return m.SyncGroupResponse(error_code=error)
    return m.SyncGroupResponse(
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        assignment=member.assignment,
    )


def forget(groups: ClassicGroups, group: Group, member: Member) -> None:
    """Removes a member, also one that waits for an answer.

    Simplified: a SyncGroup that waits is answered UNKNOWN_MEMBER_ID, as a JoinGroup is; Kafka
    leaves it unanswered.
    """
    joining = group.take_join(member)
    if joining is not None:
        refuse_join(groups.outbox, joining, Errors.UNKNOWN_MEMBER_ID)
    syncing, member.syncing = member.syncing, None
    if syncing is not None:
        groups.outbox.reply(syncing, m.SyncGroupResponse(error_code=Errors.UNKNOWN_MEMBER_ID))
    groups.outbox.cancel_timer(SessionTimer(group.id, member.id))
    group.remove(member.id)


def session_over(groups: ClassicGroups, now: int, group: Group, member_id: str) -> None:
    """The `session` timer fired: the member may be gone, or heard of since it was set."""
    if member_id in group.pending_members:
        group.remove(member_id)
        if group.is_in(GroupState.PREPARING_REBALANCE) and group.all_joined:
            complete(groups, now, group)
        return
    member = group.members.get(member_id)
    if member is None:
        return
    member.timer_at = 0
    if now < member.session_ends_at:
        groups.watch(group, member)
        return
    waits = member.joining is not None or member.syncing is not None
    if waits and not member.is_new:
        return  # it cannot send heartbeats while its answer is parked
    forget(groups, group, member)
    if group.is_in(GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
        prepare_or_complete(groups, now, group, f"the session of {member_id} is over")
    elif group.is_in(GroupState.PREPARING_REBALANCE) and group.all_joined:
        complete(groups, now, group)


def sync_phase_over(groups: ClassicGroups, now: int, group: Group) -> None:
    """The `sync` timer fired: members that joined and never asked for an assignment go."""
    if not group.is_in(GroupState.COMPLETING_REBALANCE, GroupState.STABLE):
        return
    silent = list(group.pending_syncs)
    for member_id in silent:
        if member_id in group.members:
            forget(groups, group, group.members[member_id])
    if silent:
        prepare(groups, now, group, f"{len(silent)} members joined and did not sync")
