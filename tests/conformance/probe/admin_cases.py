"""Topics, partitions, records' start, elections, quotas, brokers: what an administrator asks."""

# ruff: noqa: E501  (one case a line)

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from engine.wire import messages as m
from tests.conformance.probe.case import Case, Here, one
from tests.conformance.probe.side import COMPACT, TOPIC, UNKNOWN_ID, Until, creation, led

C = m.CreateTopicsRequest
P = m.CreatePartitionsRequest
D = m.DeleteTopicsRequest
Q = m.AlterClientQuotasRequest
F = m.DescribeClientQuotasRequest
V = m.UpdateFeaturesRequest
Made = dict[str, str | None]
ANY_NAME, LATER = "b@d name", 30_000


def topic(name: str, partitions: int = 1, replicas: int = 1, configs: Made | None = None) -> Any:
    made = [C.CreatableTopicConfig(*each) for each in (configs or {}).items()]
    return C.CreatableTopic(name, partitions, replicas, configs=made)


def create(*topics: Any, validate_only: bool = False) -> Any:
    return C(list(topics), LATER, validate_only)


def assigned(name: str, *rows: tuple[int, list[int]], counts: tuple[int, int] = (-1, -1)) -> Any:
    given = [C.CreatableReplicaAssignment(*row) for row in rows]
    return C.CreatableTopic(name, *counts, given)


def twice(request: Any) -> Generator[Any, Any, None]:
    yield request
    yield request


def creating(name: str, request: Any, last_only: bool = False) -> Case:
    return one("CreateTopics", name, request, last_only=last_only)


CREATIONS = [
    creating("one topic", lambda here: create(topic(here.name, 2, 3))),
    creating("only judged", lambda here: create(topic(here.name, 2, 3), validate_only=True)),
    creating("the broker's defaults", lambda here: create(topic(here.name, -1, -1))),
    creating("nothing", lambda here: create()),
    creating("no name", lambda here: create(topic(""))),
    creating("an illegal name", lambda here: create(topic(ANY_NAME))),
    creating("a name of 250 characters", lambda here: create(topic("x" * 250))),
    creating("the name .", lambda here: create(topic("."), topic(".."))),
    creating("the metadata topic", lambda here: create(topic("__cluster_metadata"))),
    creating("a name that exists", lambda here: create(topic(TOPIC))),
    creating("a name that collides", lambda here: create(topic(TOPIC.replace("-", "_")), validate_only=True)),
    creating("names that collide", lambda here: create(topic("pr.obe"), topic("pr_obe"), validate_only=True)),
    creating("a name twice", lambda here: create(topic(here.name), topic(here.name))),
    creating("no partitions", lambda here: create(topic(here.name, 0))),
    creating("minus two partitions", lambda here: create(topic(here.name, -2))),
    creating("no replicas", lambda here: create(topic(here.name, 1, 0))),
    creating("four replicas", lambda here: create(topic(here.name, 1, 4))),
    creating("32,767 replicas", lambda here: create(topic(here.name, 1, 32_767))),
    creating("10,000 partitions", lambda here: create(topic(here.name, 10_000), validate_only=True), last_only=True),
    creating("9,999 partitions", lambda here: create(topic(here.name, 9_999), validate_only=True), last_only=True),
    creating("9,999 partitions and a config", lambda here: create(topic(here.name, 9_999, configs={"retention.ms": "5"}), validate_only=True), last_only=True),
    creating("10,001 partitions", lambda here: create(topic(here.name, 10_001), validate_only=True), last_only=True),
    creating("two billion partitions", lambda here: create(topic(here.name, 2**31 - 1))),
    creating("6,000 partitions twice", lambda here: create(topic(here.name, 6_000), topic(here.name + "b", 6_000))),
    creating("many and a bad one", lambda here: create(topic(here.name, 10_001), topic(ANY_NAME))),
    creating("many and one that exists", lambda here: create(topic(here.name, 10_001), topic(TOPIC, 5))),
    creating("many of one that exists", lambda here: create(topic(TOPIC, 10_001), topic(here.name), validate_only=True)),
    creating("default partitions beside many", lambda here: create(topic(here.name, 10_000), topic(here.name + "b", -1), validate_only=True)),
    creating("ten topics of a thousand", lambda here: create(*(topic(f"{here.name}-{i}", 1_000) for i in range(10)), validate_only=True), last_only=True),
    creating("assigned", lambda here: create(assigned(here.name, (0, [102, 101]), (1, [101, 103])))),
    creating("assigned with counts", lambda here: create(assigned(here.name, (0, [101]), counts=(1, -1)))),
    creating("assigned with replicas", lambda here: create(assigned(here.name, (0, [101]), counts=(-1, 1)))),
    creating("assigned from 1", lambda here: create(assigned(here.name, (1, [101])))),
    creating("assigned at -1", lambda here: create(assigned(here.name, (-1, [101])))),
    creating("assigned twice", lambda here: create(assigned(here.name, (0, [101]), (0, [102])))),
    creating("assigned to nobody", lambda here: create(assigned(here.name, (0, [])))),
    creating("assigned to a stranger", lambda here: create(assigned(here.name, (0, [999])))),
    creating("assigned to one twice", lambda here: create(assigned(here.name, (0, [101, 101])))),
    creating("assigned unevenly", lambda here: create(assigned(here.name, (0, [101]), (1, [101, 102])))),
    creating("a config", lambda here: create(topic(here.name, configs={"retention.ms": "5"}))),
    creating("an unknown config", lambda here: create(topic(here.name, configs={"retention.mss": "5"}))),
    creating("a config out of range", lambda here: create(topic(here.name, configs={"retention.ms": "-5"}))),
    creating("a config without a value", lambda here: create(topic(here.name, configs={"retention.ms": None}))),
    creating("a config with no text", lambda here: create(topic(here.name, configs={"cleanup.policy": ""}))),
    creating("a config without a name", lambda here: create(topic(here.name, configs={"": "5"}))),
    creating("a bad config and no partitions", lambda here: create(topic(here.name, 0, configs={"x": "5"}))),
    creating("a bad one beside a good one", lambda here: create(topic(here.name), topic(ANY_NAME))),
]  # fmt: skip


