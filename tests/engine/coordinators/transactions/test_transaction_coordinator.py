"""The coordinator decides, writes it down, and sees it through."""

from __future__ import annotations

import pytest

from engine.coordinators.offsets_topic import OFFSETS_TOPIC
from engine.wire import messages as m
from engine.wire.errors import Errors
from tests.engine.coordinators.transactions.conftest import (
    RETRY_MS,
    Transactions,
    add_request,
    added,
)


def names(shown: dict[str, list[int]]) -> list[str]:
    return [f"{topic}-{index}" for topic, indexes in shown.items() for index in indexes]


def test_a_commit_from_the_first_request_to_the_last_marker(cluster):
    producer = cluster.begin()
    assert producer == (1011, 0)
    assert cluster.state == "Ongoing"
    answer = cluster.end(producer)
    assert answer.error_code == Errors.NONE, "it is answered before the markers are written"
    assert cluster.state == "PrepareCommit"
    sent = cluster.mark()
    assert [(leader, [t.name for t in marker.topics]) for leader, marker in sent] == [
        (103, ["orders"]),
        (102, ["payments"]),
    ]
    for _, marker in sent:
        assert marker.transaction_result
        assert (marker.producer_id, marker.producer_epoch) == producer
        assert (marker.coordinator_epoch, marker.transaction_version) == (1, 0)
    assert cluster.state == "CompleteCommit"
    assert cluster.shown["partitions"] == {}
    assert cluster.story() == ["Empty", "Ongoing", "PrepareCommit", "CompleteCommit"]


def test_an_abort(cluster):
    producer = cluster.begin()
    cluster.end(producer, committed=False)
    assert [marker.transaction_result for _, marker in cluster.mark()] == [False, False]
    assert cluster.state == "CompleteAbort"


def test_nothing_is_decided_before_it_is_replicated(cluster):
    producer = cluster.begin()
    cluster.shared.holds = True
    number = cluster.ask(m.EndTxnRequest("t", *producer, True), 4)
    cluster.wait(1_000)
    assert number not in cluster.answers
    assert cluster.sent == [], "no marker without a replicated decision"
    assert (cluster.state, cluster.shown["pending"]) == ("Ongoing", "PrepareCommit")
    assert cluster.end(producer).error_code == Errors.CONCURRENT_TRANSACTIONS
    assert cluster.add(producer, ("orders", 1)) is Errors.CONCURRENT_TRANSACTIONS
    assert cluster.start().error_code == Errors.CONCURRENT_TRANSACTIONS
    cluster.shared.holds = False
    cluster.replicate()
    assert cluster.answers[number].error_code == Errors.NONE
    assert len(cluster.mark()) == 2


def test_a_decision_that_is_late_is_taken_all_the_same(cluster):
    producer = cluster.begin()
    cluster.shared.holds = True
    number = cluster.ask(m.EndTxnRequest("t", *producer, True), 4)
    cluster.replicate(Errors.REQUEST_TIMED_OUT)
    assert cluster.answers[number].error_code == Errors.COORDINATOR_NOT_AVAILABLE
    assert cluster.end(producer, committed=False).error_code == Errors.CONCURRENT_TRANSACTIONS
    cluster.shared.holds = False
    cluster.shared.high_watermark = cluster.shared.log.log_end_offset
    assert cluster.end(producer).error_code == Errors.CONCURRENT_TRANSACTIONS
    cluster.mark()
    assert cluster.state == "CompleteCommit"


def test_a_decision_that_the_log_refuses_was_never_taken(cluster):
    producer = cluster.begin()
    cluster.shared.refuses = Errors.NOT_ENOUGH_REPLICAS
    assert cluster.end(producer).error_code == Errors.COORDINATOR_NOT_AVAILABLE
    cluster.shared.refuses = Errors.NONE
    assert (cluster.state, cluster.shown["pending"]) == ("Ongoing", None)
    assert cluster.end(producer, committed=False).error_code == Errors.NONE
    cluster.mark()
    assert cluster.state == "CompleteAbort"


# -- identity


