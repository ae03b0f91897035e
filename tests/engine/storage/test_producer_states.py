"""Idempotence: what a partition remembers of each producer, and its snapshots."""

from __future__ import annotations

import pytest

from engine.records import control
from engine.records.batch import BatchHeader, Record, decode, encode, read_header
from engine.storage import producer_snapshots
from engine.storage.disk import Disk
from engine.storage.producer_snapshots import CorruptSnapshot, ProducerSnapshots
from engine.storage.producer_states import SEQUENCE_MAX, CompletedTransaction, ProducerStates
from engine.wire.errors import Errors, KafkaError

PID = 7


def batch(
    sequence: int, count: int = 1, *, epoch: int = 0, offset: int = 0, transactional: bool = False
) -> BatchHeader:
    records = [Record(0, 1000 + n, None, b"v") for n in range(count)]
    return read_header(
        encode(
            records,
            base_offset=offset,
            producer_id=PID,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=transactional,
        )
    )


def marker(commit: bool, *, coordinator_epoch: int, offset: int) -> tuple[BatchHeader, Record]:
    data = control.end_transaction(
        commit=commit,
        producer_id=PID,
        producer_epoch=0,
        coordinator_epoch=coordinator_epoch,
        timestamp=5,
    )
    return read_header(data)._replace(base_offset=offset), decode(data)[0]


def refusal(states: ProducerStates, header: BatchHeader) -> Errors:
    try:
        states.check(header, check_sequence=True)
    except KafkaError as error:
        return error.code
    return Errors.NONE


def test_the_next_sequence_is_taken_and_a_gap_is_not() -> None:
    states = ProducerStates()
    states.note(batch(0, 3))
    assert refusal(states, batch(3)) == Errors.NONE
    assert refusal(states, batch(4)) == Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refusal(states, batch(2)) == Errors.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_an_unknown_producer_may_begin_anywhere() -> None:
    assert refusal(ProducerStates(), batch(41)) == Errors.NONE


def test_the_last_five_batches_are_recognized_with_their_offsets() -> None:
    states = ProducerStates()
    for number in range(7):
        states.note(batch(10 * number, 10, offset=100 * number))
    for number in range(2, 7):
        known = states.find_duplicate(batch(10 * number, 10))
        assert known is not None
        assert (known.first_offset, known.last_offset) == (100 * number, 100 * number + 9)
    assert states.find_duplicate(batch(10, 10)) is None
    assert refusal(states, batch(10, 10)) == Errors.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_only_the_same_sequences_in_the_same_epoch_are_a_duplicate() -> None:
    states = ProducerStates()
    states.note(batch(0, 3))
    assert states.find_duplicate(batch(0, 2)) is None
    assert states.find_duplicate(batch(0, 3, epoch=1)) is None


def test_sequences_wrap_between_batches_and_within_one() -> None:
    states = ProducerStates()
    states.note(batch(SEQUENCE_MAX - 1, 2))
    assert states.states[PID].last_sequence == SEQUENCE_MAX
    assert refusal(states, batch(0)) == Errors.NONE
    states = ProducerStates()
    states.note(batch(SEQUENCE_MAX, 3, offset=20))
    assert states.states[PID].last_sequence == 1
    assert refusal(states, batch(2)) == Errors.NONE
    known = states.find_duplicate(batch(SEQUENCE_MAX, 3))
    assert known is not None
    assert known.first_offset == 20


def test_a_new_epoch_begins_at_zero_and_fences_the_old() -> None:
    states = ProducerStates()
    states.note(batch(0, 3))
    assert refusal(states, batch(3, epoch=1)) == Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refusal(states, batch(0, epoch=1)) == Errors.NONE
    states.note(batch(0, epoch=1))
    assert refusal(states, batch(3, epoch=0)) == Errors.INVALID_PRODUCER_EPOCH


def test_a_coordinator_writes_without_sequences_but_is_fenced_by_epoch() -> None:
    states = ProducerStates()
    states.note(batch(-1, epoch=2))
    states.check(batch(-1, epoch=2), check_sequence=False)
    with pytest.raises(KafkaError) as refused:
        states.check(batch(-1, epoch=1), check_sequence=False)
    assert refused.value.code == Errors.INVALID_PRODUCER_EPOCH


