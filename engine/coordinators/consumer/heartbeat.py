"""ConsumerGroupHeartbeat: the one request of a member's life.

    epoch 0    It joins, or joins again after it was fenced.  It owns nothing.
    epoch > 0  It is alive.  It says what has changed since its last heartbeat, and what it
               owns while that changes; the answer says what it may read from now on.
    epoch -1   It leaves.           epoch -2   A static member leaves and will be back.

A member's epoch is its licence.  With another epoch than the coordinator has for it, it is
fenced (FENCED_MEMBER_EPOCH): it must drop all its partitions and join again.  One case is let
through.  A member with the epoch before, which owns nothing that it should not, only missed
the last answer.

A static member (KIP-345) comes back under its instance id and a new member id, and takes its old
seat with its target.  While the old one has not left (epoch -2) the name is UNRELEASED_INSTANCE_ID:
two processes with one name do not fence each other in turns, as they do in the classic
protocol.

The assignment is in the answer when it has changed, or when the request was a full one, which a
member sends when it is not sure what the coordinator knows.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace

from engine.coordinators.consumer import migration
from engine.coordinators.consumer.advance import advance, keep_deadline
from engine.coordinators.consumer.draft import Draft
from engine.coordinators.consumer.group import ConsumerGroup, Member, Partitions, owned_partitions
from engine.coordinators.consumer.groups import Answer, ConsumerGroups
from engine.coordinators.consumer.states import JOIN_EPOCH, LEAVE_STATIC_EPOCH
from engine.coordinators.consumer.stored_group import (
    current_record,
    member_record,
    member_tombstones,
    target_record,
)
from engine.events import Request
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

HeartbeatRequest = Request[m.ConsumerGroupHeartbeatRequest]

_HERE = "coordinators.consumer.heartbeat.heartbeat"


def heartbeat(groups: ConsumerGroups, now: int, request: HeartbeatRequest) -> None:
    """Answers when what it changes is replicated; KafkaError if it is refused."""
    body = request.body
    draft = _draft(groups, body)
    check_room(groups, draft.group, body.member_id)
    member_id = body.member_id or new_member_id(groups)
    reported = _reported(body.topic_partitions)
    before = _take_seat(draft, body, member_id, reported)
    member = _updated(before, request)
    moved = advance(groups, now, draft, member, reported)
    answer = m.ConsumerGroupHeartbeatResponse(
        member_id=moved.id,
        member_epoch=moved.epoch,
        heartbeat_interval_ms=groups.config(body.group_id)["consumer.heartbeat.interval.ms"],
    )
    if _is_full(body) or moved.assigned != before.assigned:
        answer.assignment = _assignment(owned_partitions(moved.assigned))
    then = Answer(groups.outbox, request, answer, m.ConsumerGroupHeartbeatResponse())
    if not groups.accept(now, draft, then):
        return
    migration.let_go(groups, now, draft)
    groups.heard_from(now, body.group_id, moved.id)
    if moved is not member:
        keep_deadline(groups, now, body.group_id, moved)
    for why in draft.why:
        groups.trace(_HERE, draft.group, why)


def new_member_id(groups: ConsumerGroups) -> str:
    return str(uuid.UUID(int=groups.ids.getrandbits(128), version=4))


def check_room(groups: ConsumerGroups, group: ConsumerGroup, member_id: str) -> None:
    limit = groups.settings["group.consumer.max.size"]
    if len(group.members) >= limit and member_id not in group.members:
        raise KafkaError(
            Errors.GROUP_MAX_SIZE_REACHED,
            f"The consumer group has reached its maximum capacity of {limit} members.",
        )


def _draft(groups: ConsumerGroups, body: m.ConsumerGroupHeartbeatRequest) -> Draft:
    """The group as it is; a member that joins makes one, or converts a classic one."""
    group = groups.by_id.get(body.group_id)
    if group is not None:
        return Draft(group)
    classic = groups.classic.by_id.get(body.group_id)
    if body.member_epoch != JOIN_EPOCH:
        what = "not found" if classic is None else "is not a consumer group"
        where = "Consumer group" if classic is None else "Group"
        raise KafkaError(Errors.GROUP_ID_NOT_FOUND, f"{where} {body.group_id} {what}.")
    if classic is None:
        return Draft(ConsumerGroup(body.group_id))
    return migration.upgrade(groups, classic)


# -- whose heartbeat it is


def _take_seat(
    draft: Draft, body: m.ConsumerGroupHeartbeatRequest, member_id: str, reported: Partitions | None
) -> Member:
    """The member as it was before this heartbeat, or a new one."""
    group, joins = draft.group, body.member_epoch == JOIN_EPOCH
    if body.instance_id is None:
        member = group.members.get(member_id)
        if member is None and joins:
            return Member(member_id)
    else:
        member = group.static_member(body.instance_id)
        if joins:
            return _take_static_seat(draft, member, member_id, body.instance_id)
        if member is None:
            raise KafkaError(
                Errors.UNKNOWN_MEMBER_ID, f"Instance id {body.instance_id} is unknown."
            )
        check_instance(member, member_id, body.instance_id)
    if member is None:
        raise unknown_member(group.id, member_id)
    _check_epoch(member, body.member_epoch, reported)
    return member


def _take_static_seat(draft: Draft, member: Member | None, new_id: str, instance_id: str) -> Member:
    if member is None:
        return Member(new_id)
    if member.classic is None and member.epoch != LEAVE_STATIC_EPOCH:
        raise KafkaError(
            Errors.UNRELEASED_INSTANCE_ID,
            f"Static member {new_id} with instance id {instance_id} cannot join the group because "
            f"the instance id is owned by {member.id} member.",
        )
    return replace_static(draft, member, new_id)


def replace_static(draft: Draft, old: Member, new_id: str) -> Member:
    """The same seat under a new member id: subscription, target, and what it owned."""
    group_id = draft.group.id
    target = draft.group.target.get(old.id, {})
    new = replace(old, id=new_id, epoch=JOIN_EPOCH, previous_epoch=0)
    draft.put(*member_tombstones(group_id, old.id))
    draft.put(
        member_record(group_id, new),
        target_record(group_id, new_id, target),
        current_record(group_id, new),
    )
    draft.why.append(f"{old.instance_id} is back: {new_id} takes the seat of {old.id}")
    draft.left.append(old.id)
    return new


def check_instance(member: Member, member_id: str, instance_id: str) -> None:
    if member.id != member_id:
        raise KafkaError(
            Errors.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by "
            f"member {member.id}.",
        )


def unknown_member(group_id: str, member_id: str) -> KafkaError:
    return KafkaError(
        Errors.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group_id}."
    )


def _check_epoch(member: Member, epoch: int, reported: Partitions | None) -> None:
    if epoch in (JOIN_EPOCH, member.epoch):
        return
    missed_answer = epoch == member.previous_epoch and _owns_at_most(member, reported)
    if epoch > member.epoch or not missed_answer:
        than = "greater" if epoch > member.epoch else "smaller"
        raise KafkaError(
            Errors.FENCED_MEMBER_EPOCH,
            f"The consumer group member has a {than} member epoch ({epoch}) than the one known by "
            f"the group coordinator ({member.epoch}). The member must abandon all its partitions "
            "and rejoin.",
        )


def _owns_at_most(member: Member, reported: Partitions | None) -> bool:
    return reported is not None and all(
        partition in member.assigned.get(topic_id, {})
        for topic_id, partitions in reported.items()
        for partition in partitions
    )


# -- what it says, and what it hears


def _updated(member: Member, request: HeartbeatRequest) -> Member:
    """The member as it describes itself now; what a heartbeat leaves out stays as it was."""
    body = request.body
    names, timeout_ms = body.subscribed_topic_names, body.rebalance_timeout_ms
    regex = body.subscribed_topic_regex
    return replace(
        member,
        instance_id=member.instance_id if body.instance_id is None else body.instance_id,
        rack_id=member.rack_id if body.rack_id is None else body.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        assignor=member.assignor if body.server_assignor is None else body.server_assignor,
        topics=member.topics if names is None else tuple(sorted(dict.fromkeys(names))),
        regex=member.regex if regex is None else regex,
        client_id=request.client_id,
        client_host=f"/{request.client_host}",  # as Java prints an address
        classic=None,
    )


def _is_full(body: m.ConsumerGroupHeartbeatRequest) -> bool:
    """It names all that a member can say, or it joins."""
    subscribes = (body.subscribed_topic_names, body.subscribed_topic_regex) != (None, None)
    says_all = body.rebalance_timeout_ms != -1 and subscribes and body.topic_partitions is not None
    return body.member_epoch == JOIN_EPOCH or says_all


def _reported(
    rows: Sequence[m.ConsumerGroupHeartbeatRequest.TopicPartitions] | None,
) -> Partitions | None:
    return None if rows is None else {each.topic_id: tuple(each.partitions) for each in rows}


def _assignment(partitions: Partitions) -> m.ConsumerGroupHeartbeatResponse.Assignment:
    answer = m.ConsumerGroupHeartbeatResponse
    return answer.Assignment(
        topic_partitions=[
            answer.TopicPartitions(topic_id, list(each)) for topic_id, each in partitions.items()
        ]
    )
