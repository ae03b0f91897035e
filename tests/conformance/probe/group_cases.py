"""Groups: finding the coordinator, members, offsets, and what an administrator asks of them."""

# ruff: noqa: E501  (one case a line)

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from engine.wire import messages as m
from tests.conformance.probe.case import Case, Here, one
from tests.conformance.probe.side import COMPACT, GROUP, TOPIC, UNKNOWN_ID

J, S, H, LEAVE = m.JoinGroupRequest, m.SyncGroupRequest, m.HeartbeatRequest, m.LeaveGroupRequest
C, READ_OF, OD = m.OffsetCommitRequest, m.OffsetFetchRequest, m.OffsetDeleteRequest
FIND, DESCRIBE, LIST, DELETE = (
    m.FindCoordinatorRequest, m.DescribeGroupsRequest, m.ListGroupsRequest, m.DeleteGroupsRequest,
)  # fmt: skip
MEMBER_ID_REQUIRED = 79
TIMEOUT = 30_000


def find(here: Here, *keys: str, kind: int = 0) -> Any:
    if here.version < 4:
        return FIND(keys[0] if keys else "", kind)
    return FIND(key_type=kind, coordinator_keys=list(keys))


FOUND = [
    one("FindCoordinator", "a group", lambda here: find(here, GROUP)),
    one("FindCoordinator", "a group without a name", lambda here: find(here, "")),
    one("FindCoordinator", "two groups", lambda here: FIND(coordinator_keys=[GROUP, "other"])),
    one("FindCoordinator", "a group twice", lambda here: FIND(coordinator_keys=[GROUP, GROUP])),
    one("FindCoordinator", "nothing", lambda here: FIND(coordinator_keys=[])),
    one("FindCoordinator", "no kind", lambda here: find(here, GROUP, kind=3)),
    one("FindCoordinator", "kind -1", lambda here: find(here, GROUP, kind=-1)),
    one(
        "FindCoordinator",
        "a share group",
        lambda here: find(here, "g:AAAAAAAAAAAAAAAAAAAAAQ:0", kind=2),
    ),
    one("FindCoordinator", "a share group's bad key", lambda here: find(here, "g", kind=2)),
    one("FindCoordinator", "a transaction without a name", lambda here: find(here, "", kind=1)),
    one("FindCoordinator", "a transaction", lambda here: find(here, "t", kind=1)),
]


def join(group: str, member: str = "", *, instance: str | None = None, session: int = TIMEOUT,
         rebalance: int = TIMEOUT, kind: str = "consumer", protocols: tuple[str, ...] = ("range",)) -> Any:  # fmt: skip
    offered = [J.JoinGroupRequestProtocol(name, b"m") for name in protocols]
    return J(group, session, rebalance, member, instance, kind, offered)


def joined(here: Here, group: str, **more: Any) -> Generator[Any, Any, Any]:
    """The answer of a member that has joined, in the version under test or the latest."""
    answer = yield join(group, **more)
    if answer.error_code == MEMBER_ID_REQUIRED:
        answer = yield join(group, answer.member_id, **more)
    return answer


def life(here: Here) -> Generator[Any, Any, None]:
    """Joins, takes what it gives itself, beats, commits, leaves: seen from each API."""
    me = yield from joined(here, here.group)
    member, generation = me.member_id, me.generation_id
    given = [S.SyncGroupRequestAssignment(member, b"a")]
    yield S(here.group, generation, member, None, "consumer", "range", given)
    yield S(here.group, generation, member, None, "consumer", "range", [])
    yield S(here.group, generation, member, None, "other", "range", [])
    yield S(here.group, generation, member, None, "consumer", "other", [])
    yield S(here.group, generation + 1, member, None, "consumer", "range", [])
    yield S(here.group, generation, "stranger", None, "consumer", "range", [])
    yield H(here.group, generation, member)
    yield H(here.group, generation + 1, member)
    yield H(here.group, generation, "stranger")
    yield commit(here, here.group, generation=generation, member=member)
    yield commit(here, here.group, generation=generation + 1, member=member)
    yield commit(here, here.group, generation=generation, member="stranger")
    yield commit(here, here.group)
    yield DESCRIBE([here.group], False)
    yield DELETE([here.group])
    yield removed(here.group, (TOPIC, [0]))
    yield join(here.group, "stranger")
    yield join(here.group, member, kind="other")
    yield join(here.group, member, protocols=("other",))
    yield leave(here, here.group, "stranger")
    yield leave(here, here.group, member)
    yield leave(here, here.group, member)
    yield DESCRIBE([here.group], False)
    yield removed(here.group, (TOPIC, [0]))
    yield DELETE([here.group, here.group])


