"""What a reader with read_committed gets, and when: Fetch, its wait, ListOffsets, the followers.

offset      0      1     2     3
            plain  A1    plain commit or abort of A
                   ^ last stable offset while A is open
"""

from __future__ import annotations

from typing import Any

import pytest

from engine.api import list_offsets
from engine.records import batch
from engine.sim.world.run import EPOCH_US
from engine.sim.world.world import World
from engine.wire import messages as m
from engine.wire.errors import Errors

TOPIC, A = "orders", 7
UNCOMMITTED, COMMITTED = 0, 1
PATIENT_MS = 2_000
START_MS = EPOCH_US // 1000


@pytest.fixture
def world() -> World:
    """101 leads, 102 and 103 follow; a plain record, the transaction A, a plain record."""
    world = World(
        seed=5,
        settings={
            "replica.lag.time.max.ms": 60_000,
            "transaction.partition.verification.enable": False,
        },
    )
    world.create_topic(TOPIC, assignment={0: [101, 102, 103]}, config={"min.insync.replicas": 1})
    for transactional in (False, True, False):
        produce(world, transactional)
    world.run(for_s=1)
    return world


def produce(world: World, transactional: bool, sequence: int = 0) -> None:
    """A record that all replicas have then; its timestamp is START_MS and its offset."""
    offset = world.replica(101, TOPIC, 0).log.log_end_offset
    records = batch.encode(
        [batch.Record(0, START_MS + offset, None, b"x", ())],
        transactional=transactional,
        producer_id=A if transactional else -1,
        producer_epoch=0 if transactional else -1,
        base_sequence=sequence if transactional else -1,
    )
    request = m.ProduceRequest
    part = request.PartitionProduceData(index=0, records=records)
    topic = request.TopicProduceData(topic_id=world.image().topic_ids[TOPIC], partition_data=[part])
    answer = world.ask(request("t", -1, 30_000, [topic]), 101)
    assert answer.responses[0].partition_responses[0].error_code == Errors.NONE


def marker(commit: bool) -> Any:
    request = m.WriteTxnMarkersRequest
    named = request.WritableTxnMarkerTopic(TOPIC, [0])
    return request([request.WritableTxnMarker(A, 0, commit, [named])])


def fetch(world: World, isolation: int, offset: int = 0, replica: int = -1, **more: Any) -> Any:
    """A fetch that does not wait, unless `more` says so."""
    request = m.FetchRequest
    part = request.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    topic = request.FetchTopic(topic_id=world.image().topic_ids[TOPIC], partitions=[part])
    epoch = world.image().brokers[replica].epoch if replica >= 0 else -1
    state = request.ReplicaState(replica_id=replica, replica_epoch=epoch)
    terms = {"max_wait_ms": 0, "min_bytes": 1, "session_epoch": -1, **more}
    return request(replica_state=state, isolation_level=isolation, topics=[topic], **terms)


def part_of(answer: Any) -> Any:
    return answer.responses[0].partitions[0]


def fetched(world: World, isolation: int, broker: int = 101, **more: Any) -> Any:
    return part_of(world.ask(fetch(world, isolation, **more), broker))


def offsets(part: Any) -> list[int]:
    return [header.base_offset for header, _ in batch.iterate(bytes(part.records))]


def aborted(part: Any) -> list[tuple[int, int]] | None:
    found = part.aborted_transactions
    return None if found is None else [(each.producer_id, each.first_offset) for each in found]


# -- Fetch


def test_a_reader_stops_before_an_open_transaction(world: World) -> None:
    whole, part = fetched(world, UNCOMMITTED), fetched(world, COMMITTED)
    assert (offsets(whole), aborted(whole)) == ([0, 1, 2], None)
    assert (offsets(part), aborted(part)) == ([0], [])
    for each in (whole, part):
        assert (each.high_watermark, each.last_stable_offset) == (3, 1)


@pytest.mark.parametrize(("commit", "told"), [(True, []), (False, [(A, 1)])])
def test_an_ended_transaction_is_handed_out_with_the_aborted(
    world: World, commit: bool, told: list[tuple[int, int]]
) -> None:
    """The client drops what was aborted, and the marker."""
    world.ask(marker(commit), 101)
    part = fetched(world, COMMITTED)
    assert (offsets(part), aborted(part)) == ([0, 1, 2, 3], told)
    assert part.last_stable_offset == 4
    assert aborted(fetched(world, UNCOMMITTED)) is None


@pytest.mark.parametrize("broker", [102, 103])
def test_a_follower_serves_readers_by_its_own_last_stable_offset(world: World, broker: int) -> None:
    assert offsets(fetched(world, COMMITTED, broker)) == [0]
    world.ask(marker(commit=False), 101)
    world.run(until=lambda w: w.replica(broker, TOPIC, 0).high_watermark == 4, for_s=5)
    part = fetched(world, COMMITTED, broker)
    assert (offsets(part), aborted(part)) == ([0, 1, 2, 3], [(A, 1)])


