"""Reads: whole batches, limits, sizes, timestamps; and how little they touch the disk."""

from __future__ import annotations

from typing import Any

import pytest

from engine.records.batch import Record, decode_all, encode, iterate
from engine.storage.disk import Disk
from engine.storage.log import Log
from engine.storage.log_config import LogConfig
from engine.storage.memory_disk import MemoryDisk
from engine.wire.errors import Errors, KafkaError

NOW_MS = 1_700_000_000_000
NOW = NOW_MS * 1000
ALL = 1 << 30


def batch(count: int = 1, timestamp: int = NOW_MS, padding: int = 0, **fields: Any) -> bytes:
    records = [Record(0, timestamp, None, b"v" * (padding + 1))] * count
    return encode(records, **fields)


def offsets(data: bytes) -> list[int]:
    return [record.offset for record in decode_all(data)]


def log_of(disk: Disk, counts: list[int], **config: int) -> Log:
    """A log with one batch for each count of records."""
    log = Log(disk, "orders-0", LogConfig(**config), NOW)
    for count in counts:
        log.append_as_leader(batch(count), 0, NOW)
    return log


@pytest.mark.parametrize("interval", [0, 100, 4096])
def test_a_read_begins_with_the_batch_that_holds_the_offset(disk: Disk, interval: int) -> None:
    log = log_of(disk, [2, 1, 3] * 30, index_interval_bytes=interval)
    for offset in range(log.log_end_offset):
        found = offsets(log.read(offset, ALL))
        first = offset - {0: 0, 1: 1, 2: 0, 3: 0, 4: 1, 5: 2}[offset % 6]
        assert found == list(range(first, log.log_end_offset))


def test_a_read_ends_before_the_batch_that_holds_the_limit(disk: Disk) -> None:
    log = log_of(disk, [2, 1, 3])
    ends = [offsets(log.read(0, ALL, limit))[-1:] for limit in range(8)]
    assert ends == [[], [], [1], [2], [2], [2], [5], [5]]
    assert log.read(2, ALL, 2) == b""
    assert log.read(4, ALL, 3) == b""


