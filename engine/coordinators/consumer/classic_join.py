"""JoinGroup to a consumer group: a classic member joins those of the new protocol.

It is a heartbeat with epoch 0.  The subscription says what the member reads and what it still owns,
so it also confirms revocations.  It is answered at once, because it waits for no other member; the
answer names no leader, and SyncGroup fetches the assignment.

A static member that comes back with the classic protocol takes its seat from the one before.  If
that was the last member of the new protocol, the group becomes classic.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.coordinators.classic import rebalance
from engine.coordinators.classic.group import JoinRequest
from engine.coordinators.consumer import migration
from engine.coordinators.consumer.advance import advance, approach, enter
from engine.coordinators.consumer.draft import Draft
from engine.coordinators.consumer.group import (
    ClassicProtocols,
    ConsumerGroup,
    Member,
    Partitions,
)
from engine.coordinators.consumer.groups import ConsumerGroups, Deadline
from engine.coordinators.consumer.heartbeat import (
    check_instance,
    check_room,
    new_member_id,
    replace_static,
    unknown_member,
)
from engine.events import Outbox
from engine.wire import codec, consumer_protocol
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

_HERE = "coordinators.consumer.classic_join"


@dataclass(slots=True)
class Joined:
    """The answer to JoinGroup waits until the member is replicated."""

    outbox: Outbox
    request: JoinRequest
    member: Member

    def stored(self, now: int, error: Errors) -> None:
        if error is not Errors.NONE or self.member.classic is None:
            rebalance.refuse_join(self.outbox, self.request, error, self.member.id)
            return
        answer = m.JoinGroupResponse(
            generation_id=self.member.epoch,
            protocol_type=consumer_protocol.PROTOCOL_TYPE if self.request.version >= 7 else None,
            protocol_name=self.member.classic.protocols[0][0],
            member_id=self.member.id,
        )
        self.outbox.reply(self.request, answer)


def join(groups: ConsumerGroups, now: int, group: ConsumerGroup, request: JoinRequest) -> None:
    """JoinGroup to a consumer group that has members."""
    try:
        _join(groups, now, Draft(group), request)
    except KafkaError as error:
        rebalance.refuse_join(groups.outbox, request, error.code, request.body.member_id)


def _join(groups: ConsumerGroups, now: int, draft: Draft, request: JoinRequest) -> None:
    body = request.body
    subscription = _check_join(groups, draft.group, body)
    if not body.member_id and body.group_instance_id is None and request.version >= 4:
        member_id = new_member_id(groups)
        rebalance.refuse_join(groups.outbox, request, Errors.MEMBER_ID_REQUIRED, member_id)
        return
    old = draft.group.static_member(body.group_instance_id)
    replaced = [] if old is None or body.member_id else [old]
    classic_again = bool(replaced) and migration.can_downgrade(
        groups, draft.group, replaced, joining=old
    )
    before = _take_seat(groups, draft, body)
    member = _updated(before, subscription, request)
    reported = {
        groups.metadata.topic_ids[each.topic]: tuple(each.partitions)
        for each in subscription.owned_partitions
        if each.topic in groups.metadata.topic_ids
    }
    if classic_again:
        _join_downgraded(groups, now, draft, member, reported, request)
        return
    moved = advance(groups, now, draft, member, reported)
    if not groups.accept(now, draft, Joined(groups.outbox, request, moved)):
        return
    groups.joins_awaited.pop((body.group_id, moved.id), None)
    groups.cancel_timer(Deadline.JOIN, body.group_id, moved.id)
    groups.heard_from(now, body.group_id, moved.id, body.session_timeout_ms)
    wait_ms = moved.rebalance_timeout_ms
    groups.set_timer(now, Deadline.SYNC, body.group_id, moved.id, wait_ms)
    for why in draft.why:
        groups.trace(f"{_HERE}.join", draft.group, why)


def _check_join(
    groups: ConsumerGroups, group: ConsumerGroup, body: m.JoinGroupRequest
) -> m.ConsumerProtocolSubscription:
    """The subscription; KafkaError if a member like this cannot join the others."""
    check_room(groups, group, body.member_id)
    classic = group.classic_members
    spoken = [[name for name, _ in each.classic.protocols] for each in classic if each.classic]
    offered = [each.name for each in body.protocols]
    if (
        groups.settings["group.consumer.migration.policy"].lower() == "disabled"
        or body.protocol_type != consumer_protocol.PROTOCOL_TYPE
        or not any(all(name in each for each in spoken) for name in offered)
    ):
        raise KafkaError(Errors.INCONSISTENT_GROUP_PROTOCOL)
    try:
        return consumer_protocol.read_subscription(bytes(body.protocols[0].metadata))
    except codec.MalformedMessage:
        raise KafkaError(Errors.INCONSISTENT_GROUP_PROTOCOL) from None


def _take_seat(groups: ConsumerGroups, draft: Draft, body: m.JoinGroupRequest) -> Member:
    member_id = body.member_id or new_member_id(groups)
    if body.group_instance_id is None:
        return draft.group.members.get(member_id, Member(member_id))
    member = draft.group.static_member(body.group_instance_id)
    if not body.member_id:
        return Member(member_id) if member is None else replace_static(draft, member, member_id)
    if member is None:
        raise unknown_member(draft.group.id, member_id)
    check_instance(member, member_id, body.group_instance_id)
    return member


def _updated(
    member: Member, subscription: m.ConsumerProtocolSubscription, request: JoinRequest
) -> Member:
    body = request.body
    timeout_ms = body.rebalance_timeout_ms
    protocols = tuple((each.name, bytes(each.metadata)) for each in body.protocols)
    return replace(
        member,
        instance_id=body.group_instance_id or member.instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        rebalance_timeout_ms=body.session_timeout_ms if timeout_ms < 0 else timeout_ms,
        topics=tuple(sorted(dict.fromkeys(subscription.topics))),
        regex="",
        client_id=request.client_id,
        client_host=f"/{request.client_host}",
        classic=ClassicProtocols(body.session_timeout_ms, protocols),
    )


def _join_downgraded(
    groups: ConsumerGroups,
    now: int,
    draft: Draft,
    member: Member,
    reported: Partitions,
    request: JoinRequest,
) -> None:
    """The last member of the new protocol is replaced by this one: the group is classic."""
    changed = enter(groups, now, draft, member)
    behind = draft.group.assignment_epoch < draft.group.epoch
    if behind:
        moved = replace(member, epoch=draft.group.epoch)
    else:
        moved = approach(groups, draft, member, reported, changed)
    then = Joined(groups.outbox, request, moved)
    classic = migration.downgrade(groups, now, draft, [], f"{member.id} joins", then)
    if behind:
        migration.rebalanced(groups, now, classic)
