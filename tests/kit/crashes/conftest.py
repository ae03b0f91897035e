"""One engine for the folder, and one local Kafka for the session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.clusters import engine
from kit.clusters.interface import Cluster
from tests.real_clusters import use


def pytest_configure(config: pytest.Config) -> None:
    use(config)


@pytest.fixture(scope="session")
def one_engine() -> Iterator[Cluster]:
    with engine.start() as started:
        yield started
