"""Static members of a consumer group: a name that keeps its seat over a restart."""

from __future__ import annotations

from typing import Any

from engine.wire.errors import Errors
from tests.engine.coordinators.consumer.by_hand import Consumer, member, settle, shown


def pair(cluster: Any) -> tuple[Consumer, Consumer]:
    first, second = (Consumer(cluster, f"{each}1", instance=each) for each in "ab")
    first.join()
    second.join()
    settle(first, second)
    return first, second


def test_a_restart_moves_no_partition_and_bumps_no_group_epoch(cluster: Any):
    first, second = pair(cluster)
    before, epoch = second.partitions, shown(cluster)["epoch"]
    answer = second.leave(-2)
    assert (answer.error_code, answer.member_epoch) == (0, -2)
    first.beat()
    assert first.partitions == [0, 1], "the others get nothing of it"

    back = Consumer(cluster, "b2", instance="b")
    back.join()
    assert (back.partitions, shown(cluster)["epoch"]) == (before, epoch)
    assert shown(cluster)["state"] == "Stable"
    assert [each["id"] for each in shown(cluster)["members"]] == ["a1", "b2"]
    assert second.error() == Errors.FENCED_INSTANCE_ID


def test_a_name_that_is_in_use_is_not_released(cluster: Any):
    first, second = pair(cluster)
    twin = Consumer(cluster, "b2", instance="b")
    assert twin.join().error_code == Errors.UNRELEASED_INSTANCE_ID
    assert second.error() == Errors.NONE, "the owner of the name is not disturbed"
    assert first.error() == Errors.NONE


def test_a_static_member_that_stays_away_loses_its_seat_with_its_session(cluster: Any):
    first, second = pair(cluster)
    second.leave(-2)
    cluster.wait(40_000)
    first.beat()
    cluster.wait(6_000)
    first.beat()
    assert first.partitions == [0, 1, 2, 3]


def test_a_static_member_that_leaves_for_good_frees_its_partitions(cluster: Any):
    first, second = pair(cluster)
    second.leave()
    first.beat()
    assert first.partitions == [0, 1, 2, 3]


def test_a_name_that_no_member_has_is_unknown(cluster: Any):
    pair(cluster)
    stranger = Consumer(cluster, "c1", instance="c")
    stranger.epoch = 2
    assert stranger.error() == Errors.UNKNOWN_MEMBER_ID


def test_a_static_member_may_come_back_with_other_topics(cluster: Any):
    first, second = pair(cluster)
    second.leave(-2)
    back = Consumer(cluster, "b2", instance="b", topics=("orders", "payments"))
    back.join()
    settle(first, back)
    assert back.assigned["payments"] == [0, 1]
    assert len(first.partitions) + len(back.partitions) == 4
    assert member(cluster, "b2")["instance_id"] == "b"
