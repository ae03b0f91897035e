"""Compaction of one log: what stays, what goes, and when; and every moment of the swap."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from engine.records import control
from engine.records.batch import Record, decode, encode, read_header
from engine.storage.cleaner.cleaned_transactions import CleanedTransactions
from engine.storage.cleaner.cleaning import TRANSITIONS, Cleaning, Phase
from engine.storage.cleaner.log_to_clean import LogToClean, filthiest, log_to_clean
from engine.storage.cleaner.offset_map import OffsetMap
from engine.storage.disk import Disk
from engine.storage.log import Log
from engine.storage.log_config import LogConfig
from engine.storage.log_loader import Checkpointed
from engine.storage.memory_disk import MemoryDisk
from engine.storage.transaction_index import AbortedTransaction
from engine.wire.slices import SliceGone

NOW_MS = 1_700_000_000_000
HOUR_MS = 3600 * 1000
COMPACT = LogConfig(
    segment_bytes=400,
    index_interval_bytes=0,
    cleanup_policy=("compact",),
    min_cleanable_dirty_ratio=0.0,
    delete_retention_ms=HOUR_MS,
)
Keyed = tuple[str, str | None]


def append(log: Log, *records: Keyed, at_ms: int = NOW_MS, **fields: Any) -> None:
    batch = [Record(0, at_ms, k.encode(), v if v is None else v.encode()) for k, v in records]
    log.append_as_leader(encode(batch, **fields), 0, at_ms * 1000)


def log_of(disk: Disk, *records: Keyed, config: LogConfig = COMPACT) -> Log:
    """Each record in a batch of its own; the active segment is empty."""
    log = Log(disk, "orders-0", config, NOW_MS * 1000)
    for record in records:
        append(log, record)
    log.roll()
    return log


def due(log: Log, now_ms: int = NOW_MS, last_stable_offset: int | None = None) -> LogToClean:
    end = last_stable_offset or log.last_stable_offset(log.log_end_offset)
    return log_to_clean(log, end, now_ms)


def cleaning_of(log: Log, now_ms: int = NOW_MS, keys_max: int = 1000, **known: Any) -> Cleaning:
    return Cleaning(due(log, now_ms, **known), OffsetMap(24 * keys_max, 1.0), now_ms * 1000, 200)


def clean(log: Log, now_ms: int = NOW_MS, keys_max: int = 1000, **known: Any) -> Cleaning:
    cleaning = cleaning_of(log, now_ms, keys_max, **known)
    while not cleaning.is_over:
        cleaning.step()
    return cleaning


def records(log: Log) -> list[tuple[int, str, str | None]]:
    """Offset, key and value of all that is left."""
    found = []
    for segment in log.segments:
        for header, position in segment.headers(0):
            for each in decode(log.disk.read(segment.path, position, header.size_in_bytes)):
                assert each.key is not None
                value = None if each.value is None else each.value.decode()
                found.append((each.offset, each.key.decode(), value))
    return found


def latest(log: Log) -> dict[str, str]:
    """What a reader from offset 0 ends up with."""
    table: dict[str, str] = {}
    for _, key, value in records(log):
        if value is None:
            table.pop(key, None)
        else:
            table[key] = value
    return table


# -- what stays


def test_the_latest_record_of_each_key_stays_where_it_is(disk: Disk) -> None:
    log = log_of(disk, ("a", "1"), ("b", "1"), ("a", "2"), ("c", "1"), ("a", "3"))
    assert clean(log).phase is Phase.CLEANED
    assert records(log) == [(1, "b", "1"), (3, "c", "1"), (4, "a", "3")]
    assert (log.log_start_offset, log.log_end_offset, log.first_dirty_offset) == (0, 5, 5)
    append(log, ("d", "1"))
    assert records(log)[-1] == (5, "d", "1")


def test_a_reader_crosses_the_gaps(disk: Disk) -> None:
    log = log_of(disk, *[("a", str(n)) for n in range(20)], ("b", "1"))
    assert len(log.segments) > 2
    clean(log)
    assert read_header(log.read(0, 1 << 20)).base_offset == 19
    assert read_header(log.read(5, 1 << 20)).base_offset == 19


def test_a_batch_that_loses_records_keeps_its_numbers(disk: Disk) -> None:
    log = Log(disk, "orders-0", COMPACT, NOW_MS * 1000)
    append(log, ("a", "1"), ("b", "1"), ("c", "1"), producer_id=7, producer_epoch=0,
           base_sequence=4)  # fmt: skip
    append(log, ("a", "2"), ("c", "2"))
    log.roll()
    clean(log)
    header = read_header(log.read(0, 1 << 20))
    assert (header.base_offset, header.last_offset, header.records_count) == (0, 2, 1)
    assert (header.producer_id, header.base_sequence, header.last_sequence) == (7, 4, 6)


def test_a_header_stays_for_the_last_sequence_of_a_producer_that_is_known(disk: Disk) -> None:
    log = Log(disk, "orders-0", COMPACT, NOW_MS * 1000)
    for sequence in (0, 1):
        append(log, ("a", "1"), producer_id=7, producer_epoch=0, base_sequence=sequence)
    append(log, ("a", "2"))
    log.roll()
    clean(log)
    headers = [header for header, _ in log.segments[0].headers(0)]
    assert [(h.base_offset, h.records_count) for h in headers] == [(1, 0), (2, 1)]
    again = Log(disk, "orders-0", COMPACT, NOW_MS * 1000)
    state = again.producers.get(7)
    assert state is not None
    assert state.last_sequence == 1


def test_the_last_batch_of_the_range_stays_as_a_header(disk: Disk) -> None:
    """A reader that has come so far moves on to the log's end."""
    log = Log(disk, "orders-0", COMPACT, NOW_MS * 1000)
    append(log, ("a", "1"))
    append(log, ("b", "1"))
    append(log, ("b", None), ("b", None))
    log.roll()
    for _ in range(2):
        clean(log, NOW_MS)
        headers = [header for header, _ in log.segments[0].headers(0)]
        assert [h.last_offset for h in headers] == [0, 3]
        log.first_dirty_offset = 0
    clean(log, NOW_MS + HOUR_MS)
    header = read_header(log.read(1, 1 << 20))
    assert (header.base_offset, header.last_offset, header.records_count) == (2, 3, 0)


