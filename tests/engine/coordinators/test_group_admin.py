"""Finding, listing, describing and deleting groups."""

from __future__ import annotations

from typing import Any

import pytest

from engine.coordinators.group_coordinator import OffsetsTopicCreation
from engine.coordinators.offsets_topic import OFFSETS_TOPIC, java_hash, partition_for
from engine.wire import consumer_protocol
from engine.wire import messages as m
from engine.wire.errors import Errors


def find(groups: Any, *keys: str, version: int = 6, kind: int = 0) -> list[tuple[int, int, str]]:
    if version < 4:
        body = m.FindCoordinatorRequest(key=keys[0], key_type=kind)
        rows = [groups.call(body, version, broker=102)]
    else:
        body = m.FindCoordinatorRequest(key_type=kind, coordinator_keys=list(keys))
        rows = groups.call(body, version, broker=102).coordinators
    return [(each.error_code, each.node_id, each.host) for each in rows]


# -- FindCoordinator


@pytest.mark.parametrize(("text", "value", "partition"), [
    ("", 0, 0),
    ("g", 103, 3),
    ("my-group", -1906497762, 12),
    ("Grüße", 69215351, 1),
    ("日本𝄞", 804252561, 11),
    ("polygenelubricants", -2147483648, 0),
])  # fmt: skip
def test_a_groups_partition_is_the_one_that_java_computes(text: str, value: int, partition: int):
    assert java_hash(text) == value
    assert partition_for(text, 50) == partition


def test_the_first_search_creates_the_offsets_topic_and_asks_once(make_groups: Any):
    groups = make_groups(offsets_topic_num_partitions=7, offsets_topic_replication_factor=2)
    nobody = [(Errors.COORDINATOR_NOT_AVAILABLE, -1, "")]
    assert find(groups, "g") == nobody
    assert find(groups, "g") == nobody
    (send,) = groups.sent
    topic = send.body.topics[0]
    configs = {each.name: each.value for each in topic.configs}
    assert (send.destination, send.token) == (100, OffsetsTopicCreation())
    assert (topic.name, topic.num_partitions, topic.replication_factor) == (OFFSETS_TOPIC, 7, 2)
    assert configs["cleanup.policy"] == "compact"
    groups.brokers[102].groups.topic_creation_answered(None)
    find(groups, "g")
    assert len(groups.sent) == 2, "the first request was lost"
    groups.lead(101)
    assert find(groups, "g") == [(0, 101, "localhost")]


@pytest.mark.parametrize("version", range(7))
def test_a_coordinator_is_found_in_every_version(groups: Any, version: int):
    assert find(groups, "g", version=version) == [(0, 101, "localhost")]


def test_several_keys_and_other_kinds_of_coordinator(groups: Any):
    assert find(groups, "g", "h") == [(0, 101, "localhost")] * 2
    assert find(groups, "s", kind=2) == [(Errors.INVALID_REQUEST, -1, "")]
    groups.lead(None)
    assert find(groups, "g") == [(Errors.COORDINATOR_NOT_AVAILABLE, -1, "")]


def test_a_broker_that_does_not_lead_the_partition_says_so(groups: Any):
    assert groups.call(m.HeartbeatRequest("g", 1, "m"), broker=102).error_code == (
        Errors.NOT_COORDINATOR
    )
    assert groups.call(m.JoinGroupRequest("g", 10_000), broker=102).error_code == (
        Errors.NOT_COORDINATOR
    )
    described = groups.call(m.DescribeGroupsRequest(["g"]), broker=102).groups[0]
    assert described.error_code == Errors.NOT_COORDINATOR


# -- ListGroups, DescribeGroups


def test_groups_are_listed_by_state_and_type(groups: Any):
    groups.stable_pair()
    groups.commit_error(1, group="simple")

    def names(version: int = 5, **filters: Any) -> list[str]:
        answer = groups.call(m.ListGroupsRequest(**filters), version)
        return [each.group_id for each in answer.groups]

    assert names() == names(0) == ["g", "simple"]
    assert names(states_filter=["stable"]) == ["g"]
    assert names(states_filter=["Empty", "Dead"], types_filter=["Classic"]) == ["simple"]
    assert names(types_filter=["consumer"]) == []
    row = groups.call(m.ListGroupsRequest()).groups[0]
    assert (row.protocol_type, row.group_state, row.group_type) == (
        "consumer", "Stable", "classic",
    )  # fmt: skip


def assigned(group: Any) -> dict[str, Any]:
    """What a description of a group says that its members have."""
    return {
        each.member_id: consumer_protocol.assigned_partitions(each.member_assignment)
        for each in group.members
    }


def test_a_stable_group_shows_who_got_what(groups: Any):
    first, second, _ = groups.stable_pair()
    group = groups.call(m.DescribeGroupsRequest(["g"], True)).groups[0]
    assert (group.group_state, group.protocol_type, group.protocol_data) == (
        "Stable", "consumer", "range",
    )  # fmt: skip
    shown = assigned(group)
    assert shown == {first: {"orders": [0, 1]}, second: {"orders": [2, 3]}}
    assert {(each.client_id, each.client_host) for each in group.members} == {("c", "/127.0.0.1")}
    assert group.authorized_operations == 3400
    groups.join(first)
    group = groups.call(m.DescribeGroupsRequest(["g"])).groups[0]
    assert (group.group_state, group.protocol_data) == ("PreparingRebalance", "")
    assert {each.member_metadata for each in group.members} == {b""}
    assert shown == assigned(group)


@pytest.mark.parametrize("version", range(7))
def test_an_unknown_group_is_dead_and_later_an_error(groups: Any, version: int):
    group = groups.call(m.DescribeGroupsRequest(["nope"]), version).groups[0]
    assert group.group_state == "Dead"
    assert group.error_code == (Errors.GROUP_ID_NOT_FOUND if version >= 6 else Errors.NONE)


# -- DeleteGroups


def test_only_empty_groups_are_deleted_and_their_offsets_with_them(groups: Any):
    groups.stable_pair()
    groups.commit_error(5, group="old")
    groups.shared.holds = True
    deleting = groups.ask(m.DeleteGroupsRequest(["old", "g", "nope"]))
    assert deleting not in groups.answers
    groups.replicate()
    rows = {each.group_id: each.error_code for each in groups.answers[deleting].results}
    assert rows == {
        "old": Errors.NONE, "g": Errors.NON_EMPTY_GROUP, "nope": Errors.GROUP_ID_NOT_FOUND,
    }  # fmt: skip
    assert groups.committed("old") == -1
    groups.lead(102)
    assert [*groups.coordinator.snapshot()] == ["g"]


def test_a_commit_on_its_way_does_not_outlive_its_group(groups: Any):
    groups.commit_error(5)
    groups.shared.holds = True
    groups.commit(6, partition=1)
    groups.ask(m.DeleteGroupsRequest(["g"]))
    groups.commit(7)
    groups.replicate()
    expected = {"orders": {0: 7}}
    assert groups.coordinator.snapshot()["g"]["offsets"] == expected
    groups.lead(102)
    assert groups.coordinator.snapshot()["g"]["offsets"] == expected


def test_a_group_stays_when_its_deletion_cannot_be_written(groups: Any):
    groups.commit_error(5)
    groups.shared.refuses = Errors.NOT_ENOUGH_REPLICAS
    row = groups.call(m.DeleteGroupsRequest(["g"])).results[0]
    assert row.error_code == Errors.COORDINATOR_NOT_AVAILABLE
    assert groups.state() == "Empty"
