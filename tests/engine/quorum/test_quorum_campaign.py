"""Faults among the controllers, drawn from a seed: an epoch has one leader, and commits stay.

`QuorumInvariants` looks after every event.  Each mutant breaks one rule of the quorum, and some
seed must catch it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from engine.quorum.quorum_state import QuorumState
from engine.quorum.raft_log import RaftLog
from engine.quorum.roles import Role
from engine.quorum.voter_progress import VoterProgress
from engine.sim.campaign import campaign, timed_scripts
from engine.sim.campaign.play import play as play_schedule
from engine.sim.campaign.schedules import draw
from engine.sim.clients.clients import create_topics
from engine.sim.invariants.invariants import Violation
from engine.sim.scripts.scripts import parse
from engine.sim.world.world import World

FAULTS = 14
SEEDS = range(24)


@dataclass
class Story:
    """What a schedule went through."""

    elections: int
    truncated: int
    topics: int
    violation: str = ""


def play(seed: int, controllers: int = 3) -> Story:
    """Kills, pauses, cuts and power losses of controllers, while topics are created."""
    chance = Random(f"quorum/{seed}")
    made = World(seed=seed, controllers=controllers, rewindable=False)
    ids = list(made.cluster.spec.controllers)
    made_topics = 0
    violation = ""
    try:
        for number in range(FAULTS):
            fail(made, chance, ids)
            made.run(for_s=chance.choice((0.05, 0.5, 2.0, 4.0)))
            made.post(creation(f"topic-{number}"), chance.choice(made.cluster.spec.brokers))
            made.run(for_s=chance.choice((0.01, 0.3, 1.0)))
        made.heal()
        for each in ids:
            made.resume(each)
            made.start(each)
        assert made.run(until=lambda w: w.cluster.controller is not None, for_s=60)
        made.run(for_s=5)
        made_topics = len(made.image().topic_ids)
    except Violation as error:
        violation = str(error)
    kinds = [line.kind for _, _, line in made.cluster.trace]
    return Story(kinds.count("controller"), kinds.count("truncated"), made_topics, violation)


def creation(name: str) -> Any:
    return create_topics(name, 1, 3, None, None)


def fail(made: World, chance: Random, ids: list[int]) -> None:
    """One fault, mostly of the active controller; what is down or cut may come back."""
    active = made.cluster.controller
    if active is not None and chance.random() < 0.6:
        node = active.node_id
    else:
        node = chance.choice(ids)
    others = [each for each in ids if each != node]
    kind = chance.choice(("kill", "power", "pause", "isolate", "cut", "undo", "undo"))
    if kind == "undo" or node not in made.cluster.nodes:
        made.heal()
        for each in ids:
            made.resume(each)
            made.start(each)
    elif kind == "kill":
        made.kill(node)
    elif kind == "power":
        made.lose_power(node, torn=chance.random() < 0.5)
    elif kind == "pause":
        made.pause(node)
    elif kind == "isolate":
        made.isolate(node)
    else:
        made.cut(node, chance.choice(others))


@pytest.fixture(scope="module")
def stories() -> list[Story]:
    return [play(seed, controllers=5 if seed % 4 == 0 else 3) for seed in SEEDS]


def test_no_schedule_breaks_a_rule_of_the_quorum(stories: list[Story]) -> None:
    assert [each.violation for each in stories if each.violation] == []


def test_the_schedules_elect_and_truncate(stories: list[Story]) -> None:
    assert sum(each.elections >= 2 for each in stories) >= 0.95 * len(stories)
    assert sum(each.truncated > 0 for each in stories) >= 0.3 * len(stories)
    assert sum(each.topics > 2 for each in stories) >= 0.9 * len(stories)


def test_the_usual_schedules_are_clean_with_three_controllers_too() -> None:
    """Brokers, links, disks and clocks fail beside them; records, groups and offsets are judged."""
    results = list(campaign.outcomes(range(700, 706), light=True, controllers=3))
    assert [each.violation for each in results if each.violation] == []
    assert all(each.takeovers for each in results)
    text, _ = campaign.report(results, light=True)
    assert "controllers: " in text


def test_a_schedule_with_controllers_is_a_script_that_plays_again() -> None:
    outcome = play_schedule(draw(703, light=True, controllers=3))
    timed = timed_scripts.Timed(outcome.setup, outcome.tape)
    text = timed_scripts.write(timed, "seed 703", outcome.violation)
    assert "controllers=3" in text
    assert timed_scripts.read(parse(text)).setup.controllers == 3
    assert timed_scripts.play(parse(text)) == timed_scripts.HELD


def votes_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A voter grants every vote whose log is long enough."""

    def grants(self: QuorumState, candidate: int, log_is_current: bool, pre_vote: bool) -> bool:
        return log_is_current and self.role is not Role.LEADER

    monkeypatch.setattr(QuorumState, "grants", grants)


def forgets_its_vote(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vote is given before it is written, and never is."""

    def vote_for(self: QuorumState, candidate: int) -> None:
        """Only in memory: nothing."""

    monkeypatch.setattr(QuorumState, "vote_for", vote_for)


def compares_no_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    original = QuorumState.grants

    def grants(self: QuorumState, candidate: int, log_is_current: bool, pre_vote: bool) -> bool:
        return original(self, candidate, True, pre_vote)

    monkeypatch.setattr(QuorumState, "grants", grants)


def counts_what_one_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """The leader alone commits."""

    def high_watermark(self: VoterProgress, flushed_to: int) -> int | None:
        return flushed_to

    monkeypatch.setattr(VoterProgress, "high_watermark", high_watermark)


def acknowledges_before_the_flush(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in the page cache counts."""
    counted = property(lambda self: self.end_offset, lambda self, offset: None)
    monkeypatch.setattr(RaftLog, "flushed_to", counted, raising=False)
    monkeypatch.setattr(RaftLog, "flush", lambda self: None)


def appends_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The leader does not compare where the follower's log ends."""
    monkeypatch.setattr(RaftLog, "agrees", lambda self, epoch, offset: None)


MUTANTS = {
    votes_twice: "one leader",
    forgets_its_vote: "one leader",
    compares_no_logs: "committed",
    counts_what_one_has: "committed",
    acknowledges_before_the_flush: "committed",
    appends_where_it_is: "committed",
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_broken_rule_is_caught(
    mutant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    found = next(filter(None, (play(seed).violation for seed in range(60))), "")
    assert found.startswith(f"{MUTANTS[mutant]}:"), found
