"""Schedules in which the topic that transactions write to is deleted and made again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.coordinators.transactions.transaction_records import TRANSACTIONS_TOPIC
from engine.records import batch
from engine.sim.campaign import till_ending
from engine.sim.campaign.members import MemberPlan
from engine.sim.campaign.play import run
from engine.sim.campaign.schedules import Schedule, draw
from engine.sim.campaign.shrink import replay
from engine.sim.campaign.tills import (
    BROKER_SETTINGS,
    PARTITIONS,
    PAYMENTS,
    READER,
    TillSetup,
)
from engine.sim.campaign.timed_scripts import read
from engine.sim.clients.clients import create_topics
from engine.sim.clients.remaker import Remaker
from engine.sim.invariants.invariants import Violation
from engine.sim.scripts.scripts import parse
from engine.sim.world.world import World
from engine.wire import messages as m
from engine.wire.errors import Errors

LIVES = (
    MemberPlan(2_500, "start", "remaker-1", 0),
    MemberPlan(5_000, "start", "remaker-2", 0),
)


def played(protocol: int, lives: tuple[MemberPlan, ...] = LIVES) -> World:
    """Two tills and nothing that breaks; the topic is deleted, to the end of the schedule."""
    drawn = draw(2, light=True, transactions=True)
    setup = replace(drawn.setup, tills=TillSetup(2, protocol))
    late = MemberPlan(9_000, "start", "till-1b", 0)
    world, outcome = run(Schedule(setup, torn=False, plans=(), lives=(*lives, late)))
    assert outcome.violation == ""
    assert outcome.remade == len(lives)
    return world


@pytest.fixture(scope="module")
def remade() -> World:
    return played(protocol=2)


@pytest.mark.parametrize("protocol", [1, 2])
def test_transactions_go_on_in_the_new_topic(remade: World, protocol: int) -> None:
    world = remade if protocol == 2 else played(protocol)
    assert world.invariants is not None
    assert world.invariants.transactions is not None
    written = world.invariants.transactions.written.values
    assert len(written) == 3, "three topics of one name had records"
    assert world.image().topic_ids[PAYMENTS] == list(written)[-1]
    assert all(written.values())
    states = [state for _, _, state in till_ending._records(world).values()]
    assert {"committed", "aborted"} >= set(states)
    assert "committed" in states


def test_the_reader_goes_from_topic_to_topic(remade: World) -> None:
    reader = remade.client(READER)
    assert len({each.topic_id for each in reader.topics}) == len(reader.topics) == 3
    assert reader.topics[-1].since > reader.topics[1].since > 0


def test_a_record_that_no_deleted_topic_had_is_lost(remade: World) -> None:
    world = remade.fork()
    assert world.invariants is not None
    assert world.invariants.transactions is not None
    written = world.invariants.transactions.written
    for topic_id in list(written.values)[:-1]:
        written.values[topic_id].clear()
    with pytest.raises(Violation, match=r"whole: transaction .* was committed with .* there is no"):
        till_ending.judge(world, TillSetup(2, 2))


def test_an_offset_that_came_after_the_deletion_is_still_judged(remade: World) -> None:
    world = remade.fork()
    assert world.invariants is not None
    assert world.invariants.transactions is not None
    shard = world.invariants.transactions.groups.shard("till-1-readers")
    assert shard is not None
    del shard.offsets._by_group["till-1-readers"]
    with pytest.raises(Violation, match=r"offsets: till-1-readers has -1, and the last"):
        till_ending.judge(world, TillSetup(2, 2))


def test_half_of_the_schedules_delete_the_topic() -> None:
    drawn = [draw(seed, transactions=True).lives for seed in range(100)]
    often = [sum(plan.member.startswith("remaker") for plan in lives) for lives in drawn]
    assert {0, 1, 2} == set(often)
    assert 35 <= sum(count > 0 for count in often) <= 65


def test_a_request_that_arrives_late_does_not_delete_the_new_topic() -> None:
    world = World(seed=5, rewindable=False)
    world.create_topic(PAYMENTS)
    old = world.image().topic_ids[PAYMENTS]
    brokers = world.cluster.spec.brokers
    remaker = world.add("remaker-1", Remaker(PAYMENTS, PARTITIONS, brokers, {}, "seed"))
    world.run(until=lambda w: bool(w.client("remaker-1").over), for_s=30)
    assert remaker.over == "the topic is there again"
    assert world.image().topic_ids[PAYMENTS] != old
    assert delete(world, topic_id=old) == Errors.UNKNOWN_TOPIC_ID
    assert PAYMENTS in world.image().topic_ids


def delete(world: World, name: str | None = None, topic_id: bytes = bytes(16)) -> int:
    state = m.DeleteTopicsRequest.DeleteTopicState(name=name, topic_id=topic_id)
    answer = world.ask(m.DeleteTopicsRequest(topics=[state], timeout_ms=1_000), 101)
    assert answer is not None
    return answer.responses[0].error_code


def test_a_broker_may_hear_of_several_topics_of_one_name_at_once() -> None:
    """Their epochs begin at 0 each time; a check that compares by name says that 0 is no newer
    one.  The one that came and went within an answer is never opened, as in Kafka."""
    world = World(seed=3, rewindable=False)
    world.create_topic("receipts")
    world.load("receipts")
    world.reader("receipts")
    world.run(for_s=1)
    for other in (100, 101, 102):
        world.cut(103, other)
    for _ in range(2):
        assert delete(world, "receipts") == Errors.NONE
        answer = world.ask(create_topics("receipts", 1, 3, None, None), 101)
        assert answer is not None
        assert answer.topics[0].error_code == Errors.NONE
    world.heal()
    world.run(for_s=5)
    heard = [
        (at, line.kind)
        for at, node, line in world.cluster.trace
        if node == 103 and line.kind in ("leader", "removed")
    ]
    assert [kind for _, kind in heard] == ["leader", "removed", "leader"]
    assert len({at for at, _ in heard[1:]}) == 1


WAITS_FOR_GOOD = """\
cluster brokers=3 seed=600363
create orders partitions=1 replication=3 min.insync.replicas=2
load orders period_us=300000 idempotent=1
load orders period_us=300000 acks=1
reader orders
tills payments count=2 protocol=1
at 1.219983 delay 101 till-1 ms=20
at 2.651983 kill till-1
at 3.304983 start till-1
at 5.333983 start remaker-1
at 15.032983 calm
"""


def test_with_protocol_1_a_producer_asks_for_a_partition_that_is_gone() -> None:
    """Until it is closed, as the Java client does; then its transaction times out."""
    timed = read(parse(WAITS_FOR_GOOD))
    outcome = replay(timed.setup, timed.tape)
    assert (outcome.violation, outcome.remade) == ("", 1)
    assert "till-1" in outcome.waiting


def test_a_marker_goes_to_the_topic_that_the_coordinator_knows() -> None:
    """The coordinator and a follower have not heard of the new topic; its leader has.  The
    transaction is committed, and its record stays open for good: markers name topics by name."""
    world = World(
        seed=3,
        settings={**BROKER_SETTINGS, "broker.session.timeout.ms": 9_000},
        features={"transaction.version": 2},
        rewindable=False,
    )
    config = {"min.insync.replicas": 1}
    world.create_topic(PAYMENTS, config=config, assignment={0: [102, 103, 101]})
    world.ask(m.FindCoordinatorRequest(key_type=1, coordinator_keys=["till"]), 101)
    world.run(until=lambda w: TRANSACTIONS_TOPIC in w.image().topic_ids, for_s=30)
    world.kill(101)
    topics = (PAYMENTS, TRANSACTIONS_TOPIC)
    world.run(until=lambda w: all(in_sync(w, each) == (102, 103) for each in topics), for_s=60)
    coordinator = world.leader(TRANSACTIONS_TOPIC, 0)
    producer = named(world, coordinator)
    for each in (102, 103):
        world.cut(100, each)
    world.start(101)
    world.run(until=lambda w: not w.is_fenced(101), for_s=30)
    assert delete(world, PAYMENTS) == Errors.NONE
    world.ask(create_topics(PAYMENTS, 1, 3, config, {0: [101, 102, 103]}), 101)
    world.run(until=lambda w: (PAYMENTS, 0) in w.cluster.nodes[101].replicas.partitions, for_s=5)
    assert produced(world, producer) == Errors.NONE
    ended = world.ask(m.EndTxnRequest("till", *producer, True), coordinator)
    assert ended is not None
    assert ended.error_code == Errors.NONE
    assert world.run(until=is_committed, for_s=5)
    world.heal()
    world.run(for_s=30)
    replica = world.replica(world.leader(PAYMENTS, 0), PAYMENTS, 0)
    assert (replica.last_stable_offset, replica.high_watermark) == (0, 1)


def is_committed(world: World) -> bool:
    return world.snapshot()["transactions"]["till"]["state"] == "CompleteCommit"


def in_sync(world: World, topic: str) -> tuple[int, ...]:
    image = world.image().topics[world.image().topic_ids[topic]]
    return tuple(sorted(image.partitions[0].isr))


def named(world: World, coordinator: int) -> tuple[int, int]:
    """The id and epoch of a producer; it asks until the coordinator is ready."""
    request = m.InitProducerIdRequest(transactional_id="till", transaction_timeout_ms=60_000)
    for _ in range(50):
        answer = world.ask(request, coordinator)
        if answer is not None and answer.error_code == Errors.NONE:
            return answer.producer_id, answer.producer_epoch
        world.run(for_s=0.2)
    raise AssertionError("the coordinator gives no id")


def produced(world: World, producer: tuple[int, int]) -> int:
    """Sends the first record of a transaction to 101, by the id of the topic that is there now."""
    record = batch.Record(0, world.cluster.now // 1000, b"k", b"v", ())
    data = batch.encode(
        [record], producer_id=producer[0], producer_epoch=producer[1], base_sequence=0,
        transactional=True,
    )  # fmt: skip
    request = m.ProduceRequest
    part = request.PartitionProduceData(index=0, records=data)
    topic = request.TopicProduceData(
        topic_id=world.image().topic_ids[PAYMENTS], partition_data=[part]
    )
    body = request(transactional_id="till", acks=1, timeout_ms=1_000, topic_data=[topic])
    answer = world.ask(body, 101)
    assert answer is not None
    return answer.responses[0].partition_responses[0].error_code