def grow(
    name: str, count: int, rows: list[list[int]] | None = None, validate_only: bool = True
) -> Any:
    given = None if rows is None else [P.CreatePartitionsAssignment(row) for row in rows]
    return P([P.CreatePartitionsTopic(name, count, given)], LATER, validate_only)


def growing(name: str, request: Any, last_only: bool = False) -> Case:
    return one("CreatePartitions", name, request, last_only=last_only)


def grown_in_earnest(here: Here) -> Generator[Any, Any, None]:
    yield creation(here.name, [[101]])
    yield led(here.name)
    yield grow(here.name, 3, validate_only=False)
    yield grow(here.name, 3, validate_only=False)
    yield grow(here.name, 4, [[102]], validate_only=False)


def both_in_one(count: int, other: str) -> Any:
    return P(
        [P.CreatePartitionsTopic(TOPIC, count, None), P.CreatePartitionsTopic(other, count, None)],
        LATER,
        True,
    )


GROWTHS = [
    Case("CreatePartitions", "in earnest", grown_in_earnest),
    growing("one more", lambda here: grow(TOPIC, 3)),
    growing("as many", lambda here: grow(TOPIC, 2)),
    growing("fewer", lambda here: grow(TOPIC, 1)),
    growing("none", lambda here: grow(TOPIC, 0)),
    growing("below none", lambda here: grow(TOPIC, -1)),
    growing("an unknown topic", lambda here: grow("nope", 3)),
    growing("no name", lambda here: grow("", 3)),
    growing("10,000 new", lambda here: grow(TOPIC, 10_002), last_only=True),
    growing("10,001 new", lambda here: grow(TOPIC, 10_003), last_only=True),
    growing("10,500", lambda here: grow(TOPIC, 10_500), last_only=True),
    growing("two billion", lambda here: grow(TOPIC, 2**31 - 1), last_only=True),
    growing("6,000 twice", lambda here: P([P.CreatePartitionsTopic(COMPACT, 6_001, None), P.CreatePartitionsTopic(TOPIC, 6_002, None)], LATER, True), last_only=True),
    growing("too many beside a stranger", lambda here: both_in_one(10_500, "nope")),
    growing("enough beside a stranger", lambda here: both_in_one(5, "nope")),
    growing("nothing", lambda here: P([], LATER, True)),
    growing("a topic twice", lambda here: both_in_one(5, TOPIC)),
    growing("assigned", lambda here: grow(TOPIC, 3, [[101, 102, 103]])),
    growing("assigned too few", lambda here: grow(TOPIC, 4, [[101, 102, 103]])),
    growing("assigned too many", lambda here: grow(TOPIC, 3, [[101, 102, 103]] * 2)),
    growing("assigned nothing", lambda here: grow(TOPIC, 3, [])),
    growing("assigned to fewer", lambda here: grow(TOPIC, 3, [[101]])),
    growing("assigned to nobody", lambda here: grow(TOPIC, 3, [[]])),
    growing("assigned to a stranger", lambda here: grow(TOPIC, 3, [[101, 102, 999]])),
    growing("assigned to one twice", lambda here: grow(TOPIC, 3, [[101, 102, 102]])),
]  # fmt: skip


