"""The rebalance's rows: what they measure is a group that really comes to rest."""

from __future__ import annotations

import pytest

from engine.client.consumer.assignors.choices import ASSIGNORS
from kit.bench import rebalance


def test_a_small_group_comes_to_rest_and_its_longest_step_is_known() -> None:
    assert rebalance.longest_step(topics=2, partitions=6, members=3) > 0


@pytest.mark.parametrize("name", ASSIGNORS)
def test_an_assignment_is_timed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebalance, "TOPICS", 2)
    monkeypatch.setattr(rebalance, "PARTITIONS", 10)
    monkeypatch.setattr(rebalance, "MEMBERS", 6)
    assert rebalance.assignment_s(ASSIGNORS[name]) > 0


@pytest.mark.parametrize(("seconds", "holds"), [(1.9, True), (2.1, False)])
def test_the_budget_is_a_second_of_the_reference_core(seconds: float, holds: bool) -> None:
    assert rebalance._row("a step", seconds, core=0.5)["holds"] is holds
