"""Committed offsets: who may store them, when they count, when they go away."""

from __future__ import annotations

from typing import Any

import pytest

from engine.wire import messages as m
from engine.wire.errors import Errors

MINUTE_MS = 60_000


def test_a_simple_consumer_commits_without_being_a_member(groups: Any):
    assert groups.committed() == -1
    assert groups.commit_error(17) == Errors.NONE
    assert (groups.committed(), groups.committed(partition=1)) == (17, -1)
    assert groups.state() == "Empty"


def test_a_commit_is_answered_and_visible_only_when_it_is_replicated(groups: Any):
    groups.commit_error(1)
    groups.shared.holds = True
    waiting = groups.commit(17)
    assert waiting not in groups.answers
    assert groups.committed() == 1
    groups.replicate()
    assert groups.answers[waiting].topics[0].partitions[0].error_code == Errors.NONE
    assert groups.committed() == 17


def test_a_stable_fetch_waits_for_commits_on_their_way(groups: Any):
    groups.commit_error(1)
    groups.shared.holds = True
    groups.commit(17)
    request = m.OffsetFetchRequest
    asked = request.OffsetFetchRequestGroup(group_id="g", topics=None)
    fetching = groups.ask(request(groups=[asked], require_stable=True))
    assert fetching not in groups.answers
    groups.replicate()
    found = groups.answers[fetching].groups[0].topics[0].partitions[0]
    assert (found.committed_offset, found.committed_leader_epoch, found.metadata) == (17, 5, "note")


def test_a_commit_that_is_too_slow_is_an_error_that_may_still_come_true(groups: Any):
    groups.shared.holds = True
    waiting = groups.commit(17)
    _, end = groups.shared.under_way[0]
    groups.replicate(Errors.REQUEST_TIMED_OUT)
    answer = groups.answers[waiting].topics[0].partitions[0]
    assert answer.error_code == Errors.COORDINATOR_NOT_AVAILABLE
    assert groups.committed() == -1
    request = m.OffsetFetchRequest
    asked = request.OffsetFetchRequestGroup(group_id="g", topics=None)
    stable = groups.call(request(groups=[asked], require_stable=True)).groups[0]
    assert stable.error_code == Errors.COORDINATOR_LOAD_IN_PROGRESS, "nobody knows yet"
    groups.shared.high_watermark = end
    assert groups.committed() == 17


@pytest.mark.parametrize(("append_error", "answer"), [
    (Errors.NOT_ENOUGH_REPLICAS, Errors.COORDINATOR_NOT_AVAILABLE),
    (Errors.NOT_LEADER_OR_FOLLOWER, Errors.NOT_COORDINATOR),
    (Errors.MESSAGE_TOO_LARGE, Errors.UNKNOWN_SERVER_ERROR),
])  # fmt: skip
def test_append_errors_become_errors_of_coordinators(
    groups: Any, append_error: Errors, answer: Errors
):
    groups.shared.refuses = append_error
    assert groups.commit_error(17) == answer
    groups.shared.refuses = Errors.NONE
    assert groups.committed() == -1


def test_a_commit_is_fenced_by_generation_and_membership(groups: Any):
    first, second, generation = groups.stable_pair()
    assert groups.commit_error(10, first, generation) == Errors.NONE
    assert groups.commit_error(3, first, generation - 1) == Errors.ILLEGAL_GENERATION
    assert groups.commit_error(3, "nobody", generation) == Errors.UNKNOWN_MEMBER_ID
    assert groups.commit_error(3) == Errors.UNKNOWN_MEMBER_ID, "the group is not empty"
    groups.join(first)
    assert groups.commit_error(11, second, generation) == Errors.NONE, "until it rejoins"
    groups.join(second)
    assert groups.state() == "CompletingRebalance"
    assert groups.commit_error(12, second, generation + 1) == Errors.REBALANCE_IN_PROGRESS
    assert groups.commit_error(12, second, generation) == Errors.ILLEGAL_GENERATION
    assert groups.committed() == 11


@pytest.mark.parametrize(("version", "error"), [
    (8, Errors.ILLEGAL_GENERATION), (9, Errors.GROUP_ID_NOT_FOUND),
])  # fmt: skip
def test_a_member_of_an_unknown_group_cannot_commit(groups: Any, version: int, error: Errors):
    assert groups.commit_error(1, "m", 4, version=version) == error


def test_commits_keep_a_session_alive(groups: Any):
    first, _, generation = groups.stable_pair()
    for offset in range(5):
        groups.wait(4000)
        assert groups.commit_error(offset, first, generation) in (
            Errors.NONE, Errors.REBALANCE_IN_PROGRESS,
        )  # fmt: skip
    assert groups.heartbeat(first, generation) != Errors.UNKNOWN_MEMBER_ID


