"""The lag of 1,000 partitions on the engine: the right lag, by few requests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.bench import lag
from kit.clusters import engine
from kit.clusters.kafka_cluster import KafkaCluster

PARTITIONS = 100


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    with engine.start() as started:
        yield started


@pytest.fixture(scope="module")
def group(cluster: KafkaCluster) -> lag.Group:
    return lag.Group(cluster, PARTITIONS)


def answered(cluster: KafkaCluster, kind: str) -> list[int]:
    """How many requests of a kind each broker has answered."""
    assert isinstance(cluster.provider, engine.EngineProvider)
    provider = cluster.provider
    return [provider.request_metrics(each, kind)["count"] for each in cluster.brokers]


def test_one_request_reads_all_offsets_and_one_for_each_leader_all_ends(
    cluster: KafkaCluster, group: lag.Group
) -> None:
    assert (len(group.places), group.lag) == (1_000, 100)
    fetches, lists = answered(cluster, "OffsetFetch"), answered(cluster, "ListOffsets")
    group.check_lag()
    assert sum(answered(cluster, "OffsetFetch")) == sum(fetches) + 1
    assert answered(cluster, "ListOffsets") == [each + 1 for each in lists]


def test_bare_requests_read_the_same_lag(cluster: KafkaCluster, group: lag.Group) -> None:
    lists = answered(cluster, "ListOffsets")
    with lag.BareReader(group) as reader:  # opens the answers once, and compares
        reader.read()
        reader.read()
    assert answered(cluster, "ListOffsets") == [each + 3 for each in lists]


def test_another_lag_than_there_is_stops_the_measurement(group: lag.Group) -> None:
    nothing = dict.fromkeys(group.places, 0)
    with pytest.raises(RuntimeError, match="1000 partitions with a lag of 0, not 1000 with 100"):
        group.compare(nothing, nothing)
