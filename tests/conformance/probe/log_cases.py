"""Producing, fetching, looking up offsets and epochs, producer ids."""

# ruff: noqa: E501  (one case a line)

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from engine.records import batch
from engine.wire import messages as m
from tests.conformance.probe.case import Case, Here, one
from tests.conformance.probe.side import COMPACT, TOPIC, UNKNOWN_ID, creation, led, serving

P, F, L = m.ProduceRequest, m.FetchRequest, m.ListOffsetsRequest
NOW_MS = 1_700_000_000_000
NO_NAME = "nope"


def records(*keys: bytes | None, **more: Any) -> bytes:
    return batch.encode([batch.Record(0, NOW_MS, key, b"v") for key in keys], **more)


GOOD = records(b"k")


def written(
    topic: str,
    topic_id: bytes,
    *rows: tuple[int, bytes | None],
    acks: int = -1,
    timeout: int = 5_000,
) -> Any:
    parts = [P.PartitionProduceData(*row) for row in rows]
    return P(None, acks, timeout, [P.TopicProduceData(topic, topic_id, parts)])


def writing(
    name: str,
    *keys: Any,
    partition: int = 0,
    acks: int = -1,
    configs: dict[str, str] | None = None,
    blob: Any = None,
) -> Case:
    def script(here: Here) -> Generator[Any, Any, None]:
        yield creation(here.name, [[101, 102]], configs)
        found = yield led(here.name)
        yield serving(here.name)
        data = records(*keys) if blob is None else blob
        yield written(here.name, found.topics[0].topic_id, (partition, data), acks=acks)

    return Case("Produce", name, script, ends_only=name != "one record")


def broken(blob: bytes, at: int, value: int = 0x55) -> bytes:
    out = bytearray(blob)
    out[at] ^= value
    return bytes(out)


def elsewhere(here: Here) -> Any:
    return written(NO_NAME, UNKNOWN_ID, (0, GOOD))


PRODUCED = [
    writing("one record", b"k"),
    writing("three records", b"k", b"l", None),
    writing("for the leader alone", b"k", acks=1),
    writing("to partition 9", b"k", partition=9),
    writing("to partition -1", b"k", partition=-1),
    writing("for two", b"k", acks=2),
    writing("a key into a compacted topic", b"k", configs={"cleanup.policy": "compact"}),
    writing("no key into a compacted topic", b"k", None, configs={"cleanup.policy": "compact"}),
    writing("too large", b"k" * 3000, configs={"max.message.bytes": "1000"}),
    writing("an old time", b"k", configs={"message.timestamp.before.max.ms": "1000"}),
    writing("the broker's time", b"k", configs={"message.timestamp.type": "LogAppendTime"}),
    writing("compressed by the broker", b"k", configs={"compression.type": "gzip"}),
    writing("too few replicas", b"k", configs={"min.insync.replicas": "3"}),
    writing("nothing", blob=b""),
    writing("a batch without records", blob=batch.encode([])),
    writing("two batches", blob=GOOD + GOOD),
    writing("a bad checksum", blob=broken(GOOD, 40)),
    writing("magic 9", blob=broken(GOOD, 16, 2 ^ 9)),
    writing("a batch cut off", blob=GOOD[:-3]),
    writing("a batch of twelve bytes", blob=GOOD[:12]),
    writing("a control batch", blob=records(b"\0\0\0\0", control=True)),
    writing("transactional without an id", blob=records(b"k", transactional=True, producer_id=5, producer_epoch=0, base_sequence=0)),
    writing("a producer of its own", blob=records(b"k", producer_id=5, producer_epoch=0, base_sequence=0)),
    writing("a producer in the middle", blob=records(b"k", producer_id=5, producer_epoch=0, base_sequence=7)),
    writing("a producer without a sequence", blob=records(b"k", producer_id=5, producer_epoch=0)),
    one("Produce", "to an unknown topic", elsewhere),
    one("Produce", "nothing to nobody", lambda here: P(None, -1, 1000, [])),
    one("Produce", "with an id of nothing", lambda here: P("t", -1, 1000, [])),
    one("Produce", "no records", lambda here: written(COMPACT, here.id(COMPACT), (0, None)), last_only=True, silent=True),
    one("Produce", "a partition twice", lambda here: written(COMPACT, here.id(COMPACT), (9, GOOD), (9, GOOD))),
    one("Produce", "to no partition", lambda here: written(COMPACT, here.id(COMPACT))),
]  # fmt: skip


