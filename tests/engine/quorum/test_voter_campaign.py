"""Voters are removed and added while controllers fail, drawn from a seed.

Beside the rules of the quorum, what has to hold is that a replica goes by the last set of its log,
and that one voter changes at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import pytest

from engine.cluster.voters import add_voter, remove_voter
from engine.quorum.voter_changes import VoterChanges
from engine.sim.campaign import campaign, timed_scripts
from engine.sim.campaign.play import SNAPSHOTS
from engine.sim.invariants.invariants import Violation
from engine.sim.scripts.scripts import parse
from engine.sim.world.world import World
from tests.engine.quorum.test_quorum_campaign import creation, fail, mend

FAULTS = 10
SEEDS = range(3)


@dataclass
class Story:
    """What a schedule went through: how often the voters changed, how often one led."""

    changes: int = 0
    elections: int = 0
    violation: str = ""


def play(seed: int) -> Story:
    """Five controllers, three of them voters at first."""
    chance = Random(f"voters/{seed}")
    story = Story()
    try:
        settings = SNAPSHOTS if seed % 2 else {}
        made = World(seed=seed, controllers=5, voters=3, rewindable=False, settings=settings)
        ids = list(made.cluster.spec.controllers)
        for number in range(FAULTS):
            for _ in range(chance.choice((1, 2, 3))):
                change(made, chance, ids)
                made.run(for_s=chance.choice((0.0, 0.001, 0.005, 0.5)))
            fail(made, chance, ids)
            if made.run(until=has_elected, for_s=chance.choice((0.05, 0.5, 2.0, 4.0))):
                change(made, chance, ids)
            made.post(creation(f"topic-{number}"), chance.choice(made.cluster.spec.brokers))
            made.run(for_s=chance.choice((0.01, 0.3, 1.0)))
        mend(made, ids)
    except Violation as error:
        story.violation = str(error)
        return story
    kinds = [line.kind for _, _, line in made.cluster.trace]
    story.changes, story.elections = kinds.count("voters"), kinds.count("controller")
    return story


def has_elected(made: World) -> bool:
    """Whether there is a leader that has not committed a record of its own yet."""
    nodes = [made.cluster.nodes.get(each) for each in made.cluster.spec.controllers]
    replicas = [each.replica for each in nodes if each is not None]
    return any(each.state.is_leader and not each.has_claimed for each in replicas)


def change(made: World, chance: Random, ids: list[int]) -> None:
    """Asks the node that takes itself for the leader for other voters."""
    node = chance.choice(ids)
    replicas = [made.cluster.nodes[each].replica for each in ids if each in made.cluster.nodes]
    leaders = [each for each in replicas if each.state.is_leader]
    if not leaders:
        return
    leader = chance.choice(leaders)
    if node not in leader.state.voters:
        add_voter(made.cluster, node, leader.node_id)
    elif len(leader.state.voters) > 2:  # of two, none may be able to lead afterwards
        remove_voter(made.cluster, node, leader.node_id)


@pytest.mark.parametrize("seeds", [SEEDS, pytest.param(range(3, 40), marks=pytest.mark.full)])
def test_no_schedule_breaks_a_rule_while_the_voters_change(seeds: range) -> None:
    stories = [play(seed) for seed in seeds]
    assert [each.violation for each in stories if each.violation] == []
    assert sum(each.changes >= 3 for each in stories) >= 0.8 * len(stories)
    assert sum(each.elections >= 2 for each in stories) >= 0.8 * len(stories)


def test_the_usual_schedules_are_clean_while_the_voters_change() -> None:
    results = list(campaign.outcomes(range(700, 702), light=True, controllers=5, voters=3))
    assert [each.violation for each in results if each.violation] == []
    assert all(each.voter_changes for each in results)
    text, _ = campaign.report(results, light=True)
    assert "the voters changed" in text
    outcome = results[0]
    timed = timed_scripts.Timed(outcome.setup, outcome.tape)
    script = timed_scripts.write(timed, "seed 700", outcome.violation)
    assert " remove_voter " in script
    assert timed_scripts.read(parse(script)).setup.voters == 3
    assert timed_scripts.play(parse(script)) == timed_scripts.HELD


def test_a_leader_changes_no_voters_before_it_has_committed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As the mutants of quorum_mutants.py; it takes a leader that is not active yet."""
    monkeypatch.setattr(VoterChanges, "is_established", lambda self, progress: True)
    found = next(v for each in (1, *range(40)) if (v := play(each).violation))
    assert found.startswith("one change:"), found
