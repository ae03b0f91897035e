"""A consumer group as it is stored, record by record, and how a record changes it.

    key 3   group           -> group epoch, hash of the subscribed topics
    key 5   group, member   -> who it is and what it subscribes to
    key 6   group           -> assignment epoch
    key 7   group, member   -> its target
    key 8   group, member   -> member epoch, state, what it owns and what it gives back
    key 16  group, regex    -> the topics that it matched

A null value removes what the key names.  The classic protocol stores a whole group in one record;
here each change is a small one, and ten thousand partitions are not written again because one
member came.

`apply` is the only place where a stored fact of a group changes.  A coordinator that loads the log
applies what it reads, and a coordinator that decides applies what it writes.  So both end with the
same group.

Key 4 held the partition counts of the subscribed topics before Kafka 4.1; it is read over.
Simplified: the hash is our own.  A real broker that took the log over would find another one
and compute one more target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from engine.coordinators.consumer.group import (
    ClassicProtocols,
    ConsumerGroup,
    Member,
    Owned,
    Partitions,
    ResolvedRegex,
)
from engine.coordinators.consumer.states import MemberState
from engine.wire import messages as m

_Current = m.ConsumerGroupCurrentMemberAssignmentValue


@dataclass(frozen=True, slots=True)
class ConsumerRecord:
    """A key and its value; None removes what the key names."""

    key: m.Message
    value: m.Message | None

    @property
    def group(self) -> str:
        group_id: str = self.key.group_id  # type: ignore[attr-defined]
        return group_id

    @property
    def ends_group(self) -> bool:
        return isinstance(self.key, m.ConsumerGroupMetadataKey) and self.value is None


KEYS: dict[int, type[m.Message]] = {
    3: m.ConsumerGroupMetadataKey,
    5: m.ConsumerGroupMemberMetadataKey,
    6: m.ConsumerGroupTargetAssignmentMetadataKey,
    7: m.ConsumerGroupTargetAssignmentMemberKey,
    8: m.ConsumerGroupCurrentMemberAssignmentKey,
    16: m.ConsumerGroupRegularExpressionKey,
}
VALUES: dict[int, type[m.Message]] = {
    3: m.ConsumerGroupMetadataValue,
    5: m.ConsumerGroupMemberMetadataValue,
    6: m.ConsumerGroupTargetAssignmentMetadataValue,
    7: m.ConsumerGroupTargetAssignmentMemberValue,
    8: m.ConsumerGroupCurrentMemberAssignmentValue,
    16: m.ConsumerGroupRegularExpressionValue,
}


# -- the records


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> ConsumerRecord:
    value = m.ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return ConsumerRecord(m.ConsumerGroupMetadataKey(group_id=group_id), value)


def member_record(group_id: str, member: Member) -> ConsumerRecord:
    """A member's identity and what it subscribes to."""
    value = m.ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topics),
        subscribed_topic_regex=member.regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.assignor,
    )
    if member.classic is not None:
        described = m.ConsumerGroupMemberMetadataValue
        value.classic_member_metadata = described.ClassicMemberMetadata(
            session_timeout_ms=member.classic.session_timeout_ms,
            supported_protocols=[
                described.ClassicProtocol(name=name, metadata=metadata)
                for name, metadata in member.classic.protocols
            ],
        )
    return ConsumerRecord(_member_key(group_id, member.id), value)


def assignment_epoch_record(group_id: str, epoch: int, at_ms: int) -> ConsumerRecord:
    value = m.ConsumerGroupTargetAssignmentMetadataValue(
        assignment_epoch=epoch, assignment_timestamp=at_ms
    )
    return ConsumerRecord(m.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), value)


def target_record(group_id: str, member_id: str, target: Partitions) -> ConsumerRecord:
    value = m.ConsumerGroupTargetAssignmentMemberValue(
        topic_partitions=[
            m.ConsumerGroupTargetAssignmentMemberValue.TopicPartition(topic_id, list(partitions))
            for topic_id, partitions in target.items()
        ]
    )
    return ConsumerRecord(_target_key(group_id, member_id), value)


def current_record(group_id: str, member: Member) -> ConsumerRecord:
    """How far a member is, and what it owns."""
    value = _Current(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=int(member.state),
        assigned_partitions=_owned_rows(member.assigned),
        partitions_pending_revocation=_owned_rows(member.revoking),
    )
    return ConsumerRecord(_current_key(group_id, member.id), value)


def regex_record(group_id: str, regex: str, resolved: ResolvedRegex | None) -> ConsumerRecord:
    key = m.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex)
    if resolved is None:
        return ConsumerRecord(key, None)
    value = m.ConsumerGroupRegularExpressionValue(
        topics=list(resolved.topics), version=resolved.version, timestamp=resolved.at_ms
    )
    return ConsumerRecord(key, value)


