"""Forgetting: the end (truncation), the beginning (delete records, retention), everything."""

from __future__ import annotations

from typing import Any

import pytest

from engine.records.batch import Record, assign, decode_all, encode, validate
from engine.storage.disk import Disk
from engine.storage.log import Log
from engine.storage.log_config import LogConfig
from engine.storage.log_loader import Checkpointed
from engine.wire.errors import Errors, KafkaError

NOW_MS = 1_700_000_000_000
NOW = NOW_MS * 1000


def batch(count: int = 1, timestamp: int = NOW_MS, **fields: Any) -> bytes:
    return encode([Record(0, timestamp, None, b"v")] * count, **fields)


SIZE = len(batch())


def log_of(disk: Disk, epochs: str, **config: Any) -> Log:
    """A log with one record per letter, of that epoch; two to a segment."""
    log = Log(disk, "orders-0", LogConfig(segment_bytes=2 * SIZE, **config), NOW)
    for epoch in epochs:
        log.append_as_leader(batch(), int(epoch), NOW)
    return log


def base_offsets(log: Log) -> list[int]:
    return [segment.base_offset for segment in log.segments]


def offsets(log: Log) -> list[int]:
    found: list[int] = []
    offset = log.log_start_offset
    while data := log.read(offset, 1 << 20):
        found += [r.offset for r in decode_all(data) if r.offset >= offset]
        offset = found[-1] + 1
    return found


def files(disk: Disk) -> set[str]:
    return {name for name in disk.list("orders-0") if name.endswith((".log", ".index"))}


@pytest.mark.parametrize("end", range(8))
def test_truncation_within_and_across_segments(disk: Disk, end: int) -> None:
    log = log_of(disk, "0011122")
    assert log.truncate_to(end) == end
    again = Log(disk, "orders-0", LogConfig(), NOW)
    epochs = [(0, 0), (1, 2), (2, 5)]
    for each in (log, again):
        assert each.log_end_offset == end
        assert offsets(each) == list(range(end))
        assert each.epochs.entries == [e for e in epochs if e[1] < end]
    assert base_offsets(log) == [base for base in (0, 2, 4, 6) if base <= end]
    log.append_as_leader(batch(2), 3, NOW)
    assert offsets(log) == list(range(end + 2))


def test_truncation_inside_a_batch_takes_all_of_it(disk: Disk) -> None:
    log = Log(disk, "orders-0", LogConfig(), NOW)
    log.append_as_leader(batch(3), 0, NOW)
    log.append_as_leader(batch(3), 0, NOW)
    assert log.truncate_to(4) == 3
    assert log.log_end_offset == 3
    assert offsets(log) == [0, 1, 2]


def test_truncation_beyond_the_end_only_drops_epochs_without_records(disk: Disk) -> None:
    log = log_of(disk, "00")
    log.epochs.assign(4, 2)
    assert log.truncate_to(9) == 2
    assert log.latest_epoch == 0
    assert offsets(log) == [0, 1]


def test_truncation_below_the_start_begins_an_empty_log_there(disk: Disk) -> None:
    log = log_of(disk, "000000")
    log.advance_log_start(4)
    log.truncate_to(1)
    assert (log.log_start_offset, log.log_end_offset) == (1, 1)
    assert base_offsets(log) == [1]


def test_truncated_indexes_do_not_point_beyond_the_end(disk: Disk) -> None:
    log = Log(disk, "orders-0", LogConfig(index_interval_bytes=0), NOW)
    for after in range(6):
        log.append_as_leader(batch(timestamp=NOW_MS + after), 0, NOW)
    log.truncate_to(3)
    segment = log.segments.active
    assert segment.offset_index.last_offset == segment.time_index.last_offset == 2
    assert (segment.max_timestamp, segment.max_timestamp_offset) == (NOW_MS + 2, 2)


def test_truncation_takes_the_producers_back_too(disk: Disk) -> None:
    log = log_of(disk, "")
    for sequence in range(6):
        sent = batch(producer_id=7, producer_epoch=0, base_sequence=sequence)
        log.append_as_leader(sent, 0, NOW)
    log.truncate_to(3)
    state = log.producers.get(7)
    assert state is not None
    assert state.last_sequence == 2
    assert not log.append_as_leader(
        batch(producer_id=7, producer_epoch=0, base_sequence=3), 1, NOW
    ).duplicate
    snapshots = [n for n in disk.list("orders-0") if n.endswith(".snapshot")]
    assert snapshots == ["00000000000000000002.snapshot"]


def test_starting_again_leaves_nothing_behind(disk: Disk) -> None:
    log = log_of(disk, "00112")
    log.truncate_fully_and_start_at(100)
    assert (log.log_start_offset, log.log_end_offset, log.latest_epoch) == (100, 100, -1)
    assert files(disk) == {"00000000000000000100.log", "00000000000000000100.index"}
    log.append_as_leader(batch(), 5, NOW)
    assert offsets(log) == [100]
    assert log.epochs.entries == [(5, 100)]


# -- the beginning


def test_the_start_moves_at_once_and_whole_segments_go(disk: Disk) -> None:
    log = log_of(disk, "0011122")
    log.advance_log_start(3)
    assert offsets(log) == [3, 4, 5, 6]
    assert base_offsets(log) == [2, 4, 6]
    assert log.epochs.entries == [(1, 3), (2, 5)]
    log.advance_log_start(2)
    assert log.log_start_offset == 3
    log.advance_log_start(4)
    assert {int(n[:20]) for n in disk.list("orders-0") if n[0] == "0"} == {4, 6}
    log.advance_log_start(7)
    assert (log.log_start_offset, log.log_end_offset, base_offsets(log)) == (7, 7, [6])
    with pytest.raises(KafkaError) as refused:
        log.advance_log_start(8)
    assert refused.value.code == Errors.OFFSET_OUT_OF_RANGE


