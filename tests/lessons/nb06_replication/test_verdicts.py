"""The verdicts of notebook 06 come from its runs: break a rule of the engine, and they change."""

from __future__ import annotations

from typing import Any

import pytest

from engine.sim.campaign.mutants import MUTANTS
from engine.sim.world.world import World
from kit import lab
from tests.lessons.verdicts import seen_by, settled


@pytest.mark.parametrize(
    ("exercise_id", "cell", "mutant", "answer"),
    [
        ("06-2", "slow-follower", "ignore-a-laggard", "c"),
        ("06-15", "eligible", "unclean-restart-forgotten", "102"),
    ],
)
def test_another_rule_gives_another_verdict(
    exercise_id: str, cell: str, mutant: str, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unchecked(seed: int = 0, **options: Any) -> World:
        return World(seed, checked=False, **options)  # the invariants would stop it

    monkeypatch.setattr(lab, "world", unchecked)
    with MUTANTS[mutant].in_force():
        assert settled(exercise_id, seen_by("06", cell)) == answer


def test_the_verdict_follows_a_changed_scenario() -> None:
    changed = {"worlds": 20, "missing": 20, "missing for good": 20}
    assert settled("06-12", changed) == "c"
    assert settled("06-12", changed | {"missing for good": 0}) == "d"
    assert settled("06-12", changed | {"missing": 0}) == "b"
    gap = {"acknowledged and missing": 0, "errors at the producer": 0, "longest gap": 0.02}
    assert settled("06-3", gap) == "a"
    assert settled("06-3", gap | {"longest gap": 4.4}) == "d"
    assert settled("06-3", gap | {"acknowledged and missing": 7}) == "b"
    assert settled("06-3", gap | {"errors at the producer": 7}) == "c"
