"""Committed offsets: how far a group has read.

An offset belongs to (group, topic, partition) and is the next record to read.  The group
decides which clients may store one, see `classic.offset_rules`.

An offset becomes visible when its record is replicated, not before: no later
coordinator forgets what a consumer reads here.  What is removed is chosen among the offsets
as they are *written*, those on their way included: a commit that is under way when its
topic, its group or the offset itself is deleted comes before the tombstone in the log.

Offsets go away with their group, when an administrator deletes them, with their topic,
or by age: `offsets.retention.minutes` after they began to age.  Commits of versions 2-4 may
carry a retention of their own.

An offset that is committed in a transaction is *pending* until the transaction's end: it is in
the log under the producer's id, and no client is shown it.  A commit marker makes it the
group's offset, unless the log has a later one by then; an abort marker forgets it (KIP-98).  Its
removal in the meantime removes it too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

TopicPartition = tuple[str, int]

_NO_TOPIC_ID = bytes(16)


def metadata_length(metadata: str | None) -> int:
    """What offset.metadata.max.bytes limits: in spite of its name, Java's chars (UTF-16 units)."""
    return len((metadata or "").encode("utf-16-le")) // 2


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """Where a group is in one partition; times in milliseconds, -1 for none."""

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


@dataclass(frozen=True, slots=True)
class PendingOffset:
    """A commit inside an open transaction of this producer."""

    producer_id: int
    record: OffsetRecord


@dataclass(frozen=True, slots=True)
class TransactionEnd:
    """The marker that ends the producer's transaction in this shard's log."""

    producer_id: int
    committed: bool


Line = OffsetRecord | PendingOffset | TransactionEnd
"""What the log says about offsets."""


@dataclass(frozen=True, slots=True)
class _Placed:
    """A commit and its place in the log's order."""

    number: int
    committed: CommittedOffset


class Offsets:
    """The replicated offsets of all groups of one shard, and the pending ones."""

    def __init__(self) -> None:
        self._by_group: dict[str, dict[TopicPartition, _Placed]] = {}
        self._pending: dict[int, dict[str, dict[TopicPartition, _Placed]]] = {}
        self._lines = 0

    @property
    def groups(self) -> list[str]:
        """The groups that have an offset, or a pending one."""
        pending = [group for groups in self._pending.values() for group in groups]
        return list(dict.fromkeys([*self._by_group, *pending]))

    def of(self, group_id: str) -> dict[TopicPartition, CommittedOffset]:
        """The group's offsets, without the pending ones."""
        placed = self._by_group.get(group_id, {})
        return {where: each.committed for where, each in placed.items()}

    def pending_of(self, group_id: str) -> dict[TopicPartition, list[int]]:
        """Where the group has pending offsets, and the ids of the producers behind them."""
        found: dict[TopicPartition, list[int]] = {}
        for producer_id, groups in self._pending.items():
            for where in groups.get(group_id, ()):
                found.setdefault(where, []).append(producer_id)
        return found

    def places(self, group_id: str) -> list[TopicPartition]:
        """Where the group has an offset or a pending one."""
        return list(dict.fromkeys([*self.of(group_id), *self.pending_of(group_id)]))

    def apply(self, line: Line) -> None:
        """Takes over what the next line of the log says."""
        self._lines += 1
        match line:
            case OffsetRecord(group, topic, partition, None):
                self._remove(group, (topic, partition))
            case OffsetRecord(group, topic, partition, CommittedOffset() as committed):
                placed = _Placed(self._lines, committed)
                self._by_group.setdefault(group, {})[topic, partition] = placed
            case PendingOffset(producer_id, OffsetRecord(group, topic, partition, committed)):
                if committed is not None:
                    groups = self._pending.setdefault(producer_id, {})
                    placed = _Placed(self._lines, committed)
                    groups.setdefault(group, {})[topic, partition] = placed
            case TransactionEnd(producer_id, committed):
                ended = self._pending.pop(producer_id, {})
                if committed:
                    self._keep(ended)

    def _keep(self, ended: dict[str, dict[TopicPartition, _Placed]]) -> None:
        for group, offsets in ended.items():
            kept = self._by_group.setdefault(group, {})
            for where, placed in offsets.items():
                known = kept.get(where)
                if known is None or known.number < placed.number:
                    kept[where] = placed

    def _remove(self, group: str, where: TopicPartition) -> None:
        _forget(self._by_group, group, where)
        for producer_id in list(self._pending):
            _forget(self._pending[producer_id], group, where)
            if not self._pending[producer_id]:
                del self._pending[producer_id]

    def written(self, group_id: str, on_their_way: Iterable[object]) -> Offsets:
        """The group's offsets as they will be once all records on their way are replicated."""
        view = Offsets()
        view._lines = self._lines
        if group_id in self._by_group:
            view._by_group = {group_id: dict(self._by_group[group_id])}
        for producer_id, groups in self._pending.items():
            if group_id in groups:
                view._pending[producer_id] = {group_id: dict(groups[group_id])}
        for record in on_their_way:
            if isinstance(record, Line):
                view.apply(record)
        return view


def _forget(
    groups: dict[str, dict[TopicPartition, _Placed]], group: str, where: TopicPartition
) -> None:
    offsets = groups.get(group)
    if offsets is None:
        return
    offsets.pop(where, None)
    if not offsets:
        del groups[group]


def tombstones(group_id: str, where: Iterable[TopicPartition]) -> list[OffsetRecord]:
    """Records that remove the group's offsets for these partitions."""
    return [OffsetRecord(group_id, topic, partition, None) for topic, partition in where]
