"""The groups and offsets of one partition of `__consumer_offsets`, as a state machine.

    log       g1: generation 4 | g1/orders-0 at 17 | g1/orders-0 at 23 | g2: deleted | ...
    classic   the groups of the classic protocol: what the last group record of each id
              says, plus what is not stored, such as which answers wait
    consumer  the groups of the consumer protocol; an id is in one of the two
    offsets   the last *replicated* offset of each (group, topic, partition), and the pending
              ones of open transactions

A classic group changes in memory first and is written afterwards.  Its record, once replicated,
adds nothing to what memory has; it is for the next coordinator.  A group of the consumer
protocol changes when the log accepts its records.  An offset changes when its record is
replicated.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.coordinators.classic import failover
from engine.coordinators.classic.group import Group
from engine.coordinators.classic.groups import ClassicGroups
from engine.coordinators.classic.stored_group import GroupRecord
from engine.coordinators.consumer import failover as consumer_failover
from engine.coordinators.consumer.group import ConsumerGroup
from engine.coordinators.consumer.groups import ConsumerGroups
from engine.coordinators.consumer.shown import shown
from engine.coordinators.consumer.stored_group import ConsumerRecord
from engine.coordinators.group_records import StoredRecord
from engine.coordinators.offsets import (
    Line,
    OffsetRecord,
    Offsets,
    PendingOffset,
    TransactionEnd,
)
from engine.coordinators.runtime.shard import Shard
from engine.wire import consumer_protocol


@dataclass(frozen=True, slots=True)
class ExpiryTimer:
    """The offsets of a partition of `__consumer_offsets` are to be looked through."""

    partition: int


class GroupShard:
    """The state machine behind `log`; a room per group protocol, one set of offsets."""

    def __init__(self, log: Shard[StoredRecord, GroupShard]) -> None:
        self.log = log
        self.outbox = log.host.outbox
        self.settings = log.host.settings
        self.classic = ClassicGroups(log.host, log)
        self.consumer = ConsumerGroups(log.host, log, self.classic)
        self.offsets = Offsets()

    def group(self, group_id: str) -> Group | ConsumerGroup | None:
        """A group of either protocol."""
        return self.classic.by_id.get(group_id) or self.consumer.by_id.get(group_id)

    def groups(self) -> list[Group | ConsumerGroup]:
        """All groups, those of the classic protocol first."""
        return [*self.classic.by_id.values(), *self.consumer.by_id.values()]

    # -- what the runtime asks of a state machine

    def replay(self, record: StoredRecord) -> None:
        match record:
            case OffsetRecord() | PendingOffset() | TransactionEnd():
                self.offsets.apply(record)
            case GroupRecord():
                self.classic.replay(record)
            case ConsumerRecord():
                self.consumer.replay(record)

    def replicated(self, record: StoredRecord) -> None:
        if isinstance(record, Line):
            self.offsets.apply(record)

    def loaded(self, now: int) -> None:
        for group_id in self.offsets.groups:  # groups of simple consumers
            if group_id not in self.consumer.by_id:
                self.classic.by_id.setdefault(group_id, Group(group_id))
        self.outbox.trace(
            "coordinators.group_shard.GroupShard.loaded", "groups-loaded", self.log.name,
            groups=len(self.groups()), end=self.log.loaded_end,
        )  # fmt: skip
        failover.loaded(self.classic, now)
        consumer_failover.loaded(self.consumer, now)
        self.schedule_expiry(now)

    def unloaded(self, now: int) -> None:
        failover.unloaded(self.classic, now)
        consumer_failover.unloaded(self.consumer)
        self.outbox.cancel_timer(ExpiryTimer(self.log.index))

    # -- offsets

    def written(self, group_id: str) -> Offsets:
        """The group's offsets with those on their way: what a removal starts from."""
        return self.offsets.written(group_id, self.log.on_their_way())

    def schedule_expiry(self, now: int) -> None:
        interval_us = self.settings["offsets.retention.check.interval.ms"] * 1000
        self.outbox.set_timer(ExpiryTimer(self.log.index), now + interval_us)

    # -- showing

    def snapshot(self) -> dict[str, dict[str, object]]:
        """The groups by id, as plain data."""
        return {
            group.id: {
                "type": "classic" if isinstance(group, Group) else "consumer",
                "state": str(group.state),
                "coordinator": self.log.host.node_id,
                **(_shown(group) if isinstance(group, Group) else shown(self.consumer, group)),
                "offsets": self._offsets(group.id),
            }
            for group in self.groups()
        }

    def _offsets(self, group_id: str) -> dict[str, dict[int, int]]:
        by_topic: dict[str, dict[int, int]] = {}
        for (topic, partition), committed in sorted(self.offsets.of(group_id).items()):
            by_topic.setdefault(topic, {})[partition] = committed.offset
        return by_topic


def _shown(group: Group) -> dict[str, object]:
    return {
        "generation": group.generation,
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
                "state": group.waits_for(each),
                "owns": consumer_protocol.assigned_partitions(each.assignment) or {},
            }
            for each in group.members.values()
        ],
    }
