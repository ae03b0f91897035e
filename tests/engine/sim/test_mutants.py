"""Every mutant is caught, and the invariant that catches it is the one it breaks."""

from __future__ import annotations

import pytest

from engine.sim.campaign import run_one
from engine.sim.mutants import MUTANTS

ELSEWHERE = range(8)
"""Where to look when the pinned seed has gone stale: any change of timing moves a schedule."""


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_caught(name: str) -> None:
    mutant = MUTANTS[name]
    violations = []
    with mutant.in_force():
        for seed in (mutant.seed, *ELSEWHERE):
            violations.append(run_one(seed).violation)
            if violations[-1].startswith(mutant.caught_by):
                return
    pytest.fail(
        f"{mutant.breaks}, and no seed says {mutant.caught_by!r}: {violations}. Search anew with: "
        f"python -m engine.sim.campaign --mutants {name}"
    )


def test_there_are_enough() -> None:
    assert len(MUTANTS) >= 20


def test_the_engine_is_whole_again_afterwards() -> None:
    mutant = MUTANTS["never-under-min-isr"]
    patch = mutant.patches[0]
    before = vars(patch.owner)[patch.attribute]
    with mutant.in_force():
        assert vars(patch.owner)[patch.attribute] is not before
    assert vars(patch.owner)[patch.attribute] is before