def delete(here: Here, *names: str, ids: tuple[bytes, ...] = ()) -> Any:
    if here.version < 6 and not ids:
        return D(topic_names=list(names), timeout_ms=LATER)
    states = [D.DeleteTopicState(name) for name in names]
    states += [D.DeleteTopicState(None, topic_id) for topic_id in ids]
    return D(states, timeout_ms=LATER)


def deleted(here: Here) -> Generator[Any, Any, None]:
    yield creation(here.name, [[101]])
    yield led(here.name)
    yield delete(here, here.name)
    yield delete(here, here.name)


def deleted_by_id(here: Here) -> Generator[Any, Any, None]:
    yield creation(here.name, [[101]])
    found = yield led(here.name)
    topic_id = found.topics[0].topic_id
    yield delete(here, here.name, ids=(topic_id,))
    yield delete(here, ids=(topic_id,))


DELETIONS = [
    Case("DeleteTopics", "by name", deleted),
    Case("DeleteTopics", "by id and name, then by id", deleted_by_id),
    one("DeleteTopics", "nothing", lambda here: delete(here)),
    one("DeleteTopics", "an unknown topic", lambda here: delete(here, "nope")),
    one("DeleteTopics", "an illegal name", lambda here: delete(here, ANY_NAME)),
    one("DeleteTopics", "no name", lambda here: delete(here, "")),
    one("DeleteTopics", "a name twice", lambda here: delete(here, "nope", "nope")),
    one("DeleteTopics", "an unknown id", lambda here: delete(here, ids=(UNKNOWN_ID,))),
    one("DeleteTopics", "an id twice", lambda here: delete(here, ids=(UNKNOWN_ID, UNKNOWN_ID))),
    one(
        "DeleteTopics",
        "neither name nor id",
        lambda here: D([D.DeleteTopicState(None)], timeout_ms=LATER),
    ),
    one(
        "DeleteTopics",
        "name and id",
        lambda here: D([D.DeleteTopicState("nope", UNKNOWN_ID)], timeout_ms=LATER),
    ),
]

R = m.DeleteRecordsRequest
DR_TOPIC, DR_PART = R.DeleteRecordsTopic, R.DeleteRecordsPartition


def cut(name: str, *rows: tuple[int, int]) -> Any:
    return R([DR_TOPIC(name, [DR_PART(*row) for row in rows])], 1_000)


