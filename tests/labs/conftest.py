"""One Spark session, one engine, and (for tests marked `real`) one local Kafka for all labs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.clusters.interface import Cluster
from tests.real_clusters import use


def pytest_configure(config: pytest.Config) -> None:
    use(config)


@pytest.fixture(scope="session")
def spark() -> Iterator:
    from kit.spark import session

    started = session("tests of the labs")
    yield started
    started.stop()


@pytest.fixture(scope="session")
def engine_cluster() -> Iterator[Cluster]:
    from kit.clusters import engine

    with engine.start() as cluster:
        yield cluster
