"""Every field of every request, one at a time, at its edges and beyond.

The hand-written cases know what matters; these are for what nobody thought of.  Each API has a
plain request, and each field of its schema is set to a handful of values that its type can
carry: below zero, the largest, empty, null, an illegal name, an entry twice.
"""

# ruff: noqa: E501  (one case a line)

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from engine import api
from engine.settings.sources import TOPIC as TOPIC_RESOURCE
from engine.wire import messages as m
from engine.wire import schema
from engine.wire.codec import UnsupportedField
from tests.conformance.probe.admin_cases import (
    create,
    cut,
    elect,
    found,
    grow,
    level,
    levels,
    limit,
    topic,
)  # fmt: skip
from tests.conformance.probe.case import Case, Here, api_request, one
from tests.conformance.probe.config_cases import MINE, describe, mine, replace
from tests.conformance.probe.group_cases import commit, find, join, leave, read, removed
from tests.conformance.probe.log_cases import GOOD, fetched, looked_up, written
from tests.conformance.probe.side import COMPACT, GROUP, TOPIC, TRANSACTION, UNKNOWN_ID, group_name
from tests.conformance.probe.transaction_cases import add, marker, markers, store
from tests.conformance.probe.view_cases import dirs, move, moves, named, pages, producers, quorum

INTEGERS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


def _plain_offsets(here: Here) -> Any:
    s = m.OffsetForLeaderEpochRequest
    return s(-1, [s.OffsetForLeaderTopic(TOPIC, [s.OffsetForLeaderPartition(0, -1, 0)])])


def _plain_sync(here: Here) -> Any:
    s = m.SyncGroupRequest
    given = [s.SyncGroupRequestAssignment("x", b"a")]
    return s(here.group, 1, "x", None, "consumer", "range", given)


def _plain_deletion(here: Here) -> Any:
    d = m.DeleteTopicsRequest
    if here.version < 6:
        return d(topic_names=["nope"], timeout_ms=30_000)
    return d([d.DeleteTopicState("nope")], timeout_ms=30_000)


PLAIN: dict[str, Callable[[Here], Any]] = {
    "Produce": lambda here: written(COMPACT, here.id(COMPACT), (0, GOOD)),
    "Fetch": lambda here: fetched(here, (0, 9)),
    "ListOffsets": lambda here: looked_up((TOPIC, 0, -1, -1)),
    "Metadata": lambda here: named(TOPIC, auto=here.version < 4),
    "OffsetCommit": lambda here: commit(here, here.group),
    "OffsetFetch": lambda here: read(here, GROUP, (TOPIC, [0])),
    "FindCoordinator": lambda here: find(here, GROUP),
    "JoinGroup": lambda here: join(here.group),
    "Heartbeat": lambda here: m.HeartbeatRequest(GROUP, 1, "x"),
    "LeaveGroup": lambda here: leave(here, GROUP, "x"),
    "SyncGroup": _plain_sync,
    "DescribeGroups": lambda here: m.DescribeGroupsRequest([GROUP]),
    "ListGroups": lambda here: m.ListGroupsRequest(),
    "ApiVersions": lambda here: m.ApiVersionsRequest("kit", "1"),
    "CreateTopics": lambda here: create(topic(here.name, configs={"retention.ms": "5"})),
    "DeleteTopics": _plain_deletion,
    "DeleteRecords": lambda here: cut(TOPIC, (0, 0)),
    "InitProducerId": lambda here: m.InitProducerIdRequest(None, 60_000),
    "OffsetForLeaderEpoch": _plain_offsets,
    "DescribeConfigs": lambda here: describe(MINE, keys=["retention.ms"]),
    "AlterConfigs": lambda here: replace((MINE, {"retention.ms": "604800000"})),
    "AlterReplicaLogDirs": lambda here: move("/nowhere", (TOPIC, [0])),
    "DescribeLogDirs": lambda here: dirs((TOPIC, [0])),
    "CreatePartitions": lambda here: grow(TOPIC, 3, [[101, 102, 103]]),
    "DeleteGroups": lambda here: m.DeleteGroupsRequest([here.group]),
    "ElectLeaders": lambda here: elect(0, (TOPIC, [0])),
    "IncrementalAlterConfigs": lambda here: mine("retention.ms", "604800000"),
    "ListPartitionReassignments": lambda here: moves((TOPIC, [0])),
    "OffsetDelete": lambda here: removed(GROUP, (TOPIC, [1])),
    "DescribeClientQuotas": lambda here: found(("user", 0, "nope")),
    "AlterClientQuotas": lambda here: limit(
        {"user": here.name}, ("producer_byte_rate", 1e9, False), validate_only=False
    ),
    "DescribeQuorum": lambda here: quorum(("__cluster_metadata", [0])),
    "UpdateFeatures": lambda here: levels(level()),
    "DescribeCluster": lambda here: m.DescribeClusterRequest(),
    "DescribeProducers": lambda here: producers(TOPIC, 0),
    "AddRaftVoter": lambda here: m.AddRaftVoterRequest(
        None,
        1_000,
        555,
        bytes([5] * 16),
        [m.AddRaftVoterRequest.Listener("CONTROLLER", "127.0.0.1", 5555)],
    ),
    "RemoveRaftVoter": lambda here: m.RemoveRaftVoterRequest(None, 555, bytes([5] * 16)),
    "UnregisterBroker": lambda here: m.UnregisterBrokerRequest(555),
    "ListConfigResources": lambda here: m.ListConfigResourcesRequest([TOPIC_RESOURCE]),
    "DescribeTopicPartitions": lambda here: pages(TOPIC, cursor=(TOPIC, 1)),
    "ConsumerGroupHeartbeat": lambda here: m.ConsumerGroupHeartbeatRequest(
        here.group, here.name, 0, None, None, 30_000, [TOPIC], topic_partitions=[]
    ),
    "ConsumerGroupDescribe": lambda here: m.ConsumerGroupDescribeRequest([here.group]),
    "AddPartitionsToTxn": lambda here: add(here, (TOPIC, [0, 1])),
    "AddOffsetsToTxn": lambda here: m.AddOffsetsToTxnRequest(here.name, *here.begin(), here.group),
    "EndTxn": lambda here: m.EndTxnRequest(here.name, *here.begin(), True),
    "WriteTxnMarkers": lambda here: markers(marker(here, 0)),
    "TxnOffsetCommit": store,
    "DescribeTransactions": lambda here: m.DescribeTransactionsRequest([TRANSACTION]),
    "ListTransactions": lambda here: m.ListTransactionsRequest(["Ongoing"], [], -1, "probe.*"),
}

