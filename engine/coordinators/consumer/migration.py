"""From the classic protocol to this one and back, while the group goes on working.

Consumers are restarted one by one with `group.protocol=consumer`.

    upgrade    The first heartbeat of a new member converts a classic group.  The generation
               becomes the group epoch; what each member was assigned becomes what it owns
               and its target.  The others keep speaking the classic protocol: see
               `classic_members`.
    downgrade  When the last member of the new protocol has gone and others are left, the
               group becomes classic again, with the targets as assignments, and
               rebalances.

`group.consumer.migration.policy` says which of the two may happen.  An empty group has no members
to disturb: it takes the protocol of the first that joins.

Conversion is one batch of records: tombstones of the one group, records of the other.  A
coordinator that loads them finds one group, never two.

Source: KIP-848, "Online migration"; Kafka's ConsumerGroup.fromClassicGroup and
ClassicGroup.fromConsumerGroup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.coordinators.classic import failover, rebalance
from engine.coordinators.classic.group import Group
from engine.coordinators.classic.group import Member as ClassicMember
from engine.coordinators.classic.states import GroupState
from engine.coordinators.classic.stored_group import GroupRecord, group_record
from engine.coordinators.consumer.advance import metadata_hash
from engine.coordinators.consumer.draft import Draft
from engine.coordinators.consumer.group import (
    ClassicProtocols,
    ConsumerGroup,
    Member,
    Owned,
    Partitions,
    owned_partitions,
)
from engine.coordinators.consumer.groups import ConsumerGroups
from engine.coordinators.consumer.stored_group import (
    assignment_epoch_record,
    current_record,
    epoch_record,
    group_tombstones,
    member_record,
    target_record,
)
from engine.events import Stored
from engine.metadata.image import MetadataImage
from engine.wire import codec, consumer_protocol
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

_HERE = "coordinators.consumer.migration"
_UPGRADES, _DOWNGRADES = ("bidirectional", "upgrade"), ("bidirectional", "downgrade")


# -- classic to consumer


def upgrade(groups: ConsumerGroups, classic: Group) -> Draft:
    """A draft of the consumer group that takes over; KafkaError if it may not."""
    draft = Draft(ConsumerGroup(classic.id), replaces=classic)
    draft.put_classic(GroupRecord(classic.id, None))
    if classic.is_in(GroupState.EMPTY):
        return draft
    _check_upgrade(groups, classic)
    members = [_converted(groups, classic, each) for each in classic.members.values()]
    draft.put(*(member_record(classic.id, each) for each in members))
    new_hash = metadata_hash(draft.group, groups.metadata)
    draft.put(epoch_record(classic.id, classic.generation, new_hash))
    for each in members:
        draft.put(target_record(classic.id, each.id, owned_partitions(each.assigned)))
    draft.put(assignment_epoch_record(classic.id, classic.generation, 0))
    draft.put(*(current_record(classic.id, each) for each in members))
    draft.why.append(f"generation {classic.generation} of the classic group goes on as an epoch")
    return draft


def _check_upgrade(groups: ConsumerGroups, classic: Group) -> None:
    why = None
    if groups.settings["group.consumer.migration.policy"].lower() not in _UPGRADES:
        why = "online upgrade is disabled"
    elif classic.protocol_type != consumer_protocol.PROTOCOL_TYPE:
        why = "the group does not use the consumer embedded protocol"
    elif len(classic.members) > groups.settings["group.consumer.max.size"]:
        why = "the group size exceeds the consumer group maximum size"
    if why is not None:
        raise _cannot_upgrade(classic, f"because {why}.")


def _cannot_upgrade(classic: Group, why: str) -> KafkaError:
    return KafkaError(
        Errors.GROUP_ID_NOT_FOUND,
        f"Cannot upgrade classic group {classic.id} to consumer group {why}",
    )


def _converted(groups: ConsumerGroups, classic: Group, member: ClassicMember) -> Member:
    """The member as it was in the last generation; if it waits for one, it will ask again."""
    metadata = member.metadata(classic.protocol) or next(iter(member.protocols.values()), b"")
    try:
        subscription = consumer_protocol.read_subscription(metadata)
    except codec.MalformedMessage:
        raise _cannot_upgrade(
            classic, "because the embedded consumer protocol is malformed."
        ) from None
    assigned = consumer_protocol.assigned_partitions(member.assignment) or {}
    return Member(
        member.id,
        member.instance_id,
        subscription.rack_id,
        member.client_id,
        member.client_host,
        tuple(sorted(dict.fromkeys(subscription.topics))),
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic=ClassicProtocols(member.session_timeout_ms, tuple(member.protocols.items())),
        epoch=classic.generation,
        previous_epoch=classic.generation,
        assigned=_by_id(groups.metadata, assigned, classic.generation),
    )


def _by_id(metadata: MetadataImage, assigned: Mapping[str, Sequence[int]], epoch: int) -> Owned:
    return {
        metadata.topic_ids[name]: dict.fromkeys(partitions, epoch)
        for name, partitions in assigned.items()
        if name in metadata.topic_ids
    }


def let_go(groups: ConsumerGroups, now: int, draft: Draft) -> None:
    """The draft is true: the classic group that it replaces is gone, its members go on."""
    classic, draft.replaces = draft.replaces, None
    if classic is None:
        return
    failover.let_go(
        groups.classic, now, classic, Errors.REBALANCE_IN_PROGRESS, "became a consumer group"
    )
    groups.classic.by_id.pop(classic.id, None)
    for member in draft.group.classic_members:
        if member.classic is not None:
            groups.heard_from(now, classic.id, member.id, member.classic.session_timeout_ms)


# -- consumer to classic


def make_room(groups: ConsumerGroups, now: int, group: ConsumerGroup) -> Errors:
    """An empty consumer group makes way for a classic one of its name."""
    draft = Draft(group)
    draft.put(*group_tombstones(group))
    if not groups.accept(now, draft):
        return Errors.COORDINATOR_NOT_AVAILABLE
    groups.trace(f"{_HERE}.make_room", draft.group, "empty, and a classic member joins")
    return Errors.NONE


def can_downgrade(
    groups: ConsumerGroups,
    group: ConsumerGroup,
    leaving: Sequence[Member],
    joining: Member | None = None,
) -> bool:
    """Whether only classic members are left when these have gone, and the policy allows it."""
    gone = [each.id for each in leaving]
    left = [each for each in group.members.values() if each.id not in gone]
    count = len(left) + (joining is not None)
    return (
        count > 0
        and all(each.classic is not None for each in left)
        and any(each.classic is None for each in leaving)
        and groups.settings["group.consumer.migration.policy"].lower() in _DOWNGRADES
        and count <= groups.settings["group.max.size"]
    )


def downgrade(
    groups: ConsumerGroups,
    now: int,
    draft: Draft,
    leaving: Sequence[Member],
    why: str,
    then: Stored | None = None,
) -> Group | None:
    """The group as a classic one, without those that leave; None if it cannot be written."""
    group = draft.group
    classic = _classic_of(groups, now, group, [each.id for each in leaving])
    draft.put(*group_tombstones(group))
    assignments = {each.id: each.assignment for each in classic.members.values()}
    draft.put_classic(group_record(classic, assignments))
    if not groups.accept(now, draft, then):
        return None
    groups.classic.by_id[classic.id] = classic
    for member in classic.members.values():
        groups.classic.heard_from(now, classic, member)
    groups.trace(f"{_HERE}.downgrade", draft.group, f"classic again; {why}")
    return classic


def rebalanced(groups: ConsumerGroups, now: int, classic: Group | None) -> bool:
    """A downgraded group has to share its partitions out again; whether there is one."""
    if classic is not None:
        rebalance.prepare(groups.classic, now, classic, "the group is classic again")
    return classic is not None


def _classic_of(
    groups: ConsumerGroups, now: int, group: ConsumerGroup, leaving: Sequence[str]
) -> Group:
    classic = Group(
        group.id,
        state=GroupState.STABLE,
        generation=group.epoch,
        protocol_type=consumer_protocol.PROTOCOL_TYPE,
        state_timestamp_ms=now // 1000,
    )
    for member in group.members.values():
        if member.id in leaving or member.classic is None:
            continue
        converted = ClassicMember(
            member.id,
            member.instance_id,
            member.client_id,
            member.client_host,
            member.rebalance_timeout_ms,
            member.classic.session_timeout_ms,
            dict(member.classic.protocols),
        )
        target = group.target.get(member.id, {})
        converted.assignment = assignment(groups.metadata, target, member.classic)
        classic.add(converted)
    classic.protocol = classic.select_protocol()
    classic.restore_subscriptions()
    return classic


def assignment(
    metadata: MetadataImage, partitions: Partitions, protocols: ClassicProtocols
) -> bytes:
    """What a classic member owns, in the form and version in which it subscribes."""
    part = m.ConsumerProtocolAssignment.TopicPartition
    rows = [
        part(metadata.topics[topic_id].name, list(each))
        for topic_id, each in partitions.items()
        if topic_id in metadata.topics
    ]
    version = consumer_protocol.version_of(protocols.protocols[0][1])
    return consumer_protocol.encode(m.ConsumerProtocolAssignment(rows), version)
