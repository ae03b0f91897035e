"""The group coordinator of one broker: groups in memory, their truth in a log.

A broker coordinates the groups whose partition of `__consumer_offsets` it leads.  One
such partition is a *shard*.

    on_leader    reads the partition from its start and rebuilds groups and offsets
    requests     change groups in memory; what must outlive this broker (assignments,
                 offsets, deletions) is appended to the partition
    on_appended  all in-sync replicas have it: it takes effect, and the answer goes out
    on_resign    another broker leads: forget everything, send the waiting away with
                 NOT_COORDINATOR

So an acknowledged commit survives as any acks=all record does.  Members survive too: a
successor restores the last stored generation, gives everyone a fresh session, and the
consumers' heartbeats go on as if nothing had happened.  Join phases under way are
lost; their members start over.

A write that is not replicated within `offsets.commit.timeout.ms` is answered with an
error, but it is in the log and takes effect when the high watermark passes it.

Timers are ("groups", kind, group id, member id); `expire` has a shard's index instead.

What differs: after loading, OffsetFetch says COORDINATOR_LOAD_IN_PROGRESS until the high
watermark has passed what was loaded, because until then an offset may still be lost;
Kafka answers from below the high watermark, which may lag behind what a predecessor
acknowledged.  A leader that is elected again loads again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.coordinators.classic import rebalance
from engine.coordinators.classic.group import Group, Member
from engine.coordinators.classic.rebalance import refuse_join
from engine.coordinators.classic.states import GroupEvent
from engine.coordinators.group_records import StoredRecord, encode_batch
from engine.coordinators.offsets import expire, topic_deleted
from engine.coordinators.offsets_topic import (
    OFFSETS_TOPIC,
    coordinator_of,
    creation_request,
    partition_count,
    partition_for,
)
from engine.coordinators.runtime.shard import Shard, Stored, Write
from engine.events import Token
from engine.wire import messages as m
from engine.wire.errors import Errors

if TYPE_CHECKING:
    from engine.broker.broker import Broker

_HERE = "coordinators.group_coordinator.GroupCoordinator"
_CREATION_TIMEOUT_US = 30_000_000

_APPEND_ANSWERS = {
    Errors.UNKNOWN_TOPIC_OR_PARTITION: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_ENOUGH_REPLICAS: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.REQUEST_TIMED_OUT: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_LEADER_OR_FOLLOWER: Errors.NOT_COORDINATOR,
    Errors.FENCED_LEADER_EPOCH: Errors.NOT_COORDINATOR,
    Errors.KAFKA_STORAGE_ERROR: Errors.NOT_COORDINATOR,
    Errors.MESSAGE_TOO_LARGE: Errors.UNKNOWN_SERVER_ERROR,
    Errors.RECORD_LIST_TOO_LARGE: Errors.UNKNOWN_SERVER_ERROR,
    Errors.INVALID_FETCH_SIZE: Errors.UNKNOWN_SERVER_ERROR,
}
"""What a failed append means to somebody who talks to a coordinator."""

_STILL_IN_THE_LOG = (Errors.REQUEST_TIMED_OUT, Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND)


class GroupCoordinator:
    """See the module's text; `shards` holds what this broker coordinates now."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.outbox = broker.outbox
        self.settings = broker.settings
        self.ids = broker.ids
        self.shards: dict[int, Shard] = {}
        self.last_sequence = 0
        self.creating_topic = False

    # -- who coordinates what

    def shard_of(self, group_id: str) -> tuple[Shard | None, Errors]:
        """The group's shard, or None and why not."""
        partitions = partition_count(self.broker.metadata, self.settings)
        shard = self.shards.get(partition_for(group_id, partitions))
        return shard, Errors.NOT_COORDINATOR if shard is None else Errors.NONE

    def find(self, group_id: str) -> int | None:
        """The coordinator's broker id; asks for the topic to be created if there is none."""
        if OFFSETS_TOPIC not in self.broker.metadata.topic_ids and not self.creating_topic:
            self.creating_topic = True
            self.outbox.send(
                self.broker.controller_id,
                ("groups-create",),
                creation_request(self.settings),
                _CREATION_TIMEOUT_US,
            )
        return coordinator_of(self.broker.metadata, group_id)

    def on_response(self, now: int, token: Token, body: Any) -> None:
        """The controller answered CreateTopics, or was lost; the next client asks again."""
        self.creating_topic = False
        for topic in () if body is None else body.topics:
            if topic.error_code not in (Errors.NONE, Errors.TOPIC_ALREADY_EXISTS):
                why = topic.error_message or Errors(topic.error_code).name
                self.outbox.trace(f"{_HERE}.on_response", "not-created", OFFSETS_TOPIC, why)

    # -- leadership of a shard

    def on_leader(self, now: int, partition_index: int) -> None:
        """This broker leads the partition now."""
        partition = self.broker.replicas.partition(OFFSETS_TOPIC, partition_index)
        if partition is None or partition_index in self.shards:
            return
        shard = Shard.load(partition_index, partition.log)
        self.shards[partition_index] = shard
        self.outbox.trace(
            f"{_HERE}.on_leader", "groups-loaded", f"{OFFSETS_TOPIC}-{partition_index}",
            groups=len(shard.groups), end=shard.loaded_end,
        )  # fmt: skip
        for group in shard.groups.values():
            for member in group.members.values():
                self.heard_from(now, group, member)
            if len(group.members) > self.settings["group.max.size"]:
                rebalance.prepare(self, now, shard, group, "more members than group.max.size")
        self._schedule_expiry(now, shard)

    def on_resign(self, now: int, partition_index: int) -> None:
        """Another broker leads the partition, or it is gone."""
        shard = self.shards.pop(partition_index, None)
        if shard is None:
            return
        for group in shard.groups.values():
            group.moves(now, GroupEvent.UNLOADED)
            self.trace(f"{_HERE}.on_resign", group, "its coordinator moved")
            for member in group.members.values():
                joining = group.take_join(member)
                if joining is not None:
                    refuse_join(self, joining, Errors.NOT_COORDINATOR, member.id)
                syncing, member.syncing = member.syncing, None
                if syncing is not None:
                    answer = m.SyncGroupResponse(error_code=Errors.NOT_COORDINATOR)
                    self.outbox.reply(syncing, answer)
                self.outbox.cancel_timer(self.timer("session", group.id, member.id))
            for member_id in group.pending_members:
                self.outbox.cancel_timer(self.timer("session", group.id, member_id))
            self.outbox.cancel_timer(self.timer("join", group.id))
            self.outbox.cancel_timer(self.timer("sync", group.id))
        self.outbox.cancel_timer(("groups", "expire", shard.index, ""))
        while shard.writes:
            shard.writes.popleft().finish(now, Errors.NOT_COORDINATOR)

    def on_topic_deleted(self, now: int, topic: str) -> None:
        """Offsets of a deleted topic go with it."""
        for shard in list(self.shards.values()):
            topic_deleted(self, now, shard, topic)

    # -- writing, and knowing what is written

    def store(
        self, now: int, shard: Shard, records: list[StoredRecord], then: Stored | None = None
    ) -> Errors:
        """Appends `records`; `then` hears once, now or later, how it ended.

        With no records `then` still waits for what is on its way, because the decision that
        there is nothing to write rests on it.
        """
        waiting = [] if then is None else [then]
        if not records:
            if shard.writes and not shard.writes[-1].late:
                shard.writes[-1].waiting.extend(waiting)
            elif then is not None:
                late = bool(shard.writes)
                then.stored(now, Errors.COORDINATOR_NOT_AVAILABLE if late else Errors.NONE)
            return Errors.NONE
        partition = self.broker.replicas.partition(OFFSETS_TOPIC, shard.index)
        self.last_sequence += 1
        end = 0 if partition is None else partition.log.log_end_offset + len(records)
        write = Write(self.last_sequence, end, records, waiting)
        if partition is None:
            write.finish(now, Errors.NOT_COORDINATOR)
            return Errors.NOT_COORDINATOR
        shard.writes.append(write)
        data = encode_batch(records, now // 1000, self.settings["offsets.topic.compression.codec"])
        token = ("groups", shard.index, write.sequence)
        error = self.broker.replicas.append(now, OFFSETS_TOPIC, shard.index, data, token)
        if error is not Errors.NONE:
            shard.writes.remove(write)
            error = _APPEND_ANSWERS.get(error, error)
            write.finish(now, error)
        return error

    def on_appended(self, now: int, token: Token, error: Errors, offset: int) -> None:
        """A write is replicated, and with it all before it; or time was up, or it failed."""
        _, index, sequence = token
        shard = self.shards.get(index)
        if shard is None:
            return
        if error is Errors.NONE:
            self.settle(now, shard)
            return
        for write in shard.writes:
            if write.sequence == sequence:
                write.late = error in _STILL_IN_THE_LOG
                if not write.late:
                    shard.writes.remove(write)
                write.finish(now, _APPEND_ANSWERS.get(error, error))
                return

    def settle(self, now: int, shard: Shard) -> bool:
        """Applies what is replicated; False while offsets that were loaded may be lost."""
        partition = self.broker.replicas.partition(OFFSETS_TOPIC, shard.index)
        if partition is None:
            return False
        shard.settle(now, partition.high_watermark)
        return partition.high_watermark >= shard.loaded_end

    # -- time

    @staticmethod
    def timer(kind: str, group_id: str, member_id: str = "") -> Token:
        return ("groups", kind, group_id, member_id)

    def heard_from(
        self, now: int, group: Group, member: Member, timeout_ms: int | None = None
    ) -> None:
        """The member's session starts anew; its timer is only touched if it is too late."""
        wait_ms = member.session_timeout_ms if timeout_ms is None else timeout_ms
        member.session_ends_at = now + wait_ms * 1000
        if not member.timer_at or member.session_ends_at < member.timer_at:
            self.watch(group, member)

    def watch(self, group: Group, member: Member) -> None:
        """Sets the member's timer to the end of its session."""
        member.timer_at = member.session_ends_at
        self.outbox.set_timer(self.timer("session", group.id, member.id), member.timer_at)

    def on_timer(self, now: int, token: Token) -> None:
        _, kind, subject, member_id = token
        if kind == "expire":
            shard = self.shards.get(subject)
            if shard is not None:
                self.settle(now, shard)
                expire(self, now, shard)
                self._schedule_expiry(now, shard)
            return
        shard, _ = self.shard_of(subject)
        group = None if shard is None else shard.groups.get(subject)
        if shard is None or group is None:
            return
        if kind == "session":
            rebalance.session_over(self, now, shard, group, member_id)
        elif kind == "join":
            rebalance.join_phase_over(self, now, shard, group)
        elif kind == "sync":
            rebalance.sync_phase_over(self, now, shard, group)

    def _schedule_expiry(self, now: int, shard: Shard) -> None:
        interval_us = self.settings["offsets.retention.check.interval.ms"] * 1000
        self.outbox.set_timer(("groups", "expire", shard.index, ""), now + interval_us)

    # -- showing

    def trace(self, rule: str, group: Group, why: str) -> None:
        self.outbox.trace(
            rule, "group", "", why,
            group=group.id, state=str(group.state), generation=group.generation,
        )  # fmt: skip

    def snapshot(self) -> dict[str, Any]:
        """The groups coordinated here, by id, as plain data."""
        groups: dict[str, Any] = {}
        for _, shard in sorted(self.shards.items()):
            groups.update(shard.snapshot(self.broker.node_id))
        return groups
