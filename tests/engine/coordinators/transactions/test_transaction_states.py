"""A transactional id, value by value: epochs, producer ids, and the answers of EndTxn."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.coordinators.transactions import metadata as md
from engine.coordinators.transactions.metadata import TransactionMetadata
from engine.coordinators.transactions.states import (
    END_ANSWERS,
    IDLE,
    PREPARED,
    TRANSITIONS,
    EndProtocol,
    EndRequest,
    TransactionEvent,
    TransactionState,
    answer_to_end,
)
from engine.coordinators.transactions.transaction_records import (
    TransactionRecord,
    decode_record,
    encode_record,
)
from engine.wire.errors import Errors

S, E, R = TransactionState, TransactionEvent, EndRequest
OLD, NEW = EndProtocol.EPOCH_STAYS, EndProtocol.EPOCH_BUMPED
ORDERS, PAYMENTS = ("orders", 0), ("payments", 3)


def start(expected=None, current=None, new_id=900, timeout_ms=60_000, now_ms=10):
    current = current or md.created(7, timeout_ms, now_ms)
    return md.started(current, expected, new_id, timeout_ms, now_ms)


def ongoing(epoch: int = 4, version: int = 0) -> TransactionMetadata:
    empty = TransactionMetadata(7, epoch, 60_000, 10)
    return md.with_partitions(empty, [ORDERS], version, 20)


def test_the_numbers_in_the_log_are_kafkas():
    names = ["Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit"]
    names += ["CompleteAbort", "Dead", "PrepareEpochFence"]
    assert [(each.number, str(each)) for each in S] == list(enumerate(names))
    assert all(S.of(each.number) is each for each in S)


def test_every_state_is_reached_and_every_event_does_something():
    reached, grows = {S.EMPTY}, True
    while grows:
        more = {to for (start, _), to in TRANSITIONS.items() if start in reached} - reached
        reached, grows = reached | more, bool(more)
    assert reached == set(S)
    assert {event for _, event in TRANSITIONS} == set(E)
    assert not [start for start, _ in TRANSITIONS if start is S.DEAD]


def test_a_decision_is_never_taken_back():
    for (before, _), after in TRANSITIONS.items():
        if before is S.PREPARE_COMMIT:
            assert after is S.COMPLETE_COMMIT
        if before is S.PREPARE_ABORT:
            assert after is S.COMPLETE_ABORT
        if after in (S.COMPLETE_COMMIT, S.COMPLETE_ABORT):
            assert before in PREPARED


@pytest.mark.parametrize("protocol", EndProtocol)
@pytest.mark.parametrize("state", [*IDLE, S.ONGOING])
@pytest.mark.parametrize("request_", EndRequest)
def test_an_end_moves_only_where_the_table_of_states_has_a_way(protocol, state, request_):
    answer = answer_to_end(protocol, state, request_)
    if isinstance(answer, TransactionEvent):
        assert TRANSITIONS[state, answer] in PREPARED
        assert answer is (E.COMMIT if request_ is R.COMMIT else E.ABORT)
    if protocol is OLD and request_ in (R.COMMIT_AGAIN, R.ABORT_AGAIN):
        assert answer is Errors.PRODUCER_FENCED


def test_a_repeated_commit_has_its_answer_again_in_both_protocols():
    assert answer_to_end(OLD, S.COMPLETE_COMMIT, R.COMMIT) is Errors.NONE
    assert answer_to_end(NEW, S.COMPLETE_COMMIT, R.COMMIT_AGAIN) is Errors.NONE
    assert answer_to_end(NEW, S.COMPLETE_COMMIT, R.COMMIT) is Errors.INVALID_TXN_STATE
    assert answer_to_end(NEW, S.ONGOING, R.COMMIT_AGAIN) is Errors.PRODUCER_FENCED
    assert (OLD, S.ONGOING, R.COMMIT_AGAIN) not in END_ANSWERS


@pytest.mark.parametrize("state", PREPARED)
def test_while_markers_are_written_each_end_waits(state):
    for protocol in EndProtocol:
        for request in EndRequest:
            assert answer_to_end(protocol, state, request) is Errors.CONCURRENT_TRANSACTIONS


# -- a producer starts


def test_each_start_bumps_the_epoch():
    first = start()
    assert (first.producer_id, first.producer_epoch, first.state) == (7, 0, S.EMPTY)
    second = start(current=first)
    assert (second.producer_id, second.producer_epoch) == (7, 1)


def test_a_producer_that_recovers_may_ask_twice():
    first = start()
    bumped = start((7, 0), first)
    again = start((7, 0), bumped)
    assert (bumped.producer_epoch, bumped.last_producer_epoch) == (1, 0)
    assert (again.producer_epoch, again.last_producer_epoch) == (1, 0)
    assert start((7, 0), start((7, 1), bumped)) is Errors.PRODUCER_FENCED


def test_a_producer_that_recovers_after_another_started_is_fenced():
    first = start()
    other = start(current=first)
    assert start((7, 0), other) is Errors.PRODUCER_FENCED


def test_the_last_epoch_is_kept_for_fencing_and_a_new_id_follows():
    used_up = TransactionMetadata(7, md.EXHAUSTED_EPOCH, 60_000, 10)
    fresh = start((7, md.EXHAUSTED_EPOCH), used_up)
    assert (fresh.producer_id, fresh.producer_epoch) == (900, 0)
    assert fresh.last_producer_epoch == md.EXHAUSTED_EPOCH
    assert md.knows(fresh, (7, md.EXHAUSTED_EPOCH)), "a repetition names the old id"
    assert not md.knows(fresh, (7, 12))
    assert md.needs_new_id(used_up, None)
    assert not md.needs_new_id(used_up, (7, 3))


# -- a transaction


def test_partitions_join_in_order_and_the_first_sets_the_start():
    one = ongoing()
    two = md.with_partitions(one, [PAYMENTS, ORDERS], 0, 99)
    assert (two.partitions, two.start_ms, two.last_update_ms) == ((ORDERS, PAYMENTS), 20, 99)
    with pytest.raises(KeyError):
        md.with_partitions(md.prepared(one, E.COMMIT, 0, 900, 30), [PAYMENTS], 0, 40)


def test_the_old_protocol_keeps_the_epoch_and_the_new_one_bumps_it():
    for version, epoch, last in ((0, 4, -1), (2, 5, 4)):
        decided = md.prepared(ongoing(), E.COMMIT, version, 900, 30)
        assert decided.state is S.PREPARE_COMMIT
        assert (decided.producer_epoch, decided.last_producer_epoch) == (epoch, last)
        done = md.completed(decided, 40)
        assert (done.state, done.partitions) == (S.COMPLETE_COMMIT, ())
        assert (done.producer_id, done.producer_epoch, done.start_ms) == (7, epoch, 20)


def test_an_exhausted_epoch_ends_under_the_old_id_and_goes_on_under_a_new_one():
    decided = md.prepared(ongoing(md.EXHAUSTED_EPOCH, 2), E.COMMIT, 2, 900, 30)
    assert (decided.producer_id, decided.producer_epoch) == (7, md.LAST_EPOCH)
    assert decided.next_identity == (900, 0)
    done = md.completed(decided, 40)
    assert (done.producer_id, done.producer_epoch, done.next_producer_id) == (900, 0, -1)
    assert md.end_request(done, NEW, 7, md.EXHAUSTED_EPOCH, True) is R.COMMIT_AGAIN
    assert md.end_request(done, NEW, 7, 12, True) is Errors.INVALID_PRODUCER_ID_MAPPING


@pytest.mark.parametrize(("version", "last"), [(0, -1), (2, 4)])
def test_a_fence_bumps_once_and_aborts(version, last):
    fence = md.fenced(ongoing(), version, 900, 30)
    assert (fence.state, fence.producer_epoch) == (S.PREPARE_ABORT, 5)
    assert fence.last_producer_epoch == last
    assert fence.partitions == (ORDERS,)


def test_a_fence_at_the_very_last_epoch_stays_there():
    fence = md.fenced(ongoing(md.LAST_EPOCH), 0, 900, 30)
    assert fence.producer_epoch == md.LAST_EPOCH


def test_an_abort_of_nothing_bumps_the_epoch_and_starts_now():
    empty = TransactionMetadata(7, 4, 60_000, 10)
    decided = md.prepared(empty, E.ABORT, 2, 900, 30)
    assert (decided.state, decided.producer_epoch, decided.start_ms) == (S.PREPARE_ABORT, 5, 30)


def test_what_an_epoch_says_about_an_end():
    current = ongoing()
    assert md.end_request(current, OLD, 7, 4, True) is R.COMMIT
    assert md.end_request(current, OLD, 7, 3, True) is Errors.PRODUCER_FENCED
    assert md.end_request(current, OLD, 8, 4, True) is Errors.INVALID_PRODUCER_ID_MAPPING
    assert md.end_request(current, NEW, 7, 3, False) is R.ABORT_AGAIN
    assert md.end_request(current, NEW, 7, 5, False) is Errors.PRODUCER_FENCED


# -- the log


@pytest.mark.parametrize("version", [0, 1])
def test_what_is_stored_is_read_again(version):
    whole = TransactionMetadata(
        7, 5, 60_000, 30, S.PREPARE_COMMIT, (ORDERS, PAYMENTS), 20, 6, 900, -1, 2 * version
    )
    key, value = encode_record(TransactionRecord("t", whole, version, "why"))
    read = decode_record(key, value)
    tagged = {} if version else {"previous_producer_id": -1, "next_producer_id": -1}
    expected = replace(whole, **tagged)
    assert read == TransactionRecord("t", expected, version)
    assert decode_record(*encode_record(TransactionRecord("t", None))).metadata is None


def test_an_empty_id_has_no_partitions_in_the_log():
    _, value = encode_record(TransactionRecord("t", start(), 0))
    assert value.hex() == "0000000000000000000700000000ea6000ffffffff" + (
        "000000000000000affffffffffffffff"
    )


def test_other_records_are_passed_over():
    assert decode_record(b"\0\x09what", b"ever") is None
    assert decode_record(None, b"") is None
    key, value = encode_record(TransactionRecord("t", start(), 0))
    assert decode_record(key, b"\0\x07" + value[2:]) is None
    assert decode_record(key, value[:5]) is None
