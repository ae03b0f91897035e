"""Every provider keeps the contract.  (The docker provider does so in tests/docker.)"""

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from kit.clusters.interface import Cluster, NotOffered
from tests.kit.clusters import contract
from tests.kit.clusters.contract import CHECKS
from tests.real_clusters import missing, restored

PROVIDERS = [
    pytest.param("engine"),
    pytest.param("local", marks=pytest.mark.real),
    pytest.param("zookeeper", marks=[pytest.mark.real, pytest.mark.full, pytest.mark.heavy]),
]
LATER = {contract.a_member_of_the_consumer_protocol_shows_what_it_owns: "KIP-848"}
"""What Kafka 3.9 with ZooKeeper has not got: test_zookeeper.py shows how it refuses."""


@pytest.fixture(scope="module")
def engine_cluster() -> Iterator[Cluster]:
    if find_spec("kit.clusters.engine") is None:
        missing("The engine's provider", "kit/clusters/engine.py is still to be written")
    from kit.clusters import engine

    with engine.start() as cluster:
        yield cluster


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_provider_keeps_the_contract(check, provider, request) -> None:
    if provider == "zookeeper" and check in LATER:
        pytest.skip(f"not a missing part: Kafka with ZooKeeper has no {LATER[check]}")
    cluster = request.getfixturevalue(f"{provider}_cluster")
    try:
        with restored(cluster):
            check(cluster)
    except NotOffered as error:
        pytest.skip(f"not a missing part: {error}")
