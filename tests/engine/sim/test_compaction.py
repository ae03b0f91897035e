"""A compacted topic on a cluster in virtual time: every copy is cleaned, and none loses a key."""

from __future__ import annotations

from typing import Any

import pytest

from engine.records.batch import Record, decode, encode
from engine.records.outline import RecordOutline
from engine.sim.invariants.invariants import Violation
from engine.sim.world.world import World
from engine.storage import checkpoints
from engine.storage.cleaner.record_filter import RecordFilter
from engine.wire import messages as m
from engine.wire.errors import Errors

SETTINGS: dict[str, Any] = {"log.cleaner.backoff.ms": 500, "log.retention.check.interval.ms": 1000}
CONFIG: dict[str, Any] = {
    "cleanup.policy": "compact",
    "internal.segment.bytes": 2000,
    "min.cleanable.dirty.ratio": 0.1,
    "delete.retention.ms": 3000,
    "file.delete.delay.ms": 2000,
}


def world_of(settings: dict[str, Any] = SETTINGS, **config: Any) -> World:
    world = World(1, settings=settings)
    world.create_topic("accounts", config={**CONFIG, **config})
    return world


def produce(world: World, *pairs: tuple[str, str | None]) -> None:
    """One batch, with acks=all."""
    request = m.ProduceRequest
    leader = world.leader("accounts", 0)
    topic_id = world.replica(leader, "accounts", 0).topic_id
    now_ms = world.cluster.now // 1000
    batch = encode([Record(0, now_ms, k.encode(), v and v.encode()) for k, v in pairs])
    data = request.TopicProduceData(
        name="accounts",
        topic_id=topic_id,
        partition_data=[request.PartitionProduceData(index=0, records=batch)],
    )
    answer = world.ask(request(acks=-1, timeout_ms=10_000, topic_data=[data]), leader)
    assert answer is not None
    assert answer.responses[0].partition_responses[0].error_code == Errors.NONE


def fill(world: World, rounds: int, accounts: int = 10) -> dict[str, str]:
    for number in range(rounds):
        produce(world, *[(f"a{n}", f"{number}/{n}/{'x' * 20}") for n in range(accounts)])
    return {f"a{n}": f"{rounds - 1}/{n}/{'x' * 20}" for n in range(accounts)}


def records(world: World, broker: int) -> list[Record]:
    log = world.replica(broker, "accounts", 0).log
    return [
        record
        for segment in log.segments
        for header, position in segment.headers(0)
        for record in decode(log.disk.read(segment.path, position, header.size_in_bytes))
    ]


def table(world: World, broker: int) -> dict[str, str]:
    """What a reader from offset 0 ends up with."""
    found: dict[str, str] = {}
    for record in records(world, broker):
        assert record.key is not None
        found.pop(record.key.decode(), None)
        if record.value is not None:
            found[record.key.decode()] = record.value.decode()
    return found


BROKERS = (101, 102, 103)


def test_leader_and_followers_clean_their_own_copies() -> None:
    world = world_of()
    expected = fill(world, 30)
    before = len(records(world, 101))
    world.run(for_s=20)
    for broker in BROKERS:
        assert table(world, broker) == expected
        assert len(records(world, broker)) < before / 3
        assert world.replica(broker, "accounts", 0).log.log_end_offset == 300
    cleaned = world.trace_lines(("cleaned",))
    assert len(cleaned) >= 3
    assert "dirty" in cleaned[0]
    assert "records_before" in cleaned[0]


def test_without_a_compacted_topic_nothing_is_timed_or_traced() -> None:
    world = World(1, settings=SETTINGS)
    world.create_topic("accounts", config={**CONFIG, "cleanup.policy": "delete"})
    fill(world, 30)
    world.run(for_s=20)
    assert world.trace_lines(("cleaning", "cleaned")) == []
    for broker in BROKERS:
        assert world.cluster.nodes[broker].replicas.cleaner.awake == {}


def test_a_compacted_topic_of_one_segment_sets_no_timer() -> None:
    world = world_of(**{"internal.segment.bytes": 1 << 20})
    fill(world, 30)
    world.run(for_s=20)
    assert world.cluster.nodes[101].replicas.cleaner.awake == {}


def test_the_policy_may_change_while_the_topic_is_in_use() -> None:
    world = world_of(**{"cleanup.policy": "delete"})
    expected = fill(world, 30)
    world.run(for_s=10)
    assert len(records(world, 101)) == 300
    request = m.IncrementalAlterConfigsRequest
    change = request.AlterableConfig(name="cleanup.policy", config_operation=0, value="compact")
    resource = request.AlterConfigsResource(
        resource_type=2, resource_name="accounts", configs=[change]
    )
    world.ask(request(resources=[resource], validate_only=False))
    world.run(for_s=15)
    for broker in BROKERS:
        assert table(world, broker) == expected
        assert len(records(world, broker)) < 100


def test_a_tombstone_goes_once_its_time_is_over() -> None:
    world = world_of()
    fill(world, 8)
    produce(world, ("a0", None))
    fill(world, 8, accounts=1)
    produce(world, ("a1", None), ("a0", None))
    for number in range(20):
        produce(world, ("other", f"{number}" * 60))
    world.run(for_s=6)
    for broker in BROKERS:
        assert any(record.value is None for record in records(world, broker))
    for number in range(40):
        produce(world, ("other", f"{number}" * 60))
        world.run(for_s=1)
    for broker in BROKERS:
        assert not any(record.value is None for record in records(world, broker))
        assert set(table(world, broker)) == {"other", *(f"a{n}" for n in range(2, 10))}


