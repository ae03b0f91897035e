"""The ladder's counter-examples in the brokers' code: broken under the rule, mended by the next."""

from __future__ import annotations

import pytest

from engine.replication.truncation import RULES
from engine.sim.model.replay import Replay, follow, replay
from engine.sim.model.replay_scenes import SCENES
from engine.sim.model.replay_stage import TOPIC, is_acknowledged, log_end

BROKEN = {
    "to-high-watermark": "no loss: orders-0: offset 0 of epoch 0 was acknowledged or read, and 102",
    "kip-101": "log matching: orders-0 on 102 holds other bytes than another replica",
    "kip-279": "strong ISR: orders-0: below the high watermark 1 of leader 101, 102",
    "kip-320-first-try": "strong ISR: orders-0: high watermark 1 of leader 101 is above the log "
    "end 0 of 102",
}


@pytest.fixture(scope="module")
def broken() -> dict[str, Replay]:
    return {rule: replay(rule) for rule in SCENES}


@pytest.mark.parametrize("rule", SCENES)
def test_a_scene_breaks_its_rule(rule: str, broken: dict[str, Replay]) -> None:
    assert broken[rule].violation.startswith(BROKEN[rule])


@pytest.mark.parametrize("rule", SCENES)
def test_the_same_tape_breaks_no_later_rule(rule: str, broken: dict[str, Replay]) -> None:
    names = list(RULES)
    for later in names[names.index(rule) + 1 :]:
        mended = follow(broken[rule], later)
        assert not mended.violation, later
        world = mended.world
        assert is_acknowledged(world, "A"), "the tape did its work"
        alive = [b for b in SCENES[rule].replicas if b in world.cluster.nodes]
        assert len({log_end(world, each) for each in alive}) == 1
        assert world.invariants.losses == []


@pytest.mark.parametrize("rule", SCENES)
def test_the_tape_itself_is_what_breaks_the_rule(rule: str, broken: dict[str, Replay]) -> None:
    assert follow(broken[rule], rule).violation.startswith(BROKEN[rule])


@pytest.mark.parametrize("rule", ["to-high-watermark", "kip-101", "kip-279"])
def test_the_last_scene_breaks_every_rule_that_does_not_fence(rule: str, broken) -> None:
    """A zombie believed: in the model, too, it is kip-279's story with a step or two more."""
    assert follow(broken["kip-320-first-try"], rule).violation.startswith("strong ISR")


@pytest.mark.parametrize("rule", SCENES)
def test_every_step_of_the_model_has_its_move_or_is_named_as_changed(rule: str, broken) -> None:
    scene, played = SCENES[rule], broken[rule]
    steps = sorted(step for move in played.moves for step in move.steps)
    assert sorted((*steps, *scene.unplayed)) == list(range(1, len(played.story) + 1))


@pytest.mark.parametrize("rule", SCENES)
@pytest.mark.full
def test_a_scene_does_not_hang_on_its_seed(rule: str) -> None:
    for seed in (1, 2):
        other = replay(rule, seed)
        assert other.violation.startswith(BROKEN[rule])
        assert not follow(other).violation


def test_a_replay_reads_as_moves_beside_the_models_steps(broken) -> None:
    lines = str(broken["to-high-watermark"]).splitlines()
    assert lines[0] == "to-high-watermark, in the brokers' code"
    at = next(
        i for i, line in enumerate(lines) if line.endswith("102 learns that 103 leads epoch 1")
    )
    assert lines[at + 1].strip() == (
        "= 8. 102 follows 101 in epoch 1 and truncates to its high watermark, 0"
    )
    assert lines[-2].strip().startswith("no loss:")
    assert lines[-1].strip() == SCENES["to-high-watermark"].otherwise


def test_unchecked_a_scene_shows_what_comes_of_it() -> None:
    played = replay("kip-101", checked=False)
    assert played.violation == ""
    logs = played.world.snapshot(values=True)["topics"][TOPIC]["partitions"][0]["logs"]
    values = {b: [v for each in logs[b]["batches"] for v in each["values"]] for b in (101, 102)}
    assert values == {101: ["A", "X", "C"], 102: ["A", "B", "C"]}


def test_no_scene_for_a_rule_that_holds() -> None:
    with pytest.raises(ValueError, match="choose from to-high-watermark"):
        replay("kip-320")
