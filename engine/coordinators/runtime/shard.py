"""One partition of `__consumer_offsets`, as the coordinator holds it in memory.

    log       g1: generation 4 | g1/orders-0 at 17 | g1/orders-0 at 23 | g2: deleted | ...
    groups    what the last group record of each id says, plus what nobody stores: who has
              joined so far, whose answer is parked
    offsets   the last *replicated* offset of each (group, topic, partition)
    writes    appended, not known to be replicated yet; applied in the log's order when
              the high watermark has passed them

Simplified: the partition is read in one step, not in the background.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from engine.coordinators.classic import consumer_protocol
from engine.coordinators.classic.group import Group
from engine.coordinators.group_records import (
    CommittedOffset,
    GroupRecord,
    OffsetRecord,
    StoredRecord,
    decode_record,
    restore_group,
)
from engine.coordinators.offsets import Offsets
from engine.records import batch
from engine.wire.errors import Errors

_LOAD_BYTES = 1 << 20


class Stored(Protocol):
    """What happens once a write is replicated (error NONE) or has failed."""

    def stored(self, now: int, error: Errors) -> None: ...


@dataclass(slots=True)
class Write:
    """Records on their way: `end` is the log end behind them, `late` that time was up."""

    sequence: int
    end: int
    records: list[StoredRecord]
    waiting: list[Stored]
    late: bool = False

    def finish(self, now: int, error: Errors) -> None:
        """Tells those who wait, once."""
        waiting, self.waiting = self.waiting, []
        for each in waiting:
            each.stored(now, error)


@dataclass(slots=True)
class Shard:
    """The groups of partition `index`; its log ended at `loaded_end` when it was read."""

    index: int
    loaded_end: int
    groups: dict[str, Group] = field(default_factory=dict)
    offsets: Offsets = field(default_factory=Offsets)
    writes: deque[Write] = field(default_factory=deque)

    @staticmethod
    def load(index: int, log: Any) -> Shard:
        """Rebuilds groups and offsets from the log: the last value of each key holds."""
        shard = Shard(index, log.log_end_offset)
        for record in _stored_records(log):
            if isinstance(record, OffsetRecord):
                shard.offsets.apply(record)
            elif record.value is None:
                shard.groups.pop(record.group, None)
            else:
                shard.groups[record.group] = restore_group(record)
        for group_id in shard.offsets.by_group:  # groups of simple consumers
            shard.groups.setdefault(group_id, Group(group_id))
        return shard

    def settle(self, now: int, high_watermark: int) -> None:
        """Applies the writes that the high watermark has passed, and answers for them."""
        while self.writes and self.writes[0].end <= high_watermark:
            write = self.writes.popleft()
            for record in write.records:
                if isinstance(record, OffsetRecord):
                    self.offsets.apply(record)
            write.finish(now, Errors.NONE)

    def written(self, group_id: str) -> dict[tuple[str, int], CommittedOffset]:
        """The group's offsets as they will be once all writes on their way are replicated.

        What is removed is removed from these; what is shown are the replicated ones.
        """
        offsets = dict(self.offsets.of(group_id))
        for write in self.writes:
            for record in write.records:
                if not isinstance(record, OffsetRecord) or record.group != group_id:
                    continue
                if record.committed is None:
                    offsets.pop((record.topic, record.partition), None)
                else:
                    offsets[record.topic, record.partition] = record.committed
        return offsets

    def snapshot(self, coordinator: int) -> dict[str, Any]:
        """The groups by id, as plain data."""
        return {
            group.id: _snapshot(group, coordinator, self.offsets) for group in self.groups.values()
        }


def _stored_records(log: Any) -> Iterator[GroupRecord | OffsetRecord]:
    """The log from its start to its end, without the kinds we do not know."""
    position = log.log_start_offset
    while position < log.log_end_offset:
        chunk = log.read(position, _LOAD_BYTES)
        if not chunk:
            return
        for header, start in batch.iterate(chunk):
            position = header.next_offset
            if header.is_control:
                continue
            for each in batch.decode(chunk, start):
                record = decode_record(each.key, each.value)
                if record is not None:
                    yield record


def _snapshot(group: Group, coordinator: int, offsets: Offsets) -> dict[str, Any]:
    by_topic: dict[str, dict[int, int]] = {}
    for (topic, partition), committed in sorted(offsets.of(group.id).items()):
        by_topic.setdefault(topic, {})[partition] = committed.offset
    return {
        "state": str(group.state),
        "generation": group.generation,
        "coordinator": coordinator,
        "protocol_type": group.protocol_type,
        "protocol": group.protocol,
        "leader": group.leader,
        "members": [
            {
                "id": each.id,
                "instance_id": each.instance_id,
                "client_id": each.client_id,
                "host": each.client_host,
                "session_ends_at": each.session_ends_at,
                "assignment": consumer_protocol.assigned_partitions(each.assignment),
            }
            for each in group.members.values()
        ],
        "offsets": by_topic,
    }
