"""One local Kafka for the session; the contract's assertions with pytest's explanations."""

import pytest

from kit.testing import use

pytest.register_assert_rewrite("kit.clusters.contract")


def pytest_configure(config: pytest.Config) -> None:
    use(config)
