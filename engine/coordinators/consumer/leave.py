"""How members go: they leave, a static one for a while, or they are fenced.

A member that leaves says so with epoch -1, and its partitions are free at once.  A static member
that restarts says -2 instead: its seat, its target and its partitions stay, no other member gets
them, and it has until the end of its session to come back under its name.

A member that does not say goodbye is fenced when a deadline passes:

    session     no heartbeat for `group.consumer.session.timeout.ms`
    revocation  It has not given back within its own rebalance timeout, the client's
                max.poll.interval.ms.  A member that processes too slowly holds the
                others up for that long and no longer.

With each that goes the group epoch grows, and the next heartbeat of any other member computes
the new target.  When only members of the classic protocol are left, the group becomes classic again
(`migration`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.coordinators.consumer import migration
from engine.coordinators.consumer.advance import forget_unread, metadata_hash
from engine.coordinators.consumer.draft import Draft
from engine.coordinators.consumer.group import ConsumerGroup, Member
from engine.coordinators.consumer.groups import Answer, ConsumerGroups, Deadline, MemberTimer
from engine.coordinators.consumer.heartbeat import (
    HeartbeatRequest,
    check_instance,
    unknown_member,
)
from engine.coordinators.consumer.states import LEAVE_STATIC_EPOCH, MemberState
from engine.coordinators.consumer.stored_group import (
    current_record,
    epoch_record,
    member_tombstones,
)
from engine.events import Stored
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

_HERE = "coordinators.consumer.leave"


def leave(groups: ConsumerGroups, now: int, request: HeartbeatRequest) -> None:
    """A heartbeat with epoch -1 or -2."""
    body = request.body
    group = groups.by_id.get(body.group_id)
    if group is None:
        raise KafkaError(Errors.GROUP_ID_NOT_FOUND, f"Group {body.group_id} not found.")
    member = _leaving(group, body)
    answer = m.ConsumerGroupHeartbeatResponse(member_id=member.id, member_epoch=body.member_epoch)
    then = Answer(groups.outbox, request, answer, m.ConsumerGroupHeartbeatResponse())
    if body.instance_id is None or body.member_epoch != LEAVE_STATIC_EPOCH:
        fence(groups, now, group, [member], "it left", then)
        return
    draft = Draft(group)
    since_ever = {topic: dict.fromkeys(each, 0) for topic, each in member.assigned.items()}
    away = replace(member, epoch=LEAVE_STATIC_EPOCH, assigned=since_ever, revoking={})
    draft.put(current_record(group.id, away))
    if groups.accept(now, draft, then):
        groups.trace(f"{_HERE}.leave", draft.group, f"{member.instance_id} left and will be back")


def _leaving(group: ConsumerGroup, body: m.ConsumerGroupHeartbeatRequest) -> Member:
    if body.instance_id is None:
        member = group.members.get(body.member_id)
        if member is None:
            raise unknown_member(group.id, body.member_id)
        return member
    member = group.static_member(body.instance_id)
    if member is None:
        raise KafkaError(Errors.UNKNOWN_MEMBER_ID, f"Instance id {body.instance_id} is unknown.")
    check_instance(member, body.member_id, body.instance_id)
    return member


def fence(
    groups: ConsumerGroups,
    now: int,
    group: ConsumerGroup,
    members: Sequence[Member],
    why: str,
    then: Stored | None = None,
) -> bool:
    """Removes members, and with them what they own; False if that cannot be written."""
    draft = Draft(group)
    gone = ", ".join(each.id for each in members)
    if migration.can_downgrade(groups, group, members):
        classic = migration.downgrade(groups, now, draft, members, f"{gone}: {why}", then)
        return migration.rebalanced(groups, now, classic)
    for member in members:
        draft.put(*member_tombstones(group.id, member.id))
        forget_unread(draft, member.regex)
        draft.left.append(member.id)
    new_hash = metadata_hash(draft.group, groups.metadata)
    draft.put(epoch_record(group.id, group.epoch + 1, new_hash))
    if not groups.accept(now, draft, then):
        return False
    groups.trace(f"{_HERE}.fence", draft.group, f"{gone} is out: {why}")
    return True


def on_timer(groups: ConsumerGroups, now: int, timer: MemberTimer) -> None:
    """A deadline of a member has come."""
    group = groups.by_id.get(timer.group)
    member = None if group is None else group.members.get(timer.member)
    if group is None or member is None:
        return
    session = groups.sessions.get((group.id, member.id))
    if session is not None and timer.deadline is Deadline.SESSION:
        session.timer_at = 0
    match timer.deadline:
        case Deadline.SESSION if session is not None and now < session.ends_at:
            groups.watch(group.id, member.id, session)
            return
        case Deadline.REVOCATION if member.state is not MemberState.UNREVOKED_PARTITIONS:
            return
    why = {
        Deadline.SESSION: "its session is over",
        Deadline.REVOCATION: "it did not give back in time",
        Deadline.JOIN: "it did not join in time",
        Deadline.SYNC: "it did not sync in time",
    }[timer.deadline]
    if not fence(groups, now, group, [member], why) and session is not None:
        # The log takes no records just now: try again when a session would have passed.
        groups.heard_from(now, group.id, member.id, session.timeout_ms)
