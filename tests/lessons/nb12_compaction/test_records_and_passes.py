"""The parts of notebook 12: what is written, when retention and the cleaner are through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer

from engine.sim.world.world import World
from kit import lab
from kit.clusters import engine
from kit.clusters.interface import ClusterError, WaitTimeout
from kit.clusters.kafka_cluster import KafkaCluster
from kit.probes import cleaner
from lessons.nb12_compaction import passes, records, scenes, virtual_runs
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


def test_a_wait_that_is_given_up_says_how_far_the_cleaner_came(
    cluster: KafkaCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.create_topic("users", assignment={0: [102]}, config=COMPACTED)
    records.write(cluster, "users", HISTORY)
    monkeypatch.setattr(cleaner, "PATIENCE_S", 0.5)
    with pytest.raises(WaitTimeout) as failure:
        passes.wait_until_clean(cluster, "users")
    assert "On broker 102 it is clean up to 0; its active segment begins at 4." in str(
        failure.value
    )
    assert "no word of a cleaner that failed" in str(failure.value)


def test_a_wait_goes_on_at_the_next_leader(
    cluster: KafkaCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.create_topic("users", assignment={0: [102]}, config=COMPACTED)
    records.write(cluster, "users", HISTORY)
    seen = iter([-1, -1, 102])
    monkeypatch.setattr(cluster, "leader", lambda topic, partition=0: next(seen))
    assert passes.cleaned(cluster, "users") == (102, 0, 4)
    assert next(seen, None) is None


def test_retention_is_waited_for_again_if_the_leader_has_moved(
    cluster: KafkaCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.create_topic("orders", assignment={0: [102]})
    leaders, made = iter([101, 102, 102]), []
    create = cluster.create_topic
    own = cluster.leader

    def moving(topic: str, partition: int = 0) -> int:
        return next(leaders) if topic == "orders" else own(topic, partition)

    def noted(name: str, *args: Any, **more: Any) -> None:
        made.append(more["assignment"][0])
        create(name, *args, **more)

    monkeypatch.setattr(cluster, "leader", moving)
    monkeypatch.setattr(cluster, "create_topic", noted)
    passes.wait_for_retention(cluster, "orders")
    assert made == [[101], [102]]


def test_a_topic_is_made_as_soon_as_its_broker_is_in_service(
    cluster: KafkaCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    create, refused = cluster.create_topic, []

    def fenced_at_first(*args: Any, **more: Any) -> None:
        if not refused:
            refused.append(args[0])
            raise ClusterError("All brokers are fenced.")
        create(*args, **more)

    monkeypatch.setattr(cluster, "create_topic", fenced_at_first)
    passes.create(cluster, "orders", {"retention.ms": 1000}, partitions=2)
    assert refused == ["orders"]
    assert [cluster.leader("orders", index) for index in (0, 1)] == [101, 101]


def test_an_open_transaction_is_waited_for(
    cluster: KafkaCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.create_topic("paid", assignment={0: [102]})
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": "open"})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce("paid", "x", "a", partition=0)
    producer.flush(20)
    with monkeypatch.context() as hurried:
        hurried.setattr(passes, "PATIENCE_S", 0.5)
        with pytest.raises(WaitTimeout, match="transactions of paid"):
            passes.wait_for_transactions(cluster, "paid")
    producer.commit_transaction(20)
    passes.wait_for_transactions(cluster, "paid")


def test_a_topic_without_compaction_is_not_waited_for(cluster: KafkaCluster) -> None:
    cluster.create_topic("users", assignment={0: [101]})
    with pytest.raises(ClusterError, match="is delete"):
        passes.clean(cluster, "users")


def test_a_fetch_brings_one_segment_at_most(cluster: KafkaCluster) -> None:
    seen = scenes.small_segments(cluster)
    assert seen["one segment: fetches to read 100 records"] == 1
    assert seen["fifty: fetches to read 100 records"] == 50
    assert seen["fifty: files of segments"] == 150


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


def test_the_first_pass_marks_a_tombstones_batch_and_a_fetch_ends_with_its_segment(
    cluster: KafkaCluster,
) -> None:
    cluster.create_topic("users", config=COMPACTED)
    records.write(cluster, "users", HISTORY)
    assert [each.offset for each in records.batches(cluster, "users", 2)] == [2, 3]
    assert records.batches(cluster, "users", 2)[0].attributes == "0000000"
    passes.clean(cluster, "users")
    assert records.batches(cluster, "users", 2)[0].attributes == "1000000"
    assert [each.offset for each in records.read(cluster, "users", offset=3)] == [3, 4]


def test_retention_in_ms_wins_over_hours_and_is_taken_back(cluster: KafkaCluster) -> None:
    seen = scenes.broker_settings(cluster)
    assert seen["log.retention.ms set to an hour: retention.ms of a topic"] == "3600000"
    assert seen["log.retention.hours"] == "168"
    assert scenes.broker_settings(cluster)["log.retention.ms"] == "unset"


def test_the_cleaner_goes_on_with_another_number_of_threads(cluster: KafkaCluster) -> None:
    seen = scenes.cleaner_threads(cluster)
    assert seen["log.cleaner.threads set to 2, then to 1"] == ["NONE", "NONE"]
    assert seen["records before, and after a pass with two threads"] == [5, 2]