def test_what_does_not_exist_or_does_not_fit_is_refused_row_by_row(groups: Any):
    request = m.OffsetCommitRequest
    rows = [
        request.OffsetCommitRequestPartition(0, 5),
        request.OffsetCommitRequestPartition(99, 5),
        request.OffsetCommitRequestPartition(1, 5, -1, "x" * 5000),
    ]
    topics = [
        request.OffsetCommitRequestTopic(name="orders", partitions=rows),
        request.OffsetCommitRequestTopic(name="nowhere", partitions=rows[:1]),
    ]
    answer = groups.call(request(group_id="g", topics=topics), 9)
    codes = [[each.error_code for each in topic.partitions] for topic in answer.topics]
    assert codes == [
        [0, Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.OFFSET_METADATA_TOO_LARGE],
        [Errors.UNKNOWN_TOPIC_OR_PARTITION],
    ]
    assert groups.committed() == 5


def test_an_offset_of_a_deleted_topic_does_not_count_for_its_namesake(groups: Any):
    groups.commit_error(17)
    del groups.metadata.topics[groups.metadata.topic_ids["orders"]]
    groups.add_topic("orders", bytes([7] * 16), 4, 101)
    assert groups.committed() == -1


def test_a_deleted_topic_takes_its_offsets_along(groups: Any):
    groups.commit_error(17)
    groups.commit_error(4, topic="payments")
    groups.coordinator.on_topic_deleted(groups.now, "orders")
    groups.carry_out(101)
    assert groups.coordinator.snapshot()["g"]["offsets"] == {"payments": {0: 4}}


def test_a_commit_on_its_way_does_not_outlive_its_topic(groups: Any):
    groups.commit_error(4, topic="payments")
    groups.shared.holds = True
    groups.commit(17)
    groups.commit(3, group="without-other-offsets")
    groups.coordinator.on_topic_deleted(groups.now, "orders")
    groups.carry_out(101)
    groups.replicate()
    shown = groups.coordinator.snapshot()
    assert shown["g"]["offsets"] == {"payments": {0: 4}}
    assert shown["without-other-offsets"]["offsets"] == {}
    groups.lead(102)
    shown = groups.coordinator.snapshot()
    assert {name: group["offsets"] for name, group in shown.items()} == {"g": {"payments": {0: 4}}}


def test_a_commit_on_its_way_is_not_dropped_when_another_topic_is_deleted(groups: Any):
    groups.shared.holds = True
    groups.commit(17)
    groups.coordinator.on_topic_deleted(groups.now, "payments")
    groups.carry_out(101)
    groups.replicate()
    assert groups.committed() == 17


def test_offsets_expire_after_the_group_has_been_empty_for_long_enough(make_groups: Any):
    groups = make_groups(offsets_retention_minutes=10, offsets_retention_check_interval_ms=1000)
    groups.lead(101)
    first, second, generation = groups.stable_pair()
    groups.commit_error(17, first, generation)
    for _ in range(300):
        groups.wait(5000)
        groups.heartbeat(first, generation)
        groups.heartbeat(second, generation)
    assert groups.committed() == 17, "members, so no expiry"
    groups.leave((first, None), (second, None))
    groups.wait(9 * MINUTE_MS)
    assert groups.committed() == 17
    groups.wait(2 * MINUTE_MS)
    assert groups.coordinator.snapshot() == {}
    groups.lead(102)
    assert groups.coordinator.snapshot() == {}, "the tombstones are in the log"


def test_a_group_that_reads_something_else_now_loses_the_old_offsets(make_groups: Any):
    groups = make_groups(offsets_retention_minutes=10, offsets_retention_check_interval_ms=1000)
    groups.lead(101)
    groups.commit_error(4, topic="payments")
    first, second, generation = groups.stable_pair()
    groups.commit_error(17, first, generation)
    for _ in range(150):
        groups.wait(5000)
        groups.heartbeat(first, generation)
        groups.heartbeat(second, generation)
    assert groups.coordinator.snapshot()["g"]["offsets"] == {"orders": {0: 17}}


def test_an_empty_group_expires_although_a_newcomer_has_its_id(make_groups: Any):
    """As in Kafka; the newcomer is told to ask for another id."""
    groups = make_groups(offsets_retention_check_interval_ms=1000)
    groups.lead(101)
    member_id = groups.new_id(session_ms=10_000)
    groups.wait(2000)
    assert groups.coordinator.snapshot() == {}
    answer = groups.answers[groups.join(member_id)]
    assert answer.error_code == Errors.UNKNOWN_MEMBER_ID


def test_an_old_client_may_ask_for_its_own_retention(make_groups: Any):
    groups = make_groups(offsets_retention_check_interval_ms=1000)
    groups.lead(101)
    request = m.OffsetCommitRequest
    row = request.OffsetCommitRequestPartition(0, 8)
    topic = request.OffsetCommitRequestTopic(name="orders", partitions=[row])
    groups.call(request(group_id="g", retention_time_ms=60_000, topics=[topic]), 4)
    groups.wait(50_000)
    assert groups.committed() == 8
    groups.wait(20_000)
    assert groups.committed() == -1


