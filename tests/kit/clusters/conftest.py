"""One local Kafka for the session; the contract's assertions with pytest's explanations."""

import pytest

from tests.real_clusters import use

pytest.register_assert_rewrite("tests.kit.clusters.contract")


def pytest_configure(config: pytest.Config) -> None:
    use(config)
