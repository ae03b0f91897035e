"""Runs of notebook 01 on a live engine: its readers, and what another rule changes."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from kit import lab
from kit.clusters import engine
from kit.clusters.kafka_cluster import KafkaCluster
from kit.clusters.reaper import Reaper
from lessons.nb01_events import scenes, share
from lessons.nb01_events.readers import Crew, Reader, committed, forget, write
from tests.lessons.verdicts import seen_by, settled

EARLIEST = {"auto.offset.reset": "earliest"}
A_BROKER_THAT_CHECKS_VALUES = """
from engine.__main__ import main
from engine.storage import log
from engine.wire.errors import Errors, KafkaError

validate = log.validate_append

def checked(buffer, *others):
    if b'"amount"' in bytes(buffer):
        raise KafkaError(Errors.INVALID_RECORD, "another format")
    return validate(buffer, *others)

log.validate_append = checked
main()
"""

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    with engine.start(settings=lab.BRISK) as cluster:
        yield cluster


def test_a_broker_that_checks_values_gives_another_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spawn = Reaper.spawn

    def other(self: Reaper, argv: list[str], **details: object) -> object:
        code = ["-c", A_BROKER_THAT_CHECKS_VALUES]
        return spawn(self, [sys.executable, *code, *argv[3:]], **details)

    monkeypatch.setattr(Reaper, "spawn", other)
    monkeypatch.setenv(lab.REAL_VARIABLE, "off")
    monkeypatch.setattr(lab, "_kernel", lab._Kernel())
    try:
        seen = seen_by("01", "contract")
    finally:
        lab._kernel.close()
    assert seen["refused by the broker"] == 3
    assert settled("01-7", seen) == "0"


def test_a_reader_goes_on_where_its_group_stopped(cluster: KafkaCluster) -> None:
    cluster.create_topic("orders")
    forget(cluster, "stock")
    assert write(cluster, "orders", ["A", "B", "C"]) == 3
    with Reader(cluster, "orders", "stock", EARLIEST) as stock:
        assert stock.read(most=2) == ["A", "B"]
    assert committed(cluster, "stock", "orders") == 2
    with Reader(cluster, "orders", "stock", EARLIEST) as stock:
        assert stock.read() == ["C"]
        assert stock.read() == []
        write(cluster, "orders", ["D"])
        assert stock.read() == ["D"]
        stock.start_over()
        assert stock.read() == ["A", "B", "C", "D"]
    forget(cluster, "stock")
    assert committed(cluster, "stock", "orders") is None


def test_a_run_that_was_interrupted_leaves_no_reader_behind(cluster: KafkaCluster) -> None:
    cluster.create_topic("orders")
    write(cluster, "orders", ["A"])
    left = Reader(cluster, "orders", "stock", EARLIEST)
    left.read()
    forget(cluster, "stock")
    with Reader(cluster, "orders", "stock", EARLIEST) as stock:
        assert stock.read() == ["A"]


def test_a_crew_shares_partitions_and_covers_for_a_member_that_leaves(
    cluster: KafkaCluster,
) -> None:
    cluster.create_topic("jobs", partitions=2)
    with Crew(cluster, "jobs", "workers", 2) as crew:
        crew.wait_for_partitions()
        write(cluster, "jobs", ["a", "b"], partitions=2)
        crew.wait_for(2)
        assert sorted(map(len, crew.got)) == [1, 1]
        crew.leave(0)
        write(cluster, "jobs", ["c", "d"], partitions=2)
        crew.wait_for(4)
        assert len(crew.got[1]) == 3


def test_a_share_group_is_not_offered_by_the_engine(cluster: KafkaCluster) -> None:
    assert share.packed(cluster, "orders", "packing", [1], ["A"]) is None


def test_the_clicks_are_read_by_each_group(cluster: KafkaCluster) -> None:
    seen = scenes.clickstream(cluster)
    assert seen["report"] == ["bags 1", "hats 2", "shoes 3"]
    assert seen["the batch counts the same"]


def test_a_report_is_rebuilt_and_another_group_does_not_notice(cluster: KafkaCluster) -> None:
    seen = scenes.clickstream(cluster)
    assert seen["without report, recommendation reads"] == 3
    assert seen["report again, by user"] == ["user 0 5", "user 1 4"]
    assert seen["recommendation's offsets unchanged"]


def test_a_partition_has_one_reader_in_a_group_and_one_more_in_another(
    cluster: KafkaCluster,
) -> None:
    readers = scenes.split_or_copy(cluster)["readers of partitions 0, 1"]
    assert readers == {"in the group of two": [1, 1], "in both groups": [2, 2]}


def test_five_producers_give_each_partition_one_sequence(cluster: KafkaCluster) -> None:
    seen = scenes.many_readers(cluster)
    assert seen["orders of each producer"] == [20] * 5
    assert seen["offsets of each partition"] == ["0 to 49", "0 to 49"]
    assert seen["in each partition the same sequence"]
    assert not seen["all of them in the order of writing"]


def test_a_reader_is_replaced_and_the_producer_numbers_on(cluster: KafkaCluster) -> None:
    seen = scenes.stopped_reader(cluster)
    assert seen["producer ids in the log"] == 1
    assert seen["its sequence numbers have no gap"]
    assert seen["read meanwhile by another group"] == 25
