"""Decides about one batch after the other what is left of it.

    before   base 40  [40 a=1][41 b=1][42 c=1]  last 42
    map      a -> 77, c -> 42
    after    base 40  [41 b=1][42 c=1]          last 42     b is not in the map: untouched so far

A record stays if the map knows no later one of its key.  A batch that loses records is written
again with the same first and last offset, producer and sequence, so the log gets gaps but no new
numbers.  Three more rules:

* A record without a key cannot be compacted, and goes.  Producers are refused without one.
* A *tombstone* (no value) must outlive the value that it deletes, long enough for every reader to
  see it.  The first pass that keeps it writes a delete horizon into its batch, now plus
  delete.retention.ms; the first pass after that time drops it (KIP-534).
* A batch without records stays as a bare header where its numbers are needed: if it holds the last
  sequence of a producer that is still known, or if it ends the range of this pass (a consumer
  could else not move on to the log's end).
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.records.batch import BatchHeader, decode, rebuild
from engine.records.outline import RecordOutline, outline
from engine.storage.cleaner.cleaned_transactions import CleanedTransactions
from engine.storage.cleaner.offset_map import OffsetMap
from engine.storage.producer_states import ProducerStates

LastRecords = dict[int, tuple[int | None, int]]
"""By producer id: the last offset of its last data batch, None after a marker, and its epoch."""


def last_records(producers: ProducerStates) -> LastRecords:
    return {
        producer_id: (state.batches[-1].last_offset if state.batches else None, state.epoch)
        for producer_id, state in producers
    }


@dataclass(slots=True)
class RecordFilter:
    """The rules of one pass over one log; times in milliseconds."""

    offsets: OffsetMap
    transactions: CleanedTransactions
    now_ms: int
    delete_retention_ms: int
    end_offset: int
    """Where the cleanable part of the log ends."""
    last_records: LastRecords
    records_read: int = 0
    records_kept: int = 0

    def left_of(self, header: BatchHeader, data: bytes) -> bytes:
        """The batch as it goes into the cleaned segment; empty if nothing is left of it."""
        horizon_ms = header.delete_horizon_ms
        if header.is_control:
            marker_may_go = self.transactions.may_go(header, decode(data))
            drops_all = marker_may_go and horizon_ms is not None and horizon_ms <= self.now_ms
        else:
            marker_may_go = False
            drops_all = self.transactions.is_aborted(header)
        needs_header = self._needs_header(header)
        if drops_all and not needs_header:
            return b""
        opened = outline(data)
        records = opened.records
        self.records_read += len(records)
        kept = [] if drops_all else records if header.is_control else self._kept(header, records)
        self.records_kept += len(kept)
        if not kept:
            return rebuild(header, ()) if needs_header else b""
        waits = marker_may_go or any(is_tombstone for _, _, is_tombstone, _, _ in kept)
        if waits and horizon_ms is None:
            horizon_ms = self.now_ms + self.delete_retention_ms
            return rebuild(header, opened.decode(kept), horizon_ms)
        return data if len(kept) == len(records) else rebuild(header, opened.decode(kept))

    def _kept(self, header: BatchHeader, records: list[RecordOutline]) -> list[RecordOutline]:
        horizon_ms = header.delete_horizon_ms
        tombstones_stay = horizon_ms is None or self.now_ms < horizon_ms
        latest_offset, find = self.offsets.latest_offset, self.offsets.get
        kept: list[RecordOutline] = []
        for record in records:
            offset, key, is_tombstone, _, _ = record
            if offset > latest_offset or (
                key is not None and offset >= find(key) and (tombstones_stay or not is_tombstone)
            ):
                kept.append(record)
        return kept

    def _needs_header(self, header: BatchHeader) -> bool:
        if header.next_offset == self.end_offset:
            return True
        last = self.last_records.get(header.producer_id) if header.producer_id >= 0 else None
        if last is None:
            return False
        last_data_offset, epoch = last
        if last_data_offset is None:
            return header.is_control and header.producer_epoch == epoch
        return header.last_offset == last_data_offset