# -- the wait


def waiting(world: World, isolation: int, **more: Any) -> int:
    """A fetch at the last stable offset, under way."""
    number = world.post(fetch(world, isolation, 1, max_wait_ms=PATIENT_MS, **more), 101)
    world.run(for_s=0.1)
    return number


def test_the_end_of_a_transaction_wakes_a_reader(world: World) -> None:
    """Neither what else is written does, nor what the transaction itself writes."""
    number = waiting(world, COMMITTED)
    produce(world, transactional=True, sequence=1)
    produce(world, transactional=False)
    assert world.answer(number) is None
    asked_us = world.now_us
    world.post(marker(commit=True), 101)
    world.run(until=lambda w: w.answer(number) is not None, for_s=PATIENT_MS / 1000)
    assert world.now_us - asked_us < PATIENT_MS * 1000 / 4
    assert offsets(part_of(world.answer(number))) == [1, 2, 3, 4, 5]


def test_a_marker_counts_when_it_is_replicated(world: World) -> None:
    number = waiting(world, COMMITTED)
    world.cut(103, 101)
    world.post(marker(commit=True), 101)
    world.run(for_s=0.5)
    leader = world.replica(101, TOPIC, 0)
    assert (leader.log.log_end_offset, leader.last_stable_offset) == (4, 1)
    assert world.answer(number) is None
    world.heal()
    world.run(until=lambda w: w.answer(number) is not None, for_s=PATIENT_MS / 1000)
    assert offsets(part_of(world.answer(number))) == [1, 2, 3]


def test_a_wait_counts_the_bytes_below_the_last_stable_offset(world: World) -> None:
    """Those of an open transaction are no reason to answer."""
    enough = len(fetched(world, UNCOMMITTED).records)
    asked_us = world.now_us
    number = world.post(fetch(world, COMMITTED, 0, max_wait_ms=PATIENT_MS, min_bytes=enough), 101)
    world.run(until=lambda w: w.answer(number) is not None, for_s=2 * PATIENT_MS / 1000)
    assert world.now_us - asked_us > PATIENT_MS * 1000 / 2
    assert offsets(part_of(world.answer(number))) == [0]


# -- ListOffsets


def looked_up(world: World, timestamp: int, isolation: int, replica: int = -1) -> int:
    request = m.ListOffsetsRequest
    topic = request.ListOffsetsTopic(TOPIC, [request.ListOffsetsPartition(0, -1, timestamp)])
    row = world.ask(request(replica, isolation, [topic]), 101).topics[0].partitions[0]
    assert row.error_code == Errors.NONE
    return int(row.offset)


def test_the_end_for_read_committed_is_the_last_stable_offset(world: World) -> None:
    assert looked_up(world, list_offsets.LATEST, COMMITTED) == 1
    assert looked_up(world, list_offsets.LATEST, UNCOMMITTED) == 3
    assert looked_up(world, list_offsets.EARLIEST, COMMITTED) == 0
    world.ask(marker(commit=False), 101)
    assert looked_up(world, list_offsets.LATEST, COMMITTED) == 4


@pytest.mark.parametrize("timestamp", [START_MS + 1, START_MS + 2, list_offsets.MAX_TIMESTAMP])
def test_what_lies_in_or_behind_an_open_transaction_is_not_found(
    world: World, timestamp: int
) -> None:
    assert looked_up(world, timestamp, COMMITTED) == -1
    assert looked_up(world, timestamp, UNCOMMITTED) in (1, 2)
    assert looked_up(world, START_MS, COMMITTED) == 0


# -- followers


def test_followers_copy_open_transactions(world: World) -> None:
    for follower in (102, 103):
        replica = world.replica(follower, TOPIC, 0)
        assert (replica.log.log_end_offset, replica.last_stable_offset) == (3, 1)


def test_an_isolation_level_means_nothing_to_a_follower(world: World) -> None:
    world.ask(marker(commit=False), 101)
    world.cut(103, 101)
    part = fetched(world, COMMITTED, replica=102)
    assert (offsets(part), aborted(part)) == ([0, 1, 2, 3], None)
    assert looked_up(world, list_offsets.LATEST, COMMITTED, replica=102) == 4


def test_a_follower_that_asks_for_read_committed_gets_what_is_open(world: World) -> None:
    assert offsets(fetched(world, COMMITTED, replica=102)) == [0, 1, 2]
    assert looked_up(world, list_offsets.LATEST, COMMITTED, replica=102) == 3
