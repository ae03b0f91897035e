"""A coordinator that computes a target whenever the group has changed."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def cluster(make_groups: Any) -> Any:
    groups = make_groups(group_consumer_assignment_interval_ms=0)
    groups.lead(101)
    return groups
