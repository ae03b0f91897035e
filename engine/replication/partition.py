"""One replica of one partition, as leader or as follower.

    offset      0    1    2    3    4    5
    leader      A    B    C    D    E         log end offset 5
    follower    A    B    C    D              log end offset 4 (as of its last fetch)
                          committed ^ high watermark = min over the in-sync replicas

The leader appends, followers copy.  A record is *committed* once every in-sync replica
has it; the high watermark is the first offset that is not.  Consumers see what is below
it, and acks=all is answered when it passes the batch.

Rules worth knowing, all in `advance_high_watermark`:
* it waits for the maximal ISR (KIP-497) and for a follower that is about to rejoin
* it stands still while the ISR is below min.insync.replicas (KIP-966), so what is
  committed was always held by that many replicas
* it never goes back while the leader stays

Below the high watermark is the last stable offset: a consumer with read_committed stops before
the oldest transaction whose end is open, or not replicated (KIP-98).

A new leader starts a new epoch at its log end, and knows nothing about its followers
until they fetch.  Simplified: one log directory, no reassignment yet.
"""

from __future__ import annotations

from typing import Protocol

from engine.events import Outbox
from engine.metadata.image import MetadataImage, PartitionImage
from engine.replication.follower_state import FollowerState
from engine.replication.in_sync import InSyncReplicas
from engine.storage.log import AppendInfo, Log
from engine.storage.log_validator import Origin
from engine.storage.producer_states import ProducerState
from engine.storage.remote.remote_log import RemoteLog
from engine.wire.errors import Errors, KafkaError

NO_LEADER = NO_EPOCH = -1
_HERE = "replication.partition.Partition"


class IsrProposals(Protocol):
    """Takes ISR changes to the controller."""

    def propose(self, now: int, partition: Partition) -> None: ...


class Readers(Protocol):
    """All that fetch the partition: sessions here, or our own fetcher."""

    def look_again(self, partition: Partition) -> None:
        """Its log, high watermark, ISR or role moved."""


