"""The verdicts of notebook 07 come from its runs: change the rule, and the verdict changes."""

from __future__ import annotations

from engine.sim.campaign.mutants import MUTANTS
from kit.exercises.settling import words
from tests.lessons.verdicts import seen_by, settled


def test_with_reads_beyond_the_high_watermark_a_consumer_would_get_d() -> None:
    with MUTANTS["read-uncommitted"].in_force():
        seen = seen_by("07", "window")
    assert settled("07-2", seen) == "a"


def test_with_cuts_at_the_own_high_watermark_101_would_cut_at_its_checkpoint() -> None:
    with MUTANTS["cut-at-the-high-watermark"].in_force():
        seen = seen_by("07", "reconciled")
    assert settled("07-3", seen) == "3 0"


def test_a_changed_scenario_makes_another_answer_right() -> None:
    seen = seen_by("07", "film")
    assert seen["rule"] == "to-high-watermark"
    assert settled("07-13", {**seen, "brokers with D": [101, 102, 103]}) == words([101, 102, 103])