@pytest.mark.parametrize("moment", range(6))
def test_power_is_lost_while_the_cleaner_works(moment: int) -> None:
    """A throttle makes the pass long enough to be hit at several places."""
    world = world_of({**SETTINGS, "log.cleaner.io.max.bytes.per.second": 20_000.0})
    expected = fill(world, 30)
    broker = 102
    passes = world.cluster.nodes[broker].replicas.cleaner.passes
    world.run(until=lambda w: bool(passes), for_s=20)
    assert passes
    world.run(for_s=moment * 0.3)
    world.lose_power(broker)
    world.run(for_s=1)
    world.start(broker)
    world.run(for_s=40)
    assert table(world, broker) == expected
    names = world.cluster.disks[broker].list("accounts-0")
    assert not [name for name in names if name.endswith((".cleaned", ".swap", ".deleted"))]
    held = checkpoints.read_offsets(world.cluster.disks[broker], "cleaner-offset-checkpoint")
    assert held["accounts", 0] == world.replica(broker, "accounts", 0).log.first_dirty_offset > 0


def test_a_pass_is_traced_phase_by_phase() -> None:
    world = World(1, settings=SETTINGS)
    world.create_topic("accounts", assignment={0: [101]}, config=CONFIG)
    fill(world, 30)
    world.run(for_s=10)
    kinds = [
        line.kind
        for _, node, line in world.cluster.trace
        if node == 101 and line.kind in ("cleaning", "mapped", "copied", "swapped", "cleaned")
    ]
    first = kinds[: kinds.index("cleaned") + 1]
    assert first[:4] == ["cleaning", "mapped", "copied", "swapped"]
    assert first.count("copied") == first.count("swapped")


def test_a_deleted_topic_leaves_no_line_for_the_next_of_its_name() -> None:
    world = world_of()
    fill(world, 30)
    world.run(for_s=10)
    state = m.DeleteTopicsRequest.DeleteTopicState(name="accounts")
    world.ask(m.DeleteTopicsRequest(topics=[state], timeout_ms=10_000))
    world.run(for_s=2)
    for broker in BROKERS:
        disk = world.cluster.disks[broker]
        assert checkpoints.read_offsets(disk, "cleaner-offset-checkpoint") == {}


def test_a_new_copy_is_made_from_a_cleaned_one() -> None:
    world = world_of()
    expected = fill(world, 30)
    world.run(for_s=10)
    follower = next(b for b in BROKERS if b != world.leader("accounts", 0))
    world.kill(follower)
    world.replace_disk(follower)
    world.start(follower)
    world.run(for_s=20)
    assert table(world, follower) == expected
    assert world.replica(follower, "accounts", 0).log.log_end_offset == 300


def test_a_topic_may_be_deleted_in_the_middle_of_a_pass() -> None:
    world = world_of({**SETTINGS, "log.cleaner.io.max.bytes.per.second": 20_000.0})
    fill(world, 30)
    cleaner = world.cluster.nodes[101].replicas.cleaner
    world.run(until=lambda w: bool(cleaner.passes), for_s=20)
    request = m.DeleteTopicsRequest
    topic = request.DeleteTopicState(name="accounts")
    world.ask(request(topics=[topic], timeout_ms=5000))
    world.run(for_s=3)
    assert cleaner.passes == {}
    assert world.cluster.disks[101].list("accounts-0") == []
    world.create_topic("accounts", config=CONFIG)
    expected = fill(world, 20)
    world.run(for_s=15)
    assert table(world, 101) == expected


def test_old_records_go_where_the_policy_is_both() -> None:
    world = world_of(**{"cleanup.policy": "compact,delete", "retention.ms": 5000})
    fill(world, 30)
    world.run(for_s=30)
    produce(world, ("last", "1"))
    world.run(for_s=3)
    for broker in BROKERS:
        assert table(world, broker) == {"last": "1"}


def test_the_invariants_see_a_key_that_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_few(
        self: RecordFilter, header: object, records: list[RecordOutline]
    ) -> list[RecordOutline]:
        return [each for each in records if each[1] != b"a3"]

    monkeypatch.setattr(RecordFilter, "_kept", too_few)
    world = world_of()
    fill(world, 10)
    fill(world, 40, accounts=3)
    with pytest.raises(Violation, match=r"compaction: .* latest record of b'a3'"):
        world.run(for_s=20)


def test_a_world_forks_in_the_middle_of_a_pass() -> None:
    world = world_of({**SETTINGS, "log.cleaner.io.max.bytes.per.second": 20_000.0})
    expected = fill(world, 30)
    cleaner = world.cluster.nodes[101].replicas.cleaner
    world.run(until=lambda w: bool(cleaner.passes), for_s=20)
    copy = world.fork()
    for each in (world, copy):
        each.run(for_s=20)
        assert table(each, 101) == expected
    assert world.trace_lines() == copy.trace_lines()


def test_a_map_without_room_is_reported_and_the_broker_goes_on() -> None:
    world = world_of({**SETTINGS, "log.cleaner.dedupe.buffer.size": 20})
    fill(world, 30)
    world.run(for_s=8)
    assert "dedupe" in world.trace_lines(("cleaning-failed",))[0]
    assert len(records(world, 101)) == 300
