"""Committed offsets: how far a group has read.

An offset belongs to (group, topic, partition) and is the next record to read.  Who may
store one:

    generation -1, no member id   a *simple* consumer that assigns partitions to itself,
                                  or an administrator; only while the group is empty
    a member of this generation   what it owns is its own business; a member of an older
                                  generation is fenced (ILLEGAL_GENERATION), so that a
                                  consumer that slept through a rebalance cannot move
                                  the group back

An offset becomes visible when its record is replicated, not before: what one consumer
reads here, no later coordinator forgets.

Offsets go away with their group, when an administrator deletes them, with their topic,
or by age: `offsets.retention.minutes` after the group became empty, or after the commit
for simple consumers and for topics that a stable group no longer subscribes to (KIP-211).
Commits of versions 2-4 may carry a retention of their own.

Left out: offsets committed in a transaction.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from engine.coordinators.classic.consumer_protocol import PROTOCOL_TYPE
from engine.coordinators.classic.group import Group
from engine.coordinators.classic.states import COMMIT_ANSWERS, GroupEvent, GroupState
from engine.coordinators.group_records import (
    CommittedOffset,
    GroupRecord,
    OffsetRecord,
    StoredRecord,
)
from engine.wire.errors import Errors

if TYPE_CHECKING:
    from engine.coordinators.group_coordinator import GroupCoordinator
    from engine.coordinators.runtime.shard import Shard, Stored

TopicPartition = tuple[str, int]


class Offsets:
    """The replicated offsets of all groups of one shard."""

    def __init__(self) -> None:
        self.by_group: dict[str, dict[TopicPartition, CommittedOffset]] = {}

    def apply(self, record: OffsetRecord) -> None:
        """Takes over what a replicated record says."""
        where = (record.topic, record.partition)
        if record.committed is not None:
            self.by_group.setdefault(record.group, {})[where] = record.committed
            return
        offsets = self.by_group.get(record.group)
        if offsets is not None:
            offsets.pop(where, None)
            if not offsets:
                del self.by_group[record.group]

    def of(self, group_id: str) -> dict[TopicPartition, CommittedOffset]:
        return self.by_group.get(group_id, {})


def check_commit(
    shard: Shard,
    group_id: str,
    member_id: str,
    instance_id: str | None,
    generation: int,
    version: int,
) -> Errors:
    """Whether this committer may store offsets now."""
    group = shard.groups.get(group_id)
    if group is None:
        if generation < 0:
            return Errors.NONE
        return Errors.GROUP_ID_NOT_FOUND if version >= 9 else Errors.ILLEGAL_GENERATION
    if generation < 0 and group.is_in(GroupState.EMPTY):
        return Errors.NONE
    if generation < 0 and not member_id and instance_id is None:
        return Errors.UNKNOWN_MEMBER_ID
    error = group.check_member(member_id, instance_id)
    if error is not Errors.NONE:
        return error
    if generation != group.generation:
        return Errors.ILLEGAL_GENERATION
    return COMMIT_ANSWERS[group.state]


def committing(c: GroupCoordinator, now: int, shard: Shard, group_id: str, member_id: str) -> None:
    """Side effects of an accepted commit: a simple group appears, a member is alive."""
    group = shard.groups.get(group_id)
    if group is None:
        shard.groups[group_id] = Group(group_id, state_timestamp_ms=now // 1000)
    elif member_id in group.members and group.is_in(
        GroupState.STABLE, GroupState.PREPARING_REBALANCE
    ):
        c.heard_from(now, group, group.members[member_id])


# -- removal


def check_delete_offsets(group: Group) -> Errors:
    """A consumer group may lose offsets of topics it does not read; others must be empty."""
    if group.is_in(GroupState.EMPTY) or group.protocol_type == PROTOCOL_TYPE:
        return Errors.NONE
    return Errors.NON_EMPTY_GROUP


def delete_group(
    c: GroupCoordinator, now: int, shard: Shard, group: Group, then: Stored | None = None
) -> None:
    """Forgets an empty group and its offsets; `then` hears when that is stored."""
    _forget(c, now, shard, group, _tombstones(group.id, shard.written(group.id)), then)


def topic_deleted(c: GroupCoordinator, now: int, shard: Shard, topic: str) -> None:
    """The offsets of a deleted topic go with it, in all groups."""
    for group in list(shard.groups.values()):
        where = [each for each in shard.written(group.id) if each[0] == topic]
        c.store(now, shard, _tombstones(group.id, where))


def expire(c: GroupCoordinator, now: int, shard: Shard) -> None:
    """Forgets offsets past their time, and empty groups that have none left."""
    for group in list(shard.groups.values()):
        offsets = shard.written(group.id)
        gone = [
            where for where, each in offsets.items() if _is_expired(c, now, group, where[0], each)
        ]
        records = _tombstones(group.id, gone)
        idle = group.is_in(GroupState.EMPTY) and not group.pending_members
        if idle and len(gone) == len(offsets):
            _forget(c, now, shard, group, records)
        else:
            c.store(now, shard, records)


def _tombstones(group_id: str, where: Iterable[TopicPartition]) -> list[StoredRecord]:
    return [OffsetRecord(group_id, *each, None) for each in where]


def _forget(
    c: GroupCoordinator,
    now: int,
    shard: Shard,
    group: Group,
    records: list[StoredRecord],
    then: Stored | None = None,
) -> None:
    error = c.store(now, shard, [*records, GroupRecord(group.id, None)], then)
    if error is Errors.NONE:
        group.moves(now, GroupEvent.UNLOADED)
        c.trace("coordinators.offsets.forget", group, "deleted, or empty for too long")
        del shard.groups[group.id]


def _is_expired(
    c: GroupCoordinator, now: int, group: Group, topic: str, committed: CommittedOffset
) -> bool:
    if group.is_subscribed(topic):
        return False
    since_ms = committed.commit_timestamp_ms
    if group.protocol_type and group.is_in(GroupState.EMPTY):
        if group.state_timestamp_ms != -1:
            since_ms = group.state_timestamp_ms
    elif group.protocol_type and not (
        group.is_in(GroupState.STABLE) and group.subscribed_topics is not None
    ):
        return False
    if committed.expire_timestamp_ms != -1:
        return now // 1000 >= committed.expire_timestamp_ms
    retention_ms: int = c.settings["offsets.retention.minutes"] * 60_000
    return now // 1000 - since_ms >= retention_ms