def test_a_tombstone_outlives_the_time_of_the_first_pass_that_keeps_it(disk: Disk) -> None:
    log = log_of(disk, ("a", "1"), ("a", None), ("b", "1"))
    clean(log, NOW_MS + 5 * HOUR_MS)
    assert records(log) == [(1, "a", None), (2, "b", "1")]
    horizon = next(header for header, _ in log.segments[0].headers(0)).delete_horizon_ms
    assert horizon == NOW_MS + 6 * HOUR_MS
    for later, left in ((6 * HOUR_MS - 1, 2), (6 * HOUR_MS, 1)):
        append(log, ("z", "1"))
        log.roll()
        clean(log, NOW_MS + later)
        assert len([each for each in records(log) if each[1] != "z"]) == left
    assert decode(log.read(0, 1 << 20))[0].timestamp == NOW_MS


def test_records_above_the_map_stay_for_the_next_round(disk: Disk) -> None:
    log = log_of(disk, *[(f"k{n % 4}", str(n)) for n in range(12)])
    ends = []
    while log.first_dirty_offset < 12:
        ends.append(clean(log, keys_max=3).end_offset)
    assert len(ends) > 1
    assert ends == sorted(ends)
    assert records(log) == [(n, f"k{n % 4}", str(n)) for n in range(8, 12)]


def test_small_segments_are_joined(disk: Disk) -> None:
    log = log_of(disk, *[(f"k{n}", "v" * 20) for n in range(12)])
    before = log.size_in_bytes
    config = log.config
    log.config = replace(config, segment_bytes=3 * config.segment_bytes)
    clean(log)
    assert log.segments.base_offsets == [0, 12]
    assert log.size_in_bytes == before


# -- which part, and which log


def test_the_active_segment_and_what_is_not_stable_stay(disk: Disk) -> None:
    log = log_of(disk, *[("a", str(n)) for n in range(12)])
    append(log, ("a", "new"))
    second = log.segments[1].base_offset
    found = due(log, last_stable_offset=second + 1)
    assert found.first_uncleanable_offset == second
    assert due(log).first_uncleanable_offset == 12
    clean(log, last_stable_offset=second + 1)
    assert records(log) == [(n, "a", str(n)) for n in range(second - 1, 12)] + [(12, "a", "new")]


