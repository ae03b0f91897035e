"""Invariants accuse nobody who keeps the rules; who breaks them is in test_mutants.py.

What no campaign meets is broken here by hand: a log start that nobody asked for or that goes
back, an answer that comes when another record stands in its place, a zombie's numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from engine.events import Trace
from engine.records import batch
from engine.sim.campaign.mutants import MUTANTS, Patch
from engine.sim.invariants.invariants import Violation
from engine.sim.world.world import World
from engine.storage.producer_states import ProducerStates
from engine.wire import messages as m
from engine.wire.errors import Errors

PRODUCER_ID = 7
Place = tuple[int, int]
"""(producer epoch, first sequence) of a batch with one record."""


def world_with_orders(
    settings: dict[str, Any] | None = None, config: dict[str, Any] | None = None
) -> World:
    world = World(seed=5, settings=settings)
    config = {"min.insync.replicas": 2, **(config or {})}
    world.create_topic("orders", assignment={0: [101, 102, 103]}, config=config)
    return world


def filled(world: World, count: int = 50) -> World:
    world.load("orders", period_us=20_000, count=count)
    world.run(for_s=count * 0.02 + 1)
    return world


def log_starts(world: World) -> list[int]:
    return [world.replica(b, "orders", 0).log.log_start_offset for b in (101, 102, 103)]


def delete_records(world: World, offset: int, leader: int = 101) -> None:
    request = m.DeleteRecordsRequest
    part = request.DeleteRecordsPartition(partition_index=0, offset=offset)
    topic = request.DeleteRecordsTopic(name="orders", partitions=[part])
    answer = world.ask(request(topics=[topic], timeout_ms=5000), leader)
    assert answer.topics[0].partitions[0].error_code == Errors.NONE


def is_whole(world: World) -> bool:
    return len(world.partition("orders", 0).isr) == 3


def lead_again(world: World) -> None:
    """Broker 101, which is the preferred leader, leads again."""
    world.run(until=is_whole, for_s=20)
    request = m.ElectLeadersRequest
    part = request.TopicPartitions(topic="orders", partitions=[0])
    world.ask(request(election_type=0, topic_partitions=[part], timeout_ms=5_000))
    assert world.run(until=lambda w: w.leader("orders", 0) == 101, for_s=10)
    world.run(for_s=1)


def test_a_late_acknowledgement_of_a_deleted_topic_promises_nothing_of_its_successor() -> None:
    world = World(seed=5)
    world.create_topic("orders")
    producer = world.load("orders", period_us=10_000)
    world.run(for_s=1)
    leader = world.leader("orders", 0)
    world.delay(leader, producer.name, ms=2000, api="Produce")
    world.run(for_s=0.05)
    delete = m.DeleteTopicsRequest
    world.ask(delete(topics=[delete.DeleteTopicState(name="orders")], timeout_ms=5000))
    world.create_topic("orders", assignment={0: [leader]})
    world.run(for_s=3)


# -- where a log may start


@pytest.mark.parametrize("kept", [0, 3])
@pytest.mark.parametrize("brokers", [(101,), (103,), (101, 102, 103)])
def test_a_log_start_without_a_request_excuses_no_loss(brokers: Sequence[int], kept: int) -> None:
    world = filled(world_with_orders())
    for broker in brokers:
        log = world.replica(broker, "orders", 0).log
        log.advance_log_start(log.log_end_offset - kept)
    with pytest.raises(Violation, match=r"no loss: .* nothing was deleted from 0 on"):
        filled(world, 1)


def test_a_member_of_the_isr_that_starts_again_at_its_end_has_lost_what_it_held() -> None:
    world = filled(world_with_orders())
    delete_records(world, 10)
    world.run(for_s=1)
    follower = world.replica(102, "orders", 0)
    follower.restart_at(follower.log.log_end_offset, "broken by hand")
    with pytest.raises(Violation, match=r"no loss: .* of 102 starts at 50, .* from 10 on"):
        filled(world, 1)


def test_more_than_is_committed_is_not_to_be_deleted() -> None:
    world = filled(world_with_orders())
    line = Trace("deleted", "orders-0", (("to", 51),), "broken by hand", "")
    world.cluster.carry_out(101, [line])
    with pytest.raises(Violation, match=r"no loss: .* 101 deletes up to 51, above .* 50"):
        world.run(for_s=1)


def test_the_leaders_log_start_does_not_fall() -> None:
    world = filled(world_with_orders())
    delete_records(world, 10)
    world.run(for_s=1)
    world.replica(101, "orders", 0).log.log_start_offset = 0
    with pytest.raises(Violation, match=r"monotonic: .* from 50 and 10 to 5. and 0 within epoch 0"):
        filled(world, 1)


def test_records_that_were_deleted_are_no_loss() -> None:
    world = world_with_orders()
    reader = world.reader("orders")
    late = world.load("orders", period_us=20_000, count=1)
    world.delay(101, late.name, ms=2_500, api="Produce")
    filled(world, 20)
    delete_records(world, 20)
    world.run(for_s=3)
    assert [late.history[0][0].verdict, log_starts(world)] == ["acknowledged", [20, 20, 20]]
    world.kill(101)
    world.run(until=lambda w: w.leader("orders", 0) == 102, for_s=10)
    world.start(101)
    world.run(until=is_whole, for_s=20)
    assert len(filled(world, 20).replica(101, "orders", 0).log.read(21, 1 << 20))
    assert reader.positions[0].offset == world.replica(102, "orders", 0).high_watermark


def test_a_log_that_was_emptied_goes_on_after_what_others_still_remember() -> None:
    world = filled(world_with_orders())
    delete_records(world, -1)
    world.run(for_s=6)
    world.stop(101)
    world.run(for_s=1)
    world.start(101)
    lead_again(world)
    assert filled(world, 20).replica(103, "orders", 0).high_watermark == 70


@pytest.mark.parametrize("later", [0, 1])
def test_what_a_zombie_wrote_below_its_successors_log_start_is_no_history(later: int) -> None:
    """The leader forgets where the old epoch ended, so the zombie cuts at the log start only."""
    world = filled(world_with_orders())
    for node in (100, 102, 103):
        world.cut(101, node)
    world.load("orders", period_us=20_000, count=100, acks=1)
    world.run(until=lambda w: w.leader("orders", 0) == 102, for_s=20)
    world.run(for_s=0.1)
    filled(world, 20)
    delete_records(world, -1, leader=102)
    filled(world, later)
    zombie = world.replica(101, "orders", 0)
    assert zombie.is_leader
    assert zombie.log.log_end_offset > 80
    world.heal()
    assert world.run(until=is_whole, for_s=20)
    filled(world, 1)
    assert log_starts(world) == [70, 70, 70]


def test_what_retention_deletes_is_no_loss() -> None:
    often = {"log.retention.check.interval.ms": 500}
    world = world_with_orders(often, {"segment.bytes": 1_048_576, "retention.ms": 2_000})
    filled(world)
    world.run(for_s=4)
    assert log_starts(world) == [50, 50, 50]
    world.kill(101)
    world.run(until=lambda w: w.leader("orders", 0) == 102, for_s=10)
    assert filled(world).replica(102, "orders", 0).high_watermark == 100


# -- whose answer it was


def test_another_record_at_its_offset_is_not_what_was_acknowledged() -> None:
    world = world_with_orders()
    filled(world, 5)
    with MUTANTS["answer-too-early"].in_force():
        for node in (100, 102, 103):
            world.cut(101, node)
        lost = world.load("orders", period_us=20_000, count=1)
        world.delay(101, lost.name, ms=2_800, api="Produce")
        world.run(until=lambda w: w.leader("orders", 0) == 102, for_s=20)
        world.run(for_s=0.2)
        world.load("orders", period_us=20_000, count=3, acks=1)
        with pytest.raises(Violation, match=f"'{lost.name}-0-0' was acknowledged at offset 5, "):
            world.run(for_s=3)


# -- numbers


def write(world: World, epoch: int, sequence: int) -> Errors:
    """One numbered record; gives the broker's answer."""
    record = batch.Record(0, world.cluster.now // 1000, None, b"v", ())
    data = batch.encode(
        [record], producer_id=PRODUCER_ID, producer_epoch=epoch, base_sequence=sequence
    )
    request = m.ProduceRequest
    part = request.PartitionProduceData(index=0, records=data)
    topic_id = world.image().topic_ids["orders"]
    topic = request.TopicProduceData(topic_id=topic_id, partition_data=[part])
    answer = world.ask(request(acks=-1, timeout_ms=5_000, topic_data=[topic]), 101)
    return Errors(answer.responses[0].partition_responses[0].error_code)


def unasked(original: Any, self: ProducerStates, header: Any, check_sequence: bool) -> None:
    """A broker that looks at no number."""


@pytest.mark.parametrize(
    ("written", "accused"),
    [
        (((0, 5), (1, 3)), "sequence 3 .*, the first of epoch 1"),
        (((0, 5), (1, 0), (0, 6)), "sequence 6 .*, of epoch 0 after epoch 1"),
        (((0, 5), (1, 0), (1, 2)), "sequence 2 .*, after 0"),
        (((3, 5), (3, 7)), "sequence 7 .*, after 5"),
        (((0, (1 << 31) - 1), (0, 1)), "sequence 1 .*, after 2147483647"),
    ],
)
def test_numbers_that_do_not_follow_each_other(written: Sequence[Place], accused: str) -> None:
    world = world_with_orders()
    with Patch(ProducerStates, "check", unasked).in_force():
        for each in written[:-1]:
            assert write(world, *each) == Errors.NONE
        with pytest.raises(Violation, match=f"idempotence: orders-0 .* {accused}"):
            write(world, *written[-1])


@pytest.mark.parametrize(
    "written",
    [
        ((0, 5), (0, 6), (1, 0), (1, 1), (4, 0), (4, 1)),
        ((2, (1 << 31) - 1), (2, 0), (2, 1)),
    ],
)
def test_numbers_that_do(written: Sequence[Place]) -> None:
    world = world_with_orders()
    assert [write(world, *each) for each in written] == [Errors.NONE] * len(written)
    world.run(for_s=1)


def test_a_producer_that_was_forgotten_may_begin_anywhere() -> None:
    often = {"producer.id.expiration.check.interval.ms": 500, "producer.id.expiration.ms": 2_000}
    world = world_with_orders(often)
    assert [write(world, 1, 0), write(world, 1, 1)] == [Errors.NONE] * 2
    world.run(for_s=4)
    assert [write(world, 0, 9), write(world, 0, 10)] == [Errors.NONE] * 2
    world.run(for_s=1)


def test_a_producer_whose_records_are_all_deleted_may_begin_anywhere() -> None:
    world = world_with_orders()
    assert [write(world, 1, 0), write(world, 1, 1)] == [Errors.NONE] * 2
    delete_records(world, -1)
    world.run(for_s=61)  # then the log start is written down
    world.kill(101)
    world.run(until=lambda w: w.leader("orders", 0) == 102, for_s=10)
    world.start(101)
    lead_again(world)
    assert [write(world, 0, 9), write(world, 0, 10)] == [Errors.NONE] * 2
    world.run(for_s=1)


def test_what_was_deleted_and_is_there_again_is_no_history() -> None:
    """As on a live Kafka: tests/conformance/test_forgotten_log_start.py."""
    world = filled(world_with_orders(config={"min.insync.replicas": 1}), count=10)
    world.isolate(101)
    hasty = world.load("orders", period_us=1_000, acks=1, count=3)
    world.run(for_s=0.5)
    assert [sent.offset for sent in hasty.history[0]] == [10, 11, 12]
    world.kill(101)
    world.run(until=lambda w: w.leader("orders", 0) == 102, for_s=10)
    world.heal()
    filled(world, count=20)
    delete_records(world, 20, leader=102)
    world.kill(103)
    world.run(until=lambda w: tuple(w.partition("orders", 0).isr) == (102,), for_s=10)
    world.kill(102)
    world.run(until=lambda w: w.leader("orders", 0) == -1, for_s=10)
    world.start(102)
    world.run(until=lambda w: w.leader("orders", 0) == 102, for_s=10)
    world.start(101)
    world.start(103)
    assert world.run(until=is_whole, for_s=20)
    filled(world, count=10)

    def epoch(broker: int, offset: int) -> int | None:
        return world.replica(broker, "orders", 0).log.epochs.epoch_for_offset(offset)

    assert log_starts(world) == [0, 0, 0]
    logs = [world.replica(broker, "orders", 0).log for broker in (101, 102)]
    assert logs[0].read(0, 1 << 20) != logs[1].read(0, 1 << 20)
    assert [epoch(101, 12), epoch(102, 12)] == [0, None]
