"""DescribeProducers and WriteTxnMarkers on whole brokers: who answers, and with how many rows."""

from __future__ import annotations

from typing import Any

import pytest

from engine.records import batch
from engine.sim.world.world import World
from engine.wire import messages as m
from engine.wire.errors import Errors

TOPIC = "orders"
Marker = m.WriteTxnMarkersRequest.WritableTxnMarker
Topic = m.WriteTxnMarkersRequest.WritableTxnMarkerTopic


@pytest.fixture
def world() -> World:
    """Orders-0 on 101 (its leader) and 102; no transaction is verified."""
    world = World(seed=5, settings={"transaction.partition.verification.enable": False})
    world.create_topic(TOPIC, assignment={0: [101, 102]})
    begin(world, 7)
    world.run(for_s=1)
    return world


def begin(world: World, producer_id: int) -> None:
    """The first record of a transaction that no coordinator knows."""
    record = batch.Record(0, world.cluster.now // 1000, None, b"x", ())
    records = batch.encode(
        [record], producer_id=producer_id, producer_epoch=3, base_sequence=0, transactional=True
    )
    request = m.ProduceRequest
    part = request.PartitionProduceData(index=0, records=records)
    topic = request.TopicProduceData(topic_id=world.image().topic_ids[TOPIC], partition_data=[part])
    body = request(transactional_id="t", acks=-1, timeout_ms=30_000, topic_data=[topic])
    (row,) = world.ask(body, 101).responses[0].partition_responses
    assert row.error_code == Errors.NONE


def described(world: World, broker: int, partition: int = 0, topic: str = TOPIC) -> Any:
    request = m.DescribeProducersRequest
    answer = world.ask(request([request.TopicRequest(topic, [partition])]), broker)
    return answer.topics[0].partitions[0]


@pytest.mark.parametrize("broker", [101, 102])
def test_every_replica_tells_of_open_transactions(world: World, broker: int) -> None:
    row = described(world, broker)
    assert row.error_code == Errors.NONE
    (producer,) = row.active_producers
    shown = (producer.producer_id, producer.producer_epoch, producer.current_txn_start_offset)
    assert shown == (7, 3, 0)


def test_a_broker_without_a_replica_sends_the_asker_away(world: World) -> None:
    assert described(world, 103).error_code == Errors.NOT_LEADER_OR_FOLLOWER
    assert described(world, 101, 9).error_code == Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert described(world, 101, 0, "nope").error_code == Errors.UNKNOWN_TOPIC_OR_PARTITION


def marker(producer_id: int, *partitions: int, commit: bool = True, topic: str = TOPIC) -> Marker:
    return Marker(producer_id, 3, commit, [Topic(topic, list(partitions))] if partitions else [])


def written(world: World, *markers: Marker) -> list[tuple[int, dict[tuple[str, int], Errors]]]:
    """For each row of 101's answer: the producer id, and the error of each partition."""
    answer = world.ask(m.WriteTxnMarkersRequest(list(markers)), 101)
    return [
        (
            row.producer_id,
            {
                (topic.name, each.partition_index): Errors(each.error_code)
                for topic in row.topics
                for each in topic.partitions
            },
        )
        for row in answer.markers
    ]


def test_the_markers_of_one_producer_have_one_row(world: World) -> None:
    assert written(world, marker(7, 0), marker(8, 0), marker(7, 9)) == [
        (7, {(TOPIC, 0): Errors.NONE, (TOPIC, 9): Errors.UNKNOWN_TOPIC_OR_PARTITION}),
        (8, {(TOPIC, 0): Errors.NONE}),
    ]


def test_two_markers_for_one_partition_are_both_written_and_share_a_row(world: World) -> None:
    end = world.replica(101, TOPIC, 0).log.log_end_offset
    assert written(world, marker(7, 0), marker(7, 0, commit=False)) == [
        (7, {(TOPIC, 0): Errors.NONE})
    ]
    assert world.replica(101, TOPIC, 0).log.log_end_offset == end + 2


def test_a_partition_that_a_marker_names_twice_gets_it_once(world: World) -> None:
    end = world.replica(101, TOPIC, 0).log.log_end_offset
    assert written(world, marker(7, 0, 0)) == [(7, {(TOPIC, 0): Errors.NONE})]
    assert world.replica(101, TOPIC, 0).log.log_end_offset == end + 1


def test_a_marker_for_nothing_has_no_row(world: World) -> None:
    assert written(world, marker(7)) == []
    assert written(world) == []


def test_a_follower_writes_no_marker(world: World) -> None:
    answer = world.ask(m.WriteTxnMarkersRequest([marker(7, 0)]), 102)
    (row,) = answer.markers[0].topics[0].partitions
    assert row.error_code == Errors.NOT_LEADER_OR_FOLLOWER
    (producer,) = described(world, 102).active_producers
    assert producer.current_txn_start_offset == 0


@pytest.mark.parametrize(
    "wrong", [{"producer_id": -1}, {"producer_epoch": -1}, {"transaction_version": -1}]
)
def test_what_cannot_be_a_marker_is_refused_with_all_others(world: World, wrong: Any) -> None:
    end = world.replica(101, TOPIC, 0).log.log_end_offset
    bad = marker(9, 0)
    for name, value in wrong.items():
        setattr(bad, name, value)
    rows = written(world, marker(7, 0), bad)
    assert [row for _, each in rows for row in each.values()] == [Errors.UNKNOWN_SERVER_ERROR] * 2
    assert world.replica(101, TOPIC, 0).log.log_end_offset == end


def test_numbers_below_none_are_those_of_a_zombie(world: World) -> None:
    """Also for a producer of which nothing is known."""
    old_epoch, old_coordinator = marker(8, 0), marker(8, 0)
    old_epoch.producer_epoch = old_coordinator.coordinator_epoch = -2
    assert written(world, old_epoch) == [(8, {(TOPIC, 0): Errors.INVALID_PRODUCER_EPOCH})]
    assert written(world, old_coordinator) == [
        (8, {(TOPIC, 0): Errors.TRANSACTION_COORDINATOR_FENCED})
    ]