def test_young_records_wait_for_min_compaction_lag_ms(disk: Disk) -> None:
    config = replace(COMPACT, min_compaction_lag_ms=HOUR_MS)
    log = log_of(disk, ("a", "1"), ("a", "2"), config=config)
    assert not due(log).is_due
    assert due(log, NOW_MS + HOUR_MS + 1).is_due


def test_a_log_is_due_when_enough_of_it_is_dirty(disk: Disk) -> None:
    config = replace(COMPACT, min_cleanable_dirty_ratio=0.4)
    log = log_of(disk, *[(f"k{n}", "v") for n in range(10)], config=config)
    assert due(log).is_due
    clean(log)
    assert (due(log).dirty_bytes, due(log).dirty_ratio, due(log).is_due) == (0, 0.0, False)
    append(log, ("k0", "w"))
    log.roll()
    assert 0 < due(log).dirty_ratio < 0.4
    assert not due(log).is_due
    overdue = replace(config, max_compaction_lag_ms=HOUR_MS)
    log.config = overdue
    assert not due(log, NOW_MS + HOUR_MS).is_due
    assert due(log, NOW_MS + HOUR_MS + 1).is_due


def test_the_filthiest_log_is_next() -> None:
    few = log_of(MemoryDisk(), *[(f"k{n}", "v") for n in range(10)])
    clean(few)
    append(few, ("k0", "w"))
    few.roll()
    all_of_it = log_of(MemoryDisk(), ("a", "1"))
    nothing = log_of(MemoryDisk())
    found = filthiest([due(few), due(nothing), due(all_of_it)])
    assert found is not None
    assert found.log is all_of_it
    assert filthiest([due(nothing)]) is None


def test_a_cut_below_what_was_cleaned_makes_it_dirty_again(disk: Disk) -> None:
    log = log_of(disk, *[(f"k{n}", "v" * 50) for n in range(10)])
    clean(log)
    assert log.first_dirty_offset == 10
    log.truncate_to(5)
    assert log.first_dirty_offset <= 5
    log.truncate_fully_and_start_at(0)
    assert log.first_dirty_offset == 0


def test_a_map_without_room_for_a_key_is_refused() -> None:
    with pytest.raises(ValueError, match="dedupe"):
        OffsetMap(24)


# -- steps, and what may happen between two of them


def test_a_pass_reads_a_little_at_a_time(disk: Disk) -> None:
    log = log_of(disk, *[(f"k{n % 5}", "v" * 50) for n in range(30)])
    cleaning = cleaning_of(log)
    phases = []
    while not cleaning.is_over:
        append(log, ("new", "v"))
        phases.append(cleaning.phase)
        cleaning.step()
    assert set(phases) == {Phase.INDEXING, Phase.COPYING, Phase.SWAPPING}
    assert len(phases) > 30
    assert {key for _, key, _ in records(log)} == {"new", *(f"k{n}" for n in range(5))}


@pytest.mark.parametrize("steps", [0, 3, 12])
@pytest.mark.parametrize("cut", [2, 19], ids=["early", "in the last segment"])
def test_a_cut_meanwhile_ends_the_pass(disk: Disk, steps: int, cut: int) -> None:
    log = log_of(disk, *[(f"k{n % 5}", "v" * 50) for n in range(20)])
    cleaning = cleaning_of(log)
    for _ in range(steps):
        cleaning.step()
    log.truncate_to(cut)
    while not cleaning.is_over:
        cleaning.step()
    assert cleaning.phase is Phase.ABORTED
    assert not [name for name in disk.list("orders-0") if name.endswith(".cleaned")]
    assert log.first_dirty_offset == 0
    assert latest(log) == {f"k{n}": "v" * 50 for n in range(min(cut, 5))}


def test_every_state_of_a_pass_leads_to_its_end() -> None:
    reachable = {Phase.INDEXING}
    for _ in TRANSITIONS:
        reachable |= {to for (phase, _), to in TRANSITIONS.items() if phase in reachable}
    assert reachable == set(Phase)
    assert not {phase for phase, _ in TRANSITIONS} & {Phase.CLEANED, Phase.ABORTED}


