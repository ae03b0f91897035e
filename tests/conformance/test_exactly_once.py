"""Each input counts once, though the application crashes at each step; exactly_once.py says how."""

from __future__ import annotations

import pytest

from kit.clusters.kafka_cluster import KafkaCluster
from tests.conformance.exactly_once import run


@pytest.fixture(params=["engine", pytest.param("kafka", marks=pytest.mark.real)])
def cluster(request: pytest.FixtureRequest) -> KafkaCluster:
    name = "engine_cluster" if request.param == "engine" else "local_cluster"
    found: KafkaCluster = request.getfixturevalue(name)
    return found


@pytest.mark.parametrize("seed", [1, 2])
def test_each_input_counts_once(cluster: KafkaCluster, seed: int) -> None:
    run(cluster, seed)
