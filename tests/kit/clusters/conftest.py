"""One local Kafka for the session; the contract's assertions with pytest's explanations."""

from collections.abc import Iterator

import pytest

from kit import jars
from kit.clusters import zookeeper
from tests.real_clusters import missing, use

pytest.register_assert_rewrite("tests.kit.clusters.contract")


def pytest_configure(config: pytest.Config) -> None:
    use(config)


@pytest.fixture(scope="session")
def zookeeper_cluster() -> Iterator[zookeeper.ZooKeeperCluster]:
    """Kafka 3.9 with one ZooKeeper; Maven fetches it, where that has not been done."""
    try:
        jars.ZOOKEEPER.ensure()
    except jars.JarsMissing as error:
        missing("Kafka with ZooKeeper", str(error))
    with zookeeper.start() as cluster:
        yield cluster