def static(here: Here) -> Generator[Any, Any, None]:
    """A member with an instance id: its restart, and a second one that takes its place."""
    me = yield from joined(here, here.group, instance="i")
    given = [S.SyncGroupRequestAssignment(me.member_id, b"a")]
    yield S(here.group, me.generation_id, me.member_id, "i", "consumer", "range", given)
    again = yield join(here.group, instance="i")
    yield H(here.group, again.generation_id, me.member_id, "i")
    yield H(here.group, again.generation_id, again.member_id, "i")
    yield H(here.group, again.generation_id, again.member_id, "j")
    yield S(here.group, again.generation_id, me.member_id, "i", "consumer", "range", [])
    yield join(here.group, me.member_id, instance="i")
    yield LEAVE(
        here.group, members=[LEAVE.MemberIdentity("", "j"), LEAVE.MemberIdentity(me.member_id, "i")]
    )
    yield LEAVE(here.group, members=[LEAVE.MemberIdentity("", "i")])


MEMBERS = [
    *(Case(api, "a member's life", life) for api in (
        "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "DescribeGroups",
        "DeleteGroups", "OffsetDelete")),
    *(Case(api, "a static member", static) for api in (
        "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup")),
    one("JoinGroup", "without a group", lambda here: join("")),
    one("JoinGroup", "for too short a session", lambda here: join(here.group, session=1)),
    one("JoinGroup", "for too long a session", lambda here: join(here.group, session=2**31 - 1)),
    one("JoinGroup", "for a negative session", lambda here: join(here.group, session=-1)),
    one("JoinGroup", "with a rebalance of -1", lambda here: join(here.group, rebalance=-1)),
    one("JoinGroup", "without a protocol", lambda here: join(here.group, protocols=())),
    one("JoinGroup", "without a kind", lambda here: join(here.group, kind="")),
    one("JoinGroup", "with a protocol twice", lambda here: join(here.group, protocols=("a", "a")), ends_only=True, silent=True),
    one("JoinGroup", "with an unknown id", lambda here: join(here.group, "stranger")),
    one("JoinGroup", "with an illegal instance", lambda here: join(here.group, instance="b@d")),
    one("JoinGroup", "with an empty instance", lambda here: join(here.group, instance="")),
    one("JoinGroup", "a static stranger", lambda here: join(here.group, "stranger", instance="i")),
    one("SyncGroup", "an unknown group", lambda here: S(here.group, 1, "x", None, "consumer", "range", [])),
    one("SyncGroup", "without a group", lambda here: S("", 1, "x", None, "consumer", "range", [])),
    one("SyncGroup", "without a protocol", lambda here: S(here.group, 1, "x")),
    one("SyncGroup", "a group without members", lambda here: S(GROUP, 1, "x", None, "consumer", "range", [])),
    one("Heartbeat", "an unknown group", lambda here: H(here.group, 1, "x")),
    one("Heartbeat", "without a group", lambda here: H("", 1, "x")),
    one("Heartbeat", "a group without members", lambda here: H(GROUP, 1, "x")),
    one("Heartbeat", "an instance", lambda here: H(here.group, 1, "x", "i")),
    one("LeaveGroup", "an unknown group", lambda here: leave(here, here.group, "x")),
    one("LeaveGroup", "without a group", lambda here: leave(here, "", "x")),
    one("LeaveGroup", "a group without members", lambda here: leave(here, GROUP, "x")),
    one("LeaveGroup", "nobody", lambda here: leave(here, GROUP)),
]  # fmt: skip


