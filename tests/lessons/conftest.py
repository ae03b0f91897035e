"""One local Kafka for the session; engines without one beside them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit import lab
from tests.real_clusters import use


def pytest_configure(config: pytest.Config) -> None:
    use(config)


@pytest.fixture
def own_engines(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No real Kafka beside the engine, and engines that start and end with the test."""
    monkeypatch.setenv(lab.REAL_VARIABLE, "off")
    monkeypatch.setattr(lab, "_kernel", lab._Kernel())
    yield
    lab._kernel.close()


@pytest.fixture(scope="module")
def engine_alone() -> Iterator[None]:
    """No real Kafka beside the engine, which a module's tests share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(lab.REAL_VARIABLE, "off")
        patch.setattr(lab, "_kernel", lab._Kernel())
        yield
        lab._kernel.close()
