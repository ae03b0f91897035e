"""Seeded fault schedules with every invariant on: the short form of the campaign."""

from __future__ import annotations

import pytest

from engine.sim import campaign
from engine.sim.schedules import Outcome, draw, play

SEEDS = range(40)


@pytest.fixture(scope="module")
def results() -> list[Outcome]:
    return list(campaign.outcomes(SEEDS, light=True))


def test_forty_schedules_are_clean(results: list[Outcome]) -> None:
    assert [f"{each.seed}: {each.violation}" for each in results if each.violation] == []


def test_the_campaign_does_something(results: list[Outcome]) -> None:
    assert sum(each.elections > 0 for each in results) >= campaign.ELECTIONS_MIN * len(results)
    assert sum(each.truncations > 0 for each in results) >= campaign.TRUNCATIONS_MIN * len(results)
    assert all(each.acknowledged > 0 for each in results)


def test_the_report_names_a_failing_seed_and_how_to_replay_it(results: list[Outcome]) -> None:
    text, good = campaign.report(results)
    assert good, text
    text, good = campaign.report([*results, Outcome(4711, events=1, violation="no loss: gone")])
    assert not good
    assert "no loss: gone" in text
    assert "python -m engine.sim.campaign --replay 4711" in text


def test_a_schedule_is_a_function_of_its_seed() -> None:
    assert draw(3) == draw(3)
    assert draw(3) != draw(4)


def test_a_tape_replays_the_run_without_the_schedule() -> None:
    drawn = draw(5, light=True)
    told: list[list[str]] = [[], []]
    original = play(drawn, tell=told[0].append)
    replayed = play(drawn, tape=original.tape, tell=told[1].append)
    assert original.tape
    assert told[1] == told[0]
    assert replayed.tape == original.tape
