"""A fetch costs what has moved since the last one, however many partitions are idle."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from engine.api.fetch import answers
from engine.records import batch
from engine.replication.fetch_sessions import FetchedPartition
from engine.replication.follower_session import Following
from engine.replication.hosted import HostedPartitions
from engine.replication.partition import Partition
from engine.replication.reading import FetchTerms
from engine.replication.replica_manager import OPENED_AT_ONCE
from engine.sim.clients.clients import create_topics
from engine.sim.world.world import World
from engine.wire import messages as m
from engine.wire.errors import Errors
from tests.engine.replication.parts import (
    LEADER,
    NOW,
    OTHER,
    THIRD,
    TOPIC_ID,
    image,
    partition,
)

TOPIC, IDLE, WIDE = "orders", "idle", "wide"
BROKERS = (101, 102, 103)
LAG_MS = 10_000
PATIENT_MS = 2_000


def cluster(idle: int = 0, **settings: Any) -> World:
    """Topic orders on 101 (its leader), 102 and 103, beside `idle` partitions without records."""
    world = World(
        seed=3, settings={"replica.lag.time.max.ms": LAG_MS, **settings}, rewindable=False
    )
    if idle:
        world.create_topic(IDLE, partitions=idle)
    world.create_topic(TOPIC, assignment={0: [101, 102, 103]})
    world.run(for_s=2)
    return world


def produce(world: World, topic: str = TOPIC, index: int = 0) -> m.ProduceRequest:
    request = m.ProduceRequest
    records = batch.encode([batch.Record(0, world.cluster.now // 1000, None, b"x", ())])
    part = request.PartitionProduceData(index=index, records=records)
    topic_id = world.image().topic_ids[topic]
    data = request.TopicProduceData(topic_id=topic_id, partition_data=[part])
    return request(acks=-1, timeout_ms=30_000, topic_data=[data])


def fetch(world: World, *topics: str, session: tuple[int, int] = (0, 0), offset: int = 0,
          max_wait_ms: int = PATIENT_MS, leader_epoch: int = -1,
          replica: tuple[int, int] = (-1, -1)) -> m.FetchRequest:  # fmt: skip
    """A fetch of partition 0 of these topics, in a session: its id and epoch.

    A consumer's, or that of a `replica`: its id and broker epoch.
    """
    request = m.FetchRequest
    part = request.FetchPartition(
        partition=0,
        fetch_offset=offset,
        partition_max_bytes=1 << 20,
        current_leader_epoch=leader_epoch,
    )
    asked = [
        request.FetchTopic(topic_id=world.image().topic_ids[name], partitions=[part])
        for name in topics
    ]
    state = request.ReplicaState(replica_id=replica[0], replica_epoch=replica[1])
    return request(
        replica_state=state,
        session_id=session[0],
        session_epoch=session[1],
        topics=asked,
        max_wait_ms=max_wait_ms,
        min_bytes=1,
    )


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often a partition is looked at, by either side of a fetch."""
    count: Counter[str] = Counter()

    def counted(owner: Any, name: str) -> None:
        original = getattr(owner, name)

        def call(*arguments: Any, **named: Any) -> Any:
            count[name] += 1
            return original(*arguments, **named)

        monkeypatch.setattr(owner, name, call)

    counted(answers, "has_news")
    counted(Partition, "follower_fetched")
    counted(Following, "position")
    return count


def test_a_record_costs_the_same_beside_three_hundred_idle_partitions(looks: Counter[str]) -> None:
    found = []
    for idle in (0, 300):
        world = cluster(idle)
        looks.clear()
        for _ in range(20):
            world.ask(produce(world), 101)
        found.append(dict(looks))
    alone, beside = found
    assert min(alone.values()) >= 20
    for name, often in beside.items():
        assert often <= 1.5 * alone[name], (name, found)


def test_nothing_is_looked_at_while_nothing_moves(looks: Counter[str]) -> None:
    world = cluster(300)
    world.run(for_s=5)
    looks.clear()
    world.run(for_s=5)
    assert looks.total() == 0


