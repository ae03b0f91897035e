"""Transactions in one log: what is unstable, which were aborted, what a restart knows of both."""

from __future__ import annotations

from random import Random

import pytest

from engine.records import control
from engine.records.batch import Record, encode
from engine.storage.log import Checkpointed, Log
from engine.storage.log_config import LogConfig
from engine.storage.memory_disk import MemoryDisk
from engine.storage.offset_index import CorruptIndex
from engine.storage.producer_states import NO_GUARD
from engine.storage.transaction_index import AbortedTransaction, TransactionIndex
from engine.wire.errors import Errors, KafkaError

NOW_MS = 1_700_000_000_000
SMALL = LogConfig(segment_bytes=400, index_interval_bytes=1)
INDEX = "orders-0/00000000000000000000.txnindex"


class Writers:
    """Transactional producers of one log, and the coordinator that ends their transactions."""

    def __init__(self, config: LogConfig | None = None) -> None:
        self.disk = MemoryDisk()
        self.config = config or LogConfig()
        self.sequences: dict[int, int] = {}
        self.log = self.opened(clean=True)

    def opened(self, clean: bool) -> Log:
        return Log(self.disk, "orders-0", self.config, NOW_MS * 1000, Checkpointed(clean))

    def write(self, producer_id: int = -1) -> int:
        """One record, in a transaction if there is a producer id; its offset."""
        record = [Record(0, NOW_MS, None, b"value", ())]
        data = encode(record)
        if producer_id >= 0:
            sequence = self.sequences.get(producer_id, 0)
            self.sequences[producer_id] = sequence + 1
            data = encode(record, producer_id=producer_id, producer_epoch=0,
                          base_sequence=sequence, transactional=True)  # fmt: skip
        return self.log.append_as_leader(data, 0, NOW_MS * 1000).base_offset

    def end(self, producer_id: int, commit: bool) -> int:
        marker = control.end_transaction(
            commit=commit, producer_id=producer_id, producer_epoch=0, coordinator_epoch=1,
            timestamp=NOW_MS,
        )  # fmt: skip
        return self.log.append_as_leader(marker, 0, NOW_MS * 1000, "coordinator").base_offset

    def aborted(self, offset: int = 0, max_bytes: int = 1 << 20) -> list[tuple[int, int]]:
        found = self.log.slice(offset, max_bytes)
        assert found is not None
        return [(t.producer_id, t.first_offset) for t in self.log.aborted_transactions(found)]


def test_the_oldest_open_transaction_holds_the_last_stable_offset():
    writers = Writers()
    stable = writers.log.last_stable_offset
    assert writers.write() == 0
    assert writers.write(7) == 1
    assert writers.write(8) == 2
    assert stable(3) == 1
    writers.end(7, commit=True)
    assert stable(4) == 2
    writers.end(8, commit=False)
    assert stable(5) == 5


def test_an_ended_transaction_is_unstable_until_its_marker_is_replicated():
    writers = Writers()
    writers.write(7)
    marker = writers.end(7, commit=True)
    assert writers.log.last_stable_offset(marker) == 0
    assert writers.log.last_stable_offset(marker + 1) == marker + 1
    writers.log.producers.replicated_up_to(marker + 1)
    assert writers.log.producers.first_unstable_offset(0) is None, "forgotten for good"


def test_it_is_never_above_the_high_watermark_nor_below_the_log_start():
    writers = Writers(SMALL)
    writers.write(7)
    for _ in range(9):
        writers.write()
    assert writers.log.last_stable_offset(0) == 0
    writers.log.advance_log_start(5)
    assert writers.log.last_stable_offset(9) == 5


def test_the_index_names_the_aborted_and_what_was_stable_behind_each():
    writers = Writers()
    for producer_id in (7, 8, 9):
        writers.write(producer_id)
    writers.end(8, commit=False)
    writers.end(7, commit=True)
    writers.end(9, commit=False)
    assert list(writers.log.segments.active.transaction_index) == [
        AbortedTransaction(8, 1, 3, 0),
        AbortedTransaction(9, 2, 5, 6),
    ]


def test_a_slice_comes_with_the_aborted_transactions_that_touch_it():
    writers = Writers(SMALL)
    writers.write(7)  # 0
    for _ in range(12):
        writers.write()
    writers.end(7, commit=False)  # 13, three segments later
    writers.write(8)
    writers.end(8, commit=True)
    assert len(writers.log.segments) > 3
    assert writers.aborted(0, 100) == [(7, 0)]
    assert writers.aborted(6, 100) == [(7, 0)], "it began before, and ends behind"
    assert writers.aborted(14) == []


