"""Seeded fault schedules with every invariant on: the short form of the campaign."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.sim.campaign import campaign, ending
from engine.sim.campaign.play import Outcome, play, run
from engine.sim.campaign.schedules import CONTROLLER, TOPIC, Plan, Schedule, Setup, draw
from engine.sim.history.findings import Finding
from engine.sim.world.faults import KINDS
from engine.sim.world.tape import Done

SEEDS = range(100_000, 100_050)
"""Far from those that mutants are searched with."""


@pytest.fixture(scope="module")
def results() -> list[Outcome]:
    return list(campaign.outcomes(SEEDS, jobs=2, light=True))


def test_fresh_schedules_are_clean() -> None:
    must_be_clean(list(campaign.outcomes(SEEDS[:12], jobs=2, light=True)))


@pytest.mark.full
@pytest.mark.timeout(600)
def test_fifty_fresh_schedules_are_clean(results: list[Outcome]) -> None:
    must_be_clean(results)


def must_be_clean(outcomes: list[Outcome]) -> None:
    assert [f"{each.setup.seed}: {each.violation}" for each in outcomes if each.violation] == []


@pytest.mark.full
def test_the_campaign_does_something(results: list[Outcome]) -> None:
    assert sum(each.elections > 0 for each in results) >= campaign.ELECTIONS_MIN * len(results)
    assert sum(each.truncations > 0 for each in results) >= campaign.TRUNCATIONS_MIN * len(results)
    assert all(each.acknowledged > 0 for each in results)
    trimmed = [each for each in results if each.setup.trimmed]
    assert len(trimmed) >= 5
    assert all(each.deletions > 0 for each in trimmed)


@pytest.mark.full
def test_every_kind_of_fault_happens(results: list[Outcome]) -> None:
    happened = {str(done.action).split()[0] for each in results for done in each.tape}
    loses_what_was_promised = {"replace_disk"}
    only_in_named_cases = {"strand"}
    where_voters_change = {"add_voter", "remove_voter"}  # quorum/test_voter_campaign.py
    elsewhere = loses_what_was_promised | only_in_named_cases | where_voters_change
    assert happened == set(KINDS) - elsewhere


@pytest.mark.full
def test_the_report_names_a_failing_seed_and_how_to_replay_it(results: list[Outcome]) -> None:
    text, good = campaign.report(results)
    assert good, text
    broken = Outcome(Setup(4711), events=1, violation="no loss: gone")
    text, good = campaign.report([*results, broken])
    assert not good
    assert "no loss: gone" in text
    assert "kafkalab campaign --replay 4711" in text


def test_any_error_that_stops_the_cluster_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(*_: object) -> None:
        raise KeyError("orders")

    monkeypatch.setattr("engine.api.fetch.handle", stumble)
    monkeypatch.setattr("engine.api.produce.handle", stumble)
    outcome = play(draw(0, light=True))
    assert outcome.violation == "crash: KeyError: 'orders', in stumble"


def test_a_schedule_is_a_function_of_its_seed() -> None:
    assert draw(3) == draw(3)
    assert draw(3) != draw(4)
    light = draw(3, light=True)
    assert light == replace(draw(3), setup=light.setup)
    assert light.setup == replace(draw(3).setup, period_us=light.setup.period_us)


def test_every_kind_of_schedule_is_drawn() -> None:
    drawn = [draw(seed) for seed in range(60)]
    assert {(each.setup.whole_producer, each.setup.idempotent) for each in drawn} == {
        (False, False), (False, True), (True, False), (True, True),
    }  # fmt: skip
    assert {each.setup.trimmed for each in drawn} == {False, True}
    struck = {plan.kind for each in drawn for plan in each.plans if plan.target == "controller"}
    assert struck == set(CONTROLLER)


TRIMMED = next(seed for seed in range(40) if draw(seed).setup.trimmed)


@pytest.mark.parametrize("seed", [5, 8, TRIMMED])
def test_a_tape_replays_the_run_without_the_schedule(seed: int) -> None:
    drawn = draw(seed, light=True)
    reported: list[list[str]] = [[], []]
    original = play(drawn, tell=reported[0].append)
    setup_only = replace(drawn, setup=original.setup, plans=())
    replayed = play(setup_only, original.tape, tell=reported[1].append)
    assert original.tape
    assert reported[1] == reported[0]
    assert replayed.tape == original.tape


def test_a_replica_too_many_is_killed_and_not_robbed_of_what_it_wrote() -> None:
    drawn = replace(draw(0, light=True), plans=())
    first, second = (
        Done(0, 2_000_000 + number, action) for number, action in enumerate(map(_dark, (102, 103)))
    )
    setup = replace(drawn.setup, brokers=3, min_in_sync=2, calm_us=3_000_000)
    outcome = play(replace(drawn, setup=setup), (first, second))
    assert [str(done.action) for done in outcome.tape] == ["lose_power 102", "kill 103"]
    assert outcome.violation == ""


def test_only_what_was_deleted_may_be_unseen() -> None:
    setup = replace(draw(0, light=True).setup, trimmed=True, calm_us=8_000_000)
    world, outcome = run(Schedule(setup, torn=False, plans=()), ())
    assert outcome.violation == ""
    log_start = world.replica(world.leader(TOPIC, 0), TOPIC, 0).log.log_start_offset
    assert log_start > 10
    below, at = (Finding("unseen", TOPIC, 0, offset, "v", "", ()) for offset in
                 (log_start - 1, log_start))  # fmt: skip
    assert ending.is_deleted(world, below)
    assert not ending.is_deleted(world, at)


def _dark(broker: int) -> object:
    from engine.sim.world.faults import fault

    return fault("lose_power", broker)


def test_the_world_of_a_schedule_can_go_back() -> None:
    drawn = draw(2, light=True)
    world, outcome = run(drawn, rewindable=True)
    assert outcome.violation == ""
    before = world.trace_lines()
    last = world.events
    world.goto(event=outcome.tape[2].event - 1)
    world.goto(event=last)
    assert world.trace_lines() == before


def test_a_plan_for_the_same_target_means_the_broker_and_not_its_client() -> None:
    setup = replace(draw(0, light=True).setup, brokers=3)
    calm = [Plan(1_000 + 100 * number, "slow", "follower", 50, 50) for number in range(6)]
    drops = Plan(1_700, "drop", "leader", 300, 1)  # the seventh: from the consumer to the leader
    dies = Plan(1_800, "kill", "same", 500)
    outcome = play(Schedule(setup, False, (*calm, drops, dies)))
    assert [str(done.action).split()[0] for done in outcome.tape].count("kill") == 1
    assert not outcome.violation
