"""Committed offsets: how far a group has read.

An offset belongs to (group, topic, partition) and is the next record to read.  The group
decides which clients may store one, see `classic.offset_rules`.

An offset becomes visible when its record is replicated, not before: no later
coordinator forgets what a consumer reads here.  What is removed is chosen among the offsets
as they are *written*, those on their way included: a commit that is under way when its
topic, its group or the offset itself is deleted lies before the tombstone in the log.

Offsets go away with their group, when an administrator deletes them, with their topic,
or by age: `offsets.retention.minutes` after they began to age.  Commits of versions 2-4 may
carry a retention of their own.

Left out: offsets committed in a transaction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

TopicPartition = tuple[str, int]

_NO_TOPIC_ID = bytes(16)


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """Where a group stands in one partition; times in milliseconds, -1 for none."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int = -1
    topic_id: bytes = _NO_TOPIC_ID

    def is_expired(self, now_ms: int, ages_from_ms: int, retention_ms: int) -> bool:
        """Whether its time is over; its own retention comes before the broker's."""
        if self.expire_timestamp_ms != -1:
            return now_ms >= self.expire_timestamp_ms
        return now_ms - ages_from_ms >= retention_ms


@dataclass(frozen=True, slots=True)
class OffsetRecord:
    """A commit, or the removal of one when `committed` is None."""

    group: str
    topic: str
    partition: int
    committed: CommittedOffset | None


class Offsets:
    """The replicated offsets of all groups of one shard."""

    def __init__(self) -> None:
        self.by_group: dict[str, dict[TopicPartition, CommittedOffset]] = {}

    def apply(self, record: OffsetRecord) -> None:
        """Takes over what a replicated record says."""
        offsets = self.by_group.setdefault(record.group, {})
        _apply(offsets, record)
        if not offsets:
            del self.by_group[record.group]

    def of(self, group_id: str) -> dict[TopicPartition, CommittedOffset]:
        return self.by_group.get(group_id, {})

    def written(
        self, group_id: str, on_their_way: Iterable[object]
    ) -> dict[TopicPartition, CommittedOffset]:
        """The group's offsets as they will be once all records on their way are replicated."""
        offsets = dict(self.of(group_id))
        for record in on_their_way:
            if isinstance(record, OffsetRecord) and record.group == group_id:
                _apply(offsets, record)
        return offsets


def _apply(offsets: dict[TopicPartition, CommittedOffset], record: OffsetRecord) -> None:
    where = (record.topic, record.partition)
    if record.committed is None:
        offsets.pop(where, None)
    else:
        offsets[where] = record.committed


def tombstones(group_id: str, where: Iterable[TopicPartition]) -> list[OffsetRecord]:
    """Records that remove the group's offsets for these partitions."""
    return [OffsetRecord(group_id, topic, partition, None) for topic, partition in where]
