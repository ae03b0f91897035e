"""What a broker tells of the cluster: metadata, features, quorum, log directories, producers."""

# ruff: noqa: E501  (one case a line)

from __future__ import annotations

from typing import Any

from engine.wire import messages as m
from tests.conformance.probe.case import one
from tests.conformance.probe.side import COMPACT, TOPIC, UNKNOWN_ID

M = m.MetadataRequest
T = m.DescribeTopicPartitionsRequest
QUORUM = m.DescribeQuorumRequest
L = m.DescribeLogDirsRequest
A = m.AlterReplicaLogDirsRequest
PRODUCERS = m.DescribeProducersRequest
MOVES = m.ListPartitionReassignmentsRequest


def named(*names: str, auto: bool = False) -> Any:
    return M([M.MetadataRequestTopic(name=name) for name in names], auto)


def by_id(topic_id: bytes, name: str | None = None) -> Any:
    return M([M.MetadataRequestTopic(topic_id, name)], False)


def meta(name: str, request: Any, everything: bool = False) -> Any:
    return one("Metadata", name, request, everything=everything)


METADATA = [
    meta("two topics", lambda here: named(TOPIC, COMPACT, auto=here.version < 4)),
    meta("a topic twice", lambda here: named(TOPIC, TOPIC, auto=here.version < 4)),
    meta("an unknown topic", lambda here: named("nope", auto=here.version < 4)),
    meta("an illegal name", lambda here: named("b@d", auto=here.version < 4)),
    meta("no name", lambda here: named("", auto=here.version < 4)),
    meta("an internal topic", lambda here: named("__cluster_metadata", auto=here.version < 4)),
    meta("nothing", lambda here: M([], here.version < 4), everything=True),
    meta("all", lambda here: M(None, here.version < 4), everything=True),
    meta("with operations", lambda here: M([M.MetadataRequestTopic(name=TOPIC)], False, False, True)),
    meta("with the cluster's operations", lambda here: M([], False, True)),
    meta("an unknown topic's operations", lambda here: M([M.MetadataRequestTopic(name="nope")], False, False, True)),
    meta("an id", lambda here: by_id(here.id(TOPIC))),
    meta("an unknown id", lambda here: by_id(UNKNOWN_ID)),
    meta("an id and a name", lambda here: by_id(here.id(TOPIC), TOPIC)),
    meta("an id and another's name", lambda here: by_id(here.id(TOPIC), COMPACT)),
    meta("neither name nor id", lambda here: by_id(bytes(16))),
    meta("an id and a topic", lambda here: M([M.MetadataRequestTopic(here.id(TOPIC), None), M.MetadataRequestTopic(name=COMPACT)], False)),
]  # fmt: skip


def pages(*names: str, limit: int = 2000, cursor: tuple[str, int] | None = None) -> Any:
    asked = [T.TopicRequest(name) for name in names]
    return T(asked, limit, None if cursor is None else T.Cursor(*cursor))


def page(name: str, request: Any, everything: bool = False) -> Any:
    return one("DescribeTopicPartitions", name, request, everything=everything)


PAGES = [
    page("two topics", lambda here: pages(TOPIC, COMPACT)),
    page("a topic twice", lambda here: pages(TOPIC, TOPIC)),
    page("one row", lambda here: pages(TOPIC, COMPACT, limit=1)),
    page("two rows", lambda here: pages(TOPIC, COMPACT, limit=2)),
    page("no row", lambda here: pages(TOPIC, limit=0)),
    page("fewer than no row", lambda here: pages(TOPIC, limit=-1)),
    page("two billion rows", lambda here: pages(TOPIC, limit=2**31 - 1)),
    page("the lowest limit", lambda here: pages(TOPIC, limit=-(2**31))),
    page("from the second", lambda here: pages(TOPIC, COMPACT, cursor=(TOPIC, 1))),
    page("behind the last", lambda here: pages(TOPIC, COMPACT, cursor=(TOPIC, 5))),
    page("far behind the last, one row", lambda here: pages(TOPIC, limit=1, cursor=(TOPIC, 2**31 - 1))),
    page("before the first", lambda here: pages(TOPIC, cursor=(TOPIC, -1))),
    page("from a topic that is not asked for", lambda here: pages(TOPIC, cursor=("a", 0))),
    page("from a topic that does not exist", lambda here: pages(TOPIC, "nope", cursor=("nope", 0))),
    page("an unknown topic", lambda here: pages("nope")),
    page("an illegal name", lambda here: pages("b@d")),
    page("no name", lambda here: pages("")),
    page("all", lambda here: pages(), everything=True),
    page("all from a foreign cursor", lambda here: pages(cursor=("zzzz", 3)), everything=True),
    page("unknown topics, one row", lambda here: pages("a", "b", TOPIC, limit=1)),
]  # fmt: skip


def quorum(*rows: tuple[str, list[int]]) -> Any:
    return QUORUM([QUORUM.TopicData(t, [QUORUM.PartitionData(i) for i in p]) for t, p in rows])


