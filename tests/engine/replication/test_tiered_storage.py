"""Tiered storage on a cluster in virtual time: old segments leave the brokers, none is lost."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import pytest

from engine.api import list_offsets
from engine.records.batch import Record, decode, encode, iterate
from engine.replication.partition import Partition
from engine.sim.world.world import World
from engine.storage.remote.local_tiered_storage import ROOT
from engine.storage.remote.remote_segments import RemoteSegments
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

SETTINGS: dict[str, Any] = {
    "remote.log.storage.system.enable": True,
    "remote.log.manager.task.interval.ms": 500,
    "log.retention.check.interval.ms": 500,
    "replica.fetch.backoff.ms": 100,
    "transaction.partition.verification.enable": False,
}
CONFIG: dict[str, Any] = {
    "remote.storage.enable": True,
    "internal.segment.bytes": 1000,
    "local.retention.bytes": 2000,
    "index.interval.bytes": 100,
}
BROKERS = (101, 102, 103)


def world_of(settings: dict[str, Any] = SETTINGS, replicas: int = 3, **config: Any) -> World:
    world = World(1, settings=settings)
    world.create_topic("orders", replicas=replicas, config={**CONFIG, **config})
    return world


def leader_of(world: World) -> Partition:
    return world.replica(world.leader("orders", 0), "orders", 0)


def produce(world: World, values: list[str], **batch: Any) -> None:
    """One batch, with acks=all."""
    request = m.ProduceRequest
    leader = leader_of(world)
    now_ms = world.cluster.now // 1000
    records = encode([Record(0, now_ms, b"k", each.encode()) for each in values], **batch)
    data = request.TopicProduceData(
        name="orders",
        topic_id=leader.topic_id,
        partition_data=[request.PartitionProduceData(index=0, records=records)],
    )
    name = "payments" if batch.get("transactional") else None
    body = request(transactional_id=name, acks=-1, timeout_ms=10_000, topic_data=[data])
    answer = world.ask(body, leader.node_id)
    assert answer is not None
    assert answer.responses[0].partition_responses[0].error_code == Errors.NONE


def fill(world: World, batches: int, start: int = 0) -> list[str]:
    values = [f"{start + number} {'x' * 50}" for number in range(3 * batches)]
    for number in range(batches):
        produce(world, values[3 * number : 3 * number + 3])
        world.run(for_s=0.1)
    return values


def fetch(world: World, offset: int, **more: Any) -> m.FetchResponse.PartitionData:
    leader = leader_of(world)
    asked = m.FetchRequest.FetchPartition(
        partition=0, fetch_offset=offset, partition_max_bytes=1 << 20
    )
    topic = m.FetchRequest.FetchTopic(topic_id=leader.topic_id, partitions=[asked])
    body = m.FetchRequest(max_wait_ms=0, min_bytes=0, topics=[topic], replica_id=-1, **more)
    answer = world.ask(body, leader.node_id)
    assert answer is not None
    return answer.responses[0].partitions[0]


def read_all(world: World) -> list[str]:
    """What a consumer gets from offset 0 on."""
    offset, values = 0, []
    while offset < leader_of(world).high_watermark:
        data = fetch(world, offset)
        assert data.error_code == Errors.NONE
        assert data.records
        for _, position in iterate(data.records):
            for record in decode(data.records, position):
                if record.offset == offset:
                    assert record.value is not None
                    values.append(record.value.decode())
                    offset += 1
    return values


def is_local_part_short(world: World, brokers: tuple[int, ...] = BROKERS) -> bool:
    logs = [world.replica(each, "orders", 0).log for each in brokers]
    return all(each.size_in_bytes <= 3500 and each.local_log_start_offset > 0 for each in logs)


def tier_files(world: World) -> list[str]:
    tier = world.cluster.processes.tier
    return [f for d in tier.list(ROOT) for f in tier.list(f"{ROOT}/{d}")]


# -- copying and reading


def test_old_segments_leave_every_broker_and_stay_readable() -> None:
    world = world_of()
    values = fill(world, 40)
    assert world.run(until=is_local_part_short, for_s=20)
    log = leader_of(world).log
    assert log.log_start_offset == 0 < log.local_log_start_offset
    assert read_all(world) == values
    assert len(world.trace_lines(("copied",))) == len({f.split(".")[0] for f in tier_files(world)})


def test_what_is_in_the_tier_has_gaps_nowhere() -> None:
    world = world_of()
    fill(world, 40)
    world.run(until=is_local_part_short, for_s=20)
    leader = leader_of(world)
    assert leader.remote is not None
    copied = leader.remote.readable
    assert copied[0].start_offset == 0
    for before, after in pairwise(copied):
        assert after.start_offset == before.end_offset + 1
    assert copied[-1].end_offset == leader.log.highest_remote_offset < leader.high_watermark


def test_a_topic_without_remote_storage_is_not_copied() -> None:
    world = world_of(**{"remote.storage.enable": False, "local.retention.bytes": -2})
    fill(world, 20)
    world.run(for_s=5)
    assert tier_files(world) == []
    assert leader_of(world).log.local_log_start_offset == 0


def test_without_the_brokers_setting_a_topic_is_refused_and_no_timer_is_set() -> None:
    world = World(1)
    with pytest.raises(KafkaError, match="Tiered Storage functionality is disabled"):
        world.create_topic("orders", config=CONFIG)
    assert not [token for _, token in world.cluster.agenda.timers if "Remote" in str(token)]


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"cleanup.policy": "compact"}, "unsupported for the compacted topics"),
        ({"retention.bytes": 1000}, "must not be more than retention.bytes property value: 1000"),
        ({"retention.ms": 1000, "local.retention.ms": -1}, "must not be -1"),
    ],
)
def test_configs_that_do_not_fit_are_refused(config, sentence) -> None:
    with pytest.raises(KafkaError, match=sentence):
        world_of(**config)


def test_what_is_not_in_the_tier_yet_is_not_deleted() -> None:
    world = world_of({**SETTINGS, "remote.log.manager.task.interval.ms": 3_600_000})
    fill(world, 40)
    world.run(for_s=10)
    assert leader_of(world).log.local_log_start_offset == 0


def test_a_full_tier_keeps_the_segments_here_until_there_is_room() -> None:
    world = world_of()
    world.cluster.processes.tier.full = True
    values = fill(world, 40)
    world.run(for_s=5)
    assert world.trace_lines(("tier-failed",))
    assert leader_of(world).log.local_log_start_offset == 0
    world.cluster.processes.tier.full = False
    assert world.run(until=is_local_part_short, for_s=20)
    assert read_all(world) == values


def test_a_world_with_a_tier_pickles_in_the_middle_of_a_copy() -> None:
    world = world_of()
    fill(world, 40)
    managers = [world.cluster.nodes[each].replicas.remote for each in BROKERS]
    assert world.run(until=lambda w: any(each.copying for each in managers), for_s=20) or True
    again = pickle.loads(pickle.dumps(world.cluster))
    assert again.processes.tier == world.cluster.processes.tier


# -- offsets


def find(world: World, timestamp: int) -> int:
    return list_offsets.find(leader_of(world), timestamp, list_offsets.CONSUMER, 0)[0]


def test_list_offsets_names_the_local_and_the_tiered_part() -> None:
    world = world_of()
    fill(world, 40)
    world.run(until=is_local_part_short, for_s=20)
    world.run(for_s=2)
    log = leader_of(world).log
    assert find(world, list_offsets.EARLIEST) == 0
    assert find(world, list_offsets.EARLIEST_LOCAL) == log.local_log_start_offset > 0
    tiered = find(world, list_offsets.LATEST_TIERED)
    assert log.local_log_start_offset <= tiered + 1 == log.segments.active.base_offset
    assert find(world, list_offsets.EARLIEST_PENDING_UPLOAD) == tiered + 1


def test_a_time_is_found_in_the_tier() -> None:
    world = world_of()
    fill(world, 10)
    middle_ms = world.cluster.now // 1000 + 1
    world.run(for_s=0.1)
    fill(world, 30)
    world.run(until=is_local_part_short, for_s=20)
    assert leader_of(world).log.local_log_start_offset > 30
    assert find(world, middle_ms) == 30
    assert find(world, 0) == 0


# -- read_committed


def test_aborted_transactions_are_known_of_segments_in_the_tier() -> None:
    world = world_of()
    log = leader_of(world).log
    fill(world, 5)
    produce(world, ["a", "b"], producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    begin = log.log_end_offset - 2
    fill(world, 10)
    body = m.WriteTxnMarkersRequest
    topic = body.WritableTxnMarkerTopic(name="orders", partition_indexes=[0])
    marker = body.WritableTxnMarker(
        producer_id=7, producer_epoch=0, transaction_result=False, topics=[topic],
        coordinator_epoch=0,
    )  # fmt: skip
    world.ask(body([marker]), leader_of(world).node_id)
    fill(world, 30)
    world.run(until=is_local_part_short, for_s=20)
    assert log.local_log_start_offset > begin + 32
    for offset in (begin, begin + 2):  # its records, and what lies between them and the marker
        data = fetch(world, offset, isolation_level=1)
        assert data.aborted_transactions is not None
        aborted = [(each.producer_id, each.first_offset) for each in data.aborted_transactions]
        assert aborted == [(7, begin)]
    assert fetch(world, begin + 60, isolation_level=1).aborted_transactions == []


def test_an_open_transaction_keeps_its_segments_out_of_the_tier() -> None:
    world = world_of()
    fill(world, 5)
    produce(world, ["a"], producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    opened = leader_of(world).log.log_end_offset - 1
    fill(world, 30)
    world.run(for_s=5)
    assert 0 <= leader_of(world).log.highest_remote_offset < opened


# -- forgetting


def test_retention_deletes_in_the_tier_and_moves_the_log_start() -> None:
    world = world_of(**{"retention.bytes": 6000})
    fill(world, 60)
    world.run(for_s=5)
    leader = leader_of(world)
    assert leader.remote is not None
    kept = leader.remote.readable
    start = leader.log.log_start_offset
    assert 0 < start == kept[0].start_offset < leader.log.local_log_start_offset
    assert sum(each.size_in_bytes for each in kept) <= 6000
    assert len({f.split(".")[0] for f in tier_files(world)}) == len(kept)
    assert fetch(world, start - 1).error_code == Errors.OFFSET_OUT_OF_RANGE
    assert fetch(world, start).records
    assert world.run(
        until=lambda w: all(
            w.replica(b, "orders", 0).log.log_start_offset == start for b in BROKERS
        ),
        for_s=10,
    )


def test_delete_records_reaches_into_the_tier() -> None:
    world = world_of()
    fill(world, 40)
    world.run(until=is_local_part_short, for_s=20)
    body = m.DeleteRecordsRequest
    part = body.DeleteRecordsPartition(partition_index=0, offset=25)
    topic = body.DeleteRecordsTopic(name="orders", partitions=[part])
    answer = world.ask(body([topic], 10_000), leader_of(world).node_id)
    assert answer is not None
    assert answer.topics[0].partitions[0].low_watermark == 25
    assert fetch(world, 24).error_code == Errors.OFFSET_OUT_OF_RANGE
    assert fetch(world, 25).records
    world.run(for_s=2)
    remote = leader_of(world).remote
    assert remote is not None
    oldest = remote.readable[0]
    assert oldest.start_offset <= 25 <= oldest.end_offset


def test_a_deleted_topic_leaves_nothing_in_the_tier() -> None:
    world = world_of()
    fill(world, 40)
    world.run(until=is_local_part_short, for_s=20)
    assert tier_files(world)
    state = m.DeleteTopicsRequest.DeleteTopicState(name="orders", topic_id=bytes(16))
    world.ask(m.DeleteTopicsRequest(topics=[state], timeout_ms=10_000))
    assert world.run(until=lambda w: not tier_files(w), for_s=10)


# -- leaders and followers


def test_a_new_leader_goes_on_where_the_old_one_stopped() -> None:
    world = world_of()
    values = fill(world, 30)
    world.run(until=is_local_part_short, for_s=20)
    first = world.leader("orders", 0)
    world.kill(first)
    assert world.run(until=lambda w: w.leader("orders", 0) not in (first, -1), for_s=60)
    world.run(for_s=1)
    values += fill(world, 30, start=1000)
    others = tuple(each for each in BROKERS if each != first)
    assert world.run(until=lambda w: is_local_part_short(w, others), for_s=20)
    assert read_all(world) == values
    world.start(first)
    assert world.run(until=lambda w: set(w.partition("orders", 0).isr) == {*BROKERS}, for_s=60)
    assert world.run(until=is_local_part_short, for_s=20)


def lose_disk(world: World, follower: int) -> None:
    """Kills a follower, waits until it is out of the ISR, and takes its files."""
    world.kill(follower)
    assert world.run(until=lambda w: follower not in w.partition("orders", 0).isr, for_s=60)
    world.replace_disk(follower)


def restart(world: World) -> None:
    """Kills the only replica and starts it again."""
    leader = world.leader("orders", 0)
    world.kill(leader)
    world.run(for_s=1)
    world.start(leader)
    parts = world.cluster.nodes[leader].replicas.partitions
    assert world.run(
        until=lambda w: ("orders", 0) in parts and parts["orders", 0].is_leader, for_s=60
    )


def test_a_restarted_log_still_starts_in_the_tier() -> None:
    world = world_of(replicas=1)
    values = fill(world, 40)
    only = (world.leader("orders", 0),)
    assert world.run(until=lambda w: is_local_part_short(w, only), for_s=20)
    restart(world)
    log = leader_of(world).log
    assert log.log_start_offset == 0 < log.local_log_start_offset
    assert read_all(world) == values


def test_a_restarted_leader_finds_its_log_start_in_the_tier() -> None:
    """Retention had moved it, and the checkpoint was not written yet."""
    world = world_of(replicas=1, **{"retention.bytes": 6000})
    fill(world, 60)
    world.run(for_s=5)
    start = leader_of(world).log.log_start_offset
    restart(world)
    world.run(for_s=2)
    assert leader_of(world).log.log_start_offset == start > 0


def test_a_leader_does_not_move_its_log_start_before_it_knows_the_tier() -> None:
    """It may have been busy with another partition's copy since it began to lead."""
    world = world_of()
    fill(world, 40)
    world.run(until=is_local_part_short, for_s=20)
    leader = leader_of(world)
    manager = world.cluster.nodes[leader.node_id].replicas.remote
    leader.remote = None
    manager.configure(leader)
    manager.led.clear()
    manager._begin_copy(world.cluster.now)
    assert leader.log.log_start_offset == 0
    assert leader.log.highest_remote_offset > 0


