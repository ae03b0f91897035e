"""No acknowledged record is lost when leaders die: on the engine, and on a real Kafka."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.clusters import contract_leader_kill as check
from kit.clusters import engine
from kit.clusters.interface import Cluster
from kit.testing import restored

FASTER = {"broker.session.timeout.ms": "1000", "broker.heartbeat.interval.ms": "200"}
"""Twenty rounds would wait a minute for sessions to end."""


@pytest.fixture(scope="module")
def engine_cluster() -> Iterator[Cluster]:
    with engine.start(settings=FASTER) as cluster:
        yield cluster


@pytest.mark.parametrize("seed", range(20))
def test_on_the_engine(engine_cluster, seed) -> None:
    with restored(engine_cluster):
        check.nothing_acknowledged_is_lost(check.leader_killed_under_load(engine_cluster, seed))


def test_the_engine_refuses_when_two_are_dead_and_the_kit_says_why(engine_cluster) -> None:
    with restored(engine_cluster):
        sentence = check.second_broker_killed_refuses_writes(engine_cluster)
    assert "min.insync.replicas=2" in sentence
    assert "has 1 (" in sentence


@pytest.mark.real
@pytest.mark.parametrize("seed", range(3))
def test_on_a_local_kafka(local_cluster, seed) -> None:
    with restored(local_cluster):
        check.nothing_acknowledged_is_lost(check.leader_killed_under_load(local_cluster, seed))


@pytest.mark.real
def test_a_local_kafka_refuses_when_two_are_dead_and_the_kit_says_why(local_cluster) -> None:
    with restored(local_cluster):
        sentence = check.second_broker_killed_refuses_writes(local_cluster)
    assert "min.insync.replicas=2" in sentence
