"""Online migration: a classic group becomes a consumer group and a classic one again."""

from __future__ import annotations

from typing import Any

import pytest

from engine.wire import consumer_protocol
from engine.wire import messages as m
from engine.wire.errors import Errors
from tests.engine.coordinators.consumer.by_hand import Consumer, member, settle, shown


class Classic:
    """A member of the classic protocol in a consumer group: it joins when it is asked to."""

    def __init__(self, groups: Any, member_id: str, instance: str | None = None) -> None:
        self.groups = groups
        self.id = member_id
        self.instance = instance
        self.generation = -1
        self.owned: list[int] = []

    def join(self) -> Any:
        metadata = consumer_protocol.encode(
            m.ConsumerProtocolSubscription(
                topics=["orders"],
                owned_partitions=[
                    m.ConsumerProtocolSubscription.TopicPartition("orders", self.owned)
                ],
            )
        )
        body = m.JoinGroupRequest(
            group_id="g", session_timeout_ms=10_000, rebalance_timeout_ms=30_000,
            member_id=self.id, group_instance_id=self.instance, protocol_type="consumer",
            protocols=[m.JoinGroupRequest.JoinGroupRequestProtocol("range", metadata)],
        )  # fmt: skip
        answer = self.groups.answers[self.groups.ask(body)]
        if answer.error_code == Errors.MEMBER_ID_REQUIRED:
            self.id = answer.member_id
            return self.join()
        self.id, self.generation = answer.member_id, answer.generation_id
        return answer

    def sync(self) -> Any:
        answer = self.groups.answers[
            self.groups.sync(self.id, self.generation, instance=self.instance)
        ]
        if answer.error_code == 0:
            owned = consumer_protocol.assigned_partitions(answer.assignment) or {}
            self.owned = owned.get("orders", [])
        return answer

    def beat(self) -> Errors:
        error = self.groups.heartbeat(self.id, self.generation, self.instance)
        if error == Errors.REBALANCE_IN_PROGRESS:
            self.join()
            self.sync()
        return error


def classic_pair(cluster: Any) -> tuple[Classic, Classic]:
    first, second, generation = cluster.stable_pair()
    pair = Classic(cluster, first), Classic(cluster, second)
    for each, owned in zip(pair, ([0, 1], [2, 3]), strict=True):
        each.generation, each.owned = generation, owned
    return pair


def test_the_first_heartbeat_converts_a_classic_group_and_moves_nothing_yet(cluster: Any):
    first, second = classic_pair(cluster)
    cluster.commit(5, first.id, first.generation)
    new = Consumer(cluster, "n")
    new.join()
    group = shown(cluster)
    assert (group["type"], group["epoch"]) == ("consumer", first.generation + 1)
    assert group["offsets"] == {"orders": {0: 5}}
    owns = {each["id"]: each["owns"].get("orders") for each in group["members"]}
    assert owns == {first.id: [0, 1], second.id: [2, 3], "n": None}
    assert [each["speaks"] for each in group["members"]] == ["classic", "classic", "consumer"]


def test_classic_members_go_on_with_join_and_sync(cluster: Any):
    first, second = classic_pair(cluster)
    new = Consumer(cluster, "n")
    new.join()
    for _ in range(4):
        for each in (first, second, new):
            each.beat()
        assert not set(first.owned) & set(second.owned) & set(new.partitions)
    assert sorted([*first.owned, *second.owned, *new.partitions]) == [0, 1, 2, 3]
    assert shown(cluster)["state"] == "Stable"
    assert first.beat() == Errors.NONE
    assert cluster.commit_error(9, first.id, first.generation) == Errors.NONE
    assert cluster.commit_error(9, first.id, first.generation + 1) == Errors.ILLEGAL_GENERATION


def test_members_that_wait_in_a_rebalance_are_asked_to_join_again(cluster: Any):
    _, second = classic_pair(cluster)
    cluster.leave((second.id, None))
    third = cluster.new_id()
    waiting = cluster.join(third)
    assert waiting not in cluster.answers
    Consumer(cluster, "n").join()
    assert cluster.answers[waiting].error_code == Errors.REBALANCE_IN_PROGRESS
    assert not [each for each in cluster.timers if "SessionTimer" in str(each)]


def test_the_last_new_member_leaves_and_the_group_is_classic_again(cluster: Any):
    first, second = classic_pair(cluster)
    new = Consumer(cluster, "n")
    new.join()
    for _ in range(4):
        for each in (first, second, new):
            each.beat()
    assert new.leave().error_code == 0
    group = shown(cluster)
    assert (group["type"], group["state"]) == ("classic", "PreparingRebalance")
    assert sorted(each["id"] for each in group["members"]) == sorted([first.id, second.id])
    assert not [each for each in cluster.timers if "MemberTimer" in str(each)]
    generation = first.generation
    joins = cluster.join(first.id), cluster.join(second.id)
    assert cluster.answers[joins[0]].generation_id > generation