def test_a_reader_of_a_replaced_segment_is_not_disturbed(disk: Disk) -> None:
    log = log_of(disk, *[("a", str(n)) for n in range(9)])
    found = log.slice(0, 1 << 20)
    assert found is not None
    before = found.read()
    clean(log)
    assert found.read() == before
    log.segments.delete_retired(NOW_MS - 1)
    assert found.read() == before
    log.segments.delete_retired(NOW_MS)
    with pytest.raises(SliceGone):
        found.read()
    assert not [name for name in disk.list("orders-0") if name.endswith(".deleted")]


def test_a_second_pass_does_not_mix_up_replaced_segments(disk: Disk) -> None:
    one_segment = replace(COMPACT, segment_bytes=2000)
    log = log_of(disk, *[("a", str(n)) for n in range(9)], config=one_segment)
    first = log.slice(0, 1)
    clean(log)
    second = log.slice(0, 1 << 20)
    assert first is not None
    assert second is not None
    before = second.read()
    append(log, ("a", "9"))
    log.roll()
    clean(log)
    assert second.read() == before
    with pytest.raises(SliceGone):
        first.read()


# -- transactions


def test_markers_stay_as_long_as_a_record_of_their_transaction() -> None:
    def batch(offset: int, producer_id: int) -> Any:
        return read_header(encode([Record(0, 0, b"k", b"v")], base_offset=offset,
                                  producer_id=producer_id, transactional=True))  # fmt: skip

    def end(transactions: CleanedTransactions, offset: int, producer_id: int, commit: bool) -> bool:
        data = control.end_transaction(commit=commit, producer_id=producer_id, producer_epoch=0,
                                       coordinator_epoch=0, timestamp=0)  # fmt: skip
        header = read_header(data)._replace(base_offset=offset)
        return transactions.may_go(header, decode(data))

    ended = AbortedTransaction(8, 0, 0, 0)
    seen = CleanedTransactions(
        [ended, AbortedTransaction(7, 0, 2, 0), AbortedTransaction(9, 10, 11, 0)], start_offset=1
    )
    assert seen.is_aborted(batch(1, 7))
    assert not seen.is_aborted(batch(1, 8))
    assert not end(seen, 2, 7, commit=False)
    assert not end(seen, 3, 8, commit=True)
    assert not seen.is_aborted(batch(4, 7))
    assert not end(seen, 5, 7, commit=True)
    assert end(seen, 6, 8, commit=True)
    assert end(seen, 11, 9, commit=False)
    assert [each.producer_id for each in seen.kept] == [7]


def end_transaction(log: Log, producer_id: int, commit: bool) -> None:
    marker = control.end_transaction(
        commit=commit, producer_id=producer_id, producer_epoch=0, coordinator_epoch=0,
        timestamp=NOW_MS,
    )  # fmt: skip
    log.append_as_leader(marker, 0, NOW_MS * 1000, "coordinator")


def test_an_aborted_record_replaces_nothing_and_goes(disk: Disk) -> None:
    """The marker lies behind the part that is cleaned."""
    log = Log(disk, "orders-0", COMPACT, NOW_MS * 1000)
    append(log, ("a", "committed"), ("b", "old"))
    for key, producer_id in (("a", 7), ("b", 8)):
        append(log, (key, "in a transaction"), producer_id=producer_id, producer_epoch=0,
               base_sequence=0, transactional=True)  # fmt: skip
    log.roll()
    assert due(log).dirty_bytes == 0
    end_transaction(log, 7, commit=False)
    end_transaction(log, 8, commit=True)
    clean(log)
    data = [(o, k, v) for o, k, v in records(log) if o < 4]
    assert data == [(0, "a", "committed"), (3, "b", "in a transaction")]


