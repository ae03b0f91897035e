"""No acknowledged record is lost when leaders die: on the engine, and on a real Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from kit.clusters import engine
from kit.clusters.interface import Cluster
from tests.kit.clusters import contract_leader_kill as check
from tests.real_clusters import restored

FASTER = {"broker.session.timeout.ms": "1000", "broker.heartbeat.interval.ms": "200"}
"""Twenty rounds would wait a minute for sessions to end."""
SEEDS = range(20)
CLUSTERS = 4


@pytest.fixture(scope="module")
def engine_cluster() -> Iterator[Cluster]:
    with engine.start(settings=FASTER) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def rounds() -> Iterator[list[Future[check.Round]]]:
    """Each seed's round; a round mostly waits, so several clusters go through theirs at once."""

    def play(seeds: range) -> Iterator[check.Round]:
        with engine.start(settings=FASTER) as cluster:
            for seed in seeds:
                with restored(cluster):
                    yield check.leader_killed_under_load(cluster, seed)

    found: list[Future[check.Round]] = [Future() for _ in SEEDS]

    def work(seeds: range) -> None:
        try:
            for seed, seen in zip(seeds, play(seeds), strict=True):
                found[seed].set_result(seen)
        except Exception as error:
            for seed in seeds:
                if not found[seed].done():
                    found[seed].set_exception(error)

    with ThreadPoolExecutor(CLUSTERS) as pool:
        for first in range(CLUSTERS):
            pool.submit(work, SEEDS[first::CLUSTERS])
        yield found


@pytest.mark.parametrize("seed", SEEDS)
def test_on_the_engine(rounds, seed) -> None:
    check.nothing_acknowledged_is_lost(rounds[seed].result())


def test_the_engine_refuses_when_two_are_dead_and_the_kit_says_why(engine_cluster) -> None:
    with restored(engine_cluster):
        sentence = check.second_broker_killed_refuses_writes(engine_cluster)
    assert "min.insync.replicas=2" in sentence
    assert "has 1 (" in sentence


@pytest.mark.real
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.full) for n in (1, 2))])
def test_on_a_local_kafka(local_cluster, seed) -> None:
    with restored(local_cluster):
        check.nothing_acknowledged_is_lost(check.leader_killed_under_load(local_cluster, seed))


@pytest.mark.real
def test_a_local_kafka_refuses_when_two_are_dead_and_the_kit_says_why(local_cluster) -> None:
    with restored(local_cluster):
        sentence = check.second_broker_killed_refuses_writes(local_cluster)
    assert "min.insync.replicas=2" in sentence
