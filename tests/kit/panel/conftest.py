"""What several files of tests look at."""

from __future__ import annotations

import pytest

from engine.sim.world.world import World
from tests.kit.panel.worlds import old_rule


@pytest.fixture(scope="session")
def lossy() -> World:
    """An acknowledged record is lost under the oldest rule.  Panels copy it; do not change it."""
    return old_rule()
