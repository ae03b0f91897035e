"""Offsets of a consumer group: who may commit, fetch and delete them, and when they expire."""

from __future__ import annotations

from typing import Any

import pytest

from engine.wire import messages as m
from engine.wire.errors import Errors
from tests.engine.coordinators.consumer.by_hand import Consumer, settle, shown


def pair(cluster: Any) -> tuple[Consumer, Consumer]:
    first, second = Consumer(cluster, "a"), Consumer(cluster, "b")
    first.join()
    second.join()
    settle(first, second)
    return first, second


def fetch(cluster: Any, member_id: str | None, epoch: int, version: int = 9) -> Any:
    request = m.OffsetFetchRequest
    topics = [request.OffsetFetchRequestTopics(name="orders", partition_indexes=[0])]
    asked = request.OffsetFetchRequestGroup(
        group_id="g", member_id=member_id, member_epoch=epoch, topics=topics
    )
    return cluster.call(request(groups=[asked]), version).groups[0]


def test_a_member_commits_in_its_epoch(cluster: Any):
    first, _ = pair(cluster)
    assert first.commit(7) == Errors.NONE
    assert fetch(cluster, "a", first.epoch).topics[0].partitions[0].committed_offset == 7
    assert shown(cluster)["offsets"] == {"orders": {0: 7}}


def test_a_commit_that_crossed_a_heartbeat_is_accepted_for_what_the_member_kept(cluster: Any):
    first, _ = pair(cluster)
    assert first.epoch == 3
    assert first.commit(7, partition=0, epoch=2) == Errors.NONE, "owned since epoch 2"
    assert first.commit(7, partition=3, epoch=2) == Errors.STALE_MEMBER_EPOCH, "given away"


def test_a_commit_for_a_partition_that_is_being_given_back_is_accepted(cluster: Any):
    first, second = Consumer(cluster, "a"), Consumer(cluster, "b")
    first.join()
    second.join()
    first.beat()
    assert first.commit(5, partition=3) == Errors.NONE


def test_a_zombie_commits_nothing(cluster: Any):
    first, second = pair(cluster)
    assert second.commit(9, partition=3, epoch=2) == Errors.STALE_MEMBER_EPOCH, "owned since 3"
    second.leave()
    assert second.commit(9, partition=3) == Errors.UNKNOWN_MEMBER_ID
    first.beat()
    assert first.commit(9, epoch=first.epoch + 1) == Errors.STALE_MEMBER_EPOCH
    assert cluster.commit_error(9) == Errors.UNKNOWN_MEMBER_ID, "only while the group is empty"


def test_a_member_must_use_a_version_that_knows_epochs(cluster: Any):
    first, _ = pair(cluster)
    error = cluster.commit_error(9, "a", first.epoch, version=8)
    assert error == Errors.UNSUPPORTED_VERSION


def test_an_admin_commits_for_an_empty_group(cluster: Any):
    first = Consumer(cluster, "a")
    first.join()
    first.leave()
    assert cluster.commit_error(11) == Errors.NONE


@pytest.mark.parametrize(
    ("member_id", "epoch", "error"),
    [
        (None, -1, Errors.NONE),
        ("a", 3, Errors.NONE),
        ("a", 2, Errors.STALE_MEMBER_EPOCH),
        ("z", 3, Errors.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_member_that_fetches_offsets_must_be_what_it_says(
    cluster: Any, member_id: str | None, epoch: int, error: Errors
):
    pair(cluster)
    assert fetch(cluster, member_id, epoch).error_code == error


def test_offsets_of_a_topic_that_is_read_are_not_deleted(cluster: Any):
    first, _ = pair(cluster)
    first.commit(7)
    request = m.OffsetDeleteRequest
    partition = request.OffsetDeleteRequestPartition(0)
    topic = request.OffsetDeleteRequestTopic(name="orders", partitions=[partition])
    row = cluster.call(request("g", [topic])).topics[0].partitions[0]
    assert row.error_code == Errors.GROUP_SUBSCRIBED_TO_TOPIC


def test_a_group_with_members_is_not_deleted_and_an_empty_one_is_gone_with_its_offsets(
    cluster: Any,
):
    first = Consumer(cluster, "a")
    first.join()
    first.commit(7)
    delete = m.DeleteGroupsRequest(["g"])
    assert cluster.call(delete).results[0].error_code == Errors.NON_EMPTY_GROUP
    first.leave()
    assert cluster.call(delete).results[0].error_code == Errors.NONE
    assert cluster.coordinator.snapshot() == {}
    cluster.lead(102)
    assert cluster.coordinator.snapshot() == {}, "the log says so too"


def test_an_empty_group_expires_with_its_last_offset(make_groups: Any):
    groups = make_groups(offsets_retention_minutes=10)
    groups.lead(101)
    first = Consumer(groups, "a")
    first.join()
    first.commit(7)
    for _ in range(30):
        groups.wait(40_000)
        first.beat()
    assert shown(groups)["offsets"], "what is subscribed to does not age"
    first.leave()
    groups.wait(1_300_000)
    assert groups.coordinator.snapshot() == {}


def test_the_group_is_listed_with_its_type_and_described_by_its_own_api(cluster: Any):
    pair(cluster)
    listed = cluster.call(m.ListGroupsRequest(types_filter=["Consumer"])).groups
    assert [(each.group_id, each.group_type, each.group_state) for each in listed] == [
        ("g", "consumer", "Stable")
    ]
    assert cluster.call(m.ListGroupsRequest(types_filter=["classic"])).groups == []
    old = cluster.call(m.DescribeGroupsRequest(["g"])).groups[0]
    assert (old.error_code, old.error_message, old.group_state) == (
        Errors.GROUP_ID_NOT_FOUND, "Group g is not a classic group.", "Dead",
    )  # fmt: skip
    new = cluster.call(m.ConsumerGroupDescribeRequest(["g", "x"], True)).groups
    assert [each.error_code for each in new] == [0, Errors.GROUP_ID_NOT_FOUND]
    assert (new[0].group_state, new[0].group_epoch, new[0].assignor_name) == (
        "Stable", 3, "uniform",
    )  # fmt: skip
    assert new[0].authorized_operations > 0
    row = new[0].members[0]
    assert (row.member_id, row.member_epoch, row.member_type) == ("a", 3, 1)
    assert row.assignment.topic_partitions[0].partitions == [0, 1]
    assert row.target_assignment == row.assignment
