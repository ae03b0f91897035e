"""Tests of the checks: rules of the engine, broken one at a time.

Each mutant replaces a function by one that breaks a rule of the engine.  A campaign
must catch every one of them and name the invariant: if no mutant fails a check, the check
has never been seen to work.  `caught_by` lists how the violation may start.  The
shortest run known to catch each is kept with the tests (engine/sim/campaign/pinned.py).

    with MUTANTS["answer-too-early"].in_force():
        outcome = play(draw(0))

A broken function is given the original as its first argument.  The rules of groups are in
group_mutants.py, those of transactions and the cleaner in transaction_mutants.py, those of the
controllers in quorum_mutants.py.
"""

from __future__ import annotations

from dataclasses import replace

from engine.api import delete_records, list_offsets
from engine.broker.broker import Broker
from engine.client.idempotence import Idempotence
from engine.client.producer_batch import ProducerBatch
from engine.client.verdicts import Verdicts
from engine.control import partition_changes
from engine.control.partition_changes import Rules
from engine.metadata.image import PartitionImage
from engine.records.batch import BatchHeader
from engine.replication import fetcher, reading
from engine.replication.delayed_append import PendingAppend
from engine.replication.follower_session import Following
from engine.replication.follower_state import FollowerState
from engine.replication.hosted import HostedPartitions
from engine.replication.in_sync import InSyncReplicas
from engine.replication.partition import Partition
from engine.replication.truncation import Cut
from engine.sim.campaign.deletion_mutants import DELETION_MUTANTS
from engine.sim.campaign.group_mutants import GROUP_MUTANTS
from engine.sim.campaign.mutant import IN_FORCE, Mutant, Original, Patch
from engine.sim.campaign.quorum_mutants import QUORUM_MUTANTS
from engine.sim.campaign.transaction_mutants import TRANSACTION_MUTANTS
from engine.storage.log import Log
from engine.storage.producer_states import ProducerStates
from engine.wire.errors import Errors
from engine.wire.structures import Message

Replicas = tuple[int, ...]
__all__ = ["IN_FORCE", "MUTANTS", "Mutant", "Patch"]


# -- who leads


def _no_epoch_bump(original: Original, self: PartitionImage, record: Message) -> PartitionImage:
    merged: PartitionImage = original(self, record)
    return replace(merged, leader_epoch=self.leader_epoch)


def _role_without_epoch(
    original: Original, self: Partition, now: int, image: PartitionImage
) -> bool:
    if image.leader != self.leader_id and image.leader_epoch == self.leader_epoch:
        self.leader_epoch -= 1
    return bool(original(self, now, image))


def _old_epoch(
    original: Original, self: Log, buffer: bytes, leader_epoch: int, *rest: object
) -> object:
    return original(self, buffer, max(0, leader_epoch - 1), *rest)


def _elect_anyone(
    original: Original,
    partition: PartitionImage,
    isr: Replicas,
    elr: Replicas,
    rules: Rules,
    how: partition_changes.Election,
) -> object:
    if not rules.usable(partition.leader):
        for replica in reversed(partition.replicas):
            if rules.usable(replica):
                return replica, "clean"
    return original(partition, isr, elr, rules, how)


def _all_eligible(
    original: Original, partition: PartitionImage, isr: Replicas, restart: int | None, rules: Rules
) -> object:
    eligible = original(partition, isr, restart, rules)
    return tuple(r for r in partition.replicas if r not in isr) if eligible else eligible


def _restart_forgotten(
    original: Original, partition: PartitionImage, isr: Replicas, restart: int | None, rules: Rules
) -> object:
    return original(partition, isr, None, rules)


# -- what is committed


def _any_follower(original: Original, self: Partition, now: int) -> bool:
    ends = [follower.log_end_offset for follower in self.followers.values()]
    committed = min(max(ends, default=0), self.log.log_end_offset)
    if not self.is_leader or self.is_under_min_isr or committed <= self.high_watermark:
        return False
    self.high_watermark = committed
    self._trace("advance_high_watermark", "high_watermark", to=committed)
    return True


def _committed_only(original: Original, self: Partition, now: int) -> bool:
    ends = [f.log_end_offset for b, f in self.followers.items() if b in self.isr.committed]
    committed = min([*ends, self.log.log_end_offset])
    if not self.is_leader or self.is_under_min_isr or committed <= self.high_watermark:
        return False
    self.high_watermark = committed
    self._trace("advance_high_watermark", "high_watermark", to=committed)
    return True


