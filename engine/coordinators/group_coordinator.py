"""The group coordinator of one broker: groups in memory, their truth in a log.

A broker coordinates the groups whose partition of `__consumer_offsets` it leads.  One
such partition is a *shard*.

    on_leader    reads the partition from its start and rebuilds groups and offsets
    requests     change groups in memory; what must outlive this broker (assignments,
                 offsets, deletions) is appended to the partition
    replicated   all in-sync replicas have it: it takes effect, and the answer goes out
    on_resign    another broker leads: forget everything, send the waiting away with
                 NOT_COORDINATOR

So an acknowledged commit survives as any acks=all record does.  Members survive too: a
successor restores the last stored generation, gives everyone a fresh session, and the
consumers' heartbeats go on as if nothing had happened.  Join phases under way are
lost; their members start over.

A write that is not replicated within `offsets.commit.timeout.ms` is answered with an
error, but it is in the log and takes effect when the high watermark passes it.

Simplified: after loading, OffsetFetch says COORDINATOR_LOAD_IN_PROGRESS until the high
watermark has passed what was loaded, because until then an offset may still be lost.
Kafka answers from below the high watermark, which may lag behind what a predecessor
acknowledged.

A leader that is elected again loads again.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.coordinators.classic import rebalance
from engine.coordinators.classic.groups import GroupTimer
from engine.coordinators.consumer import leave
from engine.coordinators.consumer.groups import MemberTimer
from engine.coordinators.group_records import OFFSETS_LOG, StoredRecord
from engine.coordinators.group_shard import ExpiryTimer, GroupShard
from engine.coordinators.offsets_topic import (
    OFFSETS_TOPIC,
    coordinator_of,
    creation_request,
    partition_count,
    partition_for,
)
from engine.coordinators.removal import expire, topic_deleted
from engine.coordinators.runtime.host import Host
from engine.coordinators.runtime.runtime import Runtime
from engine.events import Answered, Stored
from engine.wire import messages as m
from engine.wire.errors import Errors

_HERE = "coordinators.group_coordinator.GroupCoordinator"
_CREATION_TIMEOUT_US = 30_000_000


@dataclass(frozen=True, slots=True)
class OffsetsTopicCreation:
    """The controller was asked to create `__consumer_offsets`."""


class GroupCoordinator:
    """The groups that this broker coordinates now."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.outbox = host.outbox
        self.runtime: Runtime[StoredRecord, GroupShard] = Runtime(host, OFFSETS_LOG, GroupShard)
        self.creating_topic = False

    # -- who coordinates what

    @property
    def shards(self) -> list[GroupShard]:
        """What is coordinated here, in the order of the topic's partitions."""
        return self.runtime.states()

    def shard_of(self, group_id: str) -> tuple[GroupShard | None, Errors]:
        """The group's shard, or None and why not."""
        partitions = partition_count(self.host.metadata, self.host.settings)
        shard = self.runtime.shards.get(partition_for(group_id, partitions))
        return (None, Errors.NOT_COORDINATOR) if shard is None else (shard.state, Errors.NONE)

    def find(self, group_id: str) -> int | None:
        """The coordinator's broker id; asks for the topic to be created if there is none."""
        if OFFSETS_TOPIC not in self.host.metadata.topic_ids and not self.creating_topic:
            self.creating_topic = True
            self.outbox.send(
                self.host.controller.id,
                OffsetsTopicCreation(),
                creation_request(self.host.settings),
                _CREATION_TIMEOUT_US,
            )
        return coordinator_of(self.host.metadata, group_id)

    def topic_creation_answered(self, body: Answered) -> None:
        """The controller answered CreateTopics, or was lost; the next client asks again."""
        self.creating_topic = False
        for topic in body.topics if isinstance(body, m.CreateTopicsResponse) else ():
            if topic.error_code not in (Errors.NONE, Errors.TOPIC_ALREADY_EXISTS):
                why = topic.error_message or Errors(topic.error_code).name
                rule = f"{_HERE}.topic_creation_answered"
                self.outbox.trace(rule, "not-created", OFFSETS_TOPIC, why)

    # -- what changes around it

    def on_leader(self, now: int, partition_index: int) -> None:
        """This broker leads the partition now."""
        self.runtime.on_leader(now, partition_index)

    def on_resign(self, now: int, partition_index: int) -> None:
        """Another broker leads the partition, or it is gone."""
        self.runtime.on_resign(now, partition_index)

    def on_topic_deleted(self, now: int, topic: str) -> None:
        """Offsets of a deleted topic go with it."""
        for shard in list(self.runtime.shards.values()):
            topic_deleted(shard.state, now, topic)

    def end_transaction(
        self,
        now: int,
        index: int,
        marker: bytes,
        producer_id: int,
        committed: bool,
        bumps: bool,
        then: Stored,
    ) -> None:
        """A transaction that committed offsets here has ended; `then` hears that it is stored."""
        shard = self.runtime.shards.get(index)
        if shard is None:
            then.stored(now, Errors.NOT_COORDINATOR)
        else:
            shard.end_transaction(now, marker, producer_id, committed, bumps, then)

    def on_timer(self, now: int, timer: GroupTimer | MemberTimer | ExpiryTimer) -> None:
        """A timer of one of the shards, or of a group, fired."""
        if isinstance(timer, ExpiryTimer):
            self._look_for_expired(now, timer.partition)
            return
        shard, _ = self.shard_of(timer.group)
        if shard is None:
            return
        if isinstance(timer, MemberTimer):
            leave.on_timer(shard.consumer, now, timer)
        else:
            rebalance.on_timer(shard.classic, now, timer)

    def _look_for_expired(self, now: int, partition_index: int) -> None:
        shard = self.runtime.shards.get(partition_index)
        if shard is not None:
            shard.settle(now)
            expire(shard.state, now)
            shard.state.schedule_expiry(now)

    # -- showing

    def snapshot(self) -> dict[str, dict[str, object]]:
        """The groups coordinated here, by id, as plain data."""
        groups: dict[str, dict[str, object]] = {}
        for shard in self.shards:
            groups.update(shard.snapshot())
        return groups