def test_a_tier_that_cannot_be_read_is_waited_for(monkeypatch) -> None:
    world = world_of()
    values = fill(world, 40)
    world.run(until=is_local_part_short, for_s=20)
    with monkeypatch.context() as patch:
        patch.setattr(RemoteSegments, "refresh", unreadable)
        world.run(for_s=2)
        assert fetch(world, 0).error_code == Errors.KAFKA_STORAGE_ERROR
    assert world.trace_lines(("tier-failed",))
    assert read_all(world) == values


def unreadable(segments: RemoteSegments) -> bool:
    raise OSError("the store is away")


def test_a_copy_whose_source_is_deleted_leaves_nothing_behind() -> None:
    world = world_of()
    manager = world.cluster.nodes[world.leader("orders", 0)].replicas.remote
    fill(world, 5)
    for _ in range(10):
        produce(world, [f"{number} {'x' * 50}" for number in range(10)])
    assert world.run(until=lambda w: manager.copying is not None, for_s=20)
    copied = manager.copying[1].segment
    leader = leader_of(world)
    world.invariants = None  # no client has asked for this
    leader.advance_log_start(leader.high_watermark)
    assert world.run(until=lambda w: w.trace_lines(("tier-failed",)), for_s=5)
    assert leader.remote is not None
    assert copied.id not in leader.remote.segments.by_id