CUTS = [
    one("DeleteRecords", "up to 2", lambda here: cut(TOPIC, (0, 2))),
    one("DeleteRecords", "up to 1 again", lambda here: cut(TOPIC, (0, 1))),
    one("DeleteRecords", "of an empty partition", lambda here: cut(TOPIC, (1, -1))),
    one("DeleteRecords", "beyond the end", lambda here: cut(TOPIC, (0, 11))),
    one("DeleteRecords", "below -1", lambda here: cut(TOPIC, (0, -2))),
    one("DeleteRecords", "of an unknown partition", lambda here: cut(TOPIC, (9, 0))),
    one("DeleteRecords", "of an unknown topic", lambda here: cut("nope", (0, 0))),
    one("DeleteRecords", "of a compacted topic", lambda here: cut(COMPACT, (0, 0))),
    one("DeleteRecords", "of an internal topic", lambda here: cut("__consumer_offsets", (0, 0))),
    one("DeleteRecords", "of a partition twice", lambda here: cut(TOPIC, (0, 2), (0, 2))),
    one("DeleteRecords", "of nothing", lambda here: R([], 1_000)),
    one("DeleteRecords", "of no partition", lambda here: cut(TOPIC)),
]

E = m.ElectLeadersRequest


def elect(kind: int, *rows: tuple[str, list[int]]) -> Any:
    return E(kind, [E.TopicPartitions(*row) for row in rows], LATER)


ELECTIONS = [
    one("ElectLeaders", "not needed", lambda here: elect(0, (TOPIC, [0, 1]))),
    one("ElectLeaders", "unclean, not needed", lambda here: elect(1, (TOPIC, [0]))),
    one("ElectLeaders", "of no kind", lambda here: elect(2, (TOPIC, [0]))),
    one("ElectLeaders", "an unknown partition", lambda here: elect(0, (TOPIC, [0, 9, -1]))),
    one("ElectLeaders", "an unknown topic", lambda here: elect(0, ("nope", [0]))),
    one("ElectLeaders", "a partition twice", lambda here: elect(0, (TOPIC, [0, 0]))),
    one("ElectLeaders", "a topic twice", lambda here: elect(0, (TOPIC, [0]), (TOPIC, [1]))),
    one("ElectLeaders", "nothing", lambda here: elect(0)),
    one("ElectLeaders", "no partition", lambda here: elect(0, (TOPIC, []))),
    one("ElectLeaders", "all", lambda here: E(0, None, LATER), everything=True),
    one("ElectLeaders", "all, unclean", lambda here: E(1, None, LATER), everything=True),
    one("ElectLeaders", "all, of no kind", lambda here: E(9, None, LATER), everything=True),
]


def limit(entity: Made, *ops: tuple[str, float, bool], validate_only: bool = True) -> Any:
    parts = [Q.EntityData(*part) for part in entity.items()]
    return Q([Q.EntryData(parts, [Q.OpData(*op) for op in ops])], validate_only)


RATE = ("producer_byte_rate", 1e9, False)
ME: Made = {"user": "probe"}


def limiting(name: str, request: Any) -> Case:
    return one("AlterClientQuotas", name, request)


def limited_in_earnest(here: Here) -> Generator[Any, Any, None]:
    mine: Made = {"user": here.name, "client-id": None}
    yield limit(mine, RATE, validate_only=False)
    yield limit(mine, ("producer_byte_rate", 0, True), validate_only=False)
    yield limit(mine, ("producer_byte_rate", 0, True), validate_only=False)


def two_entries(here: Here) -> Any:
    good = Q.EntryData([Q.EntityData("user", "a")], [Q.OpData(*RATE)])
    bad = Q.EntryData([Q.EntityData("usr", "a")], [Q.OpData(*RATE)])
    return Q([good, bad, good], True)


