"""The parts of notebook 12: what is written, when retention and the cleaner are through."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.sim.world.world import World
from kit import lab
from kit.clusters import engine
from kit.clusters.kafka_cluster import KafkaCluster
from lessons.nb12_compaction import passes, records, virtual_runs
from lessons.nb12_compaction.records import Record

COMPACTED = {
    "cleanup.policy": "compact",
    "internal.segment.bytes": 150,  # two records
    "min.cleanable.dirty.ratio": 1,
}
HISTORY = [("a", "1"), ("b", "1"), ("b", None), ("a", "2"), ("c", "1")]


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    with engine.start(settings=lab.BRISK) as started:
        yield started


def test_a_log_is_looked_at_before_the_wait_is_over(cluster: KafkaCluster) -> None:
    config = {"internal.segment.bytes": 150, "retention.ms": -1}
    cluster.create_topic("orders", config=config)
    records.write(cluster, "orders", [("a", "1")] * 6, [90, 80, 70, 5, 70, 70])
    passes.wait_for_retention(cluster, "orders")
    assert passes.first_offset(cluster, "orders") == 0
    passes.alter(cluster, "orders", retention_ms=60 * records.MINUTE_MS)
    passes.wait_for_retention(cluster, "orders")
    assert passes.first_offset(cluster, "orders") == 2
    assert passes.segments(cluster, "orders") == [2, 4]


def test_a_log_is_clean_when_the_wait_is_over_also_under_an_old_name(cluster: KafkaCluster) -> None:
    for _ in range(2):
        cluster.create_topic("users", config={**COMPACTED, "delete.retention.ms": 0})
        assert records.write(cluster, "users", HISTORY) == ["0", "1", "2", "3", "4"]
        assert len(records.read(cluster, "users")) == 5
        passes.clean(cluster, "users")
        left = records.read(cluster, "users")
        assert left == [Record(2, "b", None), Record(3, "a", "2"), Record(4, "c", "1")]
        records.write(cluster, "users", [("c", "2"), ("c", "3")])
        passes.wait_until_clean(cluster, "users")
        assert records.table(records.read(cluster, "users")) == {"a": "2", "c": "3"}
        assert 2 not in [each.offset for each in records.read(cluster, "users")]


def test_a_refused_record_is_reported_by_its_error(cluster: KafkaCluster) -> None:
    cluster.create_topic("users", config=COMPACTED)
    assert records.write(cluster, "users", [(None, "1"), ("a", "1")]) == ["INVALID_RECORD", "0"]


def test_a_tombstone_takes_its_key_out_of_a_table() -> None:
    history = [Record(number, *pair) for number, pair in enumerate(HISTORY)]
    assert records.table(history) == {"a": "2", "c": "1"}
    assert str(history[2]) == "2 b=nothing"


def test_a_pass_is_traced_phase_by_phase_and_shown_in_the_panel() -> None:
    world = World(12, settings={"log.cleaner.backoff.ms": 500})
    world.create_topic("users", assignment={0: [101]}, config=COMPACTED)
    virtual_runs.put(world, "users", [("a", str(n)) for n in range(5)])
    config = {**COMPACTED, "min.cleanable.dirty.ratio": 0.5}
    world.create_topic("others", assignment={0: [101]}, config=config)
    virtual_runs.put(world, "others", [("a", str(n)) for n in range(5)])
    world.run(until=lambda w: bool(virtual_runs.passes(w, "others")), for_s=30)
    (found,) = virtual_runs.passes(world, "others")
    assert (found["records_before"], found["records_after"]) == (4, 1)
    assert virtual_runs.passes(world, "users") == []
    kinds = [line.kind for _, _, line in world.cluster.trace if line.partition == "others-0"]
    expected = ["cleaning", "mapped", "copied", "swapped", "copied", "swapped", "cleaned"]
    assert kinds[-7:] == expected
    panel = lab.segments(world, "others")
    panel.goto(0)
    assert panel.jump("101 has cleaned")
    assert "1 of 4 records are left" in panel.text
    panel.close()
