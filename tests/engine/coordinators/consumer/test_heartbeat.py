"""A member joins, lives, leaves and is fenced (ConsumerGroupHeartbeat)."""

from __future__ import annotations

from typing import Any

import pytest

from engine.wire import messages as m
from engine.wire.errors import Errors
from tests.engine.coordinators.consumer.by_hand import Consumer, member, settle, shown


def test_the_first_member_gets_everything_with_its_first_heartbeat(cluster: Any):
    first = Consumer(cluster, "a")
    answer = first.join()
    assert (answer.member_id, answer.member_epoch, answer.heartbeat_interval_ms) == ("a", 2, 5000)
    assert first.partitions == [0, 1, 2, 3]
    group = shown(cluster)
    assert (group["type"], group["state"], group["epoch"], group["assignment_epoch"]) == (
        "consumer", "Stable", 2, 2,
    )  # fmt: skip
    assert member(cluster, "a")["owns"] == {"orders": [0, 1, 2, 3]}


def test_a_heartbeat_with_nothing_new_is_answered_without_an_assignment_and_writes_nothing(
    cluster: Any,
):
    first = Consumer(cluster, "a")
    first.join()
    end = cluster.shared.log.log_end_offset
    assert first.beat(topic_partitions=None).assignment is None
    assert cluster.shared.log.log_end_offset == end


def test_a_full_heartbeat_is_answered_with_the_assignment(cluster: Any):
    first = Consumer(cluster, "a")
    first.join()
    assert first.beat(full=True).assignment is not None


def test_a_partition_changes_hands_only_after_its_owner_has_given_it_back(cluster: Any):
    first, second = Consumer(cluster, "a"), Consumer(cluster, "b")
    first.join()
    second.join()
    assert (second.epoch, second.partitions) == (3, []), "in the new epoch, with nothing yet"
    assert member(cluster, "b")["state"] == "UNRELEASED_PARTITIONS"
    assert shown(cluster)["state"] == "Reconciling"

    still_owned = first.ask()
    first.heard(still_owned)
    assert (first.epoch, first.partitions) == (2, [0, 1]), "it shall give back, in its old epoch"
    assert member(cluster, "a")["revoking"] == {"orders": [2, 3]}
    second.beat()
    assert second.partitions == [], "2 and 3 are not given back yet"

    first.beat()  # lists 0 and 1 only: that confirms it
    assert (first.epoch, first.partitions) == (3, [0, 1])
    second.beat()
    assert second.partitions == [2, 3]
    assert shown(cluster)["state"] == "Stable"


def test_what_stays_with_a_member_is_never_revoked(cluster: Any):
    first, second = Consumer(cluster, "a"), Consumer(cluster, "b")
    first.join()
    second.join()
    for _ in range(4):
        first.beat()
        assert {0, 1} <= set(first.partitions)
        second.beat()


def test_a_member_that_leaves_frees_its_partitions_at_once(cluster: Any):
    first, second = Consumer(cluster, "a"), Consumer(cluster, "b")
    first.join()
    second.join()
    settle(first, second)
    answer = second.leave()
    assert (answer.error_code, answer.member_id, answer.member_epoch) == (0, "b", -1)
    assert shown(cluster)["state"] == "Assigning"
    first.beat()
    assert (first.epoch, first.partitions) == (4, [0, 1, 2, 3])


def test_the_last_member_leaves_an_empty_group_behind(cluster: Any):
    first = Consumer(cluster, "a")
    first.join()
    first.leave()
    group = shown(cluster)
    assert (group["state"], group["epoch"], group["members"]) == ("Empty", 3, [])
    assert not [each for each in cluster.timers if "member" in str(each[1])]


def test_a_silent_member_is_fenced_when_its_session_is_over(cluster: Any):
    first, second = Consumer(cluster, "a"), Consumer(cluster, "b")
    first.join()
    second.join()
    settle(first, second)
    cluster.wait(40_000)
    first.beat()
    cluster.wait(5_001)
    assert [each["id"] for each in shown(cluster)["members"]] == ["a"]
    assert second.error() == Errors.UNKNOWN_MEMBER_ID
    first.beat()
    assert first.partitions == [0, 1, 2, 3]


