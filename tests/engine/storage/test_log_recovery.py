"""Opening a log: after a clean stop, a killed process, a power loss, and with damage."""

from __future__ import annotations

import random
import struct
from dataclasses import replace
from typing import Any

import pytest

from engine.records import control
from engine.records.batch import Record, decode_all, encode
from engine.storage import checkpoints
from engine.storage.disk import Disk
from engine.storage.log import Log
from engine.storage.log_config import LogConfig
from engine.storage.log_loader import Checkpointed
from engine.storage.memory_disk import MemoryDisk

NOW_MS = 1_700_000_000_000
NOW = NOW_MS * 1000
FIRST = "orders-0/00000000000000000000.log"


def batch(value: str = "v", **fields: Any) -> bytes:
    return encode([Record(0, NOW_MS, None, value.encode())], **fields)


SIZE = len(batch())
SMALL = LogConfig(segment_bytes=3 * SIZE, index_interval_bytes=0)


def log_of(disk: Disk, count: int, config: LogConfig = SMALL) -> Log:
    log = Log(disk, "orders-0", config, NOW)
    for number in range(count):
        log.append_as_leader(batch(), number // 4, NOW)
    return log


def reopened(disk: Disk, *known: Any, config: LogConfig = SMALL) -> Log:
    return Log(disk, "orders-0", config, NOW, Checkpointed(*known))


def offsets(log: Log) -> list[int]:
    found: list[int] = []
    offset = log.log_start_offset
    while data := log.read(offset, 1 << 20):
        found += [r.offset for r in decode_all(data) if r.offset >= offset]
        offset = found[-1] + 1
    return found


def flip(disk: Disk, path: str, position: int, mask: int = 4) -> None:
    disk.write(path, position, bytes([disk.read(path, position, 1)[0] ^ mask]))


def test_a_power_loss_takes_records_of_the_active_segment_only() -> None:
    disk = MemoryDisk()
    checkpoints.write_topic_id(disk, "orders-0", bytes(range(16)))
    log = log_of(disk, 8)
    assert (log.segments.base_offsets, log.recovery_point) == ([0, 3, 6], 6)
    disk.lose_power(random.Random(1))
    again = reopened(disk, False, log.recovery_point)
    assert offsets(again) == [0, 1, 2, 3, 4, 5]
    assert checkpoints.read_topic_id(disk, "orders-0") == bytes(range(16))


def test_what_was_rolled_need_not_be_read_again(disk: Disk) -> None:
    log = log_of(disk, 8)
    again = reopened(disk, False, log.recovery_point)
    assert offsets(again) == list(range(8))
    assert again.recovered.batches_checked == 2


def test_a_clean_stop_needs_no_recovery(disk: Disk) -> None:
    log_of(disk, 8).close()
    again = reopened(disk, True, 8)
    assert offsets(again) == list(range(8))
    assert again.epochs.entries == [(0, 0), (1, 4)]
    assert (again.recovered.batches_checked, str(again.recovered)) == (0, "closed cleanly")
    again.append_as_leader(batch(), 2, NOW)
    assert offsets(again) == list(range(9))


def test_a_killed_process_loses_nothing(disk: Disk) -> None:
    log_of(disk, 8)
    again = reopened(disk)
    assert offsets(again) == list(range(8))
    assert again.epochs.entries == [(0, 0), (1, 4)]
    assert again.recovered.cut_bytes == 0
    assert str(again.recovered) == "8 batches intact"


def test_only_what_lies_above_the_recovery_point_is_checked(disk: Disk) -> None:
    log = log_of(disk, 7)
    assert (log.recovery_point, [s.base_offset for s in log.segments]) == (6, [0, 3, 6])
    log.flush()
    assert log.recovery_point == 7
    assert reopened(disk, False, 7).recovered.batches_checked == 1
    assert reopened(disk, False, 4).recovered.batches_checked == 4
    assert reopened(disk, False, 0).recovered.batches_checked == 7


@pytest.mark.parametrize("left", range(1, SIZE))
def test_a_torn_last_batch_is_cut_and_reported(left: int) -> None:
    disk = MemoryDisk()
    log_of(disk, 2)
    disk.truncate(FIRST, SIZE + left)
    again = reopened(disk)
    assert offsets(again) == [0]
    (cut,) = again.recovered.cuts
    assert (cut.path, cut.position, cut.offset, cut.cut_bytes) == (FIRST, SIZE, 1, left)
    assert cut.is_torn_tail
    assert "a torn tail at offset 1" in str(again.recovered)
    assert disk.size(FIRST) == SIZE
    again.append_as_leader(batch(), 1, NOW)
    assert offsets(again) == [0, 1]


@pytest.mark.parametrize("at", range(SIZE))
def test_a_flipped_bit_in_the_middle_is_reported_with_what_is_lost(at: int) -> None:
    disk = MemoryDisk()
    log_of(disk, 8)
    flip(disk, FIRST, SIZE + at)
    again = reopened(disk)
    if 12 <= at < 16:  # the checksum does not cover the epoch, nor the offset:
        assert again.recovered.cuts == ()
        return
    if 4 <= at < 8:  # one that is too large shows only when the next is smaller
        assert again.recovered.cuts[0].position == 2 * SIZE
        return
    assert offsets(again) == [0]
    cut, *behind = again.recovered.cuts
    assert (cut.position, cut.offset, cut.cut_bytes) == (SIZE, 1, 2 * SIZE)
    assert (cut.batches_behind, cut.is_torn_tail) == (1, False)
    assert "a corrupt middle at offset 1" in str(again.recovered)
    assert [(c.offset, c.batches_behind) for c in behind] == [(6, 2), (3, 3)]
    assert again.recovered.cut_bytes == 7 * SIZE
    assert not disk.exists("orders-0/00000000000000000003.log")
    assert again.epochs.entries == [(0, 0)]


def test_zeros_at_the_end_are_a_torn_tail(disk: Disk) -> None:
    log_of(disk, 2)
    disk.append(FIRST, bytes(500))
    again = reopened(disk)
    assert offsets(again) == [0, 1]
    assert again.recovered.cuts[0].is_torn_tail


def test_a_length_that_leads_beyond_the_file_is_not_believed(disk: Disk) -> None:
    log_of(disk, 3)
    disk.write(FIRST, SIZE + 8, struct.pack(">i", 2**31 - 13))
    again = reopened(disk)
    assert offsets(again) == [0]
    assert again.recovered.cuts[0].batches_behind == 1


def test_damage_below_the_recovery_point_is_left_for_the_reader_to_find(disk: Disk) -> None:
    log = log_of(disk, 8)
    log.flush()
    flip(disk, FIRST, SIZE + 63)
    assert reopened(disk, False, 8).recovered.cuts == ()


def test_a_hole_between_segments_ends_the_log(disk: Disk) -> None:
    log_of(disk, 8)
    disk.truncate(FIRST, 2 * SIZE)
    again = reopened(disk)
    assert offsets(again) == [0, 1]
    assert "records from 2 on are missing" in str(again.recovered)


def test_a_hole_made_by_compaction_is_meant(disk: Disk) -> None:
    log_of(disk, 8)
    disk.truncate(FIRST, 2 * SIZE)
    config = LogConfig(cleanup_policy=("compact",))
    assert offsets(reopened(disk, config=config)) == [0, 1, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("suffix", ["index", "timeindex"])
@pytest.mark.parametrize("damage", ["missing", "zeros", "odd size"])
def test_indexes_are_rebuilt(disk: Disk, clean: bool, suffix: str, damage: str) -> None:
    log = log_of(disk, 8)
    log.close()
    path = f"orders-0/00000000000000000003.{suffix}"
    intact = disk.read(path, 0, 999)
    if damage == "missing":
        disk.delete(path)
    else:
        disk.replace(path, bytes(4096) if damage == "zeros" else intact + b"x")
    again = reopened(disk, clean, 8)
    assert offsets(again) == list(range(8))
    assert disk.read(path, 0, 999) == intact
    assert again.recovered.rebuilt == ("orders-0/00000000000000000003.log",)
    assert again.recovered.cuts == ()


def test_a_recovered_index_is_the_one_that_was_written(disk: Disk) -> None:
    config = LogConfig(index_interval_bytes=2 * SIZE)
    log = log_of(disk, 20, config)
    log.segments.active.become_inactive()
    names = [n for n in disk.list("orders-0") if n.endswith("index")]
    before = {n: disk.read(f"orders-0/{n}", 0, 9999) for n in names}
    assert all(before.values())
    reopened(disk, config=config)
    assert {n: disk.read(f"orders-0/{n}", 0, 9999) for n in names} == before


def test_leftovers_are_cleared_away(disk: Disk) -> None:
    log_of(disk, 2).close()
    for name in ("00000000000000000009.index", "x.deleted", "00000000000000000000.log.cleaned"):
        disk.append(f"orders-0/{name}", b"x")
    reopened(disk)
    assert not {"00000000000000000009.index", "x.deleted"} & set(disk.list("orders-0"))


@pytest.mark.parametrize("clean", [True, False])
def test_producers_and_transactions_are_known_again(disk: Disk, clean: bool) -> None:
    log = Log(disk, "orders-0", SMALL, NOW)
    for sequence in range(7):
        sent = batch(producer_id=7, producer_epoch=0, base_sequence=sequence, transactional=True)
        log.append_as_leader(sent, 0, NOW)
    marker = control.end_transaction(
        commit=True, producer_id=7, producer_epoch=0, coordinator_epoch=2, timestamp=NOW_MS
    )
    log.append_as_leader(marker, 0, NOW, "coordinator")
    sent = batch(producer_id=7, producer_epoch=0, base_sequence=7, transactional=True)
    log.append_as_leader(sent, 0, NOW)
    if clean:
        log.close()
    again = reopened(disk, clean, 9 * clean)
    state, before = again.producers.get(7), log.producers.get(7)
    assert state is not None
    assert before is not None
    assert state.batches[-1] == before.batches[-1]
    assert replace(state, batches=[]) == replace(before, batches=[])
    assert again.producers.first_undecided_offset == 8
    assert again.append_as_leader(sent, 0, NOW).duplicate


def test_without_snapshots_the_batches_tell(disk: Disk) -> None:
    log = Log(disk, "orders-0", SMALL, NOW)
    for sequence in range(8):
        log.append_as_leader(batch(producer_id=7, producer_epoch=0, base_sequence=sequence), 0, NOW)
    for name in disk.list("orders-0"):
        if name.endswith(".snapshot"):
            disk.delete(f"orders-0/{name}")
    assert reopened(disk).producers.get(7) == log.producers.get(7)


# -- power loss


@pytest.mark.parametrize("torn", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_every_flushed_record_survives_a_power_loss(seed: int, torn: bool) -> None:
    ids = random.Random(seed)
    disk = MemoryDisk()
    log = log_of(disk, 0)
    for number in range(ids.randrange(12)):
        log.append_as_leader(batch(str(number % 10)), 0, NOW)
    log.flush()
    flushed = log.log_end_offset
    for number in range(ids.randrange(12)):
        log.append_as_leader(batch(str(number % 10)), 1, NOW)
    written = [log.read(o, 1) for o in range(log.log_end_offset)]
    disk.lose_power(ids, torn)
    again = reopened(disk, False, log.recovery_point)
    assert flushed <= again.log_end_offset <= len(written)
    assert [again.read(o, 1) for o in range(again.log_end_offset)] == written[
        : again.log_end_offset
    ]
    again.append_as_leader(batch(), 2, NOW)
    assert offsets(again) == list(range(again.log_end_offset))
    assert reopened(disk).recovered.cuts == ()


def test_power_losses_tear_batches_at_all() -> None:
    torn = 0
    for seed in range(40):
        disk = MemoryDisk()
        log_of(disk, 5)
        disk.lose_power(random.Random(seed), torn=True)
        torn += bool(reopened(disk).recovered.cuts)
    assert torn > 20
