"""What an error does to a transaction: the API, the error, the state that follows, what is asked.

After an AbortableError the application aborts and goes on; after a FatalError nothing goes on.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from engine.wire.errors import Errors, KafkaError
from tests.engine.client.transactions_by_hand import ANSWERS, LEADER, PRODUCER_ID, Hand

INITIALIZING, IN, FATAL = "Initializing", "InTransaction", "FatalError"
ABORTABLE, COMMITTING, ABORTING = "AbortableError", "CommittingTransaction", "AbortingTransaction"


def at(api: str, version: int = 2, **settings: int) -> Hand:
    """A producer that has asked this, and nothing else."""
    hand = Hand(version, **settings)
    commits = api != "EndTxn(false)"
    match api:
        case "FindCoordinator":
            hand.do("init_transactions")
        case "InitProducerId":
            hand.do("init_transactions")
            hand.find()
        case "AddPartitionsToTxn":
            hand.open(b"A")
        case "AddOffsetsToTxn" | "TxnOffsetCommit" | "FindGroup":
            hand.open()
            hand.send_offsets()
            if version == 1 and api != "AddOffsetsToTxn":
                hand.answer("AddOffsetsToTxn")
            if api == "TxnOffsetCommit":
                hand.find()
        case _:
            hand.open(b"A")
            if version == 1:
                hand.answer("AddPartitionsToTxn")
            if api != "Produce":
                hand.answer("Produce")
                hand.do("commit_transaction" if commits else "abort_transaction")
    assert hand.waiting() == [REQUESTS.get(api, api)]
    return hand


REQUESTS = {"EndTxn(false)": "EndTxn", "FindGroup": "FindCoordinator"}


class Case(NamedTuple):
    """`again` is what is asked next, at the latest after a backoff."""

    api: str
    error: str
    state: str
    again: tuple[str, ...] = ()
    version: int = 2


MOVED = ("COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR")
LATER = ("COORDINATOR_LOAD_IN_PROGRESS", "CONCURRENT_TRANSACTIONS")
OLD = ("PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")
FIND = ("FindCoordinator",)


def both(api: str, error: str, state: str, again: tuple[str, ...] = ()) -> list[Case]:
    return [Case(api, error, state, again, version) for version in (1, 2)]


CASES = [
    *(Case("FindCoordinator", each, INITIALIZING, FIND) for each in (*MOVED, *LATER)),
    Case("FindCoordinator", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", FATAL),
    Case("FindCoordinator", "INVALID_REQUEST", FATAL),
    Case("FindGroup", "GROUP_AUTHORIZATION_FAILED", ABORTABLE),
    Case("FindGroup", "TRANSACTION_ABORTABLE", ABORTABLE),
    Case("FindGroup", "INVALID_GROUP_ID", FATAL),
    *(Case("InitProducerId", each, INITIALIZING, FIND) for each in MOVED),
    *(Case("InitProducerId", each, INITIALIZING, ("InitProducerId",)) for each in LATER),
    *(Case("InitProducerId", each, FATAL) for each in OLD),
    Case("InitProducerId", "TRANSACTION_ABORTABLE", ABORTABLE),
    Case("InitProducerId", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "Uninitialized"),
    Case("InitProducerId", "CLUSTER_AUTHORIZATION_FAILED", "Uninitialized"),
    Case("InitProducerId", "INVALID_TRANSACTION_TIMEOUT", FATAL),
    *(Case("AddPartitionsToTxn", each, IN, FIND, 1) for each in MOVED),
    *(Case("AddPartitionsToTxn", each, IN, ("AddPartitionsToTxn",), 1) for each in LATER),
    *(Case("AddPartitionsToTxn", each, FATAL, (), 1) for each in OLD),
    Case("AddPartitionsToTxn", "INVALID_TXN_STATE", FATAL, (), 1),
    Case("AddPartitionsToTxn", "INVALID_PRODUCER_ID_MAPPING", FATAL, (), 1),
    Case("AddPartitionsToTxn", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", FATAL, (), 1),
    Case("AddPartitionsToTxn", "TOPIC_AUTHORIZATION_FAILED", ABORTABLE, (), 1),
    Case("AddPartitionsToTxn", "OPERATION_NOT_ATTEMPTED", ABORTABLE, (), 1),
    Case("AddPartitionsToTxn", "UNKNOWN_PRODUCER_ID", ABORTABLE, (), 1),
    Case("AddPartitionsToTxn", "TRANSACTION_ABORTABLE", ABORTABLE, (), 1),
    Case("AddPartitionsToTxn", "UNKNOWN_SERVER_ERROR", ABORTABLE, (), 1),
    *(Case("AddOffsetsToTxn", each, IN, FIND, 1) for each in MOVED),
    *(Case("AddOffsetsToTxn", each, IN, ("AddOffsetsToTxn",), 1) for each in LATER),
    *(Case("AddOffsetsToTxn", each, FATAL, (), 1) for each in OLD),
    Case("AddOffsetsToTxn", "INVALID_TXN_STATE", FATAL, (), 1),
    Case("AddOffsetsToTxn", "INVALID_PRODUCER_ID_MAPPING", FATAL, (), 1),
    Case("AddOffsetsToTxn", "GROUP_AUTHORIZATION_FAILED", ABORTABLE, (), 1),
    Case("AddOffsetsToTxn", "UNKNOWN_PRODUCER_ID", ABORTABLE, (), 1),
    Case("AddOffsetsToTxn", "TRANSACTION_ABORTABLE", ABORTABLE, (), 1),
    Case("AddOffsetsToTxn", "UNKNOWN_SERVER_ERROR", FATAL, (), 1),
    *(case for each in (*MOVED, "REQUEST_TIMED_OUT")
      for case in both("TxnOffsetCommit", each, IN, FIND)),
    *(case for each in (*LATER, "UNKNOWN_TOPIC_OR_PARTITION")
      for case in both("TxnOffsetCommit", each, IN, ("TxnOffsetCommit",))),
    *(case for each in OLD for case in both("TxnOffsetCommit", each, FATAL)),
    *(case for each in ("ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID",
                        "GROUP_AUTHORIZATION_FAILED", "TRANSACTION_ABORTABLE")
      for case in both("TxnOffsetCommit", each, ABORTABLE)),
    *both("TxnOffsetCommit", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", FATAL),
    *both("TxnOffsetCommit", "INVALID_PRODUCER_ID_MAPPING", FATAL),
    *both("TxnOffsetCommit", "UNKNOWN_SERVER_ERROR", FATAL),
    *(case for each in MOVED for case in both("EndTxn", each, COMMITTING, FIND)),
    *(case for each in LATER for case in both("EndTxn", each, COMMITTING, ("EndTxn",))),
    *(case for each in OLD for case in both("EndTxn", each, FATAL)),
    *(case for each in OLD for case in both("EndTxn(false)", each, FATAL)),
    *both("EndTxn", "INVALID_TXN_STATE", FATAL),
    *both("EndTxn", "INVALID_PRODUCER_ID_MAPPING", FATAL),
    *both("EndTxn", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", FATAL),
    *both("EndTxn", "UNKNOWN_PRODUCER_ID", ABORTABLE),
    *both("EndTxn", "TRANSACTION_ABORTABLE", ABORTABLE),
    *both("EndTxn(false)", "TRANSACTION_ABORTABLE", FATAL),
    *(case for each in LATER for case in both("EndTxn(false)", each, ABORTING, ("EndTxn",))),
    *both("Produce", "OUT_OF_ORDER_SEQUENCE_NUMBER", ABORTABLE),
    *both("Produce", "UNKNOWN_PRODUCER_ID", IN, ("Produce",)),  # nothing acknowledged: from 0
    *both("Produce", "INVALID_PRODUCER_EPOCH", ABORTABLE),
    *both("Produce", "INVALID_TXN_STATE", ABORTABLE),
    *both("Produce", "TRANSACTION_ABORTABLE", ABORTABLE),
    *both("Produce", "MESSAGE_TOO_LARGE", ABORTABLE),
    *both("Produce", "CONCURRENT_TRANSACTIONS", IN, ("Produce",)),
    *both("Produce", "NOT_LEADER_OR_FOLLOWER", IN, ("Produce",)),
    *both("Produce", "PRODUCER_FENCED", FATAL),
    *both("Produce", "INVALID_PRODUCER_ID_MAPPING", FATAL),
    *both("Produce", "CLUSTER_AUTHORIZATION_FAILED", FATAL),
    *both("Produce", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", FATAL),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.api}-{c.error}-{c.version}")
def test_an_error_leads_to_a_state_and_a_request(case: Case) -> None:
    hand = at(case.api, case.version)
    hand.answer(REQUESTS.get(case.api, case.api), Errors[case.error])
    hand.later(150)  # beyond any backoff
    assert hand.state == case.state
    assert tuple(hand.waiting()) == case.again
    if case.state == FATAL:
        if hand.producer.busy:  # the call whose coordinator could not be found
            hand.later(60_000)
            assert hand.producer.error == "max.block.ms"
        with pytest.raises(KafkaError, match="Close this producer"):
            hand.send(b"Z")
        with pytest.raises(KafkaError, match="Close this producer"):
            hand.do("abort_transaction")
    if case.state == ABORTABLE and case.api not in ("InitProducerId", "FindCoordinator"):
        with pytest.raises(KafkaError, match="Call abort_transaction"):
            hand.send(b"Z")
        with pytest.raises(KafkaError, match="Call abort_transaction"):
            hand.do("commit_transaction")


WAITS = ("InitProducerId", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn", "EndTxn(false)")


@pytest.mark.parametrize("api", WAITS)
def test_a_call_whose_request_is_fenced_returns_with_that_error(api: str) -> None:
    hand = at(api, version=1)
    hand.answer(REQUESTS.get(api, api), Errors.INVALID_PRODUCER_EPOCH)
    assert (hand.producer.busy, hand.producer.error) == (False, "PRODUCER_FENCED")


@pytest.mark.parametrize("version", [1, 2])
def test_an_abort_after_an_error_begins_with_fresh_numbers_under_the_next_epoch(
    version: int,
) -> None:
    hand = at("Produce", version)
    hand.answer("Produce")
    hand.send(b"B")
    hand.answer("Produce", Errors.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert (hand.state, hand.producer.sends[1].verdict) == (ABORTABLE, "refused")
    hand.do("abort_transaction")
    if version == 1:  # KIP-360: it asks for the epoch after its own
        hand.answer("EndTxn")
        assert (hand.state, hand.producer.busy) == (INITIALIZING, True)
        asked = hand.answer("InitProducerId")
        assert (asked.producer_id, asked.producer_epoch) == (PRODUCER_ID, 0)
    else:  # KIP-890: every end brings the next epoch
        hand.answer("EndTxn", identity=(PRODUCER_ID, 1))
    assert (hand.state, hand.identity) == ("Ready", (PRODUCER_ID, 1))
    assert (hand.producer.busy, hand.producer.error) == (False, "")
    hand.do("begin_transaction")
    hand.send(b"C")
    if version == 1:
        hand.answer("AddPartitionsToTxn")
    assert hand.producer.identity is not None
    batch = hand.producer.identity.numbers(("orders", 0)).in_flight[0]
    assert (batch.producer_epoch, batch.base_sequence) == (1, 0)


def test_a_coordinator_that_bumps_no_epochs_makes_a_lost_sequence_fatal() -> None:
    hand = Hand(version=1, init_max=2)
    hand.open(b"A")
    hand.answer("AddPartitionsToTxn", Errors.UNKNOWN_PRODUCER_ID)
    assert hand.state == FATAL


def test_after_a_refused_batch_those_behind_it_move_up_in_the_same_epoch() -> None:
    hand = Hand(version=1, init_max=2)
    hand.open(b"A")
    hand.answer("AddPartitionsToTxn")
    hand.answer("Produce", Errors.INVALID_RECORD)
    hand.do("abort_transaction")
    hand.answer("EndTxn")
    assert (hand.state, hand.identity) == ("Ready", (PRODUCER_ID, 0))
    assert hand.producer.identity is not None
    assert hand.producer.identity.numbers(("orders", 0)).next_sequence == 0


def test_a_batch_of_a_lost_transaction_that_was_sent_before_is_sent_again() -> None:
    hand = at("Produce", version=2)
    hand.send(b"B", partition=1)
    hand.give(
        hand.asked[0], ANSWERS["Produce"](hand.asked[0].body, int(Errors.NOT_ENOUGH_REPLICAS))
    )
    hand.answer("Produce", Errors.INVALID_RECORD)
    assert hand.state == ABORTABLE
    assert [each.verdict for each in hand.producer.sends] == ["pending", "refused"]
    hand.do("abort_transaction")
    hand.later(150)
    assert hand.waiting() == ["Produce"]  # the broker may have it: its answer is waited for
    hand.answer("Produce")
    assert hand.waiting() == ["EndTxn"]


@pytest.mark.parametrize("version", [1, 2])
def test_a_batch_given_up_after_it_was_sent_leaves_the_numbers_in_doubt(version: int) -> None:
    hand = at("Produce", version, delivery_timeout_ms=30_005)
    hand.answer("Produce", Errors.NOT_ENOUGH_REPLICAS)
    hand.later(150)
    hand.later(30_100)
    assert hand.state == ABORTABLE
    if "Produce" in hand.waiting():
        hand.lose("Produce")
    hand.do("abort_transaction")
    hand.later(150)
    if version == 1:
        hand.answer("EndTxn")
        hand.answer("InitProducerId")
    else:
        hand.answer("EndTxn", identity=(PRODUCER_ID, 1))
    assert (hand.state, hand.identity) == ("Ready", (PRODUCER_ID, 1))


def test_an_error_while_it_aborts_does_not_begin_another_abort() -> None:
    hand = at("Produce", version=2)
    hand.do("abort_transaction")
    hand.answer("Produce", Errors.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert hand.state == ABORTING
    hand.answer("EndTxn", identity=(PRODUCER_ID, 1))
    assert hand.state == "Ready"


def test_an_error_while_it_commits_ends_the_commit_and_needs_an_abort() -> None:
    hand = at("Produce", version=2)
    hand.do("commit_transaction")
    hand.answer("Produce", Errors.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert (hand.state, hand.producer.busy) == (ABORTABLE, False)
    assert hand.producer.error == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert hand.waiting() == []
    hand.do("abort_transaction")
    assert not hand.answer("EndTxn", identity=(PRODUCER_ID, 1)).committed
    assert hand.state == "Ready"


@pytest.mark.parametrize("api", ["InitProducerId", "AddOffsetsToTxn", "EndTxn", "EndTxn(false)"])
def test_after_a_lost_answer_the_coordinator_is_found_and_asked_again(api: str) -> None:
    hand = at(api, version=1)
    request = REQUESTS.get(api, api)
    hand.lose(request)
    hand.later(150)  # reconnect.backoff.ms
    hand.find()
    hand.later()
    assert hand.waiting() == [request]
    assert hand.only(type(hand.asked[0].body)).body == hand.asked[0].body


def test_a_fenced_producer_drops_everything_at_once() -> None:
    hand = at("Produce", version=2)
    hand.send(b"B", partition=1)
    hand.send(b"C", partition=1)
    hand.give(hand.asked[0], ANSWERS["Produce"](hand.asked[0].body, int(Errors.PRODUCER_FENCED)))
    verdicts = [each.verdict for each in hand.producer.sends]
    assert (hand.state, verdicts) == (FATAL, ["refused", "unknown", "unknown"])
    assert hand.producer.idle


def test_the_first_add_of_a_transaction_waits_20_ms_for_the_last_one_to_complete() -> None:
    hand = at("AddPartitionsToTxn", version=1)
    hand.answer("AddPartitionsToTxn", Errors.CONCURRENT_TRANSACTIONS)
    hand.later(19)
    assert hand.waiting() == []
    hand.later(1)
    assert hand.waiting() == ["AddPartitionsToTxn"]
    hand.answer("AddPartitionsToTxn", Errors.COORDINATOR_LOAD_IN_PROGRESS)
    hand.later(99)
    assert hand.waiting() == []
    hand.later(1)
    hand.answer("AddPartitionsToTxn")
    hand.answer("Produce")
    hand.send(b"B", partition=1)
    hand.answer("AddPartitionsToTxn", Errors.CONCURRENT_TRANSACTIONS)  # not the first
    hand.later(99)
    assert hand.waiting() == []


def test_one_refused_partition_of_two_is_not_in_the_transaction_nor_the_other() -> None:
    hand = Hand(version=1)
    hand.open()
    hand.send(b"A")
    hand.answer("AddPartitionsToTxn")
    assert hand.producer.transactions is not None
    hand.producer.transactions.new = {("orders", 1): None, ("ledger", 0): None}
    hand.later(1)
    hand.answer("Produce")
    hand.answer("AddPartitionsToTxn", Errors.TOPIC_AUTHORIZATION_FAILED, only=1)
    assert hand.state == ABORTABLE
    assert list(hand.producer.transactions.added) == [("orders", 0)]
    assert hand.producer.transactions.pending == {}


def test_access_that_was_refused_may_be_granted_later() -> None:
    hand = at("InitProducerId")
    hand.answer("InitProducerId", Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    assert hand.producer.error == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
    hand.do("init_transactions")
    hand.answer("InitProducerId", epoch=0)
    assert hand.state == "Ready"


def test_a_producer_without_an_id_sends_nothing_even_if_its_start_was_aborted() -> None:
    hand = at("InitProducerId", version=1)
    hand.answer("InitProducerId", Errors.TRANSACTION_ABORTABLE)
    hand.do("abort_transaction")
    hand.do("begin_transaction")
    with pytest.raises(RuntimeError, match="has no producer id"):
        hand.send()


def test_a_record_that_is_too_large_ends_its_transaction() -> None:
    hand = Hand(max_request_size=100)
    hand.open()
    hand.send(b"A" * 200)
    assert (hand.state, hand.producer.sends[0].verdict) == (ABORTABLE, "refused")


def test_a_coordinator_that_cannot_be_reached_is_looked_for_again() -> None:
    hand = Hand()
    hand.do("init_transactions")
    asked = hand.only(type(hand.asked[0].body))
    hand.connects = False
    hand.give(asked, ANSWERS["FindCoordinator"](asked.body, 0))
    (connecting,) = hand.asked
    assert connecting.destination != LEADER
    hand.give(connecting, None)
    hand.connects = True
    hand.later(150)
    assert hand.waiting() == ["FindCoordinator"]