class Partition:
    """A replica on broker `node_id`; `key` is (topic, index)."""

    def __init__(
        self,
        node_id: int,
        topic: str,
        topic_id: bytes,
        index: int,
        log: Log,
        high_watermark: int,
        outbox: Outbox,
        metadata: MetadataImage,
        proposals: IsrProposals,
        readers: Readers,
    ) -> None:
        self.node_id = node_id
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.key = (topic, index)
        self.name = f"{topic}-{index}"
        self.log = log
        self.outbox = outbox
        self.metadata = metadata
        self.proposals = proposals
        self.readers = readers
        self.high_watermark = max(log.log_start_offset, min(high_watermark, log.log_end_offset))
        self.remote: RemoteLog | None = None
        self.leader_id = NO_LEADER
        self.leader_epoch = -1
        self.epoch_start_offset: int | None = None
        self.replicas: tuple[int, ...] = ()
        self.isr = InSyncReplicas()
        self.followers: dict[int, FollowerState] = {}
        self.min_in_sync_setting = 1
        self.max_lag_us = 30_000_000

    # -- what others read

    @property
    def is_leader(self) -> bool:
        return self.leader_id == self.node_id

    @property
    def in_sync_replicas(self) -> tuple[int, ...]:
        return self.isr.committed

    @property
    def min_in_sync_replicas(self) -> int:
        """min.insync.replicas, but never more than there are replicas."""
        return min(self.min_in_sync_setting, max(1, len(self.replicas)))

    @property
    def is_under_min_isr(self) -> bool:
        return len(self.isr.committed) < self.min_in_sync_replicas

    @property
    def last_stable_offset(self) -> int:
        return self.log.last_stable_offset(self.high_watermark)

    def has_in_sync(self, broker_id: int) -> bool:
        return broker_id in self.followers and broker_id in self.isr.committed

    def check_leader_epoch(self, requested: int) -> Errors:
        """Fences a request that speaks of another epoch than ours (KIP-320); -1 is no claim."""
        if requested in (NO_EPOCH, self.leader_epoch):
            return Errors.NONE
        if requested < self.leader_epoch:
            return Errors.FENCED_LEADER_EPOCH
        return Errors.UNKNOWN_LEADER_EPOCH

    # -- roles

    def update(self, now: int, image: PartitionImage) -> bool:
        """Takes over what the metadata log says; True if the role or the epoch changed."""
        self.readers.look_again(self)
        self.replicas = tuple(image.replicas)
        new_epoch = image.leader_epoch > self.leader_epoch
        if new_epoch:
            self.leader_epoch = image.leader_epoch
            self.leader_id = image.leader
            self._trace("update", "leader", leader=image.leader, epoch=image.leader_epoch)
        isr_changed = self._confirm_isr(tuple(image.isr), image.partition_epoch, "update")
        if not new_epoch:
            if isr_changed and self.is_leader:
                self.advance_high_watermark(now)
            return False
        if self.is_leader:
            self._lead(now)
        else:
            self.followers = {}
            self.epoch_start_offset = None
        return True

    def _confirm_isr(self, isr: tuple[int, ...], partition_epoch: int, heard_by: str) -> bool:
        before = self.isr.committed
        if not self.isr.confirm(isr, partition_epoch):
            return False
        if self.isr.committed != before:
            self._trace(heard_by, "isr", isr=list(self.isr.committed))
        return True

    def _lead(self, now: int) -> None:
        """Opens the new epoch at the log's end; the followers' progress is unknown."""
        self.epoch_start_offset = self.log.log_end_offset
        self.log.epochs.assign(self.leader_epoch, self.epoch_start_offset)
        self._trace(
            "update", "leader_epoch", epoch=self.leader_epoch, start=self.epoch_start_offset
        )
        self.followers = {}
        for broker_id in self.replicas:
            if broker_id != self.node_id:
                follower = self.followers[broker_id] = FollowerState(broker_id)
                follower.reset(now, self.log.log_end_offset, broker_id in self.isr.committed)
        self.advance_high_watermark(now)

    # -- the leader's work

    def append_as_leader(
        self,
        now: int,
        records: bytes,
        acks: int,
        origin: Origin = "client",
        guard: int | None = None,
        marker_bumps: bool = False,
    ) -> AppendInfo:
        """Appends a batch.  Raises KafkaError with the code for the client; see `Log`."""
        if not self.is_leader:
            raise KafkaError(Errors.NOT_LEADER_OR_FOLLOWER, f"{self.name} is led elsewhere")
        if acks == -1 and self.is_under_min_isr:
            raise KafkaError(
                Errors.NOT_ENOUGH_REPLICAS,
                f"{self.name} has {len(self.isr.committed)} in-sync replicas, "
                f"min.insync.replicas asks for {self.min_in_sync_replicas}",
            )
        info = self.log.append_as_leader(
            records, self.leader_epoch, now, origin, guard, marker_bumps
        )
        if not info.duplicate:
            self.readers.look_again(self)
            for follower in self.followers.values():
                follower.wake()
            self._trace("append_as_leader", "append", base=info.base_offset,
                        last=info.last_offset, epoch=self.leader_epoch)  # fmt: skip
            self.advance_high_watermark(now)
        return info

    def follower_fetched(
        self, now: int, broker_id: int, offset: int, log_start_offset: int, broker_epoch: int
    ) -> bool:
        """Notes a follower's progress; True if the high watermark moved.

        A fetch from before the follower's last restart says nothing about it (KIP-903).
        """
        follower = self.followers.get(broker_id)
        if follower is None:
            return False
        broker = self.metadata.brokers.get(broker_id)
        if broker is not None and not broker.fenced and 0 <= broker_epoch < broker.epoch:
            raise KafkaError(
                Errors.NOT_LEADER_OR_FOLLOWER, "a fetch of an earlier incarnation of the follower"
            )
        before = follower.log_end_offset
        follower.fetched(now, offset, log_start_offset, self.log.log_end_offset, broker_epoch)
        self._expand_isr(now, follower)
        return before != offset and self.advance_high_watermark(now)

    def advance_high_watermark(self, now: int) -> bool:
        """Moves the high watermark to what every replica that counts has; True if it moved."""
        if not self.is_leader or self.is_under_min_isr:
            return False
        end = self.log.log_end_offset
        committed = end
        for follower in self.followers.values():
            if follower.log_end_offset < committed and (
                follower.broker_id in self.isr.maximal or self._is_rejoining(now, follower, end)
            ):
                committed = follower.log_end_offset
        if committed <= self.high_watermark:
            return False
        self._commit_up_to(committed)
        self._trace("advance_high_watermark", "high_watermark", to=committed)
        return True

    def _commit_up_to(self, offset: int) -> None:
        self.high_watermark = offset
        self.log.producers.replicated_up_to(offset)
        self.readers.look_again(self)

    def _is_rejoining(self, now: int, follower: FollowerState, end: int) -> bool:
        """Caught up and allowed in, only not confirmed yet: wait, or it would never get in."""
        return follower.is_caught_up(now, end, self.max_lag_us) and self._may_join(follower)

    def _may_join(self, follower: FollowerState) -> bool:
        return follower.may_join(self.metadata.brokers.get(follower.broker_id))

    def _expand_isr(self, now: int, follower: FollowerState) -> None:
        """Asks to add a follower that holds all committed records and this epoch's start."""
        if self.isr.in_flight or follower.broker_id in self.isr.committed:
            return
        start, end = self.epoch_start_offset, follower.log_end_offset
        in_sync = start is not None and end >= max(start, self.high_watermark)
        if in_sync and self._may_join(follower):
            self.isr.propose((*self.isr.committed, follower.broker_id))
            self.proposals.propose(now, self)

    def shrink_isr(self, now: int) -> None:
        """Asks to drop followers that have not been caught up for replica.lag.time.max.ms."""
        if not self.is_leader or self.isr.in_flight:
            return
        followers, end = self.followers, self.log.log_end_offset
        remaining = tuple(
            each
            for each in self.isr.committed
            if each not in followers or followers[each].is_caught_up(now, end, self.max_lag_us)
        )
        if remaining != self.isr.committed:
            self.isr.propose(remaining)
            self.proposals.propose(now, self)

    def isr_answered(self, now: int, isr: tuple[int, ...], partition_epoch: int) -> bool:
        """The controller confirmed a proposal; True if the high watermark moved."""
        news = self._confirm_isr(isr, partition_epoch, "isr_answered")
        return news and self.advance_high_watermark(now)

    # -- the follower's work

    def append_as_follower(self, records: bytes) -> AppendInfo:
        """Appends what the leader sent, offsets and epochs as they are."""
        known_epoch = self.log.latest_epoch
        info = self.log.append_as_follower(records)
        self.readers.look_again(self)
        self._trace("append_as_follower", "append", base=info.base_offset, last=info.last_offset,
                    epoch=self.log.latest_epoch)  # fmt: skip
        if self.log.latest_epoch != known_epoch:
            for epoch, start in self.log.epochs.entries:
                if epoch > known_epoch:
                    self._trace("append_as_follower", "leader_epoch", epoch=epoch, start=start)
        return info

    def follow_high_watermark(self, leader_high_watermark: int) -> bool:
        """Adopts the leader's high watermark as far as our own log reaches."""
        start, end = self.log.log_start_offset, self.log.log_end_offset
        committed = max(start, min(leader_high_watermark, end))
        if committed == self.high_watermark:
            return False
        self._commit_up_to(committed)
        self._trace("follow_high_watermark", "high_watermark", to=committed)
        return True

    def truncate(self, offset: int, why: str) -> None:
        """Cuts the log at `offset`; the high watermark is never beyond the log's end.

        With no record to cut there may still be an epoch to forget: a last one without records.
        """
        end = self.log.log_end_offset
        new_end = self.log.truncate_to(min(offset, end))
        self.readers.look_again(self)
        if new_end < end:
            self.high_watermark = min(self.high_watermark, new_end)
            self._trace("truncate", "truncate", why, to=new_end, was=end)

    def restart_at(self, offset: int, why: str) -> None:
        """Throws the log away and starts again at `offset`, where the leader's log starts."""
        end = self.log.log_end_offset
        self.log.truncate_fully_and_start_at(offset)
        self.high_watermark = offset
        self.readers.look_again(self)
        self._trace("restart_at", "truncate", why, to=offset, was=end)

    def restart_behind_tier(
        self, offset: int, epochs: list[tuple[int, int]], producers: dict[int, ProducerState]
    ) -> None:
        """Throws the log away and starts again at `offset`; what is below it is in the tier."""
        end = self.log.log_end_offset
        self.log.restart_behind_tier(offset, epochs, producers)
        self.high_watermark = offset
        self.readers.look_again(self)
        self._trace("restart_behind_tier", "truncate", "the leader has what is below in the tier",
                    to=offset, was=end)  # fmt: skip

    def advance_log_start(self, offset: int) -> None:
        """Forgets records below `offset` (delete records, retention, or because the leader did)."""
        if offset > self.log.log_start_offset:
            self.log.advance_log_start(min(offset, self.high_watermark))
            self.readers.look_again(self)
            self._trace("advance_log_start", "log_start", to=self.log.log_start_offset)

    def delete_old_segments(self, now: int) -> bool:
        """Deletes what retention gives up; True if the log starts elsewhere now."""
        if not self.log.delete_old_segments(now, self.high_watermark):
            return False
        self.readers.look_again(self)
        return True

    def _trace(self, method: str, kind: str, why: str = "", **fields: object) -> None:
        self.outbox.trace(f"{_HERE}.{method}", kind, self.name, why, **fields)