def test_a_marker_that_stays_is_in_the_new_transaction_index(disk: Disk) -> None:
    log = Log(disk, "orders-0", COMPACT, NOW_MS * 1000)
    append(log, ("a", "committed"))
    append(log, ("a", "no"), producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    end_transaction(log, 7, commit=False)
    append(log, ("b", "later"), producer_id=7, producer_epoch=0, base_sequence=1)
    log.roll()
    before = list(log.segments[0].transaction_index)
    assert [(each.first_offset, each.last_offset) for each in before] == [(1, 2)]
    for left in (before, []):
        clean(log)
        assert list(log.segments[0].transaction_index) == left
        again = Log(disk, "orders-0", COMPACT, NOW_MS * 1000, Checkpointed(True))
        assert list(again.segments[0].transaction_index) == left
        append(log, ("z", "1"))
        log.roll()


# -- a crash in the middle of it


class Crash(Exception):
    """The process has died."""


class MortalDisk(MemoryDisk):
    """Dies before the change number `lives`; changes are what a crash may come between."""

    def __init__(self, lives: int) -> None:
        super().__init__()
        self.lives = lives
        self.armed = False

    def _change(self) -> None:
        if self.armed:
            if self.lives == 0:
                raise Crash
            self.lives -= 1

    def append(self, path: str, data: bytes) -> None:
        self._change()
        super().append(path, data)

    def rename(self, old: str, new: str) -> None:
        self._change()
        super().rename(old, new)

    def delete(self, path: str) -> None:
        if self.exists(path):
            self._change()
        super().delete(path)


VALUES = [(f"k{n % 7}", None if n % 11 == 5 else str(n)) for n in range(40)]


def crashes() -> Iterator[tuple[int, MortalDisk, Log]]:
    """A pass that dies at each of its changes in turn, until one gets through."""
    lives = 0
    while True:
        disk = MortalDisk(lives)
        log = log_of(disk, *VALUES)
        append(log, ("k0", "active"))
        log.flush()
        log.config = replace(COMPACT, segment_bytes=1200)
        disk.armed = True
        try:
            clean(log)
            return
        except Crash:
            disk.armed = False
            yield lives, disk, log
        lives += 1


@pytest.mark.parametrize("power", ["kept", "lost", "torn"])
def test_a_crash_at_any_moment_loses_no_key(power: str) -> None:
    whole = log_of(MemoryDisk(), *VALUES)
    append(whole, ("k0", "active"))
    expected = latest(whole)
    count = 0
    states = set()
    for lives, disk, before in crashes():
        states |= {name.split(".", 1)[1] for name in disk.list("orders-0") if "." in name}
        if power != "kept":
            disk.lose_power(random.Random(lives), torn=power == "torn")
        known = Checkpointed(False, before.recovery_point)
        log = Log(disk, "orders-0", COMPACT, NOW_MS * 1000, known)
        assert latest(log) == expected, f"after {lives} changes"
        assert log.log_end_offset == 41
        assert log.recovered.cuts == ()
        offsets = [offset for offset, _, _ in records(log)]
        assert offsets == sorted(set(offsets))
        clean(log)
        assert latest(log) == expected
        assert len(records(log)) == 8
        log.segments.delete_retired(NOW_MS)
        left = disk.list("orders-0")
        assert not [name for name in left if name.endswith((".cleaned", ".swap", ".deleted"))]
        count += 1
    assert count > 40
    for step in ("cleaned", "swap", "deleted"):
        assert {f"log.{step}", f"index.{step}", f"timeindex.{step}"} <= states


def test_a_swap_that_was_cut_short_is_undone(disk: Disk) -> None:
    """The batches have their new ending, an index has not."""
    log = log_of(disk, ("a", "1"))
    before = records(log)
    first = "orders-0/00000000000000000000"
    disk.append(f"{first}.log.swap", encode([Record(0, NOW_MS, b"other", b"1")]))
    disk.append(f"{first}.txnindex.cleaned", b"")
    assert records(Log(disk, "orders-0", COMPACT, NOW_MS * 1000)) == before
    left = disk.list("orders-0")
    assert not [name for name in left if name.endswith((".swap", ".cleaned"))]


def test_a_compacted_log_that_is_no_longer_compacted_keeps_what_lies_behind_a_gap() -> None:
    disk = MemoryDisk()
    log = log_of(disk, *[("a", "v" * 50) for _ in range(9)])
    append(log, ("b", "1"))
    clean(log)
    append(log, ("c", "1"))
    before = records(log)
    plain = replace(COMPACT, cleanup_policy=("delete",))
    known = Checkpointed(False, 0, 0, log.first_dirty_offset)
    assert records(Log(disk, "orders-0", plain, NOW_MS * 1000, known)) == before