LIMITS = [
    Case("AlterClientQuotas", "in earnest", limited_in_earnest),
    limiting("a user's rate", lambda here: limit(ME, RATE)),
    limiting("the default user's", lambda here: limit({"user": None}, RATE)),
    limiting("user and client", lambda here: limit({"user": "a", "client-id": "b"}, RATE)),
    limiting("a user without a name", lambda here: limit({"user": ""}, RATE)),
    limiting("nobody's", lambda here: limit({}, RATE)),
    limiting("an unknown kind's", lambda here: limit({"usr": "a"}, RATE)),
    limiting("the kind of no name", lambda here: limit({"": "a"}, RATE)),
    limiting("an address's", lambda here: limit({"ip": "127.0.0.9"}, ("connection_creation_rate", 5.0, False))),
    limiting("an address's bytes", lambda here: limit({"ip": "127.0.0.9"}, RATE)),
    limiting("an address and a user", lambda here: limit({"ip": "127.0.0.9", "user": "a"}, RATE)),
    limiting("what is no address", lambda here: limit({"ip": "not an address"}, ("connection_creation_rate", 5.0, False))),
    limiting("an unknown key", lambda here: limit(ME, ("producer_rate", 5.0, False))),
    limiting("an unknown key, removed", lambda here: limit(ME, ("producer_rate", 5.0, True))),
    limiting("a key without a name", lambda here: limit(ME, ("", 5.0, False))),
    limiting("a key twice", lambda here: limit(ME, RATE, RATE)),
    limiting("zero", lambda here: limit(ME, ("producer_byte_rate", 0.0, False))),
    limiting("below zero", lambda here: limit(ME, ("producer_byte_rate", -5.0, False))),
    limiting("half a byte", lambda here: limit(ME, ("producer_byte_rate", 5.5, False))),
    limiting("half a percent", lambda here: limit(ME, ("request_percentage", 0.5, False))),
    limiting("a huge percentage", lambda here: limit(ME, ("request_percentage", 1e300, False))),
    limiting("half a mutation", lambda here: limit(ME, ("controller_mutation_rate", 0.5, False))),
    limiting("more than a long", lambda here: limit(ME, ("consumer_byte_rate", 1e30, False))),
    limiting("no number", lambda here: limit(ME, ("producer_byte_rate", float("nan"), False))),
    limiting("without end", lambda here: limit(ME, ("producer_byte_rate", float("inf"), False))),
    limiting("no number of percents", lambda here: limit(ME, ("request_percentage", float("nan"), False))),
    limiting("nothing of a user", lambda here: limit(ME)),
    limiting("nothing", lambda here: Q([], True)),
    limiting("a kind twice", lambda here: Q([Q.EntryData([Q.EntityData("user", "a")] * 2, [Q.OpData(*RATE)])], True)),
    limiting("a good and a bad one", two_entries),
]  # fmt: skip


def found(*rows: tuple[str, int, str | None], strict: bool = False) -> Any:
    return F([F.ComponentData(*row) for row in rows], strict)


def found_in_earnest(here: Here) -> Generator[Any, Any, None]:
    yield limit({"user": "finder"}, RATE, validate_only=False)
    yield limit({"user": "finder", "client-id": None}, RATE, validate_only=False)
    yield Until(found(("user", 0, "finder")), lambda answer: len(answer.entries) == 2)
    yield found(("user", 0, "finder"))
    yield found(("user", 0, "finder"), strict=True)
    yield found(("user", 0, "finder"), ("client-id", 1, None))
    yield found(("user", 2, None), ("client-id", 2, None), strict=True)


FINDINGS = [
    Case("DescribeClientQuotas", "in earnest", found_in_earnest),
    one("DescribeClientQuotas", "an unknown user", lambda here: found(("user", 0, "nope"))),
    one("DescribeClientQuotas", "a user without a name", lambda here: found(("user", 0, ""))),
    one("DescribeClientQuotas", "a kind of no name", lambda here: found(("", 0, "x"))),
    one("DescribeClientQuotas", "an unknown kind", lambda here: found(("usr", 0, "x"))),
    one("DescribeClientQuotas", "a kind twice", lambda here: found(*[("user", 0, "x")] * 2)),
    one("DescribeClientQuotas", "an unknown match", lambda here: found(("user", 3, None))),
    one("DescribeClientQuotas", "an exact match of nothing", lambda here: found(("user", 0, None))),
    one("DescribeClientQuotas", "a default with a name", lambda here: found(("user", 1, "x"))),
    one("DescribeClientQuotas", "any with a name", lambda here: found(("user", 2, "x"))),
    one("DescribeClientQuotas", "an address", lambda here: found(("ip", 2, None))),
    one("DescribeClientQuotas", "an address and a user",
        lambda here: found(("ip", 2, None), ("user", 2, None))),
    one("DescribeClientQuotas", "nothing, strictly", lambda here: found(strict=True)),
]  # fmt: skip

