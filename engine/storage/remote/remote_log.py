"""The part of a log that is in the tier, read as if it were here.

    log start offset              local log start offset                log end offset
          v                              v                                    v
    [ remote ][ remote ][ remote ][ remote and local ][ local ][ active segment ]

An offset below the local log start is looked up by the epoch that the log has for it.  The
segment found there is opened in the tier, with its own indexes, and searched as a local one is.
What a reader with read_committed must skip is in the transaction indexes of the segments from
there on: in the tier as long as they are there, then in the local ones.

A timestamp is looked for in the tier first, since the older segments are there.

Source: Kafka's RemoteLogManager (read, findOffsetByTimestamp, collectAbortedTransactions).
Simplified: a segment is read at once, by the broker's one thread, and an answer may have records of
several partitions from the tier; Kafka reads in threads of its own, up to remote.fetch.max.wait.ms,
for one partition of a request.  Indexes are read where they are, without a cache of their own.
"""

from __future__ import annotations

from engine.records.batch import CorruptBatch
from engine.storage.disk import Disk
from engine.storage.log import Log
from engine.storage.offset_index import CorruptIndex
from engine.storage.remote.local_tiered_storage import open_segment
from engine.storage.remote.remote_segments import RemoteSegments
from engine.storage.remote.segment_metadata import RemoteLogSegmentMetadata, TopicIdPartition
from engine.storage.segment import FileSlice, Segment
from engine.storage.transaction_index import AbortedTransaction
from engine.wire.errors import Errors, KafkaError


class RemoteLog:
    """What the tier has of `log`, by its present epochs."""

    def __init__(self, tier: Disk, partition: TopicIdPartition, log: Log) -> None:
        self.tier = tier
        self.log = log
        self.segments = RemoteSegments(tier, partition)

    # -- what is there

    def is_of_this_log(self, segment: RemoteLogSegmentMetadata) -> bool:
        """Whether the log's history leads through this segment.

        The same epoch at its last offset means the same records everywhere below.
        """
        epoch = self.log.epochs.epoch_for_offset(segment.end_offset)
        return epoch == segment.epochs[-1][0] and segment.end_offset < self.log.log_end_offset

    @property
    def readable(self) -> list[RemoteLogSegmentMetadata]:
        """The complete copies of this log's segments, by their first offset."""
        return [each for each in self.segments.readable if self.is_of_this_log(each)]

    def refresh(self) -> None:
        """Learns what was copied and deleted since, by this broker or another.

        KAFKA_STORAGE_ERROR if the tier cannot be read.
        """
        try:
            self.segments.refresh()
        except OSError as error:
            raise _unreadable(error) from error
        self.log.highest_remote_offset = self.segments.highest_offset(self.log.epochs.entries)

    # -- reading

    def slice(self, offset: int, bytes_max: int, at_least_one: bool) -> FileSlice | None:
        """Whole batches from the one with `offset` on, out of one segment; None if none fits.

        OFFSET_OUT_OF_RANGE if the tier does not have it; KAFKA_STORAGE_ERROR if it cannot be read.
        """
        self.refresh()
        epoch = self.log.epochs.epoch_for_offset(offset)
        found = None if epoch is None else self.segments.with_offset(epoch, offset)
        if found is None:
            raise KafkaError(
                Errors.OFFSET_OUT_OF_RANGE, f"offset {offset} of epoch {epoch} is not in the tier"
            )
        return self._open(found).slice(offset, bytes_max, None, at_least_one)

    def _open(self, segment: RemoteLogSegmentMetadata) -> Segment:
        try:
            return open_segment(self.tier, segment)
        except (OSError, CorruptIndex) as error:
            raise _unreadable(error) from error

    def aborted_transactions(self, found: FileSlice) -> list[AbortedTransaction]:
        """Those that touch a slice of a remote segment, and perhaps some close behind it."""
        segment = found.segment
        offset = next(segment.headers(found.position))[0].base_offset
        behind = [each for each in self.readable if each.start_offset >= segment.base_offset]
        end = segment.offset_index.offset_above(found.position + found.length)
        if end is None:
            end = behind[0].end_offset + 1 if behind else self.log.local_log_start_offset
        transactions: list[AbortedTransaction] = []
        reached = segment.base_offset
        for each in behind:
            if each.start_offset >= self.log.local_log_start_offset:
                break
            index = segment if each.start_offset == segment.base_offset else self._open(each)
            more, is_complete = index.transaction_index.collect(offset, end)
            transactions += more
            reached = each.end_offset + 1
            if is_complete:
                return transactions
        for local in self.log.segments:
            if local.base_offset >= reached:
                more, is_complete = local.transaction_index.collect(offset, end)
                transactions += more
                if is_complete:
                    break
        return transactions

    def offset_for_timestamp(self, timestamp_ms: int) -> tuple[int, int, int] | None:
        """(offset, timestamp, epoch) of the first record in the tier alone with that time or later.

        None if there is none; then the local segments have it, or no record does.
        """
        self.refresh()
        start = self.log.log_start_offset
        for each in self.readable:
            if each.start_offset >= self.log.local_log_start_offset:
                return None
            if each.max_timestamp_ms >= timestamp_ms:
                return self._search(each, timestamp_ms, start)
        return None

    def _search(
        self, segment: RemoteLogSegmentMetadata, timestamp_ms: int, start: int
    ) -> tuple[int, int, int] | None:
        try:
            return self._open(segment).offset_for_timestamp(timestamp_ms, start)
        except (OSError, CorruptBatch) as error:
            raise _unreadable(error) from error


def _unreadable(error: Exception) -> KafkaError:
    return KafkaError(Errors.KAFKA_STORAGE_ERROR, f"the tier cannot be read: {error}")
