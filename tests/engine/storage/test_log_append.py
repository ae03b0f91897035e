"""Appends, as leader and as follower; rolling; duplicates; a full disk."""

from __future__ import annotations

import pickle

import pytest

from engine.records.batch import CorruptBatch, Record, decode_all, encode, read_header
from engine.storage.disk import Disk
from engine.storage.log import AppendInfo, Log
from engine.storage.log_config import LogConfig
from engine.storage.memory_disk import MemoryDisk
from engine.wire.errors import Errors, KafkaError

NOW_MS = 1_700_000_000_000
NOW = NOW_MS * 1000


def batch(*values: str, timestamp: int = NOW_MS, **fields: int) -> bytes:
    return encode([Record(0, timestamp, None, v.encode()) for v in values], **fields)


def values(log: Log, offset: int | None = None) -> list[str]:
    found: list[str] = []
    offset = log.log_start_offset if offset is None else offset
    while data := log.read(offset, 1 << 20):
        records = decode_all(data)
        found += [(r.value or b"").decode() for r in records if r.offset >= offset]
        offset = records[-1].offset + 1
    return found


def test_the_leader_numbers_and_stamps_and_changes_nothing_else(disk: Disk) -> None:
    log = Log(disk, "orders-0", LogConfig(), NOW)
    assert log.append_as_leader(batch("A", "B"), 3, NOW) == AppendInfo(0, 1)
    sent = batch("C", leader_epoch=99)
    assert log.append_as_leader(sent, 4, NOW) == AppendInfo(2, 2)
    assert (log.log_start_offset, log.log_end_offset, log.latest_epoch) == (0, 3, 4)
    stored = log.read(2, 1 << 20)
    assert stored[16:] == sent[16:]
    assert read_header(stored).partition_leader_epoch == 4
    assert values(log) == ["A", "B", "C"]
    assert log.epochs.entries == [(3, 0), (4, 2)]
    assert log.size_in_bytes == disk.size("orders-0/00000000000000000000.log")


def test_a_follower_keeps_what_the_leader_wrote(disk: Disk) -> None:
    leader = Log(disk, "a", LogConfig(), NOW)
    follower = Log(disk, "b", LogConfig(), NOW)
    for epoch, text in ((0, "A"), (0, "B"), (2, "C")):
        leader.append_as_leader(batch(text), epoch, NOW)
    fetched = leader.read(0, 1 << 20)
    assert follower.append_as_follower(fetched + fetched[:50]) == AppendInfo(0, 2)
    assert follower.read(0, 1 << 20) == fetched
    assert follower.epochs.entries == [(0, 0), (2, 2)]
    assert follower.size_in_bytes == len(fetched)


def test_a_follower_refuses_what_it_has_and_what_is_damaged(disk: Disk) -> None:
    log = Log(disk, "b", LogConfig(), NOW)
    log.append_as_follower(batch("A", "B", leader_epoch=0))
    with pytest.raises(KafkaError, match="offset 1 was fetched, but the log ends at 2"):
        log.append_as_follower(batch("B", base_offset=1, leader_epoch=0))
    damaged = bytearray(batch("C", base_offset=2))
    damaged[-2] ^= 1
    with pytest.raises(CorruptBatch):
        log.append_as_follower(bytes(damaged))
    assert values(log) == ["A", "B"]
    assert log.append_as_follower(b"") == AppendInfo(2, 1)


def test_an_empty_follower_may_begin_inside_a_batch(disk: Disk) -> None:
    log = Log(disk, "b", LogConfig(), NOW)
    log.truncate_fully_and_start_at(11)
    log.append_as_follower(batch("A", "B", "C", base_offset=10, leader_epoch=0))
    assert (log.log_start_offset, log.log_end_offset) == (11, 13)
    assert values(log) == ["B", "C"]


