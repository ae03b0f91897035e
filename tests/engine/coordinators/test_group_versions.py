"""Every version of every group API, through the codec in both directions."""

from __future__ import annotations

from typing import Any

import pytest

from engine import api
from engine.wire import messages as m
from engine.wire.errors import Errors


def versions(name: str) -> range:
    return api.APIS[name].versions


@pytest.mark.parametrize("version", versions("JoinGroup"))
def test_join_sync_and_leave_in_every_version(groups: Any, version: int):
    joining = groups.join(version=version)
    if version >= 4:
        answer = groups.answers[joining]
        assert answer.error_code == Errors.MEMBER_ID_REQUIRED
        assert answer.protocol_name == (None if version >= 7 else "")
        joining = groups.join(answer.member_id, version=version)
    groups.wait(0)
    answer = groups.answers[joining]
    assert (answer.error_code, answer.generation_id, len(answer.members)) == (0, 1, 1)
    assert answer.protocol_type == ("consumer" if version >= 7 else None)
    member = answer.member_id
    share = m.SyncGroupRequest.SyncGroupRequestAssignment(member, b"share")
    body = m.SyncGroupRequest("g", 1, member, None, assignments=[share])
    if version >= 5:
        refused = groups.call(body, 5)
        assert refused.error_code == Errors.INCONSISTENT_GROUP_PROTOCOL, "no protocol named"
        body.protocol_type, body.protocol_name = "consumer", "range"
    synced = groups.call(body, min(version, 5))
    assert (synced.error_code, synced.assignment) == (0, b"share")
    assert groups.call(m.HeartbeatRequest("g", 1, member), min(version, 4)).error_code == 0
    if version < 3:
        body = m.LeaveGroupRequest(group_id="g", member_id=member)
    else:
        identity = m.LeaveGroupRequest.MemberIdentity(member)
        body = m.LeaveGroupRequest(group_id="g", members=[identity])
    assert groups.call(body, min(version, 5)).error_code == 0
    assert groups.state() == "Empty"


@pytest.mark.parametrize("version", versions("OffsetCommit"))
def test_offset_commit_in_every_version(groups: Any, version: int):
    assert groups.commit_error(17, version=version) == Errors.NONE
    assert groups.committed() == 17


def fetch(groups: Any, version: int, topic: str | None = "orders", group: str = "g") -> Any:
    request = m.OffsetFetchRequest
    topic_id = groups.metadata.topic_ids.get(topic or "", bytes([0xEE] * 16))
    if version < 8:
        row = request.OffsetFetchRequestTopic(topic or "", [0, 1])
        return groups.call(request(group_id=group, topics=[row] if topic else None), version)
    row = request.OffsetFetchRequestTopics(partition_indexes=[0, 1])
    if version >= 10:
        row.topic_id = topic_id
    else:
        row.name = topic or ""
    asked = request.OffsetFetchRequestGroup(group, topics=[row] if topic else None)
    return groups.call(request(groups=[asked, asked]), version)


def rows(answer: Any, version: int) -> list[tuple[int, int, str, int]]:
    topics = answer.topics if version < 8 else answer.groups[-1].topics
    return [
        (each.partition_index, each.committed_offset, each.metadata, each.error_code)
        for topic in topics
        for each in topic.partitions
    ]


@pytest.mark.parametrize("version", versions("OffsetFetch"))
def test_offset_fetch_in_every_version(groups: Any, version: int):
    groups.commit_error(17)
    found, none = (0, 17, "note", 0), (1, -1, "", 0)
    assert rows(fetch(groups, version), version) == [found, none]
    assert rows(fetch(groups, version, group="unknown"), version) == [(0, -1, "", 0), none]
    if version >= 2:
        assert rows(fetch(groups, version, None), version) == [found]
        assert rows(fetch(groups, version, None, "unknown"), version) == []
    if version >= 10:
        unknown = Errors.UNKNOWN_TOPIC_ID
        assert rows(fetch(groups, version, "gone"), version) == [
            (0, -1, "", unknown), (1, -1, "", unknown),
        ]  # fmt: skip
    else:
        assert rows(fetch(groups, version, "gone"), version) == [(0, -1, "", 0), none]


@pytest.mark.parametrize("version", versions("OffsetFetch"))
def test_offset_fetch_says_where_its_version_wants_it_that_it_is_the_wrong_broker(
    groups: Any, version: int
):
    groups.lead(102)
    groups.shared.leader = 101  # the client's view is old: it asks 101
    answer = fetch(groups, version)
    if version >= 8:
        assert [each.error_code for each in answer.groups] == [Errors.NOT_COORDINATOR] * 2
    elif version >= 2:
        assert answer.error_code == Errors.NOT_COORDINATOR
    else:
        codes = [error for *_, error in rows(answer, version)]
        assert codes == [Errors.NOT_COORDINATOR] * 2


@pytest.mark.parametrize("version", versions("DescribeGroups"))
def test_describe_in_every_version(groups: Any, version: int):
    groups.stable_pair()
    group = groups.call(m.DescribeGroupsRequest(["g"]), version).groups[0]
    assert (group.error_code, group.group_state, len(group.members)) == (0, "Stable", 2)


@pytest.mark.parametrize("version", versions("DeleteGroups"))
def test_delete_in_every_version(groups: Any, version: int):
    groups.commit_error(1)
    answer = groups.call(m.DeleteGroupsRequest(["g", "nope"]), version)
    assert [each.error_code for each in answer.results] == [0, Errors.GROUP_ID_NOT_FOUND]
