"""How groups and offsets go away: deleted, deleted with their topic, or too old.

Each removal writes tombstones.  It starts from the offsets as they are written: a commit
on its way comes before the tombstone in the log and is removed with the others.

A group goes when it is empty and has no offsets left.  It leaves memory when its removal
is appended, so that a member which joins now finds no group and makes a new one.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.coordinators.classic.group import Group
from engine.coordinators.classic.offset_rules import ages_from
from engine.coordinators.classic.states import GroupEvent, GroupState
from engine.coordinators.classic.stored_group import GroupRecord
from engine.coordinators.consumer.group import ConsumerGroup
from engine.coordinators.consumer.stored_group import group_tombstones
from engine.coordinators.group_records import StoredRecord
from engine.coordinators.group_shard import GroupShard
from engine.coordinators.offsets import CommittedOffset, tombstones
from engine.events import Stored
from engine.wire.errors import Errors

AnyGroup = Group | ConsumerGroup


def is_idle(group: AnyGroup) -> bool:
    """Whether it has no members; an id that was handed out does not count."""
    if isinstance(group, ConsumerGroup):
        return not group.members
    return group.is_in(GroupState.EMPTY)


def delete_group(shard: GroupShard, now: int, group: AnyGroup, then: Stored | None = None) -> None:
    """Forgets an empty group and its offsets; `then` hears when that is stored."""
    where = shard.written(group.id).places(group.id)
    forget(shard, now, group, tombstones(group.id, where), then)


def topic_deleted(shard: GroupShard, now: int, topic: str) -> None:
    """The offsets of a deleted topic go with it, in all groups."""
    for group in shard.groups():
        places = shard.written(group.id).places(group.id)
        where = [each for each in places if each[0] == topic]
        shard.log.store(now, tombstones(group.id, where))


def expire(shard: GroupShard, now: int) -> None:
    """Forgets offsets past their time, and empty groups that have none left.

    An open transaction keeps its group, and the offsets that it is going to replace.
    """
    for group in shard.groups():
        written = shard.written(group.id)
        offsets, pending = written.of(group.id), written.pending_of(group.id)
        expired = [
            where
            for where, committed in offsets.items()
            if where not in pending and _is_expired(shard, now, group, where[0], committed)
        ]
        records = tombstones(group.id, expired)
        if is_idle(group) and len(expired) == len(offsets) and not pending:
            forget(shard, now, group, records)
        else:
            shard.log.store(now, records)


def forget(
    shard: GroupShard,
    now: int,
    group: AnyGroup,
    records: Sequence[StoredRecord],
    then: Stored | None = None,
) -> None:
    """Writes the group's removal behind `records`; the group stays if that cannot be written."""
    removal: Sequence[StoredRecord] = [GroupRecord(group.id, None)]
    if isinstance(group, ConsumerGroup):
        removal = group_tombstones(group)
    if shard.log.store(now, [*records, *removal], then) is not Errors.NONE:
        return
    rule, why = "coordinators.removal.forget", "deleted, or empty for too long"
    if isinstance(group, ConsumerGroup):
        shard.consumer.trace(rule, group, why)
        shard.consumer.forget(group)
    else:
        group.moves(now, GroupEvent.UNLOADED)
        shard.classic.trace(rule, group, why)
        del shard.classic.by_id[group.id]


def _is_expired(
    shard: GroupShard, now: int, group: AnyGroup, topic: str, committed: CommittedOffset
) -> bool:
    if isinstance(group, ConsumerGroup):
        since_ms = None if group.is_subscribed(topic) else committed.commit_timestamp_ms
    else:
        since_ms = ages_from(group, topic, committed.commit_timestamp_ms)
    retention_ms: int = shard.settings["offsets.retention.minutes"] * 60_000
    return since_ms is not None and committed.is_expired(now // 1000, since_ms, retention_ms)