def test_a_member_that_does_not_give_back_in_time_is_fenced(cluster: Any):
    slow, second = Consumer(cluster, "a", rebalance_ms=20_000), Consumer(cluster, "b")
    slow.join()
    second.join()
    slow.beat()
    for _ in range(4):
        cluster.wait(5_000)
        slow.heard(slow.ask(topic_partitions=None))  # alive, but still busy with a record
        second.beat()
    assert slow.error(topic_partitions=None) == Errors.UNKNOWN_MEMBER_ID
    second.beat()
    assert second.partitions == [0, 1, 2, 3]


def test_a_member_with_another_epoch_is_fenced_and_may_join_again(cluster: Any):
    first, second = Consumer(cluster, "a"), Consumer(cluster, "b")
    first.join()
    second.join()
    settle(first, second)
    assert first.error(member_epoch=7) == Errors.FENCED_MEMBER_EPOCH
    assert second.error(member_epoch=2) == Errors.FENCED_MEMBER_EPOCH, "it never was in 2"
    first.join()
    assert (first.epoch, first.partitions) == (3, [0, 1])


def test_a_member_that_missed_an_answer_goes_on_with_its_epoch_before(cluster: Any):
    first, second = Consumer(cluster, "a"), Consumer(cluster, "b")
    first.join()
    second.join()
    first.beat()
    lost = first.ask()  # confirms the revocation; the answer with epoch 3 is lost
    assert cluster.answers[lost].member_epoch == 3
    assert first.epoch == 2
    first.beat(full=True)
    assert (first.epoch, first.partitions) == (3, [0, 1])


def test_a_zombie_that_owns_more_than_it_should_is_fenced_even_with_the_epoch_before(cluster: Any):
    first, second = Consumer(cluster, "a"), Consumer(cluster, "b")
    first.join()
    second.join()
    settle(first, second)
    ids = cluster.metadata.topic_ids
    everything = [m.ConsumerGroupHeartbeatRequest.TopicPartitions(ids["orders"], [0, 1, 2, 3])]
    assert first.error(member_epoch=2, topic_partitions=everything) == Errors.FENCED_MEMBER_EPOCH


def test_a_member_changes_its_topics(cluster: Any):
    first = Consumer(cluster, "a")
    first.join()
    first.topics = ("orders", "payments")
    first.beat(full=True)
    assert first.assigned == {"orders": [0, 1, 2, 3], "payments": [0, 1]}
    first.topics = ("payments",)
    first.beat(full=True)
    assert first.assigned == {"payments": [0, 1]}, "taken away at once"
    first.beat()
    assert shown(cluster)["state"] == "Stable"


def test_a_group_that_has_no_room_refuses_a_member(make_groups: Any):
    groups = make_groups(group_consumer_max_size=1)
    groups.lead(101)
    Consumer(groups, "a").join()
    answer = Consumer(groups, "b").join()
    assert answer.error_code == Errors.GROUP_MAX_SIZE_REACHED
    assert answer.error_message == (
        "The consumer group has reached its maximum capacity of 1 members."
    )


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"group_id": ""}, Errors.INVALID_REQUEST),
        ({"member_id": ""}, Errors.INVALID_REQUEST),
        ({"instance_id": " "}, Errors.INVALID_REQUEST),
        ({"rack_id": ""}, Errors.INVALID_REQUEST),
        ({"rebalance_timeout_ms": -1}, Errors.INVALID_REQUEST),
        ({"topic_partitions": None}, Errors.INVALID_REQUEST),
        ({"subscribed_topic_names": None}, Errors.INVALID_REQUEST),
        ({"member_epoch": -3}, Errors.INVALID_REQUEST),
        ({"member_epoch": -2}, Errors.INVALID_REQUEST),
        ({"server_assignor": "best"}, Errors.UNSUPPORTED_ASSIGNOR),
        ({"member_epoch": 1}, Errors.GROUP_ID_NOT_FOUND),
        ({"member_epoch": -1}, Errors.GROUP_ID_NOT_FOUND),
    ],
)
def test_a_request_that_cannot_be_is_refused(cluster: Any, changes: dict[str, Any], error: Errors):
    first = Consumer(cluster, "a")
    answer = cluster.call(first.body(full=True, **changes))
    assert (answer.error_code, cluster.coordinator.snapshot()) == (error, {})
    assert answer.error_message


