"""One local Kafka for the session."""

import pytest

from kit.testing import use


def pytest_configure(config: pytest.Config) -> None:
    use(config)