def test_a_fresh_commit_on_its_way_is_not_expired_with_the_old_one(make_groups: Any):
    groups = make_groups(offsets_retention_minutes=10, offsets_retention_check_interval_ms=1000)
    groups.lead(101)
    groups.commit_error(17)
    groups.wait(10 * MINUTE_MS - 500)
    groups.shared.holds = True
    groups.commit(18)
    groups.wait(5000)
    groups.shared.holds = False
    groups.replicate()
    assert groups.committed() == 18


def test_a_group_is_not_forgotten_while_its_first_commit_is_on_its_way(make_groups: Any):
    groups = make_groups(offsets_retention_check_interval_ms=1000)
    groups.lead(101)
    groups.shared.holds = True
    groups.commit(18)
    groups.wait(5000)
    groups.replicate()
    assert groups.committed() == 18
    assert groups.state() == "Empty"


def test_a_commit_that_ages_on_its_way_expires_once_it_is_replicated(make_groups: Any):
    groups = make_groups(offsets_retention_minutes=10, offsets_retention_check_interval_ms=1000)
    groups.lead(101)
    groups.shared.holds = True
    groups.commit(18)
    groups.wait(11 * MINUTE_MS)
    groups.shared.holds = False
    groups.replicate()
    groups.wait(2000)
    assert groups.coordinator.snapshot() == {}
    groups.lead(102)
    assert groups.coordinator.snapshot() == {}


# -- deleting offsets


def delete(groups: Any, *where: tuple[str, int], group: str = "g") -> tuple[int, list[int]]:
    request = m.OffsetDeleteRequest
    topics = [
        request.OffsetDeleteRequestTopic(name, [request.OffsetDeleteRequestPartition(index)])
        for name, index in where
    ]
    answer = groups.call(request(group, topics))
    return answer.error_code, [each.partitions[0].error_code for each in answer.topics]


def test_offsets_of_a_subscribed_topic_cannot_be_deleted(groups: Any):
    groups.commit_error(4, topic="payments")
    first, _, generation = groups.stable_pair()
    groups.commit_error(17, first, generation)
    rows = [("orders", 0), ("payments", 0), ("payments", 1), ("orders", 99)]
    assert delete(groups, *rows) == (
        0, [Errors.GROUP_SUBSCRIBED_TO_TOPIC, 0, 0, Errors.UNKNOWN_TOPIC_OR_PARTITION],
    )  # fmt: skip
    assert groups.coordinator.snapshot()["g"]["offsets"] == {"orders": {0: 17}}


def test_a_live_group_of_another_kind_keeps_all_its_offsets(groups: Any):
    request = m.JoinGroupRequest
    protocol = request.JoinGroupRequestProtocol("default", b"whatever")
    groups.call(request("workers", 10_000, 10_000, "", None, "connect", [protocol]), 9)
    body = request("workers", 10_000, 10_000, "", "w", "connect", [protocol])
    groups.ask(body, 9)
    assert delete(groups, ("orders", 0), group="workers") == (Errors.NON_EMPTY_GROUP, [])


def test_offset_delete_names_its_errors(groups: Any):
    assert delete(groups, ("orders", 0)) == (Errors.GROUP_ID_NOT_FOUND, [])
    assert delete(groups, ("orders", 0), group="") == (Errors.INVALID_GROUP_ID, [])
    assert groups.call(m.OffsetDeleteRequest("g"), broker=102).error_code == Errors.NOT_COORDINATOR


def test_a_commit_on_its_way_does_not_outlive_its_deletion(groups: Any):
    groups.shared.holds = True
    groups.commit(17)
    ask_to_delete(groups)
    groups.replicate()
    assert groups.committed() == -1
    groups.lead(102)
    assert groups.coordinator.snapshot() == {}


def test_a_second_deletion_is_answered_when_the_first_is_replicated(groups: Any):
    groups.commit_error(17)
    groups.shared.holds = True
    first, second = ask_to_delete(groups), ask_to_delete(groups)
    assert not {first, second} & groups.answers.keys()
    groups.replicate()
    assert groups.answers[first].error_code == groups.answers[second].error_code == 0
    assert len(groups.shared.log.batches) == 2, "a commit and one tombstone"


def test_a_second_deletion_shares_the_fate_of_the_first(groups: Any):
    groups.commit_error(17)
    groups.shared.holds = True
    waiting = [ask_to_delete(groups), ask_to_delete(groups)]
    groups.replicate(Errors.REQUEST_TIMED_OUT)
    waiting.append(ask_to_delete(groups))
    errors = {groups.answers[each].error_code for each in waiting}
    assert errors == {Errors.COORDINATOR_NOT_AVAILABLE}


def ask_to_delete(groups: Any) -> int:
    request = m.OffsetDeleteRequest
    rows = [request.OffsetDeleteRequestPartition(0)]
    return groups.ask(request("g", [request.OffsetDeleteRequestTopic("orders", rows)]))