def test_nothing_of_an_index_is_left_beyond_a_truncation():
    writers = Writers()
    writers.write(7)
    writers.end(7, commit=False)
    writers.write(8)
    cut = writers.end(8, commit=False)
    writers.log.truncate_to(cut)
    assert writers.aborted() == [(7, 0)]
    assert writers.log.last_stable_offset(cut) == 2, "8 is open again"
    writers.log.truncate_to(0)
    assert list(writers.log.segments.active.transaction_index) == []
    assert writers.log.last_stable_offset(0) == 0


def test_no_aborted_transaction_no_file():
    writers = Writers()
    writers.write(7)
    writers.end(7, commit=True)
    assert not writers.disk.exists(INDEX)
    writers.write(7)
    writers.end(7, commit=False)
    assert writers.disk.exists(INDEX)


@pytest.mark.parametrize("damage", ["none", "lost", "torn"])
def test_recovery_writes_the_index_again(damage: str):
    writers = Writers(SMALL)
    for number in range(12):
        writers.write(7 + number % 2)
        if number % 3 == 2:
            writers.end(7 + number % 2, commit=number % 2 == 0)
    before = [list(each.transaction_index) for each in writers.log.segments]
    unstable = writers.log.producers.first_undecided_offset
    assert sum(map(len, before)) >= 2
    paths = [each.transaction_index.path for each in writers.log.segments]
    for path in paths:
        if damage == "lost":
            writers.disk.delete(path)
        elif damage == "torn" and writers.disk.exists(path):
            writers.disk.truncate(path, writers.disk.size(path) - 5)
    again = writers.opened(clean=damage == "torn")
    assert [list(each.transaction_index) for each in again.segments] == before
    assert again.producers.first_undecided_offset == unstable


def test_a_flush_makes_the_index_durable():
    writers = Writers()
    writers.write(7)
    writers.end(7, commit=False)
    writers.log.flush()
    writers.disk.lose_power(Random(1))
    assert list(writers.opened(clean=True).segments[0].transaction_index) == [
        AbortedTransaction(7, 0, 1, 2)
    ]


@pytest.mark.parametrize(
    "data",
    [b"x" * 33, bytes(2) + b"\0" * 8 + (5).to_bytes(8, "big") + (4).to_bytes(8, "big") + bytes(8)],
    ids=["a torn entry", "an end before the beginning"],
)
def test_an_index_that_contradicts_itself_is_corrupt(data: bytes):
    disk = MemoryDisk()
    disk.append(INDEX, data)
    with pytest.raises(CorruptIndex):
        TransactionIndex(disk, INDEX).load()


# -- late markers, late records (KIP-890)


def bumped(producer_epoch: int) -> bytes:
    return control.end_transaction(
        commit=True, producer_id=7, producer_epoch=producer_epoch, coordinator_epoch=1,
        timestamp=NOW_MS,
    )  # fmt: skip


def transactional(epoch: int, sequence: int = 0) -> bytes:
    record = [Record(0, NOW_MS, None, b"value", ())]
    return encode(record, producer_id=7, producer_epoch=epoch, base_sequence=sequence,
                  transactional=True)  # fmt: skip


def test_a_late_marker_does_not_end_the_next_transaction():
    log = Writers().log
    now = NOW_MS * 1000
    log.append_as_leader(transactional(0), 0, now)
    log.append_as_leader(bumped(1), 0, now, "coordinator", marker_bumps=True)
    log.append_as_leader(bumped(1), 0, now, "coordinator", marker_bumps=True)  # a repetition
    log.append_as_leader(transactional(1), 0, now)
    with pytest.raises(KafkaError) as refused:
        log.append_as_leader(bumped(1), 0, now, "coordinator", marker_bumps=True)
    assert refused.value.code == Errors.INVALID_PRODUCER_EPOCH
    assert log.producers.is_open(7, 1)
    log.append_as_leader(bumped(1), 0, now, "coordinator")  # before KIP-890: torn in two
    assert not log.producers.is_open(7, 1)


def test_a_record_opens_no_transaction_that_was_not_verified():
    log = Writers().log
    now = NOW_MS * 1000
    with pytest.raises(KafkaError) as refused:
        log.append_as_leader(transactional(0), 0, now, guard=NO_GUARD)
    assert refused.value.code == Errors.INVALID_TXN_STATE
    guard = taken(log, 0)
    assert guard == taken(log, 0) != NO_GUARD
    log.append_as_leader(transactional(0), 0, now, guard=guard)
    log.append_as_leader(transactional(0, 1), 0, now, guard=NO_GUARD)  # the rest needs none