def leave(here: Here, group: str, *members: str) -> Any:
    if here.version_of("LeaveGroup") < 3:
        return LEAVE(group, members[0] if members else "")
    return LEAVE(group, members=[LEAVE.MemberIdentity(member) for member in members])


def commit(here: Here, group: str, *rows: tuple[int, int], topic: str = TOPIC, generation: int = -1,
           member: str = "", instance: str | None = None, note: str | None = None) -> Any:  # fmt: skip
    parts = [C.OffsetCommitRequestPartition(i, o, -1, note) for i, o in rows or ((0, 3),)]
    topic_id = here.side.topic_ids.get(topic, UNKNOWN_ID)
    return C(group, generation, member, instance, topics=[C.OffsetCommitRequestTopic(topic, topic_id, parts)])  # fmt: skip


def committing(name: str, *rows: tuple[int, int], group: str | None = None, **more: Any) -> Case:
    return one(
        "OffsetCommit",
        name,
        lambda here: commit(here, here.group if group is None else group, *rows, **more),
    )


COMMITTED = [
    committing("an offset"),
    committing("two partitions", (0, 3), (1, 0)),
    committing("a partition twice", (0, 3), (0, 4)),
    committing("offset -1", (0, -1)),
    committing("offset -2", (0, -2)),
    committing("the largest offset", (0, 2**63 - 1)),
    committing("beyond the end", (0, 500)),
    committing("partition 9", (9, 3)),
    committing("partition -1", (-1, 3)),
    committing("an unknown topic", topic="nope"),
    committing("with a note", note="x"),
    committing("with a note of 4,096 bytes", note="x" * 4096),
    committing("with a note of 4,097 bytes", note="x" * 4097),
    committing("without a group", group=""),
    committing("as a member of nothing", generation=3, member="x"),
    committing("with a generation alone", generation=3),
    committing("with a member alone", member="x"),
    committing("with an instance alone", instance="i"),
    committing("generation -2", generation=-2),
    one("OffsetCommit", "nothing", lambda here: C(here.group)),
    one(
        "OffsetCommit",
        "no partition",
        lambda here: C(here.group, topics=[C.OffsetCommitRequestTopic(TOPIC, here.id(TOPIC), [])]),
    ),
]


def read(here: Here, group: str, *rows: tuple[str, list[int]], everything: bool = False, member: str | None = None, epoch: int = -1, stable: bool = False) -> Any:  # fmt: skip
    if here.version < 8:
        topics = None if everything else [READ_OF.OffsetFetchRequestTopic(*row) for row in rows]
        return READ_OF(group, topics, require_stable=stable)
    ids = here.side.topic_ids
    asked = [
        READ_OF.OffsetFetchRequestTopics(name, ids.get(name, UNKNOWN_ID), parts)
        for name, parts in rows
    ]
    return READ_OF(
        groups=[
            READ_OF.OffsetFetchRequestGroup(group, member, epoch, None if everything else asked)
        ],
        require_stable=stable,
    )


READ = [
    one("OffsetFetch", "an offset", lambda here: read(here, GROUP, (TOPIC, [0, 1]))),
    one("OffsetFetch", "all", lambda here: read(here, GROUP, everything=True)),
    one("OffsetFetch", "all that is stable", lambda here: read(here, GROUP, everything=True, stable=True)),
    one("OffsetFetch", "another topic's", lambda here: read(here, GROUP, (COMPACT, [0]))),
    one("OffsetFetch", "an unknown topic's", lambda here: read(here, GROUP, ("nope", [0]))),
    one("OffsetFetch", "partition 9's", lambda here: read(here, GROUP, (TOPIC, [9, -1]))),
    one("OffsetFetch", "a partition's twice", lambda here: read(here, GROUP, (TOPIC, [0, 0]))),
    one("OffsetFetch", "nothing", lambda here: read(here, GROUP)),
    one("OffsetFetch", "of an unknown group", lambda here: read(here, here.group, (TOPIC, [0]))),
    one("OffsetFetch", "all of an unknown group", lambda here: read(here, here.group, everything=True)),
    one("OffsetFetch", "without a group", lambda here: read(here, "", (TOPIC, [0]))),
    one("OffsetFetch", "as a stranger", lambda here: read(here, GROUP, (TOPIC, [0]), member="x", epoch=3)),
    one("OffsetFetch", "as a stranger of no epoch", lambda here: read(here, GROUP, (TOPIC, [0]), member="x")),
    one("OffsetFetch", "of no group", lambda here: READ_OF(groups=[])),
    one("OffsetFetch", "of a group twice", lambda here: READ_OF(groups=[READ_OF.OffsetFetchRequestGroup(GROUP, topics=None)] * 2)),
]  # fmt: skip