def member_tombstones(group_id: str, member_id: str) -> list[ConsumerRecord]:
    """What removes a member; in this order, so that it owns nothing when it goes."""
    return [
        ConsumerRecord(_current_key(group_id, member_id), None),
        ConsumerRecord(_target_key(group_id, member_id), None),
        ConsumerRecord(_member_key(group_id, member_id), None),
    ]


def group_tombstones(group: ConsumerGroup) -> list[ConsumerRecord]:
    """What removes a group with all that it has."""
    keys: list[m.Message] = [_current_key(group.id, each) for each in group.members]
    keys += [_target_key(group.id, each) for each in group.members]
    keys.append(m.ConsumerGroupTargetAssignmentMetadataKey(group_id=group.id))
    keys += [_member_key(group.id, each) for each in group.members]
    keys += [regex_record(group.id, regex, None).key for regex in group.regexes]
    keys.append(m.ConsumerGroupMetadataKey(group_id=group.id))
    return [ConsumerRecord(key, None) for key in keys]


def _member_key(group_id: str, member_id: str) -> m.Message:
    return m.ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id)


def _target_key(group_id: str, member_id: str) -> m.Message:
    return m.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)


def _current_key(group_id: str, member_id: str) -> m.Message:
    return m.ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)


def _owned_rows(owned: Mapping[bytes, Mapping[int, int]]) -> list[_Current.TopicPartitions]:
    return [
        _Current.TopicPartitions(topic_id, list(each), list(each.values()))
        for topic_id, each in owned.items()
    ]


# -- what a record changes


def apply(group: ConsumerGroup, record: ConsumerRecord) -> None:
    """Takes over what a record says of this group."""
    match record.key, record.value:
        case m.ConsumerGroupMetadataKey(), m.ConsumerGroupMetadataValue() as value:
            group.epoch, group.metadata_hash = value.epoch, value.metadata_hash
        case m.ConsumerGroupTargetAssignmentMetadataKey(), value:
            if isinstance(value, m.ConsumerGroupTargetAssignmentMetadataValue):
                group.assignment_epoch = value.assignment_epoch
                group.assigned_at_ms = value.assignment_timestamp
        case m.ConsumerGroupMemberMetadataKey() as key, value:
            _apply_member(group, key.member_id, value)
        case m.ConsumerGroupTargetAssignmentMemberKey() as key, value:
            _apply_target(group, key.member_id, value)
        case m.ConsumerGroupCurrentMemberAssignmentKey() as key, value:
            _apply_current(group, key.member_id, value)
        case m.ConsumerGroupRegularExpressionKey() as key, value:
            group.regexes.pop(key.regular_expression, None)
            if isinstance(value, m.ConsumerGroupRegularExpressionValue):
                group.regexes[key.regular_expression] = ResolvedRegex(
                    tuple(sorted(value.topics)), value.version, value.timestamp
                )


def _apply_member(group: ConsumerGroup, member_id: str, value: m.Message | None) -> None:
    if not isinstance(value, m.ConsumerGroupMemberMetadataValue):
        group.remove(member_id)
        return
    stored = value.classic_member_metadata
    classic = None
    if stored is not None:
        protocols = ((each.name, bytes(each.metadata)) for each in stored.supported_protocols)
        classic = ClassicProtocols(stored.session_timeout_ms, tuple(protocols))
    changed = replace(
        group.members.get(member_id, Member(member_id)),
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        topics=tuple(sorted(value.subscribed_topic_names)),
        regex=value.subscribed_topic_regex or "",
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        assignor=value.server_assignor,
        classic=classic,
    )
    group.put(changed)


def _apply_target(group: ConsumerGroup, member_id: str, value: m.Message | None) -> None:
    group.target.pop(member_id, None)
    if isinstance(value, m.ConsumerGroupTargetAssignmentMemberValue):
        group.target[member_id] = {
            each.topic_id: tuple(sorted(each.partitions)) for each in value.topic_partitions
        }


def _apply_current(group: ConsumerGroup, member_id: str, value: m.Message | None) -> None:
    member = group.members.get(member_id)
    if isinstance(value, _Current):
        changed = replace(
            member or Member(member_id),
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            state=MemberState.of(value.state),
            assigned=_owned(value.assigned_partitions, value.member_epoch),
            revoking=_owned(value.partitions_pending_revocation, value.member_epoch),
        )
        group.put(changed)
    elif member is not None:
        group.put(replace(member, epoch=-1, previous_epoch=-1, assigned={}, revoking={}))


def _owned(rows: Sequence[_Current.TopicPartitions], member_epoch: int) -> Owned:
    """Before Kafka 4.3 the assignment epochs were not stored: the member's is used for them."""
    owned: Owned = {}
    for row in rows:
        epochs = row.assignment_epochs or [member_epoch] * len(row.partitions)
        owned[row.topic_id] = dict(zip(row.partitions, epochs, strict=True))
    return owned
