"""Schedules with consumer groups: members that come late, leave, freeze and die."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.sim.campaign import campaign
from engine.sim.campaign.members import (
    CONSUMER,
    COOPERATIVE,
    EAGER,
    GroupSetup,
    MemberPlan,
    as_fault,
    settings_of,
)
from engine.sim.campaign.play import Outcome, play
from engine.sim.campaign.schedules import Schedule, Setup, draw
from engine.sim.campaign.timed_scripts import Timed, read, write
from engine.sim.scripts.scripts import parse
from engine.sim.world.faults import fault
from engine.sim.world.tape import Done, Tell

SEEDS = range(200_000, 200_014)


@pytest.fixture(scope="module")
def results() -> list[Outcome]:
    return list(campaign.outcomes(SEEDS, jobs=2, light=True, groups=True))


@pytest.mark.timeout(600)
def test_fresh_schedules_with_groups_are_clean(results: list[Outcome]) -> None:
    assert [f"{each.setup.seed}: {each.violation}" for each in results if each.violation] == []


def test_groups_rebalance_sessions_end_and_coordinators_move(results: list[Outcome]) -> None:
    count = len(results)
    rebalanced = sum(each.rebalances > len(each.setup.groups) for each in results)
    assert rebalanced >= campaign.REBALANCES_MIN * count
    assert sum(each.expired > 0 for each in results) >= campaign.EXPIRIES_MIN * count
    assert sum(each.moves > 0 for each in results) >= campaign.MOVES_MIN * count


def test_members_are_killed_frozen_started_and_leave(results: list[Outcome]) -> None:
    happened = {
        done.action.kind
        for each in results
        for done in each.tape
        if str(done.action.nodes[:1]).startswith("('") and "-" in str(done.action.nodes[0])
    }  # fmt: skip
    assert {"kill", "pause", "resume", "start", "stop"} <= happened


@pytest.mark.parametrize(("seed", "partition"), [(519, "orders-3"), (529, "orders-2")])
def test_a_partition_that_waits_for_the_next_rebalance_is_counted(
    seed: int, partition: str
) -> None:
    """As in Kafka: a static member of a cooperative group gives it back, and dies before it joins
    again.  Its replacement joins without a rebalance, and nobody owns the partition."""
    outcome = play(draw(seed, light=True, groups=True))
    assert outcome.violation == ""
    assert outcome.orphans == [f"billing: {partition}"]
    text, _ = campaign.report([outcome], light=True)
    assert f"1 with a partition that waited for the next rebalance, as in Kafka [{seed}]" in text


@pytest.mark.parametrize(
    ("seed", "light"), [(947, True), (1254, True), (1770, True), (40_690, False)]
)
def test_the_group_invariants_accept_what_kafka_does(seed: int, light: bool) -> None:
    """947: a static replacement of the consumer protocol, which proves no later epoch.  1254:
    commits and rebalances while the controller is away.  1770: a member that was removed comes
    back under its own id while the controller knows of no leader for its coordinator.  40690: a
    former coordinator takes a member back, and its successor has copied the record."""
    assert play(draw(seed, light, groups=True)).violation == ""


def test_the_report_counts_what_groups_went_through(results: list[Outcome]) -> None:
    text, _ = campaign.report(results, light=True)
    assert f"groups: {sum(each.rebalances for each in results)} rebalances" in text
    broken = replace(results[0], violation="one owner: billing: broken by hand")
    text, good = campaign.report([broken], light=True)
    assert not good
    assert f"--replay {broken.setup.seed} --light --groups" in text


def test_a_campaign_whose_groups_do_nothing_is_not_good(results: list[Outcome]) -> None:
    idle = [replace(each, rebalances=0, expired=0, moves=0) for each in results]
    _, good = campaign.report(idle, light=True)
    assert not good


def test_groups_of_each_protocol_are_drawn_with_and_without_static_members() -> None:
    drawn = [group for seed in range(60) for group in draw(seed, groups=True).setup.groups]
    assert {(each.protocol, each.static) for each in drawn} == {
        (protocol, static) for protocol in (EAGER, COOPERATIVE, CONSUMER) for static in (0, 1)
    }
    targets = {plan.target for seed in range(20) for plan in draw(seed, groups=True).plans}
    assert "coordinator" in targets


def test_the_schedule_of_a_seed_without_groups_has_none_of_this() -> None:
    drawn = draw(7)
    assert (drawn.setup.groups, drawn.lives) == ((), ())
    assert [plan.kind for plan in drawn.plans] == [plan.kind for plan in draw(7, groups=True).plans]


def test_a_tape_with_members_replays_the_run() -> None:
    drawn = draw(200_001, light=True, groups=True)
    told: list[list[str]] = [[], []]
    original = play(drawn, tell=told[0].append)
    rest = replace(drawn, setup=original.setup, plans=(), lives=())
    replayed = play(rest, original.tape, tell=told[1].append)
    assert told[0] == told[1]
    assert original.tape == replayed.tape


def test_a_script_with_groups_is_read_as_it_was_written() -> None:
    groups = (GroupSetup("billing", COOPERATIVE, 3, static=True), GroupSetup("audit", CONSUMER, 2))
    setup = Setup(3, partitions=3, calm_us=4_000_000, groups=groups)
    tape = (
        Done(0, 1_000_000, fault("pause", "billing-1")),
        Done(0, 1_300_000, fault("start", "billing-1b")),
        Done(0, 2_000_000, fault("stop", "audit-2")),
    )
    text = write(Timed(setup, tape), "An example.", "")
    assert "group billing protocol=cooperative members=3 static=1" in text
    assert read(parse(text)) == Timed(setup, tape)


def test_a_member_that_is_asked_to_finish_stops_on_the_tape() -> None:
    groups = (GroupSetup("billing", EAGER, 2),)
    assert as_fault(Tell.of("billing-1", "finish"), groups) == fault("stop", "billing-1")
    assert as_fault(Tell.of("producer-1", "finish"), groups) is None


def test_a_twin_has_the_instance_id_of_the_first() -> None:
    group = GroupSetup("billing", EAGER, 2, static=True)
    first, twin = (settings_of(group, name) for name in ("billing-1", "billing-1b"))
    assert first["group.instance.id"] == twin["group.instance.id"] == "billing-1"


@pytest.mark.parametrize("protocol", [EAGER, COOPERATIVE, CONSUMER])
def test_a_group_survives_its_whole_life(protocol: str) -> None:
    setup = replace(
        draw(1, light=True, groups=True).setup, groups=(GroupSetup("billing", protocol, 2),)
    )
    lives = (
        MemberPlan(1_500, "start", "billing-3", 0),
        MemberPlan(3_000, "pause", "billing-1", 4_500),
        MemberPlan(8_500, "stop", "billing-2", 0),
        MemberPlan(10_000, "kill", "billing-3", 1_000),
    )  # fmt: skip
    outcome = play(Schedule(setup, torn=False, plans=(), lives=lives))
    assert outcome.violation == ""
    assert outcome.rebalances >= 4
    assert outcome.expired >= 1
