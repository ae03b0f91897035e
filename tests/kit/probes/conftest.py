"""One local Kafka for the session."""

import pytest

from tests.real_clusters import use


def pytest_configure(config: pytest.Config) -> None:
    use(config)