def test_offsets_may_skip_on_a_follower(disk: Disk) -> None:
    log = Log(disk, "b", LogConfig(), NOW)
    log.append_as_follower(batch("A", base_offset=0, leader_epoch=0))
    log.append_as_follower(batch("B", base_offset=7, leader_epoch=0))
    assert log.log_end_offset == 8
    assert values(log, 3) == ["B"]


# -- rolling


def base_offsets(log: Log) -> list[int]:
    return [segment.base_offset for segment in log.segments]


def test_a_segment_is_rolled_when_the_next_batch_does_not_fit(disk: Disk) -> None:
    size = len(batch("A"))
    log = Log(disk, "orders-0", LogConfig(segment_bytes=2 * size), NOW)
    for text in "ABCDE":
        log.append_as_leader(batch(text), 0, NOW)
    assert base_offsets(log) == [0, 2, 4]
    assert values(log) == list("ABCDE")
    assert [n for n in disk.list("orders-0") if n.startswith("00000000000000000002")] == [
        "00000000000000000002.index",
        "00000000000000000002.log",
        "00000000000000000002.snapshot",
        "00000000000000000002.timeindex",
    ]


def test_a_follower_rolls_within_one_fetch(disk: Disk) -> None:
    leader = Log(disk, "a", LogConfig(), NOW)
    for text in "ABCDE":
        leader.append_as_leader(batch(text), 0, NOW)
    follower = Log(disk, "b", LogConfig(segment_bytes=2 * len(batch("A"))), NOW)
    follower.append_as_follower(leader.read(0, 1 << 20))
    assert base_offsets(follower) == [0, 2, 4]
    assert values(follower) == list("ABCDE")


def test_a_segment_is_rolled_by_the_records_own_clock(disk: Disk) -> None:
    log = Log(disk, "orders-0", LogConfig(segment_ms=100), NOW)
    for after in (0, 100, 101, 150):
        log.append_as_leader(batch("x", timestamp=NOW_MS + after), 0, NOW)
    assert base_offsets(log) == [0, 2]


def test_a_segment_without_timestamps_is_rolled_by_the_wall_clock(disk: Disk) -> None:
    log = Log(disk, "orders-0", LogConfig(segment_ms=100), NOW)
    for after in (0, 100, 101):
        log.append_as_leader(batch("x", timestamp=-1), 0, NOW + after * 1000)
    assert base_offsets(log) == [0, 2]


def test_a_segment_is_rolled_when_an_index_is_full(disk: Disk) -> None:
    config = LogConfig(segment_index_bytes=36, index_interval_bytes=0)
    log = Log(disk, "orders-0", config, NOW)
    for _ in range(11):
        log.append_as_leader(batch("x", timestamp=-1), 0, NOW)
    assert base_offsets(log) == [0, 5, 10]  # four entries fit; the first batch needs none
    for after in range(4):
        log.append_as_leader(batch("x", timestamp=NOW_MS + after), 0, NOW)
    assert base_offsets(log) == [0, 5, 10, 13]  # two timestamps fit, and one to close with


def test_a_segment_is_rolled_when_offsets_grow_beyond_32_bits(disk: Disk) -> None:
    log = Log(disk, "orders-0", LogConfig(), NOW)
    log.append_as_follower(batch("A", base_offset=0, leader_epoch=0))
    log.append_as_follower(batch("B", base_offset=(1 << 31) - 1, leader_epoch=0))
    log.append_as_follower(batch("C", base_offset=1 << 31, leader_epoch=0))
    assert base_offsets(log) == [0, 1 << 31]


def test_rolling_an_empty_segment_changes_nothing(disk: Disk) -> None:
    log = Log(disk, "orders-0", LogConfig(), NOW)
    log.roll()
    assert base_offsets(log) == [0]
    log.append_as_leader(batch("A"), 0, NOW)
    log.roll()
    log.roll()
    assert base_offsets(log) == [0, 1]


# -- idempotence