def test_a_marker_takes_away_what_was_verified_before_it():
    log = Writers().log
    guard = taken(log, 0)
    log.append_as_leader(bumped(0), 0, NOW_MS * 1000, "coordinator")
    with pytest.raises(KafkaError) as refused:
        log.append_as_leader(transactional(0), 0, NOW_MS * 1000, guard=guard)
    assert refused.value.code == Errors.INVALID_TXN_STATE


def taken(log: Log, sequence: int, bumps: bool = False) -> int:
    return log.producers.guard(NOW_MS, 7, 0, sequence, bumps)


@pytest.mark.parametrize("bumps", [False, True])
def test_what_was_sent_later_is_not_let_in_first(bumps: bool):
    log = Writers().log
    guard = taken(log, 0, bumps)  # sequence 0 comes, and has to come again
    assert taken(log, 1, bumps) == guard
    with pytest.raises(KafkaError) as refused:
        log.append_as_leader(transactional(0, 1), 0, NOW_MS * 1000, guard=guard)
    assert refused.value.code == Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    log.append_as_leader(transactional(0, 0), 0, NOW_MS * 1000, guard=guard)
    log.append_as_leader(transactional(0, 1), 0, NOW_MS * 1000, guard=NO_GUARD)


def refusal(log: Log, epoch: int, sequence: int, guard: int) -> Errors:
    with pytest.raises(KafkaError) as refused:
        log.append_as_leader(transactional(epoch, sequence), 0, NOW_MS * 1000, guard=guard)
    return refused.value.code


def test_a_zombie_is_refused_by_its_epoch_and_not_verified():
    log = Writers().log
    log.append_as_leader(bumped(5), 0, NOW_MS * 1000, "coordinator")
    with pytest.raises(KafkaError) as refused:
        log.producers.guard(NOW_MS, 7, 4, 0, bumps=True)
    assert refused.value.code == Errors.INVALID_PRODUCER_EPOCH
    assert refusal(log, 4, 0, NO_GUARD) == Errors.INVALID_PRODUCER_EPOCH, (
        "and not INVALID_TXN_STATE"
    )
    assert refusal(log, 5, 0, NO_GUARD) == Errors.INVALID_TXN_STATE


def test_a_marker_alone_leaves_a_producer_new_to_its_sequences():
    """Its first record after the marker has sequence 0, if its epoch grows (KIP-890)."""
    log = Writers().log
    log.append_as_leader(bumped(0), 0, NOW_MS * 1000, "coordinator")
    guard = taken(log, 3, bumps=True)
    assert refusal(log, 0, 3, guard) == Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    older = Writers().log
    older.append_as_leader(bumped(0), 0, NOW_MS * 1000, "coordinator")
    assert refusal(older, 0, 3, taken(older, 3)) == Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    older.append_as_leader(transactional(0, 0), 0, NOW_MS * 1000, guard=taken(older, 0))


def test_a_known_producer_keeps_its_order_too_while_it_is_verified():
    log = Writers().log
    log.append_as_leader(transactional(0, 0), 0, NOW_MS * 1000)
    log.append_as_leader(bumped(0), 0, NOW_MS * 1000, "coordinator")
    guard = taken(log, 2, bumps=True)
    assert taken(log, 1, bumps=True) == guard
    assert refusal(log, 0, 2, guard) == Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    log.append_as_leader(transactional(0, 1), 0, NOW_MS * 1000, guard=guard)


def test_a_guard_remembers_the_kind_of_client_that_asked_first():
    log = Writers().log
    guard = taken(log, 3)
    assert taken(log, 3, bumps=True) == guard
    log.append_as_leader(transactional(0, 3), 0, NOW_MS * 1000, guard=guard)


def test_the_last_epoch_ends_its_own_transaction():
    log = Writers().log
    last = (1 << 15) - 1
    log.append_as_leader(transactional(last), 0, NOW_MS * 1000)
    log.append_as_leader(bumped(last), 0, NOW_MS * 1000, "coordinator", marker_bumps=True)
    assert not log.producers.is_open(7, last)


def test_a_guard_does_not_stay_for_good():
    log = Writers().log
    guard = taken(log, 0)
    log.remove_expired_producers((NOW_MS + log.config.producer_id_expiration_ms) * 1000)
    assert taken(log, 0) != guard