def test_a_follower_with_an_empty_disk_begins_behind_the_tier() -> None:
    world = world_of()
    produce(world, ["a"], producer_id=7, producer_epoch=0, base_sequence=0)
    values = ["a", *fill(world, 40)]
    world.run(until=is_local_part_short, for_s=20)
    leader = leader_of(world)
    follower = next(each for each in BROKERS if each != leader.node_id)
    lose_disk(world, follower)
    world.start(follower)
    in_sync = world.run(until=lambda w: set(w.partition("orders", 0).isr) == {*BROKERS}, for_s=60)
    assert in_sync
    log = world.replica(follower, "orders", 0).log
    assert log.log_start_offset == 0 < log.local_log_start_offset
    assert log.epochs.entries == leader.log.epochs.entries
    assert log.producers.get(7) is not None
    assert world.trace_lines(("truncate",))
    # It may lead now: all of the log is still there.
    world.kill(leader.node_id)
    world.run(until=lambda w: w.leader("orders", 0) not in (leader.node_id, -1), for_s=60)
    world.run(for_s=1)
    assert read_all(world) == values


def test_a_follower_waits_while_the_tier_does_not_have_the_segment() -> None:
    world = world_of()
    fill(world, 40)
    world.run(until=is_local_part_short, for_s=20)
    leader = leader_of(world)
    follower = next(each for each in BROKERS if each != leader.node_id)
    lose_disk(world, follower)
    tier = world.cluster.processes.tier
    hidden = {path: file for path, file in tier._files.items() if "epoch" in path}
    for path in hidden:
        del tier._files[path]
    world.start(follower)
    world.run(for_s=5)
    assert world.replica(follower, "orders", 0).log.log_end_offset == 0
    tier._files.update(hidden)
    assert world.run(
        until=lambda w: w.replica(follower, "orders", 0).log.log_end_offset > 0, for_s=20
    )
