"""What a leader (or a follower, for a consumer nearby) has for one partition of a Fetch.

Three readers, three limits: a follower may read to the log's end, a consumer to the
high watermark, a read_committed consumer to the last stable offset.

The checks come in Kafka's order: does the requester know the current leader epoch
(KIP-320); is its last record one that we have too (KIP-595); is the offset in the log.

What local retention has deleted is in the tier (KIP-405).  A consumer gets it from there; a
follower gets OFFSET_MOVED_TO_TIERED_STORAGE, and begins behind it.

Nothing changes here.  What a follower's fetch tells about the follower is noted after the
read (engine/api/fetch/fetch.py), so the high watermark in the answer is the one from before
this fetch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from engine.replication.fetch_sessions import FetchedPartition
from engine.replication.hosted import HostedPartitions
from engine.replication.partition import NO_EPOCH, Partition
from engine.replication.replica_selector import preferred_read_replica
from engine.replication.truncation import UNDEFINED, end_of_epoch
from engine.storage.remote.remote_log import RemoteLog
from engine.storage.transaction_index import AbortedTransaction
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

READ_COMMITTED = 1
ISOLATION_LEVELS = (0, READ_COMMITTED)
FIRST_VERSION_FOR_FOLLOWER_READS = 11
FIRST_VERSION_WITH_TOPIC_IDS = 13


@dataclass(frozen=True, slots=True)
class FetchTerms:
    """What holds for all partitions of one Fetch request; `replica_id` is -1 for consumers.

    `rack` is empty unless this broker sends consumers to replicas in their rack.
    """

    version: int
    replica_id: int
    replica_epoch: int
    max_bytes: int
    min_bytes: int
    isolation_level: int
    rack: str = ""
    slices: bool = False  # of files, for an answer that goes out over a socket

    @property
    def from_follower(self) -> bool:
        return self.replica_id >= 0

    def limit(self, partition: Partition) -> int:
        """The first offset that this reader may not see."""
        if self.from_follower:
            return partition.log.log_end_offset
        if self.isolation_level == READ_COMMITTED:
            return partition.last_stable_offset
        return partition.high_watermark


def readable(hosted: HostedPartitions, terms: FetchTerms, asked: FetchedPartition) -> Partition:
    """The partition to read from; KafkaError with the code for the client if it cannot be."""
    by_id = terms.version >= FIRST_VERSION_WITH_TOPIC_IDS
    if by_id and not asked.topic:
        raise KafkaError(Errors.UNKNOWN_TOPIC_ID)
    partition = hosted.serving(asked.topic, asked.index)
    if by_id and partition.topic_id != asked.topic_id:
        raise KafkaError(Errors.INCONSISTENT_TOPIC_ID)
    # Here any negative epoch is no claim; elsewhere only -1 is.
    epoch_error = partition.check_leader_epoch(max(NO_EPOCH, asked.current_leader_epoch))
    if epoch_error != Errors.NONE:
        raise KafkaError(epoch_error)
    leader_only = terms.from_follower or terms.version < FIRST_VERSION_FOR_FOLLOWER_READS
    if leader_only and not partition.is_leader:
        raise KafkaError(Errors.NOT_LEADER_OR_FOLLOWER)
    if terms.from_follower and terms.replica_id not in partition.followers:
        claims_an_epoch = asked.current_leader_epoch >= 0
        raise KafkaError(
            Errors.UNKNOWN_LEADER_EPOCH if claims_an_epoch else Errors.NOT_LEADER_OR_FOLLOWER
        )
    return partition


def diverges(partition: Partition, asked: FetchedPartition) -> tuple[int, int] | None:
    """Where our log diverges from the fetcher's: (epoch, end offset), or None if it does not."""
    if asked.last_fetched_epoch < 0:
        return None
    epoch, end = end_of_epoch(partition.log, asked.last_fetched_epoch, partition.leader_epoch)
    if epoch == UNDEFINED or end == UNDEFINED:
        raise KafkaError(Errors.OFFSET_OUT_OF_RANGE)
    if asked.fetch_offset < partition.log.log_start_offset:
        raise KafkaError(Errors.OFFSET_OUT_OF_RANGE)
    if epoch < asked.last_fetched_epoch or end < asked.fetch_offset:
        return epoch, end
    return None


