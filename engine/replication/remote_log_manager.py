"""The broker's part in tiered storage (KIP-405): copies closed segments, and deletes old copies.

    every remote.log.manager.task.interval.ms, for each partition with remote.storage.enable:
        all replicas    learn what is in the tier, so that local retention may delete it here
        the leader      copies what is closed and below the last stable offset, piece by piece
                        when nothing is left to copy, applies retention to the tier

The leader writes down each step before it takes it (engine/storage/remote/segment_states.py).  A
new leader finds in the tier how far its predecessors came, by its own log's epochs, and goes on
from there.  What an old leader copied of another history is not read.

The log starts where the tier starts.  Local retention does not move the log start, remote
retention does.  A follower that fetches below its leader's local log start gets
OFFSET_MOVED_TO_TIERED_STORAGE.  It throws its log away and begins behind the tier: the records
there it does not need, but the leader epochs and the producers' states it does, and they are in
the tier beside each segment (`begin_behind_tier`).

remote.log.storage.system.enable turns all of it on.  Then the brokers of a cluster share one
folder.
Source: Kafka's RemoteLogManager, TierStateMachine.

Simplified: one copy at a time, where Kafka has remote.log.manager.copier.thread.pool.size; no
quotas.  The follower takes the leader's word for where the local log starts, and the epoch of the
record before from the tier's metadata; Kafka asks the leader for it.
Left out: remote.log.copy.disable, and turning remote.storage.enable off again.  The copies of a
topic stay in the tier if it is deleted while the leader of its partition is down.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from engine.events import Outbox
from engine.metadata.topic_names import INTERNAL
from engine.replication.partition import Partition
from engine.settings import Settings
from engine.storage.disk import Disk
from engine.storage.remote import local_tiered_storage as store
from engine.storage.remote.remote_log import RemoteLog
from engine.storage.remote.remote_retention import expired
from engine.storage.remote.segment_metadata import RemoteLogSegmentMetadata, TopicIdPartition
from engine.storage.remote.segment_states import RemoteLogSegmentState
from engine.storage.segment import Segment
from engine.wire import uuids
from engine.wire.errors import KafkaError

PIECE_PAUSE_US = 10_000
"""From one piece of a copy to the next; clients are served in between."""
Key = tuple[str, int]
_HERE = "replication.remote_log_manager.RemoteLogManager"


@dataclass(frozen=True, slots=True)
class RemoteLogTimer:
    """The next round, or the next piece of a copy."""


class RemoteLogManager:
    """Keeps the remote logs of `partitions` in `tier`, which all brokers share."""

    def __init__(
        self,
        node_id: int,
        settings: Settings,
        outbox: Outbox,
        partitions: Mapping[Key, Partition],
        tier: Disk | None,
        ids: Random,
    ) -> None:
        self.node_id = node_id
        self.settings = settings
        self.outbox = outbox
        self.partitions = partitions
        self.tier = tier if settings["remote.log.storage.system.enable"] else None
        self.ids = ids
        self.copying: tuple[Key, store.SegmentCopy] | None = None
        self.led: dict[Key, int] = {}
        """The leader epoch in which a leader has looked where its log starts in the tier."""
        self.failed: dict[Key, None] = {}
        """Partitions that are left alone until the next round."""

    # -- which partitions

    def is_enabled_for(self, topic: str) -> bool:
        return self.tier is not None and topic not in INTERNAL

    def configure(self, partition: Partition) -> None:
        """A topic's configs have changed, or the partition is new here."""
        if self.tier is None or not partition.log.config.remote_storage_enable:
            partition.remote = None
        elif partition.remote is None:
            where = TopicIdPartition(partition.topic, partition.topic_id, partition.index)
            partition.remote = RemoteLog(self.tier, where, partition.log)

    def release(self, key: Key) -> None:
        """The partition is no longer here."""
        self.led.pop(key, None)
        if self.copying is not None and self.copying[0] == key:
            self.copying = None

    def delete_all(self, now: int, partition: Partition) -> None:
        """The topic is deleted: its copies go too."""
        if partition.remote is not None and self._refresh(partition):
            self._delete(now, partition, [*partition.remote.segments.by_id.values()], "the topic")

    # -- rounds

    def start(self, now: int) -> None:
        if self.tier is not None:
            self._set_timer(now + self._interval_us)

    @property
    def _interval_us(self) -> int:
        return int(self.settings["remote.log.manager.task.interval.ms"]) * 1000

    def _set_timer(self, at: int) -> None:
        self.outbox.set_timer(RemoteLogTimer(), at)

    def on_timer(self, now: int) -> None:
        """Copies the next piece; with nothing to copy, applies retention and rests."""
        if self.copying is not None:
            self._copy_piece(now)
        else:
            self._learn()
        if self.copying is None:
            self._begin_copy(now)
        if self.copying is not None:
            self._set_timer(now + PIECE_PAUSE_US)
            return
        for partition in self._led():
            self._retain(now, partition)
        self.failed.clear()
        self._set_timer(now + self._interval_us)

    def _learn(self) -> None:
        for partition in self.partitions.values():
            self._refresh(partition)

    def _refresh(self, partition: Partition) -> bool:
        """Learns what is in the tier; False if that cannot be read."""
        try:
            if partition.remote is not None:
                partition.remote.refresh()
        except KafkaError as error:
            self._fail(partition, error.message)
            return False
        return True

    def _led(self) -> list[Partition]:
        return [
            each
            for each in self.partitions.values()
            if each.remote is not None and each.is_leader and each.key not in self.failed
        ]

    # -- copies

    def _begin_copy(self, now: int) -> None:
        for partition in self._led():
            if not self._refresh(partition):
                continue
            self._find_log_start(partition)
            found = self._next_segment(partition)
            if found is None:
                continue
            segment, end = found
            epochs = _epochs_between(partition, segment.base_offset, end)
            remote = partition.remote
            if not epochs or remote is None:
                continue
            metadata = RemoteLogSegmentMetadata(
                remote.segments.partition,
                uuids.new(self.ids),
                segment.base_offset,
                end - 1,
                segment.max_timestamp,
                segment.size,
                epochs,
                self.node_id,
                now // 1000,
                has_aborts=segment.transaction_index.size > 0,
            )
            try:
                remote.segments.add(metadata)
            except OSError as error:
                self._fail(partition, str(error))
                continue
            copy = store.copy_of(remote.tier, partition.log, segment, end, metadata)
            self.copying = (partition.key, copy)
            return

    def _next_segment(self, partition: Partition) -> tuple[Segment, int] | None:
        """The oldest closed segment that is decided and not in the tier, and its end."""
        log = partition.log
        first = max(log.highest_remote_offset + 1, log.log_start_offset)
        candidates = log.segments.from_offset(first)[:2]
        if len(candidates) < 2 or candidates[1].base_offset > partition.last_stable_offset:
            return None
        return candidates[0], candidates[1].base_offset

    def _find_log_start(self, partition: Partition) -> None:
        """A new leader's log starts where the tier does; its own checkpoint may be older."""
        remote = partition.remote
        if remote is None or self.led.get(partition.key) == partition.leader_epoch:
            return
        self.led[partition.key] = partition.leader_epoch
        oldest = [each.start_offset for each in remote.readable[:1]]
        start = min([*oldest, partition.log.local_log_start_offset])
        if start > partition.log.log_start_offset:
            partition.advance_log_start(start)

    def _copy_piece(self, now: int) -> None:
        assert self.copying is not None, "a piece of a copy under way"
        key, copy = self.copying
        partition = self.partitions.get(key)
        if partition is None or partition.remote is None or not partition.is_leader:
            self.copying = None  # the next leader copies the segment again
            return
        try:
            if not copy.step():
                return
            self.copying = None
            finished = RemoteLogSegmentState.COPY_SEGMENT_FINISHED
            partition.remote.segments.update(copy.segment, finished, self.node_id, now // 1000)
        except (OSError, ValueError) as error:
            self.copying = None
            self._fail(partition, str(error))
            self._delete(now, partition, [copy.segment], "a failed copy")
            return
        self._refresh(partition)
        self.outbox.trace(f"{_HERE}.on_timer", "copied", partition.name,
                          "the segment is closed, and all of it is decided",
                          start=copy.segment.start_offset, end=copy.segment.end_offset,
                          bytes=copy.segment.size_in_bytes,
                          id=uuids.to_text(copy.segment.id))  # fmt: skip

    def _fail(self, partition: Partition, why: str) -> None:
        self.failed[partition.key] = None
        self.outbox.trace(f"{_HERE}.on_timer", "tier-failed", partition.name, why)

    # -- retention

    def _retain(self, now: int, partition: Partition) -> None:
        remote = partition.remote
        assert remote is not None, "a partition with a remote log"
        old = expired(remote, partition.log.config, now // 1000)
        start = min(old.log_start_offset, partition.high_watermark)
        if start > partition.log.log_start_offset:
            self.outbox.trace("storage.remote.remote_retention.expired", "deleted", partition.name,
                              "retention in the tier", to=start)  # fmt: skip
            partition.advance_log_start(start)
        self._delete(now, partition, old.segments, "retention")

    def _delete(
        self, now: int, partition: Partition, segments: list[RemoteLogSegmentMetadata], why: str
    ) -> None:
        remote = partition.remote
        assert remote is not None, "a partition with a remote log"
        states = RemoteLogSegmentState
        for each in segments:
            try:
                going = remote.segments.update(
                    each, states.DELETE_SEGMENT_STARTED, self.node_id, now // 1000
                )
                store.delete_segment(remote.tier, going)
                remote.segments.update(
                    going, states.DELETE_SEGMENT_FINISHED, self.node_id, now // 1000
                )
            except (OSError, ValueError) as error:
                self._fail(partition, str(error))
                return
            self.outbox.trace(f"{_HERE}.on_timer", "deleted-in-tier", partition.name, why,
                              start=each.start_offset, end=each.end_offset)  # fmt: skip


def _epochs_between(partition: Partition, start: int, end: int) -> tuple[tuple[int, int], ...]:
    """The epochs of a range of offsets, each with its first offset there."""
    entries = partition.log.epochs.entries
    ends = [begin for _, begin in entries[1:]] + [end]
    return tuple(
        (epoch, max(begin, start))
        for (epoch, begin), until in zip(entries, ends, strict=True)
        if begin < end and until > start
    )


def begin_behind_tier(
    outbox: Outbox, partition: Partition, local_start: int, local_epoch: int
) -> bool:
    """A follower's log starts again behind the segment with the record before `local_start`.

    `local_start` is the leader's local log start, and `local_epoch` its epoch there.  False if the
    tier does not have that segment, or cannot be read: the follower asks again later.
    """
    remote = partition.remote
    if remote is None:
        return False
    try:
        remote.refresh()
        held = [
            each
            for each in remote.segments.readable
            if each.start_offset < local_start <= each.end_offset + 1
            and any(each.holds(epoch, local_start - 1) for epoch in range(local_epoch + 1))
        ]
        if not held:
            return False
        last = held[-1]
        epochs = store.epochs_of(remote.tier, last)
        producers = store.producers_of(remote.tier, last)
    except (OSError, KafkaError) as error:
        rule = "replication.remote_log_manager.begin_behind_tier"
        outbox.trace(rule, "tier-failed", partition.name, str(error))
        return False
    partition.restart_behind_tier(last.end_offset + 1, epochs, producers)
    remote.refresh()
    return True
