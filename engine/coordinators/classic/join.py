"""JoinGroup: a member asks to be part of the next generation.

What happens depends on the member id that the request brings:

    none, dynamic member    the coordinator hands out an id and sends the member back with
                            it (MEMBER_ID_REQUIRED, KIP-394).  A client that gives up and
                            retries leaves no ghost for which everyone waits.
    none, static member     If its instance id is known, it takes its old seat, and the id
                            before is fenced.  A stable group does not rebalance as long
                            as the assignor stays the same (KIP-345).  If it is unknown,
                            the member gets a new seat.
    a pending id            The member takes its seat.
    a member's id           The member rejoins.  The group rebalances if it is the leader
                            or its subscription changed; if not, it gets the same answer
                            as before.

In versions before 4 there is no MEMBER_ID_REQUIRED: a member gets its seat at once.  In
version 9 the broker can tell a returning static leader to skip the assignment (KIP-814).

Simplified: a second JoinGroup or SyncGroup of a member that is already parked replaces the first,
which is answered REBALANCE_IN_PROGRESS.  Kafka leaves the first one unanswered; its connection is
usually gone.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from engine.coordinators.classic import rebalance
from engine.coordinators.classic.group import Group, JoinRequest, Member
from engine.coordinators.classic.groups import ClassicGroups, SessionTimer
from engine.coordinators.classic.rebalance import joined, refuse_join
from engine.coordinators.classic.states import GroupState
from engine.coordinators.classic.stored_group import group_record
from engine.settings import Settings
from engine.wire import messages as m
from engine.wire.errors import Errors

NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000
"""How long a first JoinGroup may stay parked: its sender has no id to heartbeat with."""


def check_join(settings: Settings, body: m.JoinGroupRequest) -> Errors:
    """What is wrong with a JoinGroup on any broker, its coordinator or not."""
    if not body.group_id:
        return Errors.INVALID_GROUP_ID
    low, high = (settings[f"group.{end}.session.timeout.ms"] for end in ("min", "max"))
    if not low <= body.session_timeout_ms <= high:
        return Errors.INVALID_SESSION_TIMEOUT
    return Errors.NONE


def join(groups: ClassicGroups, now: int, request: JoinRequest) -> None:
    """Answers at once, or parks the request until the join phase ends."""
    body = request.body
    group = groups.by_id.get(body.group_id)
    if group is None:
        if body.member_id:
            refuse_join(groups.outbox, request, Errors.UNKNOWN_MEMBER_ID, body.member_id)
            return
        group = Group(body.group_id, state_timestamp_ms=now // 1000)
        error = groups.log.store(now, [group_record(group, {})])
        if error is not Errors.NONE:
            refuse_join(groups.outbox, request, error)
            return
        groups.by_id[group.id] = group
    if not _has_room(groups, group, body.member_id):
        group.remove(body.member_id)
        refuse_join(groups.outbox, request, Errors.GROUP_MAX_SIZE_REACHED)
    elif not group.supports(body.protocol_type, _protocols(request)):
        refuse_join(groups.outbox, request, Errors.INCONSISTENT_GROUP_PROTOCOL, body.member_id)
    elif not body.member_id:
        _join_as_new(groups, now, group, request)
    elif body.member_id in group.pending_members:
        if body.group_instance_id is not None:
            refuse_join(groups.outbox, request, Errors.UNKNOWN_MEMBER_ID, body.member_id)
        else:
            _sit_down(groups, now, group, request, body.member_id)
    else:
        _rejoin(groups, now, group, request)


def _has_room(groups: ClassicGroups, group: Group, member_id: str) -> bool:
    """`group.max.size`; in a rebalance the first to rejoin keep their seats."""
    limit: int = groups.settings["group.max.size"]
    member = group.members.get(member_id)
    if group.is_in(GroupState.EMPTY, GroupState.DEAD):
        return True
    if group.is_in(GroupState.PREPARING_REBALANCE):
        seated = member is not None and member.joining is not None
        return seated or group.joins_waiting < limit
    return member is not None or len(group.members) < limit


def _join_as_new(groups: ClassicGroups, now: int, group: Group, request: JoinRequest) -> None:
    body = request.body
    instance_id = body.group_instance_id
    unique = uuid.UUID(int=groups.ids.getrandbits(128), version=4)
    member_id = f"{request.client_id if instance_id is None else instance_id}-{unique}"
    if instance_id is None and request.version >= 4:
        group.pending_members[member_id] = None
        groups.outbox.set_timer(
            SessionTimer(group.id, member_id), now + body.session_timeout_ms * 1000
        )
        refuse_join(groups.outbox, request, Errors.MEMBER_ID_REQUIRED, member_id)
    elif instance_id is not None and instance_id in group.static_members:
        old_id = group.static_members[instance_id]
        _take_seat_back(groups, now, group, request, old_id, member_id)
    else:
        _sit_down(groups, now, group, request, member_id)


def _sit_down(
    groups: ClassicGroups, now: int, group: Group, request: JoinRequest, member_id: str
) -> None:
    """A new member: everybody else has to join again."""
    body = request.body
    member = Member(
        member_id,
        body.group_instance_id,
        request.client_id,
        f"/{request.client_host}",  # as Java prints an address
        _rebalance_timeout_ms(request),
        body.session_timeout_ms,
        _protocols(request),
        is_new=True,
        joining=request,
    )
    if not group.members:
        group.protocol_type = body.protocol_type
    if group.is_in(GroupState.PREPARING_REBALANCE) and group.previous_state is GroupState.EMPTY:
        group.new_member_added = True
    group.add(member)
    groups.heard_from(now, group, member, NEW_MEMBER_JOIN_TIMEOUT_MS)
    rebalance.prepare_or_complete(groups, now, group, f"{member_id} joins")


def _rejoin(groups: ClassicGroups, now: int, group: Group, request: JoinRequest) -> None:
    body = request.body
    error = group.check_member(body.member_id, body.group_instance_id)
    if error is not Errors.NONE:
        refuse_join(groups.outbox, request, error, body.member_id)
        return
    member = group.members[body.member_id]
    changed = member.protocols != _protocols(request)
    if group.is_in(GroupState.PREPARING_REBALANCE):
        _update(groups, group, member, request)
        rebalance.prepare_or_complete(groups, now, group, "")
    elif group.is_in(GroupState.COMPLETING_REBALANCE) and not changed:
        # It missed our answer; the generation is the one it asked for.
        groups.outbox.reply(request, joined(group, member, request.version))
    elif group.is_in(GroupState.STABLE) and not changed and group.leader != member.id:
        groups.outbox.reply(request, joined(group, member, request.version))
    elif group.is_in(GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
        # A leader rejoins unchanged when what it assigns has changed, say the number
        # of partitions of a topic.
        _update(groups, group, member, request)
        why = "changed its subscription" if changed else "leads the group and asks for it"
        rebalance.prepare_or_complete(groups, now, group, f"{member.id} {why}")
    else:
        refuse_join(groups.outbox, request, Errors.UNKNOWN_MEMBER_ID, body.member_id)


def _update(groups: ClassicGroups, group: Group, member: Member, request: JoinRequest) -> None:
    group.update(
        member,
        _protocols(request),
        _rebalance_timeout_ms(request),
        request.body.session_timeout_ms,
    )
    replaced = group.park_join(member, request)
    if replaced is not None:
        refuse_join(groups.outbox, replaced, Errors.REBALANCE_IN_PROGRESS, member.id)


# -- static members


def _take_seat_back(
    groups: ClassicGroups, now: int, group: Group, request: JoinRequest, old_id: str, new_id: str
) -> None:
    """A static member returns under its name, usually after a restart."""
    member = group.members[old_id]
    parked = group.take_join(member)
    if parked is not None:
        refuse_join(groups.outbox, parked, Errors.FENCED_INSTANCE_ID, old_id)
    syncing, member.syncing = member.syncing, None
    if syncing is not None:
        groups.outbox.reply(syncing, m.SyncGroupResponse(error_code=Errors.FENCED_INSTANCE_ID))
    before = (member.protocols, member.rebalance_timeout_ms, member.session_timeout_ms)
    leader_before = group.leader or ""
    groups.outbox.cancel_timer(SessionTimer(group.id, old_id))
    group.rename(old_id, new_id)
    group.pending_syncs.pop(old_id, None)
    _update(groups, group, member, request)
    groups.heard_from(now, group, member)
    if not group.is_in(GroupState.STABLE):
        # The leader may have received the old id already, and would assign to it.
        if group.is_in(GroupState.COMPLETING_REBALANCE):
            rebalance.prepare(groups, now, group, f"{member.instance_id} has a new member id")
        else:
            rebalance.complete_if_all_joined(groups, now, group)
    elif group.select_protocol() != group.protocol:
        rebalance.prepare(groups, now, group, f"{member.instance_id} changes the assignor")
    else:
        assignments = {each.id: each.assignment for each in group.members.values()}
        then = SeatStored(groups, group, member, old_id, new_id, leader_before, before)
        groups.log.store(now, [group_record(group, assignments)], then)


@dataclass(slots=True)
class SeatStored:
    """What follows once the new id of a static member is replicated, or is not."""

    groups: ClassicGroups
    group: Group
    member: Member
    old_id: str
    new_id: str
    leader_before: str
    before: tuple[dict[str, bytes], int, int]

    def stored(self, now: int, error: Errors) -> None:
        groups, group, member = self.groups, self.group, self.member
        if group.members.get(self.new_id) is not member or not group.is_in(GroupState.STABLE):
            return  # left, fenced, unloaded, or in a rebalance: answered there
        request = group.take_join(member)
        if request is None:
            return  # answered by a rebalance that is over again
        if error is Errors.NONE:
            self._welcome(request)
        else:
            group.update(member, *self.before)
            group.rename(self.new_id, self.old_id)
            refuse_join(groups.outbox, request, error)
        groups.heard_from(now, group, member)

    def _welcome(self, request: JoinRequest) -> None:
        """Only from version 9 on can an answer say to a leader that nothing is to be assigned."""
        groups, group, member = self.groups, self.group, self.member
        leads = group.leader == member.id
        answer = joined(group, member, request.version, skip_assignment=leads)
        if leads and request.version < 9:
            answer.skip_assignment = False
            answer.members = []
            answer.leader = self.leader_before
        groups.outbox.reply(request, answer)


def _protocols(request: JoinRequest) -> dict[str, bytes]:
    return {each.name: bytes(each.metadata) for each in request.body.protocols}


def _rebalance_timeout_ms(request: JoinRequest) -> int:
    body = request.body
    timeout: int = body.rebalance_timeout_ms
    return body.session_timeout_ms if timeout < 0 else timeout