METADATA_LOG = "__cluster_metadata"
VIEWS = [
    one("DescribeQuorum", "the quorum", lambda here: quorum((METADATA_LOG, [0]))),
    one("DescribeQuorum", "a second partition", lambda here: quorum((METADATA_LOG, [1]))),
    one("DescribeQuorum", "two partitions", lambda here: quorum((METADATA_LOG, [0, 1]))),
    one("DescribeQuorum", "another topic", lambda here: quorum((TOPIC, [0]))),
    one("DescribeQuorum", "two topics", lambda here: quorum((METADATA_LOG, [0]), (TOPIC, [0]))),
    one("DescribeQuorum", "nothing", lambda here: quorum()),
    one("DescribeQuorum", "no partition", lambda here: quorum((METADATA_LOG, []))),
    one("DescribeCluster", "the cluster", lambda here: m.DescribeClusterRequest()),
    one("DescribeCluster", "with operations", lambda here: m.DescribeClusterRequest(True)),
    one("DescribeCluster", "controllers", lambda here: m.DescribeClusterRequest(False, 2)),
    one("DescribeCluster", "of no kind", lambda here: m.DescribeClusterRequest(False, 9)),
    one("DescribeCluster", "the fenced too", lambda here: m.DescribeClusterRequest(False, 1, True)),
    one("ApiVersions", "the kit", lambda here: m.ApiVersionsRequest("kit", "1")),
    one("ApiVersions", "no name", lambda here: m.ApiVersionsRequest("", "1")),
    one("ApiVersions", "no version", lambda here: m.ApiVersionsRequest("kit", "")),
    one("ApiVersions", "a name with a space", lambda here: m.ApiVersionsRequest("a b", "1")),
    one("ApiVersions", "a name that ends in -", lambda here: m.ApiVersionsRequest("a-", "1")),
    one("UnregisterBroker", "an unknown broker", lambda here: m.UnregisterBrokerRequest(555)),
    one("UnregisterBroker", "no broker", lambda here: m.UnregisterBrokerRequest(-1)),
    one("UnregisterBroker", "the controller", lambda here: m.UnregisterBrokerRequest(100)),
    one("ListPartitionReassignments", "all", lambda here: MOVES()),
    one("ListPartitionReassignments", "a topic's", lambda here: moves((TOPIC, [0, 1]))),
    one("ListPartitionReassignments", "an unknown topic's", lambda here: moves(("nope", [0]))),
    one("ListPartitionReassignments", "an unknown partition's", lambda here: moves((TOPIC, [9]))),
    one("ListPartitionReassignments", "nothing's", lambda here: moves()),
    one("DescribeLogDirs", "a topic's", lambda here: dirs((TOPIC, [0, 1]))),
    one("DescribeLogDirs", "an unknown topic's", lambda here: dirs(("nope", [0]))),
    one("DescribeLogDirs", "an unknown partition's", lambda here: dirs((TOPIC, [9]))),
    one("DescribeLogDirs", "a partition's twice", lambda here: dirs((TOPIC, [0, 0]), (TOPIC, [0]))),
    one("DescribeLogDirs", "nothing's", lambda here: L([])),
    one("DescribeLogDirs", "all", lambda here: L(None), everything=True),
    one("AlterReplicaLogDirs", "to nowhere", lambda here: move("/nowhere", (TOPIC, [0]))),
    one("AlterReplicaLogDirs", "to a relative path", lambda here: move("here", (TOPIC, [0]))),
    one("AlterReplicaLogDirs", "to no path", lambda here: move("", (TOPIC, [0]))),
    one("AlterReplicaLogDirs", "an unknown topic", lambda here: move("/nowhere", ("nope", [0]))),
    one("AlterReplicaLogDirs", "an illegal name", lambda here: move("/nowhere", ("b@d", [0]))),
    one("AlterReplicaLogDirs", "nothing", lambda here: A([])),
    one("AlterReplicaLogDirs", "where it is", lambda here: move(here.side.log_dir, (TOPIC, [0]))),
    one("AlterReplicaLogDirs", "a stranger to where we are", lambda here: move(here.side.log_dir, ("nope", [0]))),
    one("DescribeProducers", "of a partition", lambda here: producers(TOPIC, 0, 1)),
    one("DescribeProducers", "of an unknown partition", lambda here: producers(TOPIC, 9)),
    one("DescribeProducers", "of partition -1", lambda here: producers(TOPIC, -1)),
    one("DescribeProducers", "of an unknown topic", lambda here: producers("nope", 0)),
    one("DescribeProducers", "of an illegal name", lambda here: producers("b@d", 0)),
    one("DescribeProducers", "of no name", lambda here: producers("", 0)),
    one("DescribeProducers", "of nothing", lambda here: PRODUCERS([])),
    one("DescribeProducers", "of no partition", lambda here: producers(TOPIC)),
]  # fmt: skip


def moves(*rows: tuple[str, list[int]]) -> Any:
    return MOVES(topics=[MOVES.ListPartitionReassignmentsTopics(*row) for row in rows])


def dirs(*rows: tuple[str, list[int]]) -> Any:
    return L([L.DescribableLogDirTopic(*row) for row in rows])


def move(path: str, *rows: tuple[str, list[int]]) -> Any:
    return A([A.AlterReplicaLogDir(path, [A.AlterReplicaLogDirTopic(*row) for row in rows])])


def producers(topic: str, *indexes: int) -> Any:
    return PRODUCERS([PRODUCERS.TopicRequest(topic, list(indexes))])


CASES = [*METADATA, *PAGES, *VIEWS]
