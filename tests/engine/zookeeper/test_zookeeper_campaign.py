"""Seeded faults on the historic control plane, with every invariant on; and rules broken."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.sim.campaign.campaign import outcomes, run_one
from engine.sim.campaign.play import play
from engine.sim.campaign.schedules import draw
from engine.sim.campaign.zookeeper_mutants import ZOOKEEPER_MUTANTS

SEEDS = range(300_000, 300_004)
CAUGHT_BY_SEED = {
    "sessions-never-end": 0,
    "watch-is-not-renewed": 1,
    "watches-are-forgotten": 37,
    "registration-outlives-its-session": 0,
    "elect-who-is-alive": 6,
    "no-epoch-for-a-new-leader": 0,
    "vote-for-any-log": 4,
    "one-is-a-majority": 87,
}
"""A seed that catches a rule broken; the two others have scenarios in test_historic_controller."""


def test_fresh_schedules_are_clean() -> None:
    results = list(outcomes(SEEDS, jobs=2, light=True, ensemble=3))
    assert [f"{each.setup.seed}: {each.violation}" for each in results if each.violation] == []
    assert sum(each.takeovers for each in results) >= len(results)
    assert all(each.acknowledged for each in results)


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize("ensemble", [1, 3, 5])
def test_more_fresh_schedules_are_clean(ensemble: int) -> None:
    seeds = range(301_000, 301_040)
    results = list(outcomes(seeds, jobs=2, light=True, ensemble=ensemble))
    assert [f"{each.setup.seed}: {each.violation}" for each in results if each.violation] == []
    assert sum(each.takeovers > 0 for each in results) >= 0.9 * len(results)
    assert sum(each.truncations > 0 for each in results) >= 0.1 * len(results)


@pytest.mark.parametrize("name", CAUGHT_BY_SEED)
def test_a_broken_rule_is_caught(name: str) -> None:
    mutant = ZOOKEEPER_MUTANTS[name]
    near = range(CAUGHT_BY_SEED[name], CAUGHT_BY_SEED[name] + 10)
    with mutant.in_force():
        for seed in near:
            violation = run_one(seed, light=True, ensemble=3).violation
            if violation.startswith(mutant.caught_by):
                return
    pytest.fail(f"{mutant.breaks}, and no seed of {near} says {mutant.caught_by}")


def test_classic_groups_and_transactions_work_without_faults() -> None:
    drawn = draw(1, light=True, groups=True)
    groups = tuple(replace(each, protocol="eager") for each in drawn.setup.groups)
    with_groups = replace(drawn, setup=replace(drawn.setup, ensemble=3, groups=groups), plans=())
    with_tills = draw(1, light=True, transactions=True)
    with_tills = replace(with_tills, setup=replace(with_tills.setup, ensemble=3), plans=())
    first, second = play(with_groups), play(with_tills)
    assert (first.violation, second.violation) == ("", "")
    assert first.rebalances > 0
    assert second.committed > 0 < second.aborted