def _sent_is_held(
    original: Original, self: FollowerState, now: int, offset: int, start: int, end: int, epoch: int
) -> None:
    original(self, now, offset, start, end, epoch)
    self.log_end_offset = end


def _falls_back(original: Original, self: Partition, now: int) -> bool:
    moved = original(self, now)
    ends = [f.log_end_offset for f in self.followers.values() if f.log_end_offset >= 0]
    if self.is_leader and ends and min(ends) < self.high_watermark:
        self.high_watermark = min(ends)
        self._trace("advance_high_watermark", "high_watermark", to=self.high_watermark)
    return bool(moved)


def _never_under(original: Original, self: Partition) -> bool:
    return False


def _at_once(original: Original, self: PendingAppend, hosted: HostedPartitions) -> bool:
    partition = hosted.partitions.get(self.key)
    if partition is not None and partition.is_leader:
        self.error, self.done = Errors.NONE, True
    return bool(original(self, hosted))


def _log_end(original: Original, self: reading.FetchTerms, partition: Partition) -> int:
    return partition.log.log_end_offset


def _always_available(original: Original, partition: Partition, *rest: object) -> object:
    start, partition.epoch_start_offset = partition.epoch_start_offset, None
    try:
        return original(partition, *rest)
    finally:
        partition.epoch_start_offset = start


# -- who is in sync


def _any_fetcher(original: Original, self: Partition, now: int, follower: FollowerState) -> None:
    known = follower.broker_id in self.isr.committed
    if not self.isr.in_flight and not known and self._may_join(follower):
        self.isr.propose((*self.isr.committed, follower.broker_id))
        self.proposals.propose(now, self)


def _believe_proposal(original: Original, self: InSyncReplicas, replicas: tuple[int, ...]) -> None:
    original(self, replicas)
    if len(replicas) < len(self.committed):
        self.committed = tuple(sorted(replicas))


# -- where logs diverge


def _never(original: Original, *arguments: object) -> None:
    return None


def _at_high_watermark(
    original: Original, log: Log, epoch: int, end: int, high_watermark: int
) -> Cut:
    cut: Cut = original(log, epoch, end, high_watermark)
    return replace(cut, offset=min(cut.offset, high_watermark))


def _keep_tail(
    original: Original, self: fetcher.Fetcher, following: Following, epoch: int, end: int
) -> None:
    log = following.partition.log
    log.epochs.assign(following.leader_epoch, log.log_end_offset)
    self.look_again(following.partition)


def _forget_all(original: Original, self: fetcher.Fetcher, partition: Partition) -> None:
    end = partition.log.log_end_offset
    if partition.high_watermark == end > partition.log.log_start_offset:
        partition.restart_at(end, "forgets what it held")
    original(self, partition)


def _no_fence(original: Original, self: Partition, requested: int) -> Errors:
    return Errors.NONE


# -- what may be forgotten


def _delete_to_the_end(
    original: Original, broker: Broker, topic: str, asked: delete_records.Asked
) -> object:
    partition = broker.replicas.partition(topic, asked.partition_index)
    if partition is None:
        return original(broker, topic, asked)
    committed, partition.high_watermark = partition.high_watermark, partition.log.log_end_offset
    try:
        return original(broker, topic, asked)
    finally:
        partition.high_watermark = committed


def _retain_nothing(original: Original, self: Log, now: int, high_watermark: int) -> int:
    return int(original(self, now))


# -- who sent what


def _forget_producer(original: Original, self: ProducerStates, header: BatchHeader) -> None:
    self.states.pop(header.producer_id, None)


def _any_epoch(
    original: Original, self: ProducerStates, header: BatchHeader, check_sequence: bool
) -> None:
    state = self.states.get(header.producer_id)
    if state is None or state.epoch == header.producer_epoch:
        original(self, header, check_sequence)


# -- what a producer is sure of


def _always_a_new_epoch(
    original: Original, self: Idempotence, batch: ProducerBatch, *rest: object
) -> bool:
    self.restart_partition(batch.place)
    return bool(original(self, batch, *rest))


def _surely_not_there(
    original: Original, self: Verdicts, now: int, batch: ProducerBatch, error: str
) -> None:
    batch.maybe_stored = False
    original(self, now, batch, error)