EVERYTHING = {"Metadata", "ListGroups", "ListTransactions", "ListConfigResources", "DescribeTopicPartitions", "ElectLeaders", "DescribeLogDirs"}  # fmt: skip


def lowest(name: str) -> int:
    """The first version that has a layout: Produce is advertised below it."""
    first: int = api_request(name).VERSIONS.low
    return first


EXCEPT = {
    ("Produce", "acks", "0"), ("Produce", "records", "null"), ("JoinGroup", "protocols", "twice"),
    ("JoinGroup", "metadata", "empty"), ("AddPartitionsToTxn", "transactions", "empty"),
    ("WriteTxnMarkers", "topics", "twice"), ("WriteTxnMarkers", "partition_indexes", "twice"),
    ("AlterConfigs", "resources", "twice"), ("AddRaftVoter", "name", "empty"),
    *(("Produce", "timeout_ms", each) for each in ("0", "-1", "-2", "-2147483648")),
    *(("IncrementalAlterConfigs", "config_operation", each) for each in ("-1", "-2", "127", "-128")),
}  # fmt: skip
"""What Kafka does not answer, what its controller resigns or ends at, and what is a race there."""

Path = tuple[str, ...]


def cases() -> Iterator[Case]:
    for name in api.APIS:
        definition = schema.find(f"{name}Request")
        for path, field in _fields(definition.root.fields):
            for label, value in _edges(field):
                if (name, path[-1], label) in EXCEPT:
                    continue
                yield _mutation(name, path, label, value)


def _fields(fields: list[schema.Field], at: Path = ()) -> Iterator[tuple[Path, schema.Field]]:
    for field in fields:
        yield (*at, field.name), field
        if field.struct is not None:
            yield from _fields(field.struct.fields, (*at, field.name))


def _edges(field: schema.Field) -> Iterator[tuple[str, Any]]:
    if field.nullable is not schema.NEVER:
        yield "null", None
    if field.is_array:
        yield "empty", []
        yield "twice", lambda value: value + value[:1]
    elif field.type in INTEGERS:
        high = 1 << INTEGERS[field.type] - 1
        for number in (0, -1, -2, high - 1, -high):
            yield str(number), number
    elif field.type == "bool":
        yield "flipped", lambda value: not value
    elif field.type == "string":
        yield "empty", ""
        yield "illegal", "b@d"
        yield "long", "x" * 300
    elif field.type == "float64":
        for number in (0.0, -1.0, 0.5, 1e300, float("nan"), float("inf")):
            yield str(number), number
    elif field.type == "uuid":
        yield "zero", bytes(16)
        yield "unknown", UNKNOWN_ID
    elif field.type in ("bytes", "records"):
        yield "empty", b""
        yield "a byte", b"\0"


def _mutation(name: str, path: Path, label: str, value: Any) -> Case:
    def request(here: Here) -> Any:
        asked = copy.deepcopy(PLAIN[name](here))
        node = asked
        for step in path[:-1]:
            node = getattr(node, step)
            if isinstance(node, list):
                node = node[0] if node else None
            if node is None:
                raise UnsupportedField(step)
        old = getattr(node, path[-1], None)
        if path[-1] == "group_id" and value:
            node.group_id = group_name(value)
            return asked
        setattr(node, path[-1], value(old) if callable(value) else value)
        return asked

    everything = name in EVERYTHING
    return one(name, f"{'.'.join(path)}: {label}", request, everything=everything, ends_only=True)
