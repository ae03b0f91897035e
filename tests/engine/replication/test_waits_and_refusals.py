"""How long a request waits, and what a refusal tells, in a cluster of three brokers."""

from __future__ import annotations

from typing import Any

import pytest

from engine.records import batch
from engine.sim.world.world import World
from engine.wire import messages as m
from engine.wire.errors import Errors

TOPIC = "orders"
PATIENT_MS = 2_000
RECORD_BYTES = 69


def cluster(settings: dict[str, Any] | None = None, **config: Any) -> World:
    """Topic orders on 101 (its leader), 102 and 103; nobody is dropped from the ISR."""
    world = World(seed=5, settings={"replica.lag.time.max.ms": 60_000, **(settings or {})})
    dotted = {name.replace("_", "."): value for name, value in config.items()}
    world.create_topic(TOPIC, assignment={0: [101, 102, 103]}, config=dotted)
    return world


def produce(world: World, acks: int = -1) -> Any:
    request = m.ProduceRequest
    records = batch.encode([batch.Record(0, world.cluster.now // 1000, None, b"x", ())])
    part = request.PartitionProduceData(index=0, records=records)
    topic = request.TopicProduceData(topic_id=world.image().topic_ids[TOPIC], partition_data=[part])
    return request(acks=acks, timeout_ms=30_000, topic_data=[topic])


def fetch(world: World, offset: int, min_bytes: int = 1, max_wait_ms: int = PATIENT_MS,
          replica: tuple[int, int] = (-1, -1), **more: Any) -> Any:  # fmt: skip
    """A consumer's fetch, or that of a `replica`: its id and broker epoch."""
    request = m.FetchRequest
    terms = {"session_epoch": -1, **more}
    part = request.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    topic = request.FetchTopic(topic_id=world.image().topic_ids[TOPIC], partitions=[part])
    state = request.ReplicaState(replica_id=replica[0], replica_epoch=replica[1])
    return request(
        replica_state=state, max_wait_ms=max_wait_ms, min_bytes=min_bytes, topics=[topic], **terms
    )


def answered(world: World, number: int) -> tuple[Any, bool]:
    """The partition's part of an answer, and whether it came long before the wait was over."""
    asked_us = world.now_us
    world.run(until=lambda w: w.answer(number) is not None, for_s=2 * PATIENT_MS / 1000)
    early = world.now_us - asked_us < PATIENT_MS * 1000 / 2
    return world.answer(number).responses[0].partitions[0], early


def segments(world: World) -> list[int]:
    base_offsets: list[int] = world.replica(101, TOPIC, 0).log.segments.base_offsets
    return base_offsets


# -- whom a fetch lets wait (Kafka's DelayedFetch, cases F and G)


@pytest.fixture
def rolled() -> World:
    """Six records, two in each segment."""
    world = cluster(internal_segment_bytes=200)
    for _ in range(6):
        world.ask(produce(world), 101)
    world.run(for_s=1)
    assert segments(world) == [0, 2, 4]
    return world


def test_who_reads_an_older_segment_does_not_wait(rolled: World) -> None:
    """An answer comes out of one segment, and this one gets no more bytes."""
    data, early = answered(rolled, rolled.post(fetch(rolled, 0, min_bytes=300), 101))
    assert early
    assert len(data.records) == 2 * RECORD_BYTES


def test_who_reads_the_last_segment_waits_for_the_least_bytes(rolled: World) -> None:
    number = rolled.post(fetch(rolled, 4, min_bytes=3 * RECORD_BYTES), 101)
    data, early = answered(rolled, number)
    assert not early
    assert len(data.records) == 2 * RECORD_BYTES


def test_who_waits_at_the_end_is_answered_when_the_segment_rolls(rolled: World) -> None:
    """The reader stands at the end of a segment that was the last one and is an older one now."""
    number = rolled.post(fetch(rolled, 6, min_bytes=3 * RECORD_BYTES), 101)
    rolled.run(for_s=0.1)
    assert rolled.answer(number) is None
    rolled.post(produce(rolled), 101)
    data, early = answered(rolled, number)
    assert segments(rolled) == [0, 2, 4, 6]
    assert early
    assert len(data.records) == RECORD_BYTES


def stalled() -> World:
    """The leader ends at 6; the high watermark stands at 3, because 103 does not fetch."""
    world = cluster(min_insync_replicas="2")
    for _ in range(3):
        world.ask(produce(world), 101)
    world.cut(103, 101)
    world.run(for_s=1)
    for _ in range(3):
        world.post(produce(world, acks=1), 101)
    world.run(for_s=0.2)
    leader = world.replica(101, TOPIC, 0)
    assert (leader.high_watermark, leader.log.log_end_offset) == (3, 6)
    return world


@pytest.mark.parametrize(("offset", "at_once"), [(3, False), (5, True)])
def test_a_consumer_above_the_high_watermark_does_not_wait(offset: int, at_once: bool) -> None:
    world = stalled()
    data, early = answered(world, world.post(fetch(world, offset), 101))
    assert early == at_once
    assert (data.error_code, data.high_watermark, data.records) == (Errors.NONE, 3, b"")


# -- how much a fetch gets


@pytest.mark.parametrize("replica", [-1, 102])
def test_fetch_max_bytes_binds_followers_too(replica: int) -> None:
    world = cluster(settings={"fetch.max.bytes": 15 * RECORD_BYTES})
    for _ in range(20):
        world.ask(produce(world), 101)
    epoch = world.image().brokers[102].epoch if replica >= 0 else -1
    data, _ = answered(world, world.post(fetch(world, 0, replica=(replica, epoch)), 101))
    assert len(data.records) == 15 * RECORD_BYTES


# -- what a refusal tells


def test_a_leader_deposed_while_a_producer_waits_names_its_successor() -> None:
    """KIP-951 holds for answers that come late, too."""
    world = cluster(min_insync_replicas="2")
    world.kill(101)
    world.run(until=lambda w: w.leader(TOPIC, 0) == 102, for_s=20)
    world.start(101)
    world.run(until=lambda w: 101 in w.partition(TOPIC, 0).isr, for_s=20)
    world.run(for_s=1)
    world.cut(103, 102)
    number = world.post(produce(world), 102)
    world.run(for_s=0.5)
    assert world.answer(number) is None
    elect = m.ElectLeadersRequest
    topic = elect.TopicPartitions(topic=TOPIC, partitions=[0])
    world.ask(elect(election_type=0, topic_partitions=[topic], timeout_ms=5_000), 102)
    world.run(for_s=1)
    late = world.answer(number)
    at_once = world.ask(produce(world), 102)
    for answer in (late, at_once):
        reported = answer.responses[0].partition_responses[0]
        assert reported.error_code == Errors.NOT_LEADER_OR_FOLLOWER
        assert reported.current_leader.leader_id == world.leader(TOPIC, 0) == 101
        assert reported.current_leader.leader_epoch == world.partition(TOPIC, 0).leader_epoch
    assert late.node_endpoints == at_once.node_endpoints
    assert [each.node_id for each in late.node_endpoints] == [101]


@pytest.mark.parametrize("in_a_session", [False, True])
def test_a_fetch_of_a_followers_former_life_is_refused(in_a_session: bool) -> None:
    """KIP-903: also by a leader whom the living follower has not asked yet.

    A session whose partition has nothing to tell is settled cheaply, and must not miss it.
    """
    world = cluster(min_insync_replicas="2")
    former = world.image().brokers[103].epoch
    world.stop(103)
    world.run(for_s=2)
    world.start(103)
    world.run(until=lambda w: 103 in w.partition(TOPIC, 0).isr and not w.is_fenced(103), for_s=20)
    world.run(for_s=1)
    assert former < world.image().brokers[103].epoch
    world.cut(103, 102)
    world.kill(101)
    world.run(until=lambda w: w.replica(102, TOPIC, 0).is_leader, for_s=20)
    leader = world.replica(102, TOPIC, 0)
    more: dict[str, int] = {}
    if in_a_session:
        world.run(for_s=0.1)
        first = world.ask(fetch(world, 0, session_epoch=0), 102)
        more = {"session_id": first.session_id, "session_epoch": 1}
    request = fetch(world, 0, max_wait_ms=0, replica=(103, former), **more)
    data, _ = answered(world, world.post(request, 102))
    assert data.error_code == Errors.NOT_LEADER_OR_FOLLOWER
    assert leader.followers[103].log_end_offset == -1
