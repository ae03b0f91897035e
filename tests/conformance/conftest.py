"""One local Kafka for the session, one engine for each module that asks for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.clusters import engine
from kit.clusters.kafka_cluster import KafkaCluster

HERE = Path(__file__).parent

pytest.register_assert_rewrite("tests.conformance.members")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.import_plugin("tests.real_clusters")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of them run in one lane of `make test`, also those that need no Kafka."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.lane("clusters"))


@pytest.fixture(scope="module")
def engine_cluster() -> Iterator[KafkaCluster]:
    """Three brokers of the engine, served by a process of their own."""
    with engine.start() as cluster:
        yield cluster
