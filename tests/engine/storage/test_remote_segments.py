"""Remote segments: their states, what is written down of them, and their files in the tier."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from engine.records.batch import Record, encode
from engine.storage.disk import Disk
from engine.storage.log import Log
from engine.storage.log_config import LogConfig
from engine.storage.memory_disk import MemoryDisk
from engine.storage.remote import local_tiered_storage as store
from engine.storage.remote.remote_log import RemoteLog
from engine.storage.remote.remote_retention import Expired, expired
from engine.storage.remote.remote_segments import RemoteSegments
from engine.storage.remote.segment_metadata import (
    RemoteLogSegmentMetadata,
    TopicIdPartition,
    decode_record,
    encode_record,
    of_record,
)
from engine.storage.remote.segment_states import RemoteLogSegmentState as State
from engine.storage.remote.segment_states import may_follow
from engine.wire import codec, uuids
from engine.wire import messages as m

NOW = 1_700_000_000_000_000
NOW_MS = NOW // 1000
ORDERS = TopicIdPartition("orders", bytes(15) + b"\x07", 0)


def segment(
    number: int, start: int, end: int, *epochs: tuple[int, int]
) -> RemoteLogSegmentMetadata:
    return RemoteLogSegmentMetadata(
        ORDERS, bytes([number]) * 16, start, end, NOW_MS, 100, epochs or ((0, start),), 101, NOW_MS
    )


def copied(remote: RemoteSegments, *segments: RemoteLogSegmentMetadata) -> None:
    for each in segments:
        remote.add(each)
        remote.update(each, State.COPY_SEGMENT_FINISHED, 101, NOW_MS)


@pytest.fixture
def remote() -> RemoteSegments:
    return RemoteSegments(MemoryDisk(), ORDERS)


# -- states


def test_the_table_has_these_transitions_and_no_others() -> None:
    allowed = {(b, a) for b, a in product([None, *State], State) if b is not a and may_follow(b, a)}
    assert allowed == {
        (None, State.COPY_SEGMENT_STARTED),
        (State.COPY_SEGMENT_STARTED, State.COPY_SEGMENT_FINISHED),
        (State.COPY_SEGMENT_STARTED, State.DELETE_SEGMENT_STARTED),
        (State.COPY_SEGMENT_FINISHED, State.DELETE_SEGMENT_STARTED),
        (State.DELETE_SEGMENT_STARTED, State.DELETE_SEGMENT_FINISHED),
    }


@pytest.mark.parametrize("state", State)
def test_the_same_state_once_more_changes_nothing(state) -> None:
    assert replace(segment(1, 0, 9), state=state).updated(state, 101, NOW_MS).state is state


def test_a_deleted_segment_does_not_come_back() -> None:
    gone = replace(segment(1, 0, 9), state=State.DELETE_SEGMENT_FINISHED)
    with pytest.raises(ValueError, match="does not go from DELETE_SEGMENT_FINISHED"):
        gone.updated(State.COPY_SEGMENT_FINISHED, 101, NOW_MS)


# -- records


def test_a_record_says_all_that_is_known() -> None:
    whole = replace(segment(1, 5, 20, (0, 5), (3, 12)), has_aborts=True)
    record = decode_record(encode_record(whole.added_record()))
    assert isinstance(record, m.RemoteLogSegmentMetadataRecord)
    assert of_record(record) == whole


def test_a_damaged_record_is_refused() -> None:
    for value in (b"", b"\x01", b"\x00\x00\x00", b"\x01\x63\x00"):
        with pytest.raises(codec.MalformedMessage):
            decode_record(value)


def test_another_broker_reads_the_same_from_the_file(remote) -> None:
    copied(remote, segment(1, 0, 9), segment(2, 10, 19))
    remote.add(segment(3, 20, 29))
    other = RemoteSegments(remote.tier, ORDERS)
    assert other.refresh()
    assert other.by_id == remote.by_id
    assert [each.start_offset for each in other.readable] == [0, 10]
    assert not other.refresh()


def test_two_brokers_write_one_list(remote) -> None:
    other = RemoteSegments(remote.tier, ORDERS)
    copied(remote, segment(1, 0, 9))
    copied(other, segment(2, 10, 19))
    remote.refresh()
    assert remote.by_id == other.by_id
    assert len(remote.by_id) == 2


def test_a_record_that_a_crash_cut_short_does_not_hide_the_next_one(remote) -> None:
    copied(remote, segment(1, 0, 9))
    remote.tier.append(remote.path, remote.tier.read(remote.path, 0, 100))
    other = RemoteSegments(remote.tier, ORDERS)
    copied(other, segment(2, 10, 19))
    remote.refresh()
    assert [each.start_offset for each in remote.readable] == [0, 10]
    assert RemoteSegments(remote.tier, ORDERS).refresh()


def test_a_record_that_does_not_fit_is_passed_over(remote) -> None:
    first = segment(1, 0, 9)
    copied(remote, first)
    late = replace(first, state=State.COPY_SEGMENT_STARTED).update_record()
    remote._write(late, NOW_MS)
    unknown = replace(segment(9, 0, 9), state=State.COPY_SEGMENT_FINISHED).update_record()
    remote._write(unknown, NOW_MS)
    assert [each.id for each in remote.readable] == [first.id]


# -- which segment has an offset


def test_a_segment_is_found_by_epoch_and_offset(remote) -> None:
    copied(remote, segment(1, 0, 9, (0, 0)), segment(2, 10, 19, (0, 10), (2, 15)))
    assert remote.with_offset(0, 9).id == bytes([1]) * 16
    assert remote.with_offset(0, 14).id == remote.with_offset(2, 15).id == bytes([2]) * 16
    assert remote.with_offset(0, 15) is None  # in the log, 15 belongs to epoch 2
    assert remote.with_offset(2, 20) is None


def test_of_two_with_the_same_offsets_the_logs_epoch_decides(remote) -> None:
    copied(remote, segment(1, 0, 9, (0, 0)), segment(2, 0, 9, (1, 0)))
    assert remote.with_offset(0, 4).id == bytes([1]) * 16
    assert remote.with_offset(1, 4).id == bytes([2]) * 16


def test_of_two_copies_the_last_is_read(remote) -> None:
    copied(remote, segment(1, 0, 9), segment(2, 0, 19, (0, 0)))
    assert remote.with_offset(0, 4).id == bytes([2]) * 16


def test_an_unfinished_copy_is_not_read(remote) -> None:
    remote.add(segment(1, 0, 9))
    assert remote.with_offset(0, 4) is None
    assert remote.highest_offset([(0, 0)]) == -1


def test_a_segment_that_is_being_deleted_is_not_read(remote) -> None:
    copied(remote, segment(1, 0, 9))
    remote.update(remote.readable[0], State.DELETE_SEGMENT_STARTED, 101, NOW_MS)
    assert remote.with_offset(0, 4) is None
    assert len(remote.by_id) == 1
    going = next(iter(remote.by_id.values()))
    remote.update(going, State.DELETE_SEGMENT_FINISHED, 101, NOW_MS)
    assert not remote.by_id


def test_the_highest_copied_offset_is_that_of_this_logs_epochs(remote) -> None:
    copied(remote, segment(1, 0, 9, (0, 0)), segment(2, 10, 29, (0, 10)))
    assert remote.highest_offset([(0, 0)]) == 29
    # The log that counts ended epoch 0 at 20: 20..29 were never committed in it.
    assert remote.highest_offset([(0, 0), (1, 20)]) == 19
    copied(remote, segment(3, 20, 24, (1, 20)))
    assert remote.highest_offset([(0, 0), (1, 20)]) == 24
    assert remote.highest_offset([(5, 100)]) == -1


# -- files


def log_with(disk: Disk, batches: int) -> Log:
    log = Log(disk, "orders-0", LogConfig(segment_bytes=300, index_interval_bytes=1), NOW)
    for number in range(batches):
        value = f"value {number}".encode()
        records = [Record(0, NOW_MS + number, b"k", value)] * 2
        log.append_as_leader(encode(records, producer_id=7, producer_epoch=0,
                                    base_sequence=2 * number), 1 + number // 10, NOW)  # fmt: skip
    return log


def test_a_copied_segment_reads_as_the_local_one(disk) -> None:
    log, tier = log_with(disk, 20), MemoryDisk()
    local, end = log.segments[1], log.segments[2].base_offset
    target = segment(1, local.base_offset, end - 1)
    copying = store.copy_of(tier, log, local, end, target)
    while not copying.step():
        pass
    remote = store.open_segment(tier, target)
    assert remote.size == local.size
    for offset in range(local.base_offset, end):
        here = local.slice(offset, 1000, None, at_least_one=True)
        there = remote.slice(offset, 1000, None, at_least_one=True)
        assert here is not None
        assert there is not None
        assert there.read() == here.read()
    assert remote.offset_for_timestamp(NOW_MS + 3, 0) == local.offset_for_timestamp(NOW_MS + 3, 0)
    assert store.epochs_of(tier, target) == [e for e in log.epochs.entries if e[1] < end]
    assert store.producers_of(tier, target)[7].last_sequence == end - 1


def test_the_files_have_the_names_of_kafkas_local_tiered_storage(disk) -> None:
    log, tier = log_with(disk, 20), MemoryDisk()
    target = segment(1, 0, log.segments[1].base_offset - 1)
    copying = store.copy_of(tier, log, log.segments[0], target.end_offset + 1, target)
    while not copying.step():
        pass
    folder = f"kafka-tiered-storage/orders-0-{uuids.to_text(ORDERS.topic_id)}"
    stem = f"00000000000000000000-{uuids.to_text(target.id)}"
    kinds = (".index", ".leader_epoch_checkpoint", ".log", ".snapshot", ".timeindex")
    assert tier.list(folder) == [stem + kind for kind in kinds]
    store.delete_segment(tier, target)
    assert tier.list(folder) == []


def test_a_large_segment_is_copied_in_pieces(monkeypatch) -> None:
    monkeypatch.setattr(store, "PIECE_BYTES", 100)
    log, tier = log_with(MemoryDisk(), 20), MemoryDisk()
    target = segment(1, 0, log.segments[1].base_offset - 1)
    copying = store.copy_of(tier, log, log.segments[0], target.end_offset + 1, target)
    pieces = 1
    while not copying.step():
        pieces += 1
    assert pieces > 5
    assert store.open_segment(tier, target).size == log.segments[0].size


def test_a_segment_that_is_deleted_during_its_copy_ends_the_copy() -> None:
    log, tier = log_with(MemoryDisk(), 20), MemoryDisk()
    target = segment(1, 0, log.segments[1].base_offset - 1)
    copying = store.copy_of(tier, log, log.segments[0], target.end_offset + 1, target)
    log.advance_log_start(log.segments[2].base_offset)
    with pytest.raises(OSError, match=r"\.log"):
        copying.step()


# -- a log whose older segments are in the tier


def tiered(batches: int, copies: int, **config: int) -> RemoteLog:
    """A log whose first segments are in the tier, and no longer here."""
    log, tier = log_with(MemoryDisk(), batches), MemoryDisk()
    remote = RemoteLog(tier, ORDERS, log)
    ends = [each.base_offset for each in log.segments][1:]
    for number, end in enumerate(ends[:copies]):
        local = log.segments[number]
        first = log.epochs.epoch_for_offset(local.base_offset)
        assert first is not None
        later = [each for each in log.epochs.entries if local.base_offset < each[1] < end]
        target = replace(
            segment(number + 1, local.base_offset, end - 1, (first, local.base_offset), *later),
            size_in_bytes=local.size,
            max_timestamp_ms=local.max_timestamp,
        )
        remote.segments.add(target)
        copying = store.copy_of(tier, log, local, end, target)
        while not copying.step():
            pass
        remote.segments.update(target, State.COPY_SEGMENT_FINISHED, 101, NOW_MS)
    remote.refresh()
    log.config = LogConfig(remote_storage_enable=True, local_retention_bytes=0, **config)
    log.delete_old_segments(NOW)
    assert log.segments[0].base_offset == ends[copies - 1]
    return remote


def starts_of(found: Expired) -> list[int]:
    return [each.start_offset for each in found.segments]


def test_retention_by_time_takes_the_segments_whose_youngest_record_is_old_enough() -> None:
    remote = tiered(20, 4)
    copies = remote.readable
    age_ms = 1000
    config = LogConfig(retention_ms=age_ms)
    now_ms = copies[1].max_timestamp_ms + age_ms
    found = expired(remote, config, now_ms)
    assert starts_of(found) == [copies[0].start_offset, copies[1].start_offset]
    assert found.log_start_offset == copies[2].start_offset
    assert starts_of(expired(remote, config, now_ms - 1)) == [0]
    assert starts_of(expired(remote, LogConfig(retention_ms=-1), now_ms)) == []


def test_retention_by_size_never_takes_more_than_is_too_much() -> None:
    remote = tiered(20, 4)
    total = remote.log.size_in_bytes + sum(each.size_in_bytes for each in remote.readable)
    first, second = (each.size_in_bytes for each in remote.readable[:2])
    for too_much, expected in ((0, 0), (first - 1, 0), (first, 1), (first + second, 2)):
        config = LogConfig(retention_ms=-1, retention_bytes=total - too_much)
        assert len(starts_of(expired(remote, config, NOW_MS))) == expected


def test_retention_takes_what_lies_below_the_log_start_and_ends_deletes_that_were_begun() -> None:
    remote = tiered(20, 4)
    copies = remote.readable
    remote.log.advance_log_start(copies[1].start_offset + 1)
    remote.segments.update(copies[3], State.DELETE_SEGMENT_STARTED, 101, NOW_MS)
    config = LogConfig(retention_ms=-1, retention_bytes=1 << 30)
    assert starts_of(expired(remote, config, NOW_MS)) == [0]
    remote.log.advance_log_start(copies[3].start_offset)
    below = [each.start_offset for each in copies]
    assert starts_of(expired(remote, config, NOW_MS)) == below


def test_a_segment_of_another_history_is_not_part_of_the_log() -> None:
    remote = tiered(20, 2)
    log, last = remote.log, remote.readable[-1]
    start = last.end_offset + 1
    beyond = segment(8, start, log.log_end_offset, (log.latest_epoch, start))
    other = replace(segment(9, 0, last.end_offset), epochs=((7, 0),))
    mine = remote.readable
    copied(remote.segments, beyond, other)
    assert remote.readable == mine


def test_a_time_is_not_looked_for_below_the_log_start() -> None:
    remote = tiered(20, 4)
    second = remote.readable[1].start_offset
    remote.log.advance_log_start(second)
    found = remote.offset_for_timestamp(NOW_MS)
    assert found is not None
    assert found[0] == second
