"""How groups and offsets go away: deleted, deleted with their topic, or too old.

Each removal writes tombstones.  It starts from the offsets as they are written: a commit
on its way lies before the tombstone in the log and is removed with the others.

A group goes when it is empty and has no offsets left.  It leaves memory when its removal
is appended, so that a member which joins now finds no group and makes a new one.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.coordinators.classic.group import Group
from engine.coordinators.classic.offset_rules import ages_from
from engine.coordinators.classic.states import GroupEvent, GroupState
from engine.coordinators.classic.stored_group import GroupRecord
from engine.coordinators.group_records import StoredRecord
from engine.coordinators.group_shard import GroupShard
from engine.coordinators.offsets import CommittedOffset, tombstones
from engine.coordinators.runtime.writes import Stored
from engine.wire.errors import Errors


def delete_group(shard: GroupShard, now: int, group: Group, then: Stored | None = None) -> None:
    """Forgets an empty group and its offsets; `then` hears when that is stored."""
    forget(shard, now, group, tombstones(group.id, shard.written(group.id)), then)


def topic_deleted(shard: GroupShard, now: int, topic: str) -> None:
    """The offsets of a deleted topic go with it, in all groups."""
    for group_id in list(shard.groups):
        where = [each for each in shard.written(group_id) if each[0] == topic]
        shard.log.store(now, tombstones(group_id, where))


def expire(shard: GroupShard, now: int) -> None:
    """Forgets offsets past their time, and empty groups that have none left."""
    for group in list(shard.groups.values()):
        offsets = shard.written(group.id)
        expired = [
            where
            for where, committed in offsets.items()
            if _is_expired(shard, now, group, where[0], committed)
        ]
        records = tombstones(group.id, expired)
        idle = group.is_in(GroupState.EMPTY) and not group.pending_members
        if idle and len(expired) == len(offsets):
            forget(shard, now, group, records)
        else:
            shard.log.store(now, records)


def forget(
    shard: GroupShard,
    now: int,
    group: Group,
    records: Sequence[StoredRecord],
    then: Stored | None = None,
) -> None:
    """Writes the group's removal behind `records`; the group stays if that cannot be written."""
    error = shard.log.store(now, [*records, GroupRecord(group.id, None)], then)
    if error is Errors.NONE:
        group.moves(now, GroupEvent.UNLOADED)
        why = "deleted, or empty for too long"
        shard.classic.trace("coordinators.removal.forget", group, why)
        del shard.groups[group.id]


def _is_expired(
    shard: GroupShard, now: int, group: Group, topic: str, committed: CommittedOffset
) -> bool:
    since_ms = ages_from(group, topic, committed.commit_timestamp_ms)
    retention_ms: int = shard.settings["offsets.retention.minutes"] * 60_000
    return since_ms is not None and committed.is_expired(now // 1000, since_ms, retention_ms)