def test_nothing_is_looked_at_after_a_leader_has_failed_and_come_back(looks: Counter[str]) -> None:
    """The last records of its partitions are of an epoch that is over."""
    world = cluster(30)
    for index in range(30):
        world.ask(produce(world, IDLE, index), world.leader(IDLE, index))
    world.kill(101)
    world.run(for_s=LAG_MS / 1000 + 5)
    world.start(101)
    world.run(until=lambda w: all(len(p.isr) == 3 for p in w.partitions(IDLE).values()), for_s=60)
    world.run(for_s=5)
    looks.clear()
    world.run(for_s=5)
    assert looks.total() == 0


def test_a_late_fetch_of_a_former_session_is_corrected() -> None:
    """102 opens another session, is level and idle; then its old request names an old offset."""
    world = cluster()
    world.ask(produce(world), 101)
    changes = len(world.trace_lines(("isr",)))
    world.strand(102, 101, ms=3_000, count=1, api="Fetch")
    for wait_s in (1.0, 0.5):
        world.ask(produce(world), 101)
        world.run(for_s=wait_s)
    world.run(for_s=2 * LAG_MS / 1000)
    assert world.replica(101, TOPIC, 0).followers[102].log_end_offset == 3
    assert len(world.trace_lines(("isr",))) == changes


def test_a_followers_clock_that_jumps_back_stops_no_fetch() -> None:
    world = cluster()
    world.drop(102, 101, api="Fetch")
    world.ask(produce(world), 101)
    world.run(for_s=3)
    world.create_topic("other", assignment={0: [101, 102, 103]})
    world.jump_clock(102, ms=-5_000)
    for _ in range(2):
        world.post(produce(world), 101)
        world.run(for_s=3)
    assert world.replica(102, TOPIC, 0).log.log_end_offset == 3


def test_a_follower_of_idle_partitions_stays_in_sync() -> None:
    world = cluster(20)
    world.run(for_s=3 * LAG_MS / 1000)
    world.ask(produce(world, IDLE), world.leader(IDLE, 0))
    world.run(for_s=1)
    assert all(len(each.isr) == 3 for each in world.partitions(IDLE).values())


@pytest.mark.parametrize("silent_s", [1.0, 7.0])
def test_a_follower_falls_out_of_sync_by_its_last_fetch_not_by_the_record(silent_s: float) -> None:
    """It was level while it fetched, and the first record comes `silent_s` after its last fetch."""
    world = cluster()
    world.run(for_s=3 * LAG_MS / 1000)
    world.cut(102, 101)
    cut_us = world.now_us
    world.run(for_s=silent_s)
    world.post(produce(world), 101)
    world.run(until=lambda w: 102 not in w.partitions(TOPIC)[0].isr, for_s=60)
    waited_ms = (world.now_us - cut_us) / 1000
    assert LAG_MS - 1_000 <= waited_ms <= LAG_MS + LAG_MS / 2 + 500


def test_a_partition_that_the_request_does_not_name_ends_the_wait() -> None:
    world = cluster()
    world.create_topic("other", assignment={0: [101, 102, 103]})
    first = world.ask(fetch(world, TOPIC, "other", max_wait_ms=0), 101)
    assert first.session_id
    number = world.post(fetch(world, session=(first.session_id, 1)), 101)
    world.run(for_s=0.1)
    assert world.answer(number) is None
    world.ask(produce(world, "other"), 101)
    world.run(for_s=0.1)
    answer = world.answer(number)
    assert [each.topic_id for each in answer.responses] == [world.image().topic_ids["other"]]


def test_what_was_sent_and_not_asked_past_is_sent_again() -> None:
    """A consumer that could not use the records names nothing, and its position stays."""
    world = cluster()
    world.ask(produce(world), 101)
    session = world.ask(fetch(world, TOPIC), 101).session_id
    for epoch in (1, 2):
        answer = world.ask(fetch(world, session=(session, epoch)), 101)
        assert answer.responses[0].partitions[0].records


def test_a_new_log_start_reaches_an_idle_reader() -> None:
    world = cluster()
    for _ in range(3):
        world.ask(produce(world), 101)
    session = world.ask(fetch(world, TOPIC, offset=3, max_wait_ms=0), 101).session_id
    world.ask(fetch(world, session=(session, 1), max_wait_ms=0), 101)
    quiet = world.ask(fetch(world, session=(session, 2), max_wait_ms=0), 101)
    assert quiet.responses == []
    request = m.DeleteRecordsRequest
    part = request.DeleteRecordsPartition(partition_index=0, offset=2)
    topic = request.DeleteRecordsTopic(name=TOPIC, partitions=[part])
    world.ask(request(topics=[topic], timeout_ms=1_000), 101)
    after = world.ask(fetch(world, session=(session, 3), max_wait_ms=0), 101)
    assert after.responses[0].partitions[0].log_start_offset == 2
    world.run(for_s=1)
    assert world.replica(102, TOPIC, 0).log.log_start_offset == 2