def _diverges(partition: Partition, asked: FetchedPartition) -> bool:
    """Whether to tell where the logs diverge, or that the offset is not in ours."""
    if asked.last_fetched_epoch in (NO_EPOCH, partition.leader_epoch):
        return False
    try:
        return diverges(partition, asked) is not None
    except KafkaError:
        return True


def has_news(hosted: HostedPartitions, terms: FetchTerms, asked: FetchedPartition) -> bool:
    """Whether a session's partition may have something to tell, or its reader to the leader.

    If not, `read` would only repeat the last answer, until the partition moves.  A follower
    outside the ISR asks to be let in at each of its fetches.
    """
    partition = hosted.partitions.get((asked.topic, asked.index))
    return (
        partition is None
        or not partition.is_leader
        or asked.current_leader_epoch not in (-1, partition.leader_epoch)
        or _diverges(partition, asked)
        or asked.topic_id not in (bytes(16), partition.topic_id)
        or asked.fetch_offset != terms.limit(partition)
        or asked.sent_high_watermark != partition.high_watermark
        or asked.sent_log_start != partition.log.log_start_offset
        or (terms.from_follower and not partition.has_in_sync(terms.replica_id))
        or preferred_read_replica(partition, terms.rack, asked.fetch_offset) is not None
    )


def read(
    hosted: HostedPartitions,
    terms: FetchTerms,
    asked: FetchedPartition,
    budget: int,
    at_least_one: bool,
) -> m.FetchResponse.PartitionData:
    """What one partition has for this reader, at most `budget` bytes of it.

    With `at_least_one`, that is one whole batch even if it is larger.  Raises KafkaError with the
    code for the client; a negative limit is an unknown server error, as in Kafka.
    """
    partition = readable(hosted, terms, asked)
    log = partition.log
    data = m.FetchResponse.PartitionData(
        partition_index=asked.index,
        high_watermark=partition.high_watermark,
        last_stable_offset=partition.last_stable_offset,
        log_start_offset=log.log_start_offset,
        aborted_transactions=None,
        records=b"",
    )
    nearer = preferred_read_replica(partition, terms.rack, asked.fetch_offset)
    if nearer is not None:
        data.preferred_read_replica = nearer
        return data
    parting = diverges(partition, asked)
    if parting is not None:
        data.diverging_epoch = m.FetchResponse.EpochEndOffset(
            epoch=parting[0], end_offset=parting[1]
        )
        return data
    if not log.log_start_offset <= asked.fetch_offset <= log.log_end_offset:
        raise KafkaError(Errors.OFFSET_OUT_OF_RANGE)
    size = min(budget, asked.max_bytes)
    if partition.remote is not None and asked.fetch_offset < log.local_log_start_offset:
        return _from_tier(partition.remote, terms, asked, size, at_least_one, data)
    limit = terms.limit(partition)
    if asked.fetch_offset < log.log_end_offset and size < 0:
        raise KafkaError(Errors.UNKNOWN_SERVER_ERROR)
    found = None
    if asked.fetch_offset < limit and (size or at_least_one):
        found = log.slice(asked.fetch_offset, size, limit, at_least_one)
        if found:
            # The codec takes a slice for its bytes (engine.wire.slices).
            data.records = cast(bytes, found) if terms.slices else found.read()
    if terms.isolation_level == READ_COMMITTED and not terms.from_follower:
        data.aborted_transactions = _listed(log.aborted_transactions(found) if found else [])
    return data


def _from_tier(
    remote: RemoteLog,
    terms: FetchTerms,
    asked: FetchedPartition,
    size: int,
    at_least_one: bool,
    data: m.FetchResponse.PartitionData,
) -> m.FetchResponse.PartitionData:
    """The same below the local log start.  All that is in the tier is committed and decided."""
    if size < 0:
        raise KafkaError(Errors.UNKNOWN_SERVER_ERROR)
    if terms.from_follower:
        data.error_code = Errors.OFFSET_MOVED_TO_TIERED_STORAGE
        return data
    found = remote.slice(asked.fetch_offset, size, at_least_one) if size or at_least_one else None
    if found:
        data.records = found.read()
    if terms.isolation_level == READ_COMMITTED:
        data.aborted_transactions = _listed(remote.aborted_transactions(found) if found else [])
    return data


def _listed(aborted: list[AbortedTransaction]) -> list[m.FetchResponse.AbortedTransaction]:
    return [
        m.FetchResponse.AbortedTransaction(each.producer_id, each.first_offset) for each in aborted
    ]