def fetched(here: Here, *rows: tuple[int, int], topic: str = TOPIC, **more: Any) -> Any:
    max_bytes, part = more.pop("max_bytes", 1 << 20), more.pop("part", {})
    topic_id = here.side.topic_ids.get(topic, UNKNOWN_ID)
    parts = [
        F.FetchPartition(i, fetch_offset=o, **{"partition_max_bytes": 1 << 20, **part})
        for i, o in rows
    ]
    rows_of = [F.FetchTopic(topic, topic_id, parts)]
    more = {"max_wait_ms": 0, "session_epoch": -1, **more}
    return F(max_bytes=max_bytes, topics=more.pop("topics", rows_of), **more)


def fetching(name: str, *rows: tuple[int, int], **more: Any) -> Case:
    return one("Fetch", name, lambda here: fetched(here, *rows, **more))


def session(here: Here) -> Generator[Any, Any, None]:
    first = yield fetched(here, (0, 9), session_epoch=0)
    yield fetched(here, session_id=first.session_id, session_epoch=1, topics=[])
    forget = F.ForgottenTopic(TOPIC, here.id(TOPIC), [0])
    yield fetched(
        here,
        session_id=first.session_id,
        session_epoch=2,
        topics=[],
        forgotten_topics_data=[forget],
    )
    yield fetched(here, session_id=first.session_id, session_epoch=9, topics=[])


FETCHED = [
    fetching("from 9", (0, 9)),
    fetching("from the end", (0, 10)),
    fetching("beyond the end", (0, 11)),
    fetching("from -1", (0, -1)),
    fetching("partition 9", (9, 0)),
    fetching("an unknown topic", (0, 0), topic=NO_NAME),
    fetching("two partitions", (0, 9), (1, 0)),
    fetching("a partition twice", (0, 9), (0, 9)),
    fetching("committed only", (0, 9), isolation_level=1),
    fetching("isolation 2", (0, 9), isolation_level=2),
    fetching("no bytes", (0, 9), max_bytes=0),
    fetching("less than no bytes", (0, 9), max_bytes=-1),
    fetching("no bytes of a partition", (0, 9), part={"partition_max_bytes": 0}),
    fetching("less than no bytes of a partition", (0, 9), part={"partition_max_bytes": -1}),
    fetching("a future epoch", (0, 9), part={"current_leader_epoch": 7}),
    fetching("a past epoch", (0, 9), part={"current_leader_epoch": -3}),
    fetching("diverged", (0, 9), part={"last_fetched_epoch": 0, "current_leader_epoch": 0}),
    fetching("diverged by an epoch", (0, 9), part={"last_fetched_epoch": 5}),
    fetching("waits for less than nothing", (0, 9), max_wait_ms=-1),
    fetching("a session that there is not", (0, 9), session_id=77, session_epoch=5),
    fetching("a session's end", (0, 9), session_id=77, session_epoch=-1),
    fetching("session -1", (0, 9), session_id=-1, session_epoch=3),
    fetching("without topics", topics=[]),
    Case("Fetch", "a session", session),
]  # fmt: skip


def looked_up(
    *rows: tuple[str, int, int, int], isolation: int = 0, replica: int = -1, timeout: int = 1000
) -> Any:
    topics: dict[str, Any] = {}
    for topic, index, epoch, timestamp in rows:
        row = topics.setdefault(topic, L.ListOffsetsTopic(topic, []))
        row.partitions.append(L.ListOffsetsPartition(index, epoch, timestamp))
    return L(replica, isolation, list(topics.values()), timeout)


def looking(name: str, *rows: tuple[str, int, int, int], **more: int) -> Case:
    return one("ListOffsets", name, lambda here: looked_up(*rows, **more))