def test_an_idle_reader_hears_that_its_leader_is_another_one() -> None:
    """The leader steps down without a crash: the preferred one is back."""
    world = cluster()
    world.kill(101)
    world.run(until=lambda w: w.leader(TOPIC, 0) == 102, for_s=60)
    world.start(101)
    world.run(until=lambda w: len(w.partitions(TOPIC)[0].isr) == 3, for_s=60)
    session = world.ask(fetch(world, TOPIC, leader_epoch=1, max_wait_ms=0), 102).session_id
    for epoch in (1, 2):
        world.ask(fetch(world, session=(session, epoch), max_wait_ms=0), 102)
    number = world.post(fetch(world, session=(session, 3), max_wait_ms=30_000), 102)
    request = m.ElectLeadersRequest
    topic = request.TopicPartitions(topic=TOPIC, partitions=[0])
    world.ask(request(election_type=0, topic_partitions=[topic], timeout_ms=5_000), 101)
    world.run(until=lambda w: w.answer(number) is not None, for_s=5)
    (data,) = world.answer(number).responses[0].partitions
    assert data.error_code == Errors.FENCED_LEADER_EPOCH


def test_retention_moves_the_log_start_of_an_idle_reader() -> None:
    world = cluster(**{"log.retention.check.interval.ms": 1_000})
    config = {"retention.bytes": 0, "internal.segment.bytes": 100}
    world.create_topic("short", assignment={0: [101, 102, 103]}, config=config)
    for _ in range(3):
        world.ask(produce(world, "short"), 101)
    session = world.ask(fetch(world, "short", offset=3, max_wait_ms=0), 101).session_id
    starts = []
    for epoch in range(1, 4):
        answer = world.ask(fetch(world, session=(session, epoch), max_wait_ms=0), 101)
        starts += [each.partitions[0].log_start_offset for each in answer.responses]
        world.run(for_s=2)
    assert starts[-1] == world.replica(101, "short", 0).log.log_start_offset > 0


def test_an_idle_reader_hears_that_its_topic_is_deleted() -> None:
    world = cluster()
    session = world.ask(fetch(world, TOPIC, max_wait_ms=0), 101).session_id
    world.ask(fetch(world, session=(session, 1), max_wait_ms=0), 101)
    number = world.post(fetch(world, session=(session, 2), max_wait_ms=30_000), 101)
    world.ask(m.DeleteTopicsRequest(topic_names=[TOPIC], timeout_ms=5_000), 101)
    world.run(until=lambda w: w.answer(number) is not None, for_s=5)
    (data,) = world.answer(number).responses[0].partitions
    assert data.error_code == Errors.UNKNOWN_TOPIC_OR_PARTITION


def test_an_idle_follower_that_has_started_again_is_refused_by_its_old_epoch() -> None:
    """KIP-903: a fetch of the incarnation before, in a session of that time."""
    world = cluster()
    replica = (102, world.image().brokers[102].epoch)
    first = fetch(world, TOPIC, leader_epoch=0, max_wait_ms=0, replica=replica)
    session = world.ask(first, 101).session_id

    def ask(epoch: int) -> Any:
        again = fetch(world, session=(session, epoch), max_wait_ms=0, replica=replica)
        return world.ask(again, 101).responses

    assert [ask(epoch) for epoch in (1, 2)][-1] == []
    world.kill(102)
    world.start(102)
    world.run(until=lambda w: w.image().brokers[102].epoch != replica[1], for_s=60)
    world.run(until=lambda w: len(w.partitions(TOPIC)[0].isr) == 3, for_s=60)
    world.run(for_s=1)
    assert ask(3)[0].partitions[0].error_code == Errors.NOT_LEADER_OR_FOLLOWER
    assert ask(4)[0].partitions[0].error_code == Errors.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize("in_sync", [True, False])