def test_in_version_0_the_coordinator_makes_the_member_id(cluster: Any):
    body = Consumer(cluster, "").body(full=True)
    answer = cluster.call(body, 0)
    assert answer.error_code == 0
    assert len(answer.member_id) > 20
    assert [each["id"] for each in shown(cluster)["members"]] == [answer.member_id]


def test_the_protocol_can_be_switched_off(make_groups: Any, cluster: Any):
    groups = make_groups(group_coordinator_rebalance_protocols="classic")
    groups.lead(101)
    assert Consumer(groups, "a").join().error_code == Errors.UNSUPPORTED_VERSION
    del cluster.metadata.features["group.version"]
    assert Consumer(cluster, "a").join().error_code == Errors.UNSUPPORTED_VERSION


def test_a_broker_without_metadata_sends_the_member_on(cluster: Any):
    """A restarted broker that has not heard of its cluster yet does not know what it offers."""
    first = Consumer(cluster, "a")
    first.join()
    cluster.metadata.features.clear()
    assert first.error(topic_partitions=None) == Errors.COORDINATOR_NOT_AVAILABLE


def test_another_broker_sends_the_member_on(cluster: Any):
    answer = cluster.call(Consumer(cluster, "a").body(full=True), broker=102)
    assert answer.error_code == Errors.NOT_COORDINATOR


def test_members_that_come_within_the_assignment_interval_share_one_target(make_groups: Any):
    groups = make_groups(group_consumer_assignment_interval_ms=1000)
    groups.lead(101)
    first, second, third = (Consumer(groups, each) for each in "abc")
    first.join()
    second.join()
    third.join()
    assert (second.epoch, second.partitions) == (2, []), "the first target stands"
    group = shown(groups)
    assert (group["state"], group["epoch"], group["assignment_epoch"]) == ("Assigning", 4, 2)
    groups.wait(1_000)
    settle(second, first, third)
    assert shown(groups)["assignment_epoch"] == 4
    assert sorted(len(each.partitions) for each in (first, second, third)) == [1, 1, 2]


def test_a_group_may_have_timeouts_of_its_own(cluster: Any):
    cluster.metadata.configs[32, "g"] = {
        "consumer.heartbeat.interval.ms": "7000",
        "consumer.session.timeout.ms": "50000",
    }
    first = Consumer(cluster, "a")
    assert first.join().heartbeat_interval_ms == 7_000
    cluster.wait(46_000)
    assert first.error() == Errors.NONE, "the broker's 45 s are over, the group's are not"
    cluster.wait(50_001)
    assert first.error() == Errors.UNKNOWN_MEMBER_ID


def test_a_topic_with_more_partitions_bumps_the_group_epoch(cluster: Any):
    first = Consumer(cluster, "a")
    first.join()
    topic_id = cluster.metadata.topic_ids["orders"]
    cluster.add_topic("orders", topic_id, 6, 101)
    cluster.metadata.offset += 1
    first.beat()
    assert (first.epoch, first.partitions) == (3, [0, 1, 2, 3, 4, 5])


def test_a_topic_may_come_after_its_readers_and_go_before_them(cluster: Any):
    first = Consumer(cluster, "a", topics=("later",))
    first.join()
    assert (first.epoch, first.assigned) == (2, {})
    cluster.add_topic("later", bytes([5] * 16), 2, 101)
    cluster.metadata.offset += 1
    first.beat()
    assert first.assigned == {"later": [0, 1]}
    del cluster.metadata.topics[cluster.metadata.topic_ids.pop("later")]
    cluster.metadata.offset += 1
    first.heard(first.ask(topic_partitions=[]))
    assert (first.epoch, first.assigned) == (4, {})
    assert shown(cluster)["state"] == "Stable"


def test_the_members_choose_the_assignor_by_majority(cluster: Any):
    names = ["uniform", "range", "range"]
    consumers = [Consumer(cluster, f"m{i}", assignor=each) for i, each in enumerate(names)]
    for each in consumers:
        each.join()
    assert shown(cluster)["assignor"] == "range"
    settle(*consumers)
    assert [each.partitions for each in consumers] == [[0, 1], [2], [3]]