LOOKED_UP = [
    *(looking(f"time {special}", (TOPIC, 0, -1, special)) for special in range(-8, 2)),
    looking("the end of an empty one", (TOPIC, 1, -1, -1)),
    looking("the largest time of an empty one", (TOPIC, 1, -1, -3)),
    looking("the first record's time", (TOPIC, 0, -1, NOW_MS)),
    looking("a later record's time", (TOPIC, 0, -1, NOW_MS + 3)),
    looking("a time to come", (TOPIC, 0, -1, NOW_MS + 10**12)),
    looking("a future epoch", (TOPIC, 0, 7, -1)),
    looking("epoch 0", (TOPIC, 0, 0, -1)),
    looking("partition 9", (TOPIC, 9, -1, -1)),
    looking("partition -1", (TOPIC, -1, -1, -1)),
    looking("an unknown topic", (NO_NAME, 0, -1, -1)),
    looking("an illegal name", ("b@d", 0, -1, -1)),
    looking("a partition twice", (TOPIC, 0, -1, -1), (TOPIC, 0, -1, -2)),
    looking("committed only", (TOPIC, 0, -1, -1), isolation=1),
    looking("isolation 2", (TOPIC, 0, -1, -1), isolation=2),
    looking("as a follower", (TOPIC, 0, -1, -1), replica=102),
    looking("as a debugger", (TOPIC, 0, -1, -1), replica=-2),
    looking("without patience", (TOPIC, 0, -1, -1), timeout=0),
    one("ListOffsets", "nothing", lambda here: looked_up()),
]

S = m.OffsetForLeaderEpochRequest


def epoch(name: str, *rows: tuple[str, int, int, int], replica: int = -1) -> Case:
    topics: dict[str, Any] = {}
    for topic, *rest in rows:
        row = topics.setdefault(topic, S.OffsetForLeaderTopic(topic, []))
        row.partitions.append(S.OffsetForLeaderPartition(*rest))
    return one("OffsetForLeaderEpoch", name, lambda here: S(replica, list(topics.values())))


EPOCHS = [
    epoch("epoch 0", (TOPIC, 0, -1, 0)),
    epoch("epoch 5", (TOPIC, 0, -1, 5)),
    epoch("epoch -1", (TOPIC, 0, -1, -1)),
    epoch("epoch 0 of an empty one", (TOPIC, 1, -1, 0)),
    epoch("a future epoch of the leader", (TOPIC, 0, 7, 0)),
    epoch("partition 9", (TOPIC, 9, -1, 0)),
    epoch("an unknown topic", (NO_NAME, 0, -1, 0)),
    epoch("an illegal name", ("b@d", 0, -1, 0)),
    epoch("a partition twice", (TOPIC, 0, -1, 0), (TOPIC, 0, -1, 0)),
    epoch("as a follower", (TOPIC, 0, -1, 0), replica=102),
    epoch("nothing"),
]

ID = m.InitProducerIdRequest
PRODUCERS = [
    one("InitProducerId", "one without a name", lambda here: ID(None, 60_000)),
    one("InitProducerId", "an empty name", lambda here: ID("", 60_000)),
    one("InitProducerId", "no timeout", lambda here: ID(None, 0)),
    one("InitProducerId", "timeout -1", lambda here: ID(None, -1)),
    one("InitProducerId", "an id again", lambda here: ID(None, 60_000, 5, 0)),
    one("InitProducerId", "an id without an epoch", lambda here: ID(None, 60_000, 5)),
    one("InitProducerId", "an epoch without an id", lambda here: ID(None, 60_000, -1, 5)),
    one("InitProducerId", "a transactional name", lambda here: ID(here.name, 60_000)),
    one("InitProducerId", "a transactional name without a timeout", lambda here: ID(here.name, 0)),
    one(
        "InitProducerId", "a transactional name for too long", lambda here: ID(here.name, 2**31 - 1)
    ),
]

CASES = [*PRODUCED, *FETCHED, *LOOKED_UP, *EPOCHS, *PRODUCERS]
