"""A zombie's records are refused where they arrive: no coordinator is asked about it (KIP-890).

There is no transaction coordinator here, so a question to one ends in another error.
"""

from __future__ import annotations

from typing import Any

import pytest

from engine.coordinators.offsets_topic import OFFSETS_TOPIC
from engine.records import batch
from engine.sim.world.world import World
from engine.wire import messages as m
from engine.wire.errors import Errors

TOPIC, GROUP, PRODUCER_ID, EPOCH = "orders", "readers", 7, 3


@pytest.fixture
def world() -> World:
    """Both partitions of orders are led by 101; the first has seen epoch 3 of the producer."""
    world = World(seed=5, settings={"offsets.topic.num.partitions": 1})
    world.create_topic(TOPIC, assignment={0: [101, 102], 1: [101, 103]})
    mark(world, TOPIC, 101)
    return world


def mark(world: World, topic: str, leader: int) -> None:
    """An abort marker of the producer's current epoch in partition 0."""
    request = m.WriteTxnMarkersRequest
    named = request.WritableTxnMarkerTopic(topic, [0])
    body = request([request.WritableTxnMarker(PRODUCER_ID, EPOCH, False, [named])])
    (row,) = world.ask(body, leader).markers[0].topics[0].partitions
    assert row.error_code == Errors.NONE


def produced(world: World, epoch: int, *partitions: int) -> list[tuple[Errors, int]]:
    """The error and the log start of each partition that gets a first transactional record."""
    records = batch.encode(
        [batch.Record(0, world.cluster.now // 1000, None, b"x", ())],
        producer_id=PRODUCER_ID, producer_epoch=epoch, base_sequence=0, transactional=True,
    )  # fmt: skip
    request = m.ProduceRequest
    parts = [request.PartitionProduceData(index=each, records=records) for each in partitions]
    topic = request.TopicProduceData(topic_id=world.image().topic_ids[TOPIC], partition_data=parts)
    body = request(transactional_id="t", acks=-1, timeout_ms=30_000, topic_data=[topic])
    rows = world.ask(body, 101).responses[0].partition_responses
    return [(Errors(each.error_code), each.log_start_offset) for each in rows]


def test_a_zombies_batch_is_refused_before_the_coordinator_is_asked(world: World) -> None:
    assert produced(world, EPOCH - 1, 0) == [(Errors.INVALID_PRODUCER_EPOCH, -1)]
    assert produced(world, EPOCH, 0) == [(Errors.NOT_ENOUGH_REPLICAS, -1)]


def test_its_other_partitions_are_verified_alone(world: World) -> None:
    """A partition that does not know the later epoch leaves the question to the coordinator."""
    assert produced(world, EPOCH - 1, 0, 1) == [
        (Errors.INVALID_PRODUCER_EPOCH, -1),
        (Errors.NOT_ENOUGH_REPLICAS, -1),
    ]


def commit(world: World, broker: int, epoch: int) -> Any:
    request = m.TxnOffsetCommitRequest
    row = request.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topic = request.TxnOffsetCommitRequestTopic(TOPIC, [row])
    body = request("t", GROUP, PRODUCER_ID, epoch, topics=[topic])
    return Errors(world.ask(body, broker).topics[0].partitions[0].error_code)


def test_a_zombies_offsets_too(world: World) -> None:
    world.post(m.FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP]), 101)
    world.run(until=lambda w: OFFSETS_TOPIC in w.image().topic_ids, for_s=20)
    leader = world.leader(OFFSETS_TOPIC, 0)
    world.run(until=lambda w: commit(w, leader, EPOCH) == Errors.COORDINATOR_NOT_AVAILABLE, for_s=9)
    mark(world, OFFSETS_TOPIC, leader)
    assert commit(world, leader, EPOCH - 1) == Errors.INVALID_PRODUCER_EPOCH
    assert commit(world, leader, EPOCH) == Errors.COORDINATOR_NOT_AVAILABLE


def test_offsets_of_no_group_are_refused(world: World) -> None:
    request = m.TxnOffsetCommitRequest
    row = request.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topic = request.TxnOffsetCommitRequestTopic(TOPIC, [row])
    answer = world.ask(request("t", "", PRODUCER_ID, EPOCH, topics=[topic]), 101)
    assert answer.topics[0].partitions[0].error_code == Errors.INVALID_GROUP_ID
