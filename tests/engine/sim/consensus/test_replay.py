"""The ladder's counter-examples in the controllers' code: broken, and kept by KRaft's rules."""

from __future__ import annotations

import pytest

from engine.sim.campaign.mutant import IN_FORCE
from engine.sim.consensus.broken_rules import BROKEN_RULES, Overlooking
from engine.sim.consensus.ladder import RUNGS, Exploration, explore
from engine.sim.consensus.replay import follow, replay
from engine.sim.consensus.replay_scenes import SCENES, QuorumStage, replica
from engine.sim.world.tape import Action

UNTOLD = Exploration("", 0, 0)
"""Of a scene whose story is not asked for: a search takes seconds."""


@pytest.fixture(scope="module")
def broken() -> dict[str, QuorumStage]:
    return {rule: replay(rule, found=UNTOLD) for rule in SCENES}


def actions(stage: QuorumStage) -> list[Action]:
    return [done.action for done in stage.tape]


def test_each_rung_but_the_last_has_a_scene_and_a_broken_rule() -> None:
    assert list(SCENES) == list(BROKEN_RULES) == [*RUNGS][:-1]


@pytest.mark.parametrize("rule", SCENES)
def test_a_scene_breaks_its_rule(rule: str, broken: dict[str, QuorumStage]) -> None:
    assert broken[rule].violation.startswith(f"{BROKEN_RULES[rule].breaks}: ")
    assert not IN_FORCE


@pytest.mark.parametrize("rule", SCENES)
def test_the_same_tape_breaks_nothing_by_the_rules_of_kraft(
    rule: str, broken: dict[str, QuorumStage]
) -> None:
    kept = follow(broken[rule])
    assert not kept.violation
    world = kept.world
    assert world.invariants is not None, "nothing was watched"
    assert not isinstance(world.invariants, Overlooking), "some invariants were overlooked"
    assert actions(kept)[: len(actions(broken[rule]))] == actions(broken[rule])
    logs = [replica(world, each).log for each in world.cluster.spec.controllers]
    assert len({each.end_offset for each in logs}) == 1
    assert world.cluster.controller is not None


@pytest.mark.parametrize("seed", [1, 7])
@pytest.mark.parametrize("rule", SCENES)
@pytest.mark.full
def test_a_scene_does_not_depend_on_its_seed(rule: str, seed: int) -> None:
    other = replay(rule, seed, UNTOLD)
    assert other.violation.startswith(f"{BROKEN_RULES[rule].breaks}: ")
    assert not follow(other).violation


@pytest.mark.parametrize("rule", SCENES)
@pytest.mark.full
def test_every_step_of_the_model_has_its_move(rule: str, broken: dict[str, QuorumStage]) -> None:
    steps = sorted(step for move in broken[rule].moves for step in move.steps)
    assert steps == list(range(1, explore(rule).steps + 1))


def test_a_replay_reads_as_moves_beside_the_models_steps() -> None:
    lines = str(replay("vote-in-memory", found=explore("vote-in-memory"))).splitlines()
    assert lines[0] == "vote-in-memory, in the controllers' code"
    at = next(i for i, line in enumerate(lines) if line.endswith("100 votes for 300"))
    assert lines[at + 1].strip() == "= 6. 300 votes for 200 in epoch 1"
    assert lines[-2].strip() == "one leader: epoch 2 has 200 and, for 300, 300"


def test_a_rule_without_a_counter_example_is_refused_with_those_that_have_one() -> None:
    with pytest.raises(ValueError, match="'kraft' has no counter-example: choose from no-epochs"):
        replay("kraft")