def test_a_checkpointed_start_holds_after_a_restart(disk: Disk) -> None:
    log = log_of(disk, "0011122")
    log.advance_log_start(3)
    log.close()
    again = Log(disk, "orders-0", LogConfig(), NOW, Checkpointed(True, 7, 3))
    assert offsets(again) == [3, 4, 5, 6]
    assert again.epochs.entries == [(1, 3), (2, 5)]


def test_a_log_that_ends_below_its_checkpointed_start_begins_empty(disk: Disk) -> None:
    log_of(disk, "000").close()
    again = Log(disk, "orders-0", LogConfig(), NOW, Checkpointed(True, 3, 10))
    assert (again.log_start_offset, again.log_end_offset) == (10, 10)
    assert "below its checkpointed start" in str(again.recovered.cuts[0])


def test_retention_by_size_deletes_the_oldest_whole_segments(disk: Disk) -> None:
    log = log_of(disk, "0000000", retention_bytes=4 * SIZE)
    assert log.delete_old_segments(NOW) == 1
    assert (log.log_start_offset, base_offsets(log)) == (2, [2, 4, 6])
    assert log.delete_old_segments(NOW) == 0


def test_retention_by_time_deletes_up_to_the_first_young_segment(disk: Disk) -> None:
    log = Log(disk, "orders-0", LogConfig(segment_bytes=SIZE, retention_ms=1000), NOW)
    for age in (5000, 1001, 1000, 3000):
        log.append_as_leader(batch(timestamp=NOW_MS - age), 0, NOW)
    assert log.delete_old_segments(NOW) == 2
    assert offsets(log) == [2, 3]


def test_a_segment_without_timestamps_is_as_old_as_its_file(disk: Disk) -> None:
    log = Log(disk, "orders-0", LogConfig(retention_ms=1000), NOW)
    log.append_as_leader(batch(timestamp=-1), 0, NOW)
    assert log.delete_old_segments(NOW + 1_000_000) == 0
    assert log.delete_old_segments(NOW + 1_001_000) == 1


@pytest.mark.parametrize("codec", [0, 1])
def test_a_batch_without_timestamps_is_not_of_1970(disk: Disk, codec: int) -> None:
    """librdkafka gives such a batch 0 as its largest timestamp; Kafka's leader puts it right."""
    data = batch(3, timestamp=-1, compression=codec)
    claimed = assign(data, 0, -1, max_timestamp=0)
    log = Log(disk, "orders-0", LogConfig(retention_ms=1000), NOW)
    log.append_as_leader(claimed, 0, NOW)
    assert log.delete_old_segments(NOW + 1_000_000) == 0
    assert validate(log.read(0, 1 << 20)).max_timestamp == -1
    mixed = encode([Record(0, -1, None, b""), Record(0, NOW_MS, None, b"")], compression=codec)
    log.append_as_leader(assign(mixed, 0, -1, max_timestamp=7), 0, NOW)
    assert validate(log.read(3, 1 << 20)).max_timestamp == NOW_MS


def test_when_all_has_expired_the_log_is_empty_and_goes_on(disk: Disk) -> None:
    log = log_of(disk, "001", retention_ms=1000)
    assert log.delete_old_segments(NOW + 10_000_000) == 2
    assert (log.log_start_offset, log.log_end_offset, base_offsets(log)) == (3, 3, [3])
    assert log.delete_old_segments(NOW + 10_000_000) == 0
    assert log.epochs.entries == [(1, 3)]
    log.append_as_leader(batch(), 1, NOW)
    assert offsets(log) == [3]


def test_retention_never_passes_the_high_watermark(disk: Disk) -> None:
    log = log_of(disk, "000000", retention_ms=1000)
    assert log.delete_old_segments(NOW + 10_000_000, high_watermark=3) == 1
    assert log.log_start_offset == 2


@pytest.mark.parametrize("config", [{}, {"cleanup_policy": ("compact",), "retention_bytes": 1}])
def test_young_or_compacted_logs_are_kept(disk: Disk, config: dict[str, Any]) -> None:
    log = Log(disk, "orders-0", LogConfig(segment_bytes=2 * SIZE, **config), NOW)
    for _ in range(5):
        log.append_as_leader(encode([Record(0, NOW_MS, b"k", b"")]), 0, NOW)
    assert log.delete_old_segments(NOW + 10_000_000 * 1000 * bool(config)) == 0


def test_idle_producers_expire(disk: Disk) -> None:
    log = log_of(disk, "", producer_id_expiration_ms=1000)
    log.append_as_leader(batch(producer_id=7, producer_epoch=0, base_sequence=0), 0, NOW)
    assert log.remove_expired_producers(NOW + 999_000) == 0
    assert log.remove_expired_producers(NOW + 1_000_000) == 1
    log.append_as_leader(batch(producer_id=7, producer_epoch=0, base_sequence=9), 0, NOW)


def test_a_deleted_log_leaves_no_files(disk: Disk) -> None:
    log = log_of(disk, "000")
    log.delete()
    assert disk.list("orders-0") == []