def test_a_repeated_batch_is_answered_with_its_first_offsets(disk: Disk) -> None:
    log = Log(disk, "orders-0", LogConfig(), NOW)
    log.append_as_leader(batch("A"), 0, NOW)
    sent = batch("B", "C", producer_id=7, producer_epoch=0, base_sequence=0)
    assert log.append_as_leader(sent, 0, NOW) == AppendInfo(1, 2)
    again = log.append_as_leader(sent, 0, NOW)
    assert (again.base_offset, again.last_offset, again.duplicate) == (1, 2, True)
    assert values(log) == ["A", "B", "C"]


def test_a_gap_in_the_sequence_leaves_the_log_as_it_was(disk: Disk) -> None:
    log = Log(disk, "orders-0", LogConfig(), NOW)
    log.append_as_leader(batch("A", producer_id=7, producer_epoch=0, base_sequence=0), 0, NOW)
    with pytest.raises(KafkaError) as refused:
        log.append_as_leader(batch("C", producer_id=7, producer_epoch=0, base_sequence=2), 1, NOW)
    assert refused.value.code == Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert values(log) == ["A"]
    assert log.latest_epoch == 0


def test_a_follower_knows_duplicates_once_it_leads(disk: Disk) -> None:
    sent = batch("A", producer_id=7, producer_epoch=0, base_sequence=0)
    leader, follower = Log(disk, "a", LogConfig(), NOW), Log(disk, "b", LogConfig(), NOW)
    leader.append_as_leader(sent, 0, NOW)
    follower.append_as_follower(leader.read(0, 1 << 20))
    assert follower.append_as_leader(sent, 1, NOW).duplicate


def test_a_truncated_batch_is_no_duplicate(disk: Disk) -> None:
    log = Log(disk, "orders-0", LogConfig(), NOW)
    sent = batch("A", producer_id=7, producer_epoch=0, base_sequence=0)
    log.append_as_leader(sent, 0, NOW)
    log.truncate_to(0)
    assert not log.append_as_leader(sent, 0, NOW).duplicate


# -- the rest


def test_log_append_time_is_the_brokers(disk: Disk) -> None:
    log = Log(disk, "orders-0", LogConfig(message_timestamp_type="LogAppendTime"), NOW)
    info = log.append_as_leader(batch("A", "B", timestamp=5), 0, NOW)
    assert info.log_append_time_ms == NOW_MS
    assert [r.timestamp for r in decode_all(log.read(0, 1 << 20))] == [NOW_MS, NOW_MS]
    assert log.max_timestamp() == (0, NOW_MS, 0)


class FullDisk(MemoryDisk):
    """Has room until `full` is set."""

    full = False

    def append(self, path: str, data: bytes) -> None:
        if self.full:
            raise OSError(28, "No space left on device")
        super().append(path, data)


def test_a_full_disk_is_a_storage_error_until_the_log_is_opened_again() -> None:
    disk = FullDisk()
    log = Log(disk, "orders-0", LogConfig(), NOW)
    log.append_as_leader(batch("A"), 0, NOW)
    disk.full = True
    with pytest.raises(KafkaError, match=r"No space left.*make room") as refused:
        log.append_as_leader(batch("B"), 0, NOW)
    assert refused.value.code == Errors.KAFKA_STORAGE_ERROR
    disk.full = False
    with pytest.raises(KafkaError, match="restart the broker"):
        log.append_as_leader(batch("B"), 0, NOW)
    assert values(log) == ["A"]
    again = Log(disk, "orders-0", LogConfig(), NOW)
    again.append_as_leader(batch("B"), 0, NOW)
    assert values(again) == ["A", "B"]


def test_a_pickled_log_goes_on_on_a_disk_of_its_own() -> None:
    log = Log(MemoryDisk(), "orders-0", LogConfig(), NOW)
    log.append_as_leader(batch("A"), 0, NOW)
    copy = pickle.loads(pickle.dumps(log))
    copy.append_as_leader(batch("B"), 0, NOW)
    assert values(copy) == ["A", "B"]
    assert values(log) == ["A"]
    assert pickle.dumps(pickle.loads(pickle.dumps(log))) == pickle.dumps(log)
