"""The verdicts of notebook 06 come from its runs: break a rule of the engine, and they change."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from engine.sim.campaign.mutants import MUTANTS
from engine.sim.world.world import World
from kit import lab
from tests.lessons.verdicts import seen_by, settled

RUNS = {
    "06-1": ("one-fetch-late", "0"),
    "06-12": ("acks", "a"),
    "06-2": ("slow-follower", "101 102 103"),
    "06-15": ("eligible", "101"),
}


def verdict(exercise_id: str, *, mutant: str = "") -> str:
    with MUTANTS[mutant].in_force() if mutant else contextlib.nullcontext():
        return settled(exercise_id, seen_by("06", RUNS[exercise_id][0]))


@pytest.mark.parametrize("exercise_id", RUNS)
def test_the_engine_gives_the_answer_of_the_solution(exercise_id: str) -> None:
    assert verdict(exercise_id) == RUNS[exercise_id][1]


@pytest.mark.parametrize(
    ("exercise_id", "mutant", "answer"),
    [
        ("06-2", "ignore-a-laggard", "101 102"),
        ("06-15", "unclean-restart-forgotten", "102"),
    ],
)
def test_another_rule_gives_another_verdict(
    exercise_id: str, mutant: str, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unchecked(seed: int = 0, **options: Any) -> World:
        return World(seed, checked=False, **options)  # the invariants would stop it

    monkeypatch.setattr(lab, "world", unchecked)
    assert verdict(exercise_id, mutant=mutant) == answer


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