def test_a_level_follower_has_something_to_say_while_it_is_out_of_sync(in_sync: bool) -> None:
    """Its fetches ask to be let in, again and again."""
    isr = (LEADER, OTHER, THIRD) if in_sync else (LEADER, THIRD)
    replica = partition()
    replica.update(NOW, image(isr=isr))
    hosted = HostedPartitions(replica.metadata)
    hosted.partitions[replica.key] = replica
    asked = FetchedPartition((TOPIC_ID, 0), replica.topic, TOPIC_ID, 0)
    asked.sent_high_watermark, asked.sent_log_start = replica.high_watermark, 0
    terms = FetchTerms(17, OTHER, 7, 1 << 20, 1, 0)
    assert answers.has_news(hosted, terms, asked) == (not in_sync)


def test_a_new_partition_of_a_followed_broker_is_fetched_at_once() -> None:
    world = cluster(50)
    world.run(for_s=5)
    world.create_topic("later", assignment={0: [101, 102, 103]})
    world.ask(produce(world, "later"), 101)
    assert world.replica(101, "later", 0).high_watermark == 1


def open_replicas(world: World, broker: int) -> int:
    return sum(topic == WIDE for topic, _ in world.cluster.nodes[broker].replicas.partitions)


def wide_topic(partitions: int) -> World:
    """Every broker has just heard of the topic."""
    world = cluster()
    world.ask(create_topics(WIDE, partitions, 3, None, None))
    world.run(until=lambda w: all(w.cluster.nodes[b].metadata.topic(WIDE) for b in BROKERS),
              for_s=5)  # fmt: skip
    return world


def test_a_wide_topic_is_known_whole_while_its_replicas_are_opened_one_by_one() -> None:
    partitions = 20 * OPENED_AT_ONCE
    world = wide_topic(partitions)
    found = []
    for _ in range(10):
        for broker in BROKERS:
            assert len(world.cluster.nodes[broker].metadata.topic(WIDE).partitions) == partitions
        found.append(open_replicas(world, 101))
        world.run(for_s=0.001)
    assert found[0] < OPENED_AT_ONCE
    assert all(0 < after - before < OPENED_AT_ONCE for before, after in pairwise(found))
    world.run(for_s=0.1)
    assert open_replicas(world, 101) == partitions


def test_a_replica_that_is_not_open_yet_refuses_and_serves_a_moment_later() -> None:
    world = wide_topic(3 * OPENED_AT_ONCE)
    last = 3 * OPENED_AT_ONCE - 1
    leader = world.leader(WIDE, last)
    answer = world.ask(produce(world, WIDE, last), leader)
    assert answer.responses[0].partition_responses[0].error_code == Errors.NOT_LEADER_OR_FOLLOWER
    world.run(for_s=1)
    answer = world.ask(produce(world, WIDE, last), leader)
    assert answer.responses[0].partition_responses[0].error_code == Errors.NONE


def test_a_topic_that_is_deleted_while_its_replicas_are_opened_leaves_nothing() -> None:
    world = wide_topic(3 * OPENED_AT_ONCE)
    state = m.DeleteTopicsRequest.DeleteTopicState(name=WIDE)
    world.ask(m.DeleteTopicsRequest(topics=[state], timeout_ms=10_000))
    world.run(for_s=1)
    for broker in BROKERS:
        assert open_replicas(world, broker) == 0
        assert not [each for each in world.cluster.disks[broker].list("") if WIDE in each]


def test_a_replica_opens_in_the_state_that_it_has_by_then() -> None:
    """102 reads of the topic and of its next leaders in one answer."""
    partitions = 3 * OPENED_AT_ONCE
    world = cluster()
    world.pause(102)
    world.ask(create_topics(WIDE, partitions, 3, None, None), 103)
    world.stop(101)
    world.run(until=lambda w: all(p.leader != 101 for p in w.partitions(WIDE).values()), for_s=5)
    world.resume(102)
    world.run(for_s=1)
    led = {index for index, each in world.partitions(WIDE).items() if each.leader == 102}
    assert led
    for index in led:
        replica = world.replica(102, WIDE, index)
        assert replica.is_leader
        assert replica.leader_epoch == world.partition(WIDE, index).leader_epoch