def test_a_second_producer_fences_the_first_and_aborts_what_it_left(cluster):
    zombie = cluster.begin()
    assert cluster.start().error_code == Errors.CONCURRENT_TRANSACTIONS
    assert cluster.state == "PrepareAbort"
    markers = cluster.mark()
    assert [marker.producer_epoch for _, marker in markers] == [1, 1], "the fence is in the markers"
    second = cluster.start()
    assert (second.producer_id, second.producer_epoch) == (zombie[0], 2)
    assert cluster.end(zombie).error_code == Errors.PRODUCER_FENCED
    assert cluster.end(zombie, version=1).error_code == Errors.INVALID_PRODUCER_EPOCH
    assert cluster.add(zombie, ("orders", 0)) is Errors.PRODUCER_FENCED
    assert cluster.add(zombie, ("orders", 0), version=1) is Errors.INVALID_PRODUCER_EPOCH
    assert cluster.start(zombie).error_code == Errors.PRODUCER_FENCED
    assert cluster.start(zombie, version=3).error_code == Errors.INVALID_PRODUCER_EPOCH


def test_a_producer_recovers_with_the_epoch_it_has(cluster):
    first = cluster.start()
    named = first.producer_id, first.producer_epoch
    for _ in range(2):  # the second is a repetition
        again = cluster.start(named)
        assert (again.producer_id, again.producer_epoch) == (named[0], 1)


@pytest.mark.parametrize(
    ("name", "timeout_ms", "error"),
    [
        ("", 1_000, Errors.INVALID_REQUEST),
        ("t", 0, Errors.INVALID_TRANSACTION_TIMEOUT),
        ("t", 900_001, Errors.INVALID_TRANSACTION_TIMEOUT),
    ],
)
def test_what_no_producer_may_ask(cluster, name, timeout_ms, error):
    assert cluster.start(name=name, timeout_ms=timeout_ms).error_code == error
    assert cluster.start((5, -1)).error_code == Errors.INVALID_REQUEST


def test_while_there_is_no_producer_id_a_producer_waits(cluster):
    cluster.brokers[101].new_ids.clear()
    assert cluster.start().error_code == Errors.COORDINATOR_LOAD_IN_PROGRESS
    assert cluster.brokers[101].transactions.snapshot() == {}
    cluster.brokers[101].new_ids.append(77)
    assert cluster.start().producer_id == 77


def test_an_id_that_is_unknown_here(cluster):
    assert cluster.end((5, 0)).error_code == Errors.INVALID_PRODUCER_ID_MAPPING
    assert cluster.add((5, 0), ("orders", 0)) is Errors.INVALID_PRODUCER_ID_MAPPING
    described = cluster.call(m.DescribeTransactionsRequest(["t", ""])).transaction_states
    assert [each.error_code for each in described] == [
        Errors.TRANSACTIONAL_ID_NOT_FOUND,
        Errors.INVALID_REQUEST,
    ]


# -- partitions


