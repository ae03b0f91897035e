"""What a Produce answer tells when not all is well; beside Kafka in tests/conformance."""

from __future__ import annotations

from typing import Any

import pytest

from engine.records import batch
from engine.sim.world.world import World
from engine.wire import messages as m
from engine.wire.errors import Errors

TOPIC = "orders"


@pytest.fixture
def world() -> World:
    """A topic led by 101; nobody is dropped from the ISR."""
    world = World(seed=5, settings={"replica.lag.time.max.ms": 60_000})
    config = {"cleanup.policy": "compact", "message.timestamp.type": "LogAppendTime"}
    world.create_topic(TOPIC, assignment={0: [101, 102, 103]}, config=config)
    return world


def produce(world: World, *keys: bytes | None, timeout_ms: int = 30_000, **more: Any) -> Any:
    """One record for each key; acks=all."""
    now_ms = world.cluster.now // 1000
    records = batch.encode([batch.Record(0, now_ms, key, b"x", ()) for key in keys], **more)
    request = m.ProduceRequest
    part = request.PartitionProduceData(index=0, records=records)
    topic = request.TopicProduceData(topic_id=world.image().topic_ids[TOPIC], partition_data=[part])
    return request(acks=-1, timeout_ms=timeout_ms, topic_data=[topic])


def reported(answer: Any) -> Any:
    return answer.responses[0].partition_responses[0]


def test_the_records_at_fault_are_named_and_where_the_log_starts(world: World) -> None:
    part = reported(world.ask(produce(world, b"k", None, b"k", None), 101))
    assert (part.error_code, part.base_offset) == (Errors.INVALID_RECORD, -1)
    assert part.log_start_offset == 0
    assert [each.batch_index for each in part.record_errors] == [1, 3]
    assert "without key" in part.record_errors[0].batch_index_error_message
    assert "2 record errors" in part.error_message


def test_a_refusal_of_the_whole_batch_has_no_words(world: World) -> None:
    gap = produce(world, b"k", producer_id=7, producer_epoch=0, base_sequence=0)
    assert reported(world.ask(gap, 101)).error_code == Errors.NONE
    gap = produce(world, b"k", producer_id=7, producer_epoch=0, base_sequence=9)
    part = reported(world.ask(gap, 101))
    assert part.error_code == Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert (part.log_start_offset, part.record_errors, part.error_message) == (0, [], None)


def test_a_time_out_changes_the_error_only(world: World) -> None:
    first = reported(world.ask(produce(world, b"k"), 101))
    world.cut(103, 101)
    part = reported(world.ask(produce(world, b"k", timeout_ms=500), 101))
    assert part.error_code == Errors.REQUEST_TIMED_OUT
    assert part.base_offset == first.base_offset + 1
    assert part.log_append_time_ms > first.log_append_time_ms > 0
    assert part.log_start_offset == 0


def test_a_transactional_batch_needs_a_transactional_id(world: World) -> None:
    """And a coordinator; the answer to none is one that a producer repeats."""
    numbers = {"transactional": True, "producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    request = produce(world, b"k", **numbers)
    assert (
        reported(world.ask(request, 101)).error_code == Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    )
    request.transactional_id = "t"
    assert reported(world.ask(request, 101)).error_code == Errors.NOT_ENOUGH_REPLICAS