PROTOCOL = "transaction.version"
UP, SAFELY, BY_FORCE = 1, 2, 3


def level(name: str = PROTOCOL, to: int = 2, way: int = UP, allowed: bool = False) -> Any:
    return V.FeatureUpdateKey(name, to, allowed, way)


def levels(*updates: Any, judged: bool = False, timeout_ms: int = LATER) -> Any:
    return V(timeout_ms, list(updates), judged)


def raising(name: str, request: Any) -> Case:
    return one("UpdateFeatures", name, request)


# What would lower a level is only judged: the other cases need the levels as they are.
LEVELS = [
    raising("the level of today", lambda here: levels(level())),
    raising("two features", lambda here: levels(level(), level("group.version", 1))),
    raising("nothing", lambda here: levels()),
    raising("without time", lambda here: levels(level(), timeout_ms=0)),
    raising("a feature twice", lambda here: levels(level(), level())),
    raising("a feature twice, first too high", lambda here: levels(level(to=9), level())),
    raising("a feature twice, last too high", lambda here: levels(level(), level(to=9))),
    raising("too high", lambda here: levels(level(to=3))),
    raising("too high a downgrade", lambda here: levels(level(to=3, way=SAFELY))),
    raising("down, but called an upgrade", lambda here: levels(level(to=1))),
    raising("off, but called an upgrade", lambda here: levels(level(to=0))),
    raising("down, allowed as of old", lambda here: levels(level(to=1, allowed=True))),
    raising("down, judged", lambda here: levels(level(to=1, way=SAFELY), judged=True)),
    raising("down by force, judged", lambda here: levels(level(to=1, way=BY_FORCE), judged=True)),
    raising("off, judged", lambda here: levels(level(to=0, way=SAFELY), judged=True)),
    raising("to where it is, called a downgrade", lambda here: levels(level(way=SAFELY))),
    raising("below zero", lambda here: levels(level(to=-1))),
    raising("below zero, called a downgrade", lambda here: levels(level(to=-1, way=SAFELY))),
    raising("no way", lambda here: levels(level(way=0))),
    raising("an unknown way", lambda here: levels(level(way=9))),
    raising("a way below zero", lambda here: levels(level(way=-1))),
    raising("an unknown feature", lambda here: levels(level("nope"))),
    raising("an unknown feature, off", lambda here: levels(level("nope", 0))),
    raising("an unknown feature, off again", lambda here: levels(level("nope", 0, SAFELY))),
    raising("no name", lambda here: levels(level(""))),
    raising("a good and a bad one", lambda here: levels(level(), level("nope"))),
    raising("a bad one and a good one", lambda here: levels(level("nope"), level())),
    raising(
        "a bad one, judged",
        lambda here: levels(level(to=1, way=SAFELY), level("nope"), judged=True),
    ),
    raising("metadata up", lambda here: levels(level("metadata.version", 31))),
    raising("metadata down", lambda here: levels(level("metadata.version", 29))),
    raising("metadata down, safely", lambda here: levels(level("metadata.version", 29, SAFELY))),
    raising(
        "metadata down, by force", lambda here: levels(level("metadata.version", 29, BY_FORCE))
    ),
    raising("metadata too low", lambda here: levels(level("metadata.version", 6, SAFELY))),
    raising("metadata off", lambda here: levels(level("metadata.version", 0, SAFELY))),
    raising("metadata as it is", lambda here: levels(level("metadata.version", 30))),
]

CASES = [*CREATIONS, *GROWTHS, *DELETIONS, *CUTS, *ELECTIONS, *LIMITS, *FINDINGS, *LEVELS]