def test_a_transaction_is_open_until_its_marker() -> None:
    states = ProducerStates()
    states.note(batch(0, offset=40, transactional=True))
    states.note(batch(1, offset=41, transactional=True))
    assert states.first_undecided_offset == 40
    assert refusal(states, batch(2)) == Errors.INVALID_TXN_STATE
    header, record = marker(False, coordinator_epoch=3, offset=42)
    assert states.note_marker(header, record) == CompletedTransaction(PID, 40, 42, aborted=True)
    assert states.first_undecided_offset is None
    assert refusal(states, batch(2)) == Errors.NONE
    assert states.note_marker(*marker(True, coordinator_epoch=3, offset=43)) is None


def test_an_old_coordinator_is_fenced() -> None:
    states = ProducerStates()
    states.note_marker(*marker(True, coordinator_epoch=3, offset=1))
    states.check_marker(*marker(True, coordinator_epoch=3, offset=2))
    with pytest.raises(KafkaError) as refused:
        states.check_marker(*marker(True, coordinator_epoch=2, offset=2))
    assert refused.value.code == Errors.TRANSACTION_COORDINATOR_FENCED


def test_idle_producers_expire_unless_a_transaction_is_open() -> None:
    states = ProducerStates()
    states.note(batch(0))  # timestamp 1000
    assert states.remove_expired(1000 + 499, 500) == 0
    states.note(batch(1, transactional=True))
    assert states.remove_expired(1000 + 500, 500) == 0
    states.note_marker(*marker(True, coordinator_epoch=0, offset=3))  # timestamp 5
    assert states.remove_expired(5 + 500, 500) == 1
    assert len(states) == 0


# -- snapshots


def some_states() -> ProducerStates:
    states = ProducerStates()
    states.note(batch(0, 3, offset=10, transactional=True))
    states.note(batch(3, 2, offset=13, transactional=True))
    return states


def test_a_snapshot_holds_the_last_batch_of_each_producer() -> None:
    found = producer_snapshots.decode(producer_snapshots.encode(some_states()))[PID]
    assert found.batches == some_states().states[PID].batches[-1:]
    assert (found.epoch, found.last_timestamp, found.transaction_start) == (0, 1001, 10)


def test_a_producer_without_batches_survives_a_snapshot() -> None:
    states = ProducerStates()
    states.note_marker(*marker(True, coordinator_epoch=3, offset=1))
    found = producer_snapshots.decode(producer_snapshots.encode(states))
    assert found == states.states


@pytest.mark.parametrize("at", range(0, 60, 7))
def test_a_flipped_bit_in_a_snapshot_is_noticed(at: int) -> None:
    data = bytearray(producer_snapshots.encode(some_states()))
    data[at % len(data)] ^= 4
    with pytest.raises(CorruptSnapshot):
        producer_snapshots.decode(bytes(data))


@pytest.mark.parametrize("size", range(len(producer_snapshots.encode(some_states()))))
def test_what_a_power_loss_leaves_of_a_snapshot_is_noticed(size: int) -> None:
    """A part of it, or only its length and zeros; the checksum of nothing is zero, too."""
    data = producer_snapshots.encode(some_states())
    for left in (data[:size], data[:2] + bytes(size)):
        with pytest.raises(CorruptSnapshot):
            producer_snapshots.decode(left)


def test_the_latest_usable_snapshot_in_range_is_loaded(disk: Disk) -> None:
    snapshots = ProducerSnapshots(disk, "orders-0")
    states = ProducerStates()
    for offset in (5, 10, 20, 30):
        states.note(batch(offset, offset=offset))
        snapshots.take(states, offset)
    disk.truncate("orders-0/00000000000000000020.snapshot", 9)
    loaded = ProducerStates()
    again = ProducerSnapshots(disk, "orders-0")
    assert again.load(loaded, 5, 29) == 10
    assert loaded.states[PID].last_sequence == 10
    assert disk.list("orders-0") == ["00000000000000000010.snapshot"]
    assert again.load(loaded, 10, 29) == 10
    assert len(loaded) == 0