_ALL = (
    Mutant("skip-the-epoch-bump", "a new leader does not begin a new epoch",
           (Patch(PartitionImage, "merge", _no_epoch_bump),
            Patch(Partition, "update", _role_without_epoch)), "epochs"),
    Mutant("write-the-old-epoch", "a leader stamps records with the epoch before its own",
           (Patch(Log, "append_as_leader", _old_epoch),), "log matching"),
    Mutant("elect-outside-the-isr", "any living replica may lead",
           (Patch(partition_changes, "_elect", _elect_anyone),), "control"),
    Mutant("everyone-is-eligible", "every replica outside the ISR counts as eligible",
           (Patch(partition_changes, "_eligible", _all_eligible),), "no loss"),
    Mutant("unclean-restart-forgotten", "a broker that may have lost records stays eligible",
           (Patch(partition_changes, "_eligible", _restart_forgotten),), "no loss"),
    Mutant("ignore-a-laggard", "the high watermark waits for one follower only",
           (Patch(Partition, "advance_high_watermark", _any_follower),), "strong ISR"),
    Mutant("forget-the-maximal-isr", "it does not wait for a member that was only proposed",
           (Patch(Partition, "advance_high_watermark", _committed_only),), "strong ISR"),
    Mutant("sent-is-held", "what was sent to a follower is taken for what it has",
           (Patch(FollowerState, "fetched", _sent_is_held),), "strong ISR"),
    Mutant("high-watermark-falls", "it falls with the slowest follower",
           (Patch(Partition, "advance_high_watermark", _falls_back),), "monotonic"),
    Mutant("never-under-min-isr", "it moves with fewer than min.insync.replicas in sync",
           (Patch(Partition, "is_under_min_isr", _never_under),), "no loss"),
    Mutant("answer-too-early", "acks=all is answered when the leader has the record",
           (Patch(PendingAppend, "judge", _at_once),), "no loss"),
    Mutant("read-uncommitted", "a consumer reads beyond the high watermark",
           (Patch(reading.FetchTerms, "limit", _log_end),), "no loss"),
    Mutant("latest-goes-back", "a new leader tells its high watermark before it knows it",
           (Patch(list_offsets, "find", _always_available),), "monotonic"),
    Mutant("expand-too-early", "a follower joins the ISR as soon as it fetches",
           (Patch(Partition, "_expand_isr", _any_fetcher),), "strong ISR"),
    Mutant("shrink-unconfirmed", "a leader acts on a smaller ISR before it is confirmed",
           (Patch(InSyncReplicas, "propose", _believe_proposal),), "no loss"),
    Mutant("silent-about-divergence", "a leader does not say that logs diverge",
           (Patch(reading, "diverges", _never),), "log matching"),
    Mutant("keep-the-tail", "a follower keeps what its leader never had",
           (Patch(fetcher.Fetcher, "_cut", _keep_tail),), ("log matching", "liveness")),
    Mutant("cut-at-the-high-watermark", "a follower cuts at its own high watermark (KIP-101)",
           (Patch(fetcher, "where_to_cut", _at_high_watermark),), "no loss"),
    Mutant("throw-the-log-away", "a follower of a new leader drops its log and goes on at its end",
           (Patch(fetcher.Fetcher, "follow", _forget_all),), "no loss"),
    Mutant("delete-to-the-log-end", "DeleteRecords may take what is not committed",
           (Patch(delete_records, "_delete", _delete_to_the_end),), "no loss"),
    Mutant("retention-does-not-wait", "retention takes old segments that are not committed",
           (Patch(Log, "delete_old_segments", _retain_nothing),), "no loss"),
    Mutant("no-fencing", "a request of another leader epoch is taken",
           (Patch(Partition, "check_leader_epoch", _no_fence),), "epochs"),
    Mutant("forget-the-dedup-window", "no batch is recognized as a repetition",
           (Patch(ProducerStates, "find_duplicate", _forget_producer),), "idempotence"),
    Mutant("any-epoch-will-do", "a batch of another producer epoch than the last is not questioned",
           (Patch(ProducerStates, "check", _any_epoch),), "idempotence"),
    Mutant("a-new-epoch-for-each-retry", "a producer gives new numbers to what a broker may have",
           (Patch(Idempotence, "may_retry", _always_a_new_epoch),), "history: duplicate"),
    Mutant("a-timeout-is-a-no", "a producer calls refused what it gave up after sending it",
           (Patch(Verdicts, "failed", _surely_not_there),), "history: phantom"),
)  # fmt: skip
_OTHERS = (*GROUP_MUTANTS, *TRANSACTION_MUTANTS, *DELETION_MUTANTS, *QUORUM_MUTANTS)
MUTANTS: dict[str, Mutant] = {mutant.name: mutant for mutant in (*_ALL, *_OTHERS)}
