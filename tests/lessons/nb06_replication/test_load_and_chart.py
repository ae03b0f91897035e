"""The background load keeps honest books, and the chart shows its gap."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.clusters import engine
from kit.clusters.kafka_cluster import KafkaCluster
from kit.probes import clients
from kit.probes.background_load import BackgroundLoad, letters
from lessons.nb00_start import scenes
from lessons.nb06_replication.chart import AcknowledgedPerMoment


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    with engine.start() as started:
        yield started


def test_names_are_short_and_never_repeat() -> None:
    assert [letters(n) for n in (0, 25, 26, 27, 701, 702)] == ["A", "Z", "AA", "AB", "ZZ", "AAA"]
    assert len({letters(n) for n in range(5_000)}) == 5_000


def test_everything_acknowledged_is_in_the_log_at_its_offset(cluster) -> None:
    cluster.create_topic("loaded")
    with BackgroundLoad(cluster, "loaded") as load:
        load.wait_for(20)
    found = clients.values(cluster, "loaded")
    assert {value: found[offset] for value, offset in load.acknowledged.items()} == {
        value: value for value in load.acknowledged
    }
    assert "ended" in repr(load)


def test_the_chart_names_the_longest_silence(cluster) -> None:
    cluster.create_topic("charted")
    with BackgroundLoad(cluster, "charted") as load:
        load.wait_for(5)
        load.mark("nothing happens")
        load.wait_for(5)
    load.moments.append(load.moments[-1] + 3)
    chart = AcknowledgedPerMoment({"engine": load})
    assert "engine: nothing acknowledged" in chart.text
    assert "nothing happens" in chart.svg()


def test_a_follower_refuses_writes_and_answers_reads(cluster) -> None:
    cluster.create_topic("led", assignment={0: [101, 102, 103]})
    assert clients.send(cluster, "led", "A") == "NONE"
    assert clients.produce_at(cluster, 102, "led", "B") == "NOT_LEADER_OR_FOLLOWER"
    assert clients.fetch_at(cluster, 101, "led") == "1 record(s)"


def test_the_copies_of_a_partition_have_the_same_size(cluster) -> None:
    cluster.create_topic("copied")
    clients.send(cluster, "copied", "A")
    rows = {row[0]: row[1:] for row in scenes.files(cluster, "copied", 0).rows}
    cluster.wait_until(lambda c: c.snapshot()["topics"]["copied"])
    assert len(set(rows["00000000000000000000.log"])) == 1
