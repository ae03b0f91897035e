"""A transactional producer when all is well: which requests, in which order, and what waits."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from engine.client.transaction_requests import GroupMetadata
from engine.client.transaction_states import TRANSITIONS, State
from engine.records import batch
from engine.wire.errors import KafkaError
from tests.engine.client.transactions_by_hand import (
    ANSWERS,
    COORDINATOR,
    GROUP,
    GROUP_COORDINATOR,
    OFFSETS,
    PRODUCER_ID,
    Hand,
)


def header(request: Any) -> batch.BatchHeader:
    (part,) = request.topic_data[0].partition_data
    return batch.read_header(bytes(part.records))


def verdicts(hand: Hand) -> list[str]:
    return [f"{each.text} {each.verdict}" for each in hand.producer.sends]


def test_init_transactions_finds_the_coordinator_and_gets_an_epoch_from_it() -> None:
    hand = Hand()
    hand.do("init_transactions")
    assert (hand.state, hand.producer.busy) == ("Initializing", True)
    found = hand.answer("FindCoordinator")
    assert (found.key_type, found.coordinator_keys) == (1, ["till"])
    assert "InitProducerId" not in hand.waiting()  # it was tried before, so it backs off
    hand.later()
    assert [each.destination for each in hand.asked] == [COORDINATOR]
    asked = hand.answer("InitProducerId", epoch=3)
    assert (asked.transactional_id, asked.transaction_timeout_ms) == ("till", 60_000)
    assert (asked.producer_id, asked.producer_epoch) == (-1, -1)
    assert (hand.state, hand.identity) == ("Ready", (PRODUCER_ID, 3))
    assert (hand.producer.busy, hand.producer.error) == (False, "")


def test_in_protocol_2_a_batch_goes_out_at_once_and_the_next_epoch_comes_with_the_commit() -> None:
    hand = Hand(version=2)
    hand.open(b"A")
    assert hand.waiting() == ["Produce"]
    assert hand.asked[0].version_max is None
    asked = hand.answer("Produce")
    assert asked.transactional_id == "till"
    assert header(asked).is_transactional
    assert (header(asked).producer_epoch, header(asked).base_sequence) == (0, 0)
    hand.do("commit_transaction")
    assert hand.asked[0].version_max is None
    ended = hand.answer("EndTxn", identity=(PRODUCER_ID, 1))
    assert (ended.transactional_id, ended.committed, ended.producer_epoch) == ("till", True, 0)
    assert (hand.state, hand.identity) == ("Ready", (PRODUCER_ID, 1))
    hand.do("begin_transaction")
    hand.send(b"B")
    again = header(hand.answer("Produce"))
    assert (again.producer_epoch, again.base_sequence) == (1, 0)
    assert verdicts(hand) == ["A acknowledged", "B acknowledged"]


@pytest.mark.parametrize("version", [0, 1])
def test_in_protocol_1_a_batch_waits_until_its_partition_is_in_the_transaction(
    version: int,
) -> None:
    hand = Hand(version=version)
    hand.open(b"A")
    assert hand.waiting() == ["AddPartitionsToTxn"]
    assert (hand.asked[0].destination, hand.asked[0].version_max) == (COORDINATOR, 3)
    hand.send(b"B")
    hand.send(b"C", partition=1)
    added = hand.answer("AddPartitionsToTxn")
    assert [(t.name, list(t.partitions)) for t in added.v3_and_below_topics] == [("orders", [0])]
    assert hand.waiting() == ["AddPartitionsToTxn"]  # for partition 1; batches wait meanwhile
    hand.answer("AddPartitionsToTxn")
    assert hand.waiting() == ["Produce", "Produce"]
    assert [each.version_max for each in hand.asked] == [11, 11]
    for each in list(hand.asked):
        hand.give(each, ANSWERS["Produce"](each.body, 0))
    hand.do("commit_transaction")
    assert hand.asked[0].version_max == 4
    hand.answer("EndTxn")
    assert (hand.state, hand.identity) == ("Ready", (PRODUCER_ID, 0))
    hand.do("begin_transaction")
    hand.send(b"D")
    hand.answer("AddPartitionsToTxn")
    assert header(hand.answer("Produce")).base_sequence == 2  # the numbers go on
    assert verdicts(hand) == [f"{each} acknowledged" for each in "ABCD"]


@pytest.mark.parametrize("version", [1, 2])
def test_end_txn_waits_for_every_batch(version: int) -> None:
    hand = Hand(version=version, linger_ms=1000, batch_size=1000)
    hand.open(b"A")
    if version == 1:
        hand.answer("AddPartitionsToTxn")
    assert hand.waiting() == []  # it lingers
    hand.do("commit_transaction")
    assert hand.waiting() == ["Produce"]  # a commit lets nothing linger
    assert hand.state == "CommittingTransaction"
    hand.answer("Produce")
    assert hand.waiting() == ["EndTxn"]


@pytest.mark.parametrize("version", [1, 2])
def test_an_abort_drops_what_was_not_sent_and_waits_for_what_was(version: int) -> None:
    hand = Hand(version=version, max_in_flight_requests_per_connection=1)
    hand.open(b"A")
    if version == 1:
        hand.answer("AddPartitionsToTxn")
    hand.send(b"B")
    hand.do("abort_transaction")
    assert verdicts(hand) == ["A pending", "B refused"]
    assert hand.producer.sends[1].error == "the transaction was aborted"
    assert hand.waiting() == ["Produce"]
    hand.answer("Produce")
    asked = hand.answer("EndTxn", identity=(PRODUCER_ID, 1) if version == 2 else (-1, -1))
    assert not asked.committed
    assert (hand.state, hand.identity[1]) == ("Ready", version - 1)


@pytest.mark.parametrize("call", ["commit_transaction", "abort_transaction"])
def test_an_empty_transaction_asks_no_broker(call: str) -> None:
    hand = Hand()
    hand.open()
    hand.do(call)
    assert (hand.waiting(), hand.state, hand.producer.busy) == ([], "Ready", False)


def test_in_protocol_1_the_group_joins_the_transaction_before_its_offsets_are_committed() -> None:
    hand = Hand(version=1)
    hand.open()
    hand.send_offsets()
    joined = hand.answer("AddOffsetsToTxn")
    assert (joined.transactional_id, joined.group_id) == ("till", "billing")
    found = hand.answer("FindCoordinator")
    assert (found.key_type, found.coordinator_keys) == (0, ["billing"])
    hand.later()
    assert (hand.asked[0].destination, hand.asked[0].version_max) == (GROUP_COORDINATOR, 4)
    asked = hand.answer("TxnOffsetCommit")
    assert (asked.generation_id, asked.member_id) == (4, "member-1")
    assert asked.topics[0].partitions[0].committed_offset == 7
    assert (hand.producer.busy, hand.producer.error) == (False, "")
    hand.do("commit_transaction")
    assert hand.waiting() == ["EndTxn"]


def test_in_protocol_2_the_offsets_go_to_the_group_at_once() -> None:
    hand = Hand(version=2)
    hand.open()
    hand.send_offsets()
    hand.find()
    assert hand.asked[0].version_max is None
    hand.answer("TxnOffsetCommit")
    hand.do("commit_transaction")
    assert hand.waiting() == ["EndTxn"]


def test_no_offsets_are_nothing_to_send_and_a_generation_needs_its_member() -> None:
    hand = Hand()
    hand.open()
    hand.do("send_offsets_to_transaction", {}, GROUP)
    assert (hand.waiting(), hand.producer.busy) == ([], False)
    with pytest.raises(ValueError, match="Generation 4 of billing needs a member id"):
        hand.do("send_offsets_to_transaction", OFFSETS, GroupMetadata("billing", 4))


def test_while_a_request_is_under_way_no_batch_leaves() -> None:
    hand = Hand(version=2)
    hand.open()
    hand.send_offsets()
    hand.answer("FindCoordinator")
    hand.send(b"A")  # another thread of the application
    assert "Produce" not in hand.waiting()
    hand.later()
    assert hand.waiting() == ["TxnOffsetCommit"]
    hand.answer("TxnOffsetCommit")
    assert hand.waiting() == ["Produce"]


def test_a_commit_waits_for_a_send_that_waits_for_metadata() -> None:
    hand = Hand()
    hand.ready()
    hand.do("begin_transaction")
    hand.answers_metadata = False
    hand.send(b"A")
    hand.do("commit_transaction")
    assert (hand.state, hand.producer.busy) == ("InTransaction", True)
    hand.answers_metadata = True
    hand.later()
    assert hand.state == "CommittingTransaction"
    hand.answer("Produce")
    hand.answer("EndTxn", identity=(PRODUCER_ID, 1))
    assert verdicts(hand) == ["A acknowledged"]
    assert not hand.producer.busy


def test_an_upgrade_to_protocol_2_takes_effect_with_the_next_transaction() -> None:
    hand = Hand(version=1)
    hand.open(b"A")
    hand.answer("AddPartitionsToTxn")
    hand.answer("Produce")
    hand.version, hand.features_epoch = 2, 2
    hand.reconnect()
    hand.do("commit_transaction")
    assert hand.asked[0].version_max == 4  # it ends as it began
    hand.answer("EndTxn")
    assert hand.state == "Initializing"
    asked = hand.answer("InitProducerId")
    assert (asked.producer_id, asked.producer_epoch) == (PRODUCER_ID, 0)
    assert (hand.state, hand.identity, hand.producer.busy) == ("Ready", (PRODUCER_ID, 1), False)
    hand.do("begin_transaction")
    hand.send(b"B")
    assert hand.waiting() == ["Produce"]


MISUSE = [
    ((), "begin_transaction", "not possible in state Uninitialized"),
    ((), "send", "call init_transactions first"),
    (("ready",), "send", "call begin_transaction first"),
    (("ready",), "commit_transaction", "not possible in state Ready"),
    (("ready",), "abort_transaction", "not possible in state Ready"),
    (("ready",), "send_offsets", "call begin_transaction first"),
    (("ready",), "init_transactions", "not possible in state Ready"),
    (("open",), "begin_transaction", "not possible in state InTransaction"),
]


@pytest.mark.parametrize(("before", "call", "sentence"), MISUSE)
def test_a_call_in_the_wrong_state_says_so_and_changes_nothing(
    before: tuple[str, ...], call: str, sentence: str
) -> None:
    hand = Hand()
    for each in before:
        getattr(hand, each)()
    state = hand.state
    with pytest.raises(RuntimeError, match=sentence):
        getattr(hand, call)() if call.startswith("send") else hand.do(call)
    assert (hand.state, hand.producer.busy, hand.producer.sends) == (state, False, [])


def test_a_producer_without_a_transactional_id_has_no_transactions() -> None:
    hand = Hand(transactional_id="")
    with pytest.raises(RuntimeError, match=r"set transactional\.id"):
        hand.do("begin_transaction")


def test_transactional_id_needs_idempotence() -> None:
    for bad in ({"enable_idempotence": False}, {"acks": "1"}, {"retries": 0}):
        with pytest.raises(KafkaError, match=r"transactional\.id needs"):
            Hand(**bad)


def test_a_call_that_times_out_must_be_made_again() -> None:
    hand = Hand(max_block_ms=5_000)
    hand.open(b"A")
    hand.answer("Produce")
    hand.do("commit_transaction")
    hand.later(5_001)
    assert (hand.producer.error, hand.producer.busy) == ("max.block.ms", False)
    with pytest.raises(RuntimeError, match="commit_transaction has not returned"):
        hand.do("abort_transaction")
    hand.do("commit_transaction")
    hand.answer("EndTxn", identity=(PRODUCER_ID, 1))
    assert (hand.producer.error, hand.producer.busy, hand.state) == ("", False, "Ready")


def test_every_state_can_become_fatal_and_nothing_follows_that() -> None:
    assert all(State.FATAL_ERROR in following for following in TRANSITIONS.values())
    assert TRANSITIONS[State.FATAL_ERROR] == (State.FATAL_ERROR,)
    assert list(TRANSITIONS) == list(State)


def test_the_trace_has_every_transition_and_request() -> None:
    hand = Hand(version=1)
    hand.open(b"A")
    hand.answer("AddPartitionsToTxn")
    hand.answer("Produce")
    hand.do("commit_transaction")
    hand.answer("EndTxn")
    lines = [dict(each.fields) | {"kind": each.kind} for each in hand.trace]
    assert [(each["before"], each["now"]) for each in lines if each["kind"] == "transition"] == [
        ("Uninitialized", "Initializing"),
        ("Initializing", "Ready"),
        ("Ready", "InTransaction"),
        ("InTransaction", "CommittingTransaction"),
        ("CommittingTransaction", "Ready"),
    ]
    joined = [each.partition for each in hand.trace if each.kind == "joined"]
    about = [each["about"] for each in lines if each["kind"] == "request"]
    assert (joined, about) == (["orders-0"], ["till", "", "orders-0", "commit"])
    asked = ["FindCoordinator", "InitProducerId", "AddPartitionsToTxn", "EndTxn"]
    assert [each["api"] for each in lines if each["kind"] == "request"] == asked
    assert [each["api"] for each in lines if each["kind"] == "response"] == asked


def test_a_producer_in_the_middle_of_a_commit_can_be_copied() -> None:
    hand = Hand()
    hand.open(b"A")
    hand.do("commit_transaction")
    copy = pickle.loads(pickle.dumps(hand))
    copy.answer("Produce")
    copy.answer("EndTxn", identity=(PRODUCER_ID, 1))
    assert (copy.state, hand.state) == ("Ready", "CommittingTransaction")
