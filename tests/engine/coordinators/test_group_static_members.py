"""Static members (KIP-345): a name that survives a restart."""

from __future__ import annotations

from typing import Any

import pytest

from engine.wire import consumer_protocol
from engine.wire.errors import Errors


def static_pair(groups: Any) -> tuple[str, str, int]:
    joins = [groups.join(instance=each) for each in ("a", "b")]
    groups.wait(0)
    first, second = (groups.answers[each].member_id for each in joins)
    generation = groups.answers[joins[0]].generation_id
    groups.sync(second, generation, instance="b")
    groups.sync(first, generation, {first: [0, 1], second: [2, 3]}, instance="a")
    assert groups.state() == "Stable"
    return first, second, generation


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_static_member_restarts_without_a_rebalance(groups: Any, name: str):
    first, second, generation = static_pair(groups)
    old, other = (first, second) if name == "a" else (second, first)
    back = groups.answers[groups.join(instance=name)]
    assert (back.error_code, back.generation_id) == (0, generation)
    assert back.member_id not in (first, second)
    assert back.skip_assignment is (name == "a"), "a leader that need not assign again"
    assert groups.state() == "Stable"
    share = groups.answers[groups.sync(back.member_id, generation, instance=name)].assignment
    partitions = [0, 1] if name == "a" else [2, 3]
    assert consumer_protocol.assigned_partitions(share) == {"orders": partitions}
    assert groups.heartbeat(other, generation) == Errors.NONE
    assert groups.heartbeat(old, generation, name) == Errors.FENCED_INSTANCE_ID


def test_a_returning_leader_of_an_old_client_receives_a_leader_that_is_not_itself(groups: Any):
    first, _, generation = static_pair(groups)
    back = groups.answers[groups.join(instance="a", version=8)]
    assert (back.leader, back.generation_id, back.members) == (first, generation, [])


def test_two_consumers_with_one_name_fence_each_other(groups: Any):
    first, _, generation = static_pair(groups)
    groups.join(instance="a")
    assert groups.commit_error(9, first, generation, "a") == Errors.FENCED_INSTANCE_ID
    assert groups.answers[groups.join(first, instance="a")].error_code == (
        Errors.FENCED_INSTANCE_ID
    )
    assert groups.answers[groups.sync(first, generation, instance="a")].error_code == (
        Errors.FENCED_INSTANCE_ID
    )
    assert groups.leave((first, "a")).members[0].error_code == Errors.FENCED_INSTANCE_ID


def test_a_parked_request_is_fenced_when_its_name_is_taken_over(groups: Any):
    static_pair(groups)
    groups.join(instance="c")
    parked = list(groups.waiting)
    groups.join(instance="c")
    assert groups.answers[parked[0]].error_code == Errors.FENCED_INSTANCE_ID


def test_the_seat_goes_back_to_the_old_id_when_the_new_one_cannot_be_stored(groups: Any):
    first, _, generation = static_pair(groups)
    groups.shared.refuses = Errors.NOT_ENOUGH_REPLICAS
    assert groups.answers[groups.join(instance="a")].error_code == (
        Errors.COORDINATOR_NOT_AVAILABLE
    )
    groups.shared.refuses = Errors.NONE
    assert groups.heartbeat(first, generation, "a") == Errors.NONE


def test_a_changed_assignor_of_a_returning_member_does_rebalance(groups: Any):
    joins = [groups.join(instance=each, protocols=("range", "sticky")) for each in "ab"]
    groups.wait(0)
    first, second = (groups.answers[each].member_id for each in joins)
    groups.sync(second, 1, instance="b")
    groups.sync(first, 1, {first: [0]}, instance="a")
    groups.join(instance="b", protocols=("sticky",))
    assert groups.state() == "PreparingRebalance"


def test_a_static_member_that_is_away_keeps_its_place_until_its_session_ends(groups: Any):
    first, second, generation = static_pair(groups)
    away = groups.join(instance="c", rebalance_ms=5000, session_ms=60_000)
    assert away not in groups.answers
    groups.join(first, instance="a", rebalance_ms=5000, session_ms=60_000)
    for _ in range(12):  # b is alive but does not rejoin
        groups.wait(2500)
        groups.heartbeat(second, generation, "b")
    members = [each["instance_id"] for each in groups.coordinator.snapshot()["g"]["members"]]
    assert groups.answers[away].generation_id == generation + 1
    assert sorted(members) == ["a", "b", "c"], "a dynamic member would have been dropped"


def test_an_administrator_removes_a_static_member_by_its_name(groups: Any):
    _, second, generation = static_pair(groups)
    answer = groups.leave(("", "a"), ("", "nobody"))
    assert [each.error_code for each in answer.members] == [0, Errors.UNKNOWN_MEMBER_ID]
    assert groups.heartbeat(second, generation, "b") == Errors.REBALANCE_IN_PROGRESS