def test_a_read_gives_whole_batches_within_its_bytes(disk: Disk) -> None:
    log = log_of(disk, [1] * 50, index_interval_bytes=200)
    one = len(batch())
    for size in range(one, 12 * one, one // 3):
        assert offsets(log.read(7, size)) == list(range(7, 7 + size // one))
        assert offsets(log.read(7, size, at_least_one=False)) == list(range(7, 7 + size // one))


def test_a_batch_larger_than_the_read_comes_whole_or_not_at_all(disk: Disk) -> None:
    log = log_of(disk, [5, 5])
    assert offsets(log.read(0, 10)) == [0, 1, 2, 3, 4]
    assert offsets(log.read(6, 0)) == [5, 6, 7, 8, 9]
    assert log.read(0, 10, at_least_one=False) == b""
    assert log.read(0, 10, 3, at_least_one=True) == b""


def test_a_read_beyond_the_log_is_out_of_range(disk: Disk) -> None:
    log = log_of(disk, [3])
    assert log.read(3, ALL) == b""
    log.advance_log_start(1)
    for offset in (-1, 0, 4):
        with pytest.raises(KafkaError, match=r"1\.\.3") as refused:
            log.read(offset, ALL)
        assert refused.value.code == Errors.OFFSET_OUT_OF_RANGE
    assert offsets(log.read(1, ALL)) == [0, 1, 2]


def test_a_read_stays_in_one_segment_and_the_next_goes_on(disk: Disk) -> None:
    log = log_of(disk, [1] * 5, segment_bytes=2 * len(batch()))
    assert [offsets(log.read(o, ALL)) for o in range(5)] == [[0, 1], [1], [2, 3], [3], [4]]
    assert offsets(log.read(0, ALL, 1)) == [0]
    assert offsets(log.read(0, ALL, 3)) == [0, 1]
    assert offsets(log.read(2, ALL, 3)) == [2]


def test_a_read_passes_over_a_hole_into_the_next_segment(disk: Disk) -> None:
    log = Log(disk, "orders-0", LogConfig(segment_bytes=2 * len(batch())), NOW)
    for base in (0, 1, 50, 51):
        log.append_as_follower(batch(base_offset=base, leader_epoch=0))
    assert [s.base_offset for s in log.segments] == [0, 50]
    assert offsets(log.read(7, ALL)) == [50, 51]


def test_bytes_between_counts_what_there_is_to_read(disk: Disk) -> None:
    log = log_of(disk, [1] * 7, segment_bytes=2 * len(batch()))
    one = len(batch())
    assert log.bytes_between(0) == 7 * one == log.size_in_bytes
    assert log.bytes_between(3) == 4 * one
    assert log.bytes_between(3, 6) == 3 * one
    assert log.bytes_between(3, 3) == log.bytes_between(7) == 0


class CountingDisk(MemoryDisk):
    """Counts the calls that read, and those that write."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = self.writes = 0

    def read(self, path: str, position: int, length: int) -> bytes:
        self.reads += 1
        return super().read(path, position, length)

    def append(self, path: str, data: bytes) -> None:
        self.writes += 1
        super().append(path, data)


def test_tailing_readers_cost_one_read_each() -> None:
    disk = CountingDisk()
    log = log_of(disk, [1] * 500)
    disk.reads = 0
    for behind in range(1, 20):
        log.read(log.log_end_offset - behind, ALL, log.log_end_offset)
        log.read(log.log_end_offset - behind, ALL, log.log_end_offset - behind // 2)
    assert disk.reads == 2 * 19


def test_a_reader_catching_up_in_pieces_is_not_searched_for_again() -> None:
    disk = CountingDisk()
    log = log_of(disk, [1] * 2000)
    offset = offsets(log.read(0, 5000))[-1] + 1
    disk.reads = 0
    positions = log.segments.active.find(offset)
    assert disk.reads == 0
    assert positions[0] > 0


def test_an_append_is_one_write_but_for_the_indexes() -> None:
    disk = CountingDisk()
    log = log_of(disk, [])
    disk.writes = 0
    for _ in range(100):
        log.append_as_leader(batch(padding=60), 0, NOW)
    indexed = log.segments.active.offset_index.entries
    assert indexed == 100 * len(batch(padding=60)) // 4200
    assert disk.writes == 100 + indexed + log.segments.active.time_index.entries


# -- timestamps


TIMES = [10, 50, 30, 50, 70, 20, 70]


def log_of_times(disk: Disk, **config: int) -> Log:
    log = Log(disk, "orders-0", LogConfig(index_interval_bytes=0, **config), NOW)
    for number, time in enumerate(TIMES):
        log.append_as_leader(batch(timestamp=time), number // 3, NOW)
    return log


@pytest.mark.parametrize("segment_bytes", [1 << 20, 2 * len(batch())])
def test_the_first_record_that_is_as_young(disk: Disk, segment_bytes: int) -> None:
    log = log_of_times(disk, segment_bytes=segment_bytes)
    expected = {0: 0, 10: 0, 11: 1, 50: 1, 51: 4, 70: 4}
    for timestamp, offset in expected.items():
        found = log.offset_for_timestamp(timestamp)
        assert found == (offset, TIMES[offset], offset // 3)
    assert log.offset_for_timestamp(71) is None


@pytest.mark.parametrize("segment_bytes", [1 << 20, 2 * len(batch())])
def test_the_record_with_the_largest_timestamp(disk: Disk, segment_bytes: int) -> None:
    assert log_of_times(disk, segment_bytes=segment_bytes).max_timestamp() == (4, 70, 1)


def test_timestamps_are_looked_up_within_a_batch(disk: Disk) -> None:
    log = Log(disk, "orders-0", LogConfig(), NOW)
    records = [Record(0, time, None, b"") for time in (10, 90, 40)]
    log.append_as_leader(encode(records), 0, NOW)
    assert log.offset_for_timestamp(20) == (1, 90, 0)
    assert log.max_timestamp() == (1, 90, 0)
    log.advance_log_start(2)
    assert log.offset_for_timestamp(20) == (2, 40, 0)
    assert log.offset_for_timestamp(50) is None


def test_an_empty_log_has_no_timestamps(disk: Disk) -> None:
    log = Log(disk, "orders-0", LogConfig(), NOW)
    assert log.offset_for_timestamp(0) is None
    assert log.max_timestamp() == (-1, -1, -1)


def test_timestamps_survive_truncation_and_reopening(disk: Disk) -> None:
    log = log_of_times(disk)
    log.truncate_to(4)
    assert log.max_timestamp() == (1, 50, 0)
    assert log.offset_for_timestamp(51) is None
    log.close()
    again = Log(disk, "orders-0", LogConfig(), NOW)
    assert again.max_timestamp() == (1, 50, 0)


def test_iterating_a_read_gives_its_batches(disk: Disk) -> None:
    log = log_of(disk, [2, 3])
    assert [h.base_offset for h, _ in iterate(log.read(0, ALL))] == [0, 2]
