"""The background load keeps honest books, and the chart shows its gap."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.clusters import engine
from kit.clusters.kafka_cluster import KafkaCluster
from kit.probes import clients
from kit.probes.background_load import BackgroundLoad, letters
from lessons.nb00_start import scenes
from lessons.nb06_replication.moments import BEFORE_S, STEP_S, acknowledged_over_time, so_far


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


def test_a_load_with_acks_1_and_the_failures_it_saw(cluster) -> None:
    cluster.create_topic("weakly")
    with BackgroundLoad(cluster, "weakly", acks="1") as load:
        load.wait_for(5)
    assert load.failed == {}
    cluster.create_topic("narrow", config={"max.message.bytes": 60})
    with BackgroundLoad(cluster, "narrow", acks="1") as load:
        cluster.wait_until(lambda c: load.failed, 20, "a failed delivery")
    assert set(load.failed.values()) == {"MSG_SIZE_TOO_LARGE"}
    assert load.acknowledged == {}


def test_the_line_is_flat_while_nothing_is_acknowledged(cluster) -> None:
    cluster.create_topic("charted")
    with BackgroundLoad(cluster, "charted") as load:
        load.wait_for(5)
        load.mark("101 killed")
        load.wait_for(5)
    load.moments.append(load.moments[-1] + 3)
    at, records = zip(*so_far(load), strict=True)
    assert at[0] == -BEFORE_S
    assert records[-1] == len(load.moments)
    assert list(records) == sorted(records)
    assert records.count(len(load.moments) - 1) >= 3 / STEP_S - 2
    chart = acknowledged_over_time({"local": load, "engine": load})
    assert list(chart.series) == ["engine", "local"]
    assert "101 killed" in chart.title


def test_a_follower_refuses_writes_and_answers_reads(cluster) -> None:
    cluster.create_topic("led", assignment={0: [101, 102, 103]})
    assert clients.send(cluster, "led", "A") == "NONE"
    assert clients.produce_at(cluster, 102, "led", "B") == "NOT_LEADER_OR_FOLLOWER"
    assert clients.fetch_at(cluster, 101, "led") == "1 record(s)"


def found(cluster: KafkaCluster) -> dict[int, dict[str, int]]:
    logs = cluster.snapshot()["topics"]["copied"]["partitions"][0]["logs"]
    assert {log["log_end_offset"] for log in logs.values()} == {1}
    return scenes.files(cluster, "copied", 0)


def test_the_copies_of_a_partition_have_the_same_size(cluster) -> None:
    cluster.create_topic("copied")
    clients.send(cluster, "copied", "A")
    sizes = {broker: files["00000000000000000000.log"] for broker, files in found(cluster).items()}
    assert sorted(sizes) == [101, 102, 103]
    assert len(set(sizes.values())) == 1