def test_a_partition_that_does_not_exist_keeps_the_others_out(cluster):
    producer = cluster.begin()
    asked = [("orders", 1), ("orders", 7), ("nowhere", 0)]
    answer = cluster.call(add_request(producer, asked, 3), 3)
    assert added(answer, 3) == [
        Errors.OPERATION_NOT_ATTEMPTED,
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert names(cluster.shown["partitions"]) == ["orders-0", "payments-0"]


@pytest.mark.parametrize("version", [3, 5])
def test_an_answer_has_the_rows_that_were_asked(cluster, version):
    """A topic named twice has two, one without partitions has its own."""
    producer = cluster.begin()
    body = add_request(producer, [("orders", 1)], version)
    topics = body.transactions[0].topics if version >= 4 else body.v3_and_below_topics
    topics += [topics[0], type(topics[0])("payments", [])]
    answer = cluster.call(body, version)
    rows = answer.results_by_topic_v3_and_below
    if version >= 4:
        rows = answer.results_by_transaction[0].topic_results
    assert [(each.name, len(each.results_by_partition)) for each in rows] == [
        ("orders", 1), ("orders", 1), ("payments", 0)
    ]  # fmt: skip
    assert names(cluster.shown["partitions"]) == ["orders-0", "orders-1", "payments-0"]


def test_partitions_that_are_in_already_cost_no_record(cluster):
    producer = cluster.begin()
    end = cluster.shared.log.log_end_offset
    assert cluster.add(producer, ("payments", 0)) is Errors.NONE
    assert cluster.shared.log.log_end_offset == end


def test_a_leader_asks_whether_its_partition_is_in(cluster):
    producer = cluster.begin()
    asked = [("orders", 0), ("orders", 1)]
    answer = cluster.call(add_request(producer, asked, 5, verify_only=True), 5)
    assert added(answer, 5) == [Errors.NONE, Errors.TRANSACTION_ABORTABLE]
    assert names(cluster.shown["partitions"]) == ["orders-0", "payments-0"]
    stranger = (producer[0], producer[1] + 1)
    refused = cluster.call(add_request(stranger, asked, 5, verify_only=True), 5)
    assert added(refused, 5) == [Errors.PRODUCER_FENCED] * 2
    cluster.end(producer)
    busy = cluster.call(add_request(producer, asked, 5, verify_only=True), 5)
    assert added(busy, 5) == [Errors.CONCURRENT_TRANSACTIONS] * 2


def test_several_transactions_in_one_request_are_answered_together(cluster):
    one = cluster.start(name="t"), cluster.start(name="u")
    cluster.shared.holds = True
    request = m.AddPartitionsToTxnRequest
    topics = [request.AddPartitionsToTxnTopic("orders", [0])]
    rows = [
        request.AddPartitionsToTxnTransaction(
            name, each.producer_id, each.producer_epoch, topics=topics
        )
        for name, each in zip(("t", "u"), one, strict=True)
    ]
    rows.append(request.AddPartitionsToTxnTransaction("nobody", 1, 1, topics=topics))
    number = cluster.ask(request(transactions=rows), 5)
    assert number not in cluster.answers
    cluster.replicate()
    results = cluster.answers[number].results_by_transaction
    codes = [
        (each.transactional_id, each.topic_results[0].results_by_partition[0].partition_error_code)
        for each in results
    ]
    assert codes == [("t", 0), ("u", 0), ("nobody", Errors.INVALID_PRODUCER_ID_MAPPING)]
    assert cluster.shown["version"] == 2


def test_the_offsets_of_a_group_join_as_a_partition(cluster):
    producer = cluster.begin()
    answer = cluster.call(m.AddOffsetsToTxnRequest("t", *producer, "g"))
    assert answer.error_code == Errors.NONE
    assert f"{OFFSETS_TOPIC}-0" in names(cluster.shown["partitions"])


# -- two protocols


def test_the_old_protocol_answers_a_repeated_end_again(cluster):
    producer = cluster.begin()
    cluster.end(producer)
    assert cluster.end(producer).error_code == Errors.CONCURRENT_TRANSACTIONS
    cluster.mark()
    assert cluster.end(producer).error_code == Errors.NONE
    assert cluster.end(producer, committed=False).error_code == Errors.INVALID_TXN_STATE


def test_the_new_protocol_bumps_the_epoch_at_every_end(make):
    cluster = make(version=2)
    producer = cluster.begin(version=5)
    answer = cluster.end(producer, version=5)
    after = (producer[0], producer[1] + 1)
    assert (answer.producer_id, answer.producer_epoch) == after
    for _, marker in cluster.mark():
        assert (marker.producer_epoch, marker.transaction_version) == (after[1], 2)
    again = cluster.end(producer, version=5)
    assert (again.error_code, again.producer_id, again.producer_epoch) == (0, *after)
    assert cluster.end(after, version=5).error_code == Errors.INVALID_TXN_STATE
    assert cluster.add(after, ("orders", 0), version=5) is Errors.NONE
    late = cluster.end(producer, version=5)
    assert late.error_code == Errors.PRODUCER_FENCED, "it would have ended the next transaction"


def test_the_old_protocol_lets_a_late_end_hit_the_next_transaction(cluster):
    """KAFKA-17754, and the reason for KIP-890."""
    producer = cluster.begin()
    cluster.end(producer)
    cluster.mark()
    cluster.add(producer, ("orders", 0))
    assert cluster.end(producer).error_code == Errors.NONE
    assert cluster.state == "PrepareCommit"


def test_an_abort_of_nothing_bumps_the_epoch_in_the_new_protocol(make):
    cluster = make(version=2)
    started = cluster.start()
    producer = started.producer_id, started.producer_epoch
    answer = cluster.end(producer, committed=False, version=5)
    assert (answer.error_code, answer.producer_epoch) == (0, producer[1] + 1)
    assert cluster.sent == []
    assert cluster.state == "CompleteAbort", "without partitions it is complete at once"


def test_epochs_run_out_and_a_new_producer_id_takes_over(make):
    cluster = make(version=2)
    started = cluster.start()
    shard = cluster.brokers[101].transactions.shards[0]
    transaction = shard.by_id["t"]
    shard.by_id["t"].metadata = type(transaction.metadata)(started.producer_id, 32766, 60_000, 0)
    producer = started.producer_id, 32766
    assert cluster.add(producer, ("orders", 0), version=5) is Errors.NONE
    answer = cluster.end(producer, version=5)
    assert (answer.producer_id, answer.producer_epoch) == (1012, 0)
    ((_, marker),) = cluster.mark()
    assert (marker.producer_id, marker.producer_epoch) == (started.producer_id, 32767)
    assert (cluster.shown["producer_id"], cluster.shown["producer_epoch"]) == (1012, 0)
    assert cluster.end(producer, version=5).producer_id == 1012, "repeated, it is answered again"


# -- markers


def test_markers_that_are_refused_or_lost_are_sent_again(cluster):
    producer = cluster.begin()
    cluster.end(producer)
    cluster.mark(Errors.NOT_LEADER_OR_FOLLOWER, Errors.NONE)
    assert names(cluster.shown["awaiting_markers"]) == ["orders-0"]
    cluster.add_topic("orders", 2, leader=102)
    assert cluster.sent == []
    cluster.wait(RETRY_MS)
    assert [leader for leader, _ in cluster.mark(lost=True)] == [102], "to the leader of now"
    cluster.wait(RETRY_MS)
    cluster.mark()
    assert cluster.state == "CompleteCommit"


def test_a_partition_without_a_leader_holds_the_transaction_up(cluster):
    producer = cluster.begin()
    cluster.end(producer)
    cluster.add_topic("orders", 2, leader=-1)
    cluster.mark(Errors.NOT_LEADER_OR_FOLLOWER)
    cluster.wait(10 * RETRY_MS)
    assert (cluster.sent, cluster.state) == ([], "PrepareCommit")
    described = cluster.call(m.DescribeTransactionsRequest(["t"])).transaction_states[0]
    assert [(each.topic, each.partitions) for each in described.topics] == [("orders", [0])]
    cluster.add_topic("orders", 2, leader=101)
    cluster.wait(RETRY_MS)
    cluster.mark()
    assert cluster.state == "CompleteCommit"


def test_a_deleted_topic_needs_no_marker(cluster):
    producer = cluster.begin()
    cluster.remove_topic("orders")
    cluster.end(producer)
    assert [marker.topics[0].name for _, marker in cluster.mark()] == ["payments"]
    assert cluster.state == "CompleteCommit"


def test_a_partition_that_a_new_topic_does_not_have_needs_no_marker(cluster):
    producer = cluster.begin()
    cluster.add(producer, ("orders", 1))
    cluster.end(producer)
    cluster.remove_topic("orders")
    cluster.add_topic("orders", 1, leader=103)
    assert [len(marker.topics[0].partition_indexes) for _, marker in cluster.mark(
        Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.UNKNOWN_TOPIC_OR_PARTITION
    )] == [2, 1]  # fmt: skip
    cluster.wait(RETRY_MS)
    again = cluster.mark()
    assert [marker.topics[0].partition_indexes for _, marker in again] == [[0]], "of the new topic"
    assert cluster.state == "CompleteCommit"


def test_a_marker_on_its_way_is_waited_for_when_its_topic_is_gone(cluster):
    """Its leader has not heard of the deletion yet, and answers."""
    producer = cluster.begin()
    cluster.add_topic("orders", 2, leader=-1)
    cluster.end(producer)
    cluster.remove_topic("orders")
    cluster.remove_topic("payments")
    cluster.wait(RETRY_MS)
    assert cluster.state == "PrepareCommit"
    assert [marker.topics[0].name for _, marker in cluster.mark()] == ["payments"]
    assert cluster.state == "CompleteCommit"


@pytest.mark.parametrize(
    "error", [Errors.TRANSACTION_COORDINATOR_FENCED, Errors.INVALID_PRODUCER_EPOCH]
)
def test_a_coordinator_that_was_replaced_stops(cluster, error):
    producer = cluster.begin()
    cluster.end(producer)
    cluster.mark(error)
    cluster.wait(10 * RETRY_MS)
    assert (cluster.sent, cluster.state) == ([], "PrepareCommit")


def test_the_last_record_is_written_again_until_it_is_in_the_log(cluster):
    producer = cluster.begin()
    cluster.end(producer)
    cluster.shared.refuses = Errors.NOT_ENOUGH_REPLICAS
    cluster.mark()
    assert cluster.state == "PrepareCommit"
    cluster.shared.refuses = Errors.NONE
    cluster.wait(RETRY_MS)
    assert cluster.state == "CompleteCommit"


# -- by the clock


def test_an_open_transaction_is_aborted_when_its_time_is_over(cluster):
    zombie = cluster.begin()
    cluster.wait(60_000)
    assert cluster.state == "Ongoing"
    cluster.wait(10_000)
    assert cluster.state == "PrepareAbort"
    cluster.mark()
    assert (cluster.state, cluster.shown["producer_epoch"]) == ("CompleteAbort", zombie[1] + 1)
    assert cluster.end(zombie).error_code == Errors.PRODUCER_FENCED
    reason = next(each.why for each in cluster.traced if "PrepareAbort" in str(each))
    assert "transaction.timeout.ms=60000" in reason


def test_an_id_that_is_not_used_expires(make):
    cluster = make(transactional_id_expiration_ms=86_400_000)
    cluster.start()
    cluster.wait(86_400_000 - 1)
    assert cluster.brokers[101].transactions.snapshot()
    cluster.wait(3_600_000)
    assert cluster.brokers[101].transactions.snapshot() == {}
    cluster.lead(102)
    assert cluster.brokers[102].transactions.snapshot() == {}, "its tombstone is in the log"


def test_an_open_transaction_does_not_expire(make):
    cluster = make(transactional_id_expiration_ms=1)
    producer = cluster.start(timeout_ms=900_000)
    producer = producer.producer_id, producer.producer_epoch
    cluster.add(producer, ("orders", 0))
    for scan in list(cluster.timers):
        if "Timeout" in str(scan):
            del cluster.timers[scan]
    cluster.wait(3_600_000)
    assert cluster.state == "Ongoing"


# -- another coordinator


def test_a_successor_goes_on_with_an_open_transaction(cluster):
    producer = cluster.begin()
    cluster.lead(102)
    assert cluster.state == "Ongoing"
    assert cluster.end(producer).error_code == Errors.NONE
    ((first, marker), _) = cluster.mark()
    assert (first, marker.coordinator_epoch) == (103, 2)
    assert cluster.state == "CompleteCommit"


@pytest.mark.parametrize("committed", [True, False])
def test_a_successor_finishes_what_is_decided(cluster, committed):
    producer = cluster.begin()
    cluster.end(producer, committed=committed)
    cluster.lead(102)
    sent = cluster.mark()
    assert [marker.transaction_result for _, marker in sent] == [committed] * 2
    assert cluster.state == ("CompleteCommit" if committed else "CompleteAbort")
    assert cluster.end(producer, committed=committed).error_code == Errors.NONE


def test_a_decision_that_was_lost_is_no_decision(cluster):
    producer = cluster.begin()
    cluster.shared.holds = True
    number = cluster.ask(m.EndTxnRequest("t", *producer, True), 4)
    cluster.shared.holds = False
    cluster.lead(102, lose=True)
    assert cluster.answers[number].error_code == Errors.NOT_COORDINATOR
    assert (cluster.state, cluster.sent) == ("Ongoing", [])
    assert cluster.end(producer, committed=False).error_code == Errors.NONE


def test_markers_wait_until_the_decision_cannot_be_lost(cluster):
    producer = cluster.begin()
    cluster.shared.holds = True
    cluster.ask(m.EndTxnRequest("t", *producer, True), 4)
    cluster.shared.holds = False
    cluster.lead(102, settled=False)
    cluster.wait(5 * RETRY_MS)
    assert cluster.sent == []
    assert cluster.end(producer).error_code == Errors.COORDINATOR_LOAD_IN_PROGRESS
    listed = cluster.call(m.ListTransactionsRequest())
    assert listed.error_code == Errors.COORDINATOR_LOAD_IN_PROGRESS
    cluster.shared.high_watermark = cluster.shared.log.log_end_offset
    cluster.wait(RETRY_MS)
    cluster.mark()
    assert cluster.state == "CompleteCommit"


def test_answers_to_a_former_coordinator_change_nothing(cluster):
    producer = cluster.begin()
    cluster.end(producer)
    rounds = list(cluster.sent)
    cluster.lead(102)
    cluster.lead(101)
    fresh, cluster.sent = cluster.sent, rounds
    cluster.mark()
    assert cluster.state == "PrepareCommit"
    cluster.sent = fresh
    cluster.mark()
    assert cluster.state == "CompleteCommit"


def test_a_broker_that_does_not_lead_says_so(cluster):
    producer = cluster.begin()
    cluster.shared.leader = 102
    assert cluster.end(producer).error_code == Errors.NOT_COORDINATOR
    assert cluster.add(producer, ("orders", 0)) is Errors.NOT_COORDINATOR
    assert cluster.start().error_code == Errors.NOT_COORDINATOR


# -- showing


def test_the_list_and_its_filters(cluster):
    producer = cluster.begin()
    cluster.start(name="u")
    cluster.wait(5_000)

    def listed(**filters) -> list[tuple[str, str]]:
        answer = cluster.call(m.ListTransactionsRequest(**filters))
        assert answer.error_code == Errors.NONE
        return [
            (each.transactional_id, each.transaction_state) for each in answer.transaction_states
        ]

    both = [("t", "Ongoing"), ("u", "Empty")]
    assert listed() == both
    assert listed(state_filters=["Ongoing"]) == both[:1]
    assert listed(producer_id_filters=[producer[0]]) == both[:1]
    assert listed(state_filters=["Nonsense"]) == []
    assert listed(duration_filter=5_000) == both[1:], "an idle id has no start"
    assert listed(duration_filter=4_999) == both
    assert listed(transactional_id_pattern="[u-z]") == both[1:]
    unknown = cluster.call(m.ListTransactionsRequest(["Nonsense", "Empty"]))
    assert unknown.unknown_state_filters == ["Nonsense"]
    refused = cluster.call(m.ListTransactionsRequest(transactional_id_pattern="["))
    assert refused.error_code == Errors.INVALID_REGULAR_EXPRESSION


def test_a_description(cluster):
    producer = cluster.begin()
    (row,) = cluster.call(m.DescribeTransactionsRequest(["t"])).transaction_states
    assert (row.error_code, row.transaction_state) == (0, "Ongoing")
    assert (row.producer_id, row.producer_epoch) == producer
    assert (row.transaction_timeout_ms, row.transaction_start_time_ms) == (
        60_000,
        cluster.now // 1000,
    )
    assert [(each.topic, each.partitions) for each in row.topics] == [
        ("orders", [0]),
        ("payments", [0]),
    ]


def test_a_restored_world_goes_on(cluster):
    producer = cluster.begin()
    cluster.end(producer)
    copy: Transactions = cluster.restored()
    copy.mark()
    assert (copy.state, cluster.state) == ("CompleteCommit", "PrepareCommit")