def test_a_migrated_group_survives_its_coordinator_in_every_stage(cluster: Any):
    first, second = classic_pair(cluster)
    new = Consumer(cluster, "n")
    new.join()
    before = shown(cluster)
    cluster.lead(102)
    assert {**shown(cluster), "coordinator": 101} == before
    for _ in range(4):
        for each in (first, second, new):
            each.beat()
    new.leave()
    cluster.lead(101)
    assert shown(cluster)["type"] == "classic"
    assert cluster.coordinator.shards[0].consumer.by_id == {}


def test_a_classic_member_is_taken_into_a_consumer_group(cluster: Any):
    new = Consumer(cluster, "n")
    new.join()
    old = Classic(cluster, "")
    old.join()
    assert old.sync().error_code == 0
    assert old.owned == []
    for _ in range(3):
        new.beat()
        old.beat()
    assert (new.partitions, old.owned) == ([0, 1], [2, 3])
    assert member(cluster, old.id)["speaks"] == "classic"


def test_a_classic_member_that_is_asked_to_join_and_does_not_is_fenced(cluster: Any):
    first, _ = classic_pair(cluster)
    Consumer(cluster, "n").join()
    for _ in range(7):
        cluster.heartbeat(first.id, first.generation)
        cluster.wait(4_900)
    assert first.id not in [each["id"] for each in shown(cluster)["members"]]


def test_a_static_member_changes_its_protocol_and_keeps_its_seat(cluster: Any):
    old = Classic(cluster, "", instance="a")
    number = cluster.join(instance="a")
    cluster.wait(0)
    old.id = cluster.answers[number].member_id
    old.generation = cluster.answers[number].generation_id
    cluster.sync(old.id, old.generation, {old.id: [0, 1, 2, 3]}, instance="a")
    new = Consumer(cluster, "n", instance="a")
    new.join()
    assert new.partitions == [0, 1, 2, 3]
    assert [each["id"] for each in shown(cluster)["members"]] == ["n"]


def test_a_static_member_goes_back_to_the_classic_protocol_and_the_group_with_it(cluster: Any):
    new = Consumer(cluster, "n", instance="a")
    new.join()
    old = Classic(cluster, "", instance="a")
    assert old.join().error_code == 0
    group = shown(cluster)
    assert (group["type"], group["state"]) == ("classic", "Stable")
    assert old.sync().error_code == 0
    assert old.owned == [0, 1, 2, 3]


@pytest.mark.parametrize("policy", ["disabled", "downgrade"])
def test_a_policy_may_forbid_the_upgrade(make_groups: Any, policy: str):
    groups = make_groups(group_consumer_migration_policy=policy)
    groups.lead(101)
    groups.stable_pair()
    answer = Consumer(groups, "n").join()
    assert answer.error_code == Errors.GROUP_ID_NOT_FOUND
    assert "online upgrade is disabled" in answer.error_message
    assert shown(groups)["type"] == "classic"


@pytest.mark.parametrize("policy", ["disabled", "upgrade"])
def test_a_policy_may_forbid_the_downgrade(make_groups: Any, policy: str):
    groups = make_groups(
        group_consumer_migration_policy=policy, group_consumer_assignment_interval_ms=0
    )
    groups.lead(101)
    new = Consumer(groups, "n")
    new.join()
    old = Classic(groups, "")
    answer = old.join()
    if policy == "disabled":
        assert answer.error_code == Errors.INCONSISTENT_GROUP_PROTOCOL
        return
    old.sync()
    new.leave()
    assert shown(groups)["type"] == "consumer"
    for _ in range(3):
        old.beat()
    assert old.owned == [0, 1, 2, 3]


def test_an_empty_group_takes_the_protocol_of_the_first_that_joins(cluster: Any):
    new = Consumer(cluster, "n")
    new.join()
    new.commit(3)
    new.leave()
    cluster.stable_pair()
    group = shown(cluster)
    assert (group["type"], group["offsets"]) == ("classic", {"orders": {0: 3}})
    cluster.lead(102)
    assert shown(cluster)["type"] == "classic"
    for each in list(shown(cluster)["members"]):
        cluster.leave((each["id"], None))
    new.join()
    assert shown(cluster)["type"] == "consumer"
    assert cluster.coordinator.shards[0].classic.by_id == {}


def test_an_admin_removes_static_members_of_either_protocol(cluster: Any):
    new = Consumer(cluster, "n", instance="a")
    other = Consumer(cluster, "o", instance="b")
    new.join()
    other.join()
    answer = cluster.leave(("", "a"), ("", "z"), ("x", "b"))
    assert [each.error_code for each in answer.members] == [
        0, Errors.UNKNOWN_MEMBER_ID, Errors.FENCED_INSTANCE_ID,
    ]  # fmt: skip
    settle(other)
    assert other.partitions == [0, 1, 2, 3]
