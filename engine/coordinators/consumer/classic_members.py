"""Members that still speak the classic protocol, in a consumer group (online migration).

Their requests stay the same, and their meaning moves:

    JoinGroup   is a heartbeat with epoch 0 (`classic_join`)
    SyncGroup   fetches what the coordinator has assigned.  There is no leader, and no
                member hands an assignment in.
    Heartbeat   says REBALANCE_IN_PROGRESS when the member should join again: a new target is
                there, it has to give something back, or what it waits for is free.
    LeaveGroup  removes it, as a heartbeat with epoch -1 does.

The generation in their requests is the member epoch.  A member that is asked to join has its
rebalance timeout for that, and then the same for SyncGroup.

What differs: a heartbeat also says so when the target is behind the group.  The JoinGroup that
follows computes it.  In Kafka the classic members wait for a member of the new protocol to do
it, and where the policy forbids a downgrade there may be none.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.coordinators.consumer import migration, target
from engine.coordinators.consumer.group import (
    ClassicProtocols,
    ConsumerGroup,
    Member,
    Partitions,
    owned_partitions,
)
from engine.coordinators.consumer.groups import ConsumerGroups, Deadline
from engine.coordinators.consumer.heartbeat import (
    check_instance,
    unknown_member,
)
from engine.coordinators.consumer.leave import fence
from engine.coordinators.consumer.states import MemberState
from engine.events import Outbox, Request, Stored
from engine.wire import consumer_protocol
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

Leaving = list[tuple[str, str | None]]
SyncRequest = Request[m.SyncGroupRequest]
_HERE = "coordinators.consumer.classic_members"


@dataclass(slots=True)
class Synced:
    """The answer to SyncGroup waits until what is assigned is replicated."""

    outbox: Outbox
    request: SyncRequest
    assignment: bytes

    def stored(self, now: int, error: Errors) -> None:
        body = self.request.body
        answer = m.SyncGroupResponse(error_code=error)
        if error is Errors.NONE:
            answer.protocol_type, answer.protocol_name = body.protocol_type, body.protocol_name
            answer.assignment = self.assignment
        self.outbox.reply(self.request, answer)


def sync(groups: ConsumerGroups, now: int, group: ConsumerGroup, request: SyncRequest) -> None:
    """SyncGroup: what the member owns now."""
    body = request.body
    member, classic = _member(group, body.member_id, body.group_instance_id, body.generation_id)
    if body.protocol_type not in (None, consumer_protocol.PROTOCOL_TYPE) or (
        body.protocol_name not in (None, classic.protocols[0][0])
    ):
        raise KafkaError(Errors.INCONSISTENT_GROUP_PROTOCOL)
    if (
        group.assignment_epoch > member.epoch
        and member.state is not MemberState.UNREVOKED_PARTITIONS
    ):
        _await_join(groups, now, group, member)
        raise KafkaError(Errors.REBALANCE_IN_PROGRESS)
    owned = owned_partitions(member.assigned)
    assignment = migration.assignment(groups.metadata, owned, classic)
    groups.log.store(now, [], Synced(groups.outbox, request, assignment))
    groups.cancel_timer(Deadline.SYNC, group.id, member.id)
    groups.heard_from(now, group.id, member.id, classic.session_timeout_ms)


def heartbeat(
    groups: ConsumerGroups, now: int, group: ConsumerGroup, body: m.HeartbeatRequest
) -> Errors:
    """Heartbeat: whether the member should join again."""
    member, classic = _member(group, body.member_id, body.group_instance_id, body.generation_id)
    groups.heard_from(now, group.id, member.id, classic.session_timeout_ms)
    waited_for_is_free = (
        member.state is MemberState.UNRELEASED_PARTITIONS and not _waits_for_others(group, member)
    )
    if not (
        member.epoch < group.assignment_epoch
        or member.state is MemberState.UNREVOKED_PARTITIONS
        or waited_for_is_free
        or target.is_due(groups, now, group)
    ):
        return Errors.NONE
    _await_join(groups, now, group, member)
    return Errors.REBALANCE_IN_PROGRESS


def check_leaving(group: ConsumerGroup, leaving: Leaving) -> list[Errors]:
    """LeaveGroup: an error, or none, for each (member id, instance id)."""
    errors = []
    for member_id, instance_id in leaving:
        member = _named(group, member_id, instance_id)
        if member is None:
            errors.append(Errors.UNKNOWN_MEMBER_ID)
        elif instance_id is not None and member_id not in ("", member.id):
            errors.append(Errors.FENCED_INSTANCE_ID)
        else:
            errors.append(Errors.NONE)
    return errors


def leave(
    groups: ConsumerGroups, now: int, group: ConsumerGroup, leaving: Leaving, then: Stored
) -> None:
    """LeaveGroup, for members of either protocol; those that may not leave stay."""
    gone: dict[str, Member] = {}
    for each, error in zip(leaving, check_leaving(group, leaving), strict=True):
        member = _named(group, *each)
        if member is not None and error is Errors.NONE:
            gone[member.id] = member
    if gone:
        fence(groups, now, group, list(gone.values()), "it left", then)
    else:
        groups.log.store(now, [], then)


def _named(group: ConsumerGroup, member_id: str, instance_id: str | None) -> Member | None:
    """An administrator may name a static member by its instance id alone."""
    if instance_id is None:
        return group.members.get(member_id)
    return group.static_member(instance_id)


def _member(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int
) -> tuple[Member, ClassicProtocols]:
    """A classic member in this epoch, or KafkaError."""
    member = _named(group, member_id, instance_id)
    if member is not None and instance_id is not None:
        check_instance(member, member_id, instance_id)
    if member is None or member.classic is None:
        raise unknown_member(group.id, member_id)
    if generation != member.epoch:
        raise KafkaError(Errors.ILLEGAL_GENERATION)
    return member, member.classic


def _await_join(groups: ConsumerGroups, now: int, group: ConsumerGroup, member: Member) -> None:
    """It has its rebalance timeout from the first time that it is asked to join."""
    if (group.id, member.id) not in groups.joins_awaited:
        groups.joins_awaited[group.id, member.id] = None
        groups.set_timer(now, Deadline.JOIN, group.id, member.id, member.rebalance_timeout_ms)


def _waits_for_others(group: ConsumerGroup, member: Member) -> bool:
    wanted: Partitions = group.target.get(member.id, {})
    return any(
        (topic_id, partition) in group.owner_epochs
        for topic_id, partitions in wanted.items()
        for partition in partitions
        if partition not in member.assigned.get(topic_id, {})
    )
