"""One local Kafka for the session, one engine for each module that asks for it."""

from collections.abc import Iterator

import pytest

from kit.clusters import engine
from kit.clusters.kafka_cluster import KafkaCluster

pytest.register_assert_rewrite("tests.conformance.members")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.import_plugin("kit.testing")


@pytest.fixture(scope="module")
def engine_cluster() -> Iterator[KafkaCluster]:
    """Three brokers of the engine, served by a process of their own."""
    with engine.start() as cluster:
        yield cluster