def removed(group: str, *rows: tuple[str, list[int]]) -> Any:
    return OD(
        group,
        [
            OD.OffsetDeleteRequestTopic(t, [OD.OffsetDeleteRequestPartition(i) for i in p])
            for t, p in rows
        ],
    )


def removed_in_earnest(here: Here) -> Generator[Any, Any, None]:
    yield commit(here, here.group)
    yield removed(here.group, (TOPIC, [1]), ("nope", [0]))
    yield removed(here.group, (TOPIC, [0, 9]))
    yield removed(here.group, (TOPIC, [0]))


def deleted_in_earnest(here: Here) -> Generator[Any, Any, None]:
    yield commit(here, here.group)
    yield DELETE([here.group])
    yield DELETE([here.group])


ADMIN = [
    Case("OffsetDelete", "in earnest", removed_in_earnest),
    one("OffsetDelete", "of an unknown group", lambda here: removed(here.group, (TOPIC, [0]))),
    one("OffsetDelete", "without a group", lambda here: removed("", (TOPIC, [0]))),
    one("OffsetDelete", "nothing", lambda here: removed(GROUP)),
    one("OffsetDelete", "no partition", lambda here: removed(GROUP, (TOPIC, []))),
    one("OffsetDelete", "partition 9", lambda here: removed(GROUP, (TOPIC, [9, -1]))),
    one("OffsetDelete", "an unknown topic", lambda here: removed(GROUP, ("nope", [0]))),
    one("OffsetDelete", "an illegal name", lambda here: removed(GROUP, ("b@d", [0]))),
    Case("DeleteGroups", "in earnest", deleted_in_earnest),
    one("DeleteGroups", "an unknown group", lambda here: DELETE([here.group])),
    one("DeleteGroups", "without a name", lambda here: DELETE([""])),
    one("DeleteGroups", "an unknown group twice", lambda here: DELETE([here.group, here.group])),
    one("DeleteGroups", "nothing", lambda here: DELETE([])),
    one("DescribeGroups", "a group", lambda here: DESCRIBE([GROUP])),
    one("DescribeGroups", "with operations", lambda here: DESCRIBE([GROUP], True)),
    one("DescribeGroups", "an unknown group", lambda here: DESCRIBE([here.group])),
    one("DescribeGroups", "an unknown group's operations", lambda here: DESCRIBE([here.group], True)),
    one("DescribeGroups", "without a name", lambda here: DESCRIBE([""])),
    one("DescribeGroups", "a group twice", lambda here: DESCRIBE([GROUP, GROUP])),
    one("DescribeGroups", "nothing", lambda here: DESCRIBE([])),
    one("ListGroups", "all", lambda here: LIST(), everything=True),
    one("ListGroups", "empty", lambda here: LIST(["empty"]), everything=True),
    one("ListGroups", "in no state", lambda here: LIST(["nope"]), everything=True),
    one("ListGroups", "classic", lambda here: LIST([], ["Classic"]), everything=True),
    one("ListGroups", "of no kind", lambda here: LIST([], ["nope"]), everything=True),
    one("ListGroups", "consumer", lambda here: LIST([], ["consumer"]), everything=True),
]  # fmt: skip

CASES = [*FOUND, *MEMBERS, *COMMITTED, *READ, *ADMIN]
