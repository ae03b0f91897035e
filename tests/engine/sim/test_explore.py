"""The truncation ladder, searched to its last state: who breaks strong ISR, and how soon."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.sim.model import model
from engine.sim.model import rules as model_rules
from engine.sim.model import steps as model_steps
from engine.sim.model.explore import Exploration, explore
from engine.sim.model.model import Record, Replica, State, canonical, strong_isr
from engine.sim.model.rules import RUNGS

LADDER = {
    ("to-high-watermark", 2): 9,
    ("to-high-watermark", 3): 8,
    ("kip-101", 2): 11,
    ("kip-101", 3): 10,
    ("kip-279", 2): None,
    ("kip-279", 3): 10,
    ("kip-320-first-try", 2): None,
    ("kip-320-first-try", 3): 12,
    ("kip-320", 2): None,
    ("kip-320", 3): None,
}


@pytest.fixture(scope="module")
def found() -> dict[tuple[str, int], Exploration]:
    return {cell: explore(*cell) for cell in LADDER}


@pytest.mark.parametrize("cell", LADDER, ids=lambda cell: f"{cell[0]}-{cell[1]}")
def test_each_rung_breaks_after_so_many_steps_or_holds(cell, found) -> None:
    steps = LADDER[cell]
    result = found[cell]
    assert result.holds == (steps is None)
    if steps is not None:
        assert result.steps == len(result.counter_example) == steps


def test_the_last_rung_is_proven_over_all_its_states(found) -> None:
    assert found["kip-320", 3].states == 162_517
    assert found["kip-320", 3].holds


def test_a_counter_example_is_a_story_with_a_state_after_each_step(found) -> None:
    result = found["to-high-watermark", 3]
    assert [action.text for action in result.counter_example] == [
        "the controller gives epoch 0 to 101; ISR 101 102 103",
        "102 follows 101 in epoch 0",
        "the controller takes 103 for dead; epoch 1 stays with 101; ISR 101 102",
        "101 becomes leader of epoch 1",
        "101 appends A at offset 0 in epoch 1",
        "102 fetches A at offset 0 from 101",
        "101 raises its high watermark to 1",
        "102 follows 101 in epoch 1 and truncates to its high watermark, 0",
    ]
    assert result.why == (
        "101 leads epoch 1 with high watermark 1 and holds A at offset 0; "
        "102, in the ISR, holds nothing"
    )
    last = result.counter_example[-1].state
    assert (last["epoch"], last["leader"], last["isr"]) == (1, 101, [101, 102])
    assert last["replicas"][101] == {
        "role": "leader",
        "epoch": 1,
        "leader": 101,
        "isr": [101, 102],
        "high_watermark": 1,
        "log": [{"offset": 0, "epoch": 1, "record": "A"}],
    }
    assert last["replicas"][102]["log"] == []
    assert last["replicas"][103] == {
        "role": "idle", "epoch": -1, "leader": -1, "isr": [], "high_watermark": 0, "log": [],
    }  # fmt: skip


def test_every_action_of_every_story_is_worded(found) -> None:
    for result in found.values():
        for action in result.counter_example:
            assert action.name not in action.text
            assert str(action.broker) in action.text
        assert bool(result.why) is not result.holds


@pytest.mark.parametrize(
    ("guard", "steps"),
    [
        ({"is_caught_up": model_rules.long_enough}, 12),
        ({"may_expand": model_rules.at_any_time}, 11),
        ({"may_follow": model_rules.any_leader}, 13),
        ({"truncation_offset": model_rules.end_of_last_epoch}, 13),
        ({"truncation_offset": model_rules.own_high_watermark}, 11),
    ],
    ids=lambda value: next(iter(value.values())).__name__ if isinstance(value, dict) else "",
)
def test_the_last_rung_without_one_of_its_guards_is_broken(guard, steps) -> None:
    result = explore(replace(RUNGS["kip-320"], name="mutant", **guard))
    assert not result.holds
    assert result.steps == steps


def test_the_last_rung_with_zombies_that_may_change_the_isr_is_broken(monkeypatch) -> None:
    """The controller accepts ISR changes from the leader of the newest epoch only."""
    monkeypatch.setattr(model_steps, "true_leader", model.announced_leader)
    assert not explore("kip-320").holds


def test_brokers_may_change_places() -> None:
    a = Replica(log=(Record(0, 0),), high_watermark=1, epoch=0, led=1, named=3, counted=1)
    b = Replica(epoch=0, named=1, counted=1)
    assert canonical(State((a, b))) == canonical(State((b, a)))
    assert canonical(State((a, b))) != canonical(State((a, a)))


def test_strong_isr_compares_records_not_lengths() -> None:
    leader = Replica(log=(Record(1, 1),), high_watermark=1, epoch=1, led=2)
    assert strong_isr(State((leader, Replica(log=(Record(1, 1),)))))
    assert not strong_isr(State((leader, Replica(log=(Record(0, 0),)))))
    assert not strong_isr(State((leader, Replica())))
    assert strong_isr(State((leader, Replica(in_isr=False))))
    assert strong_isr(State((leader._replace(led=0), Replica())))


def test_a_high_watermark_never_stands_beyond_the_log_that_was_cut() -> None:
    leader = Replica(epoch=1, led=2)
    follower = Replica(log=(Record(0, 0),), high_watermark=1, epoch=0)
    state = State((leader, follower), epochs=2)
    ((_, after),) = model_steps.replica_becomes_follower(RUNGS["kip-320"], state)
    assert after.replicas[1] == Replica(epoch=1)


def test_progress_is_reported_after_each_step_outwards() -> None:
    heard: list[tuple[int, int]] = []
    result = explore("kip-320", 2, lambda steps, states: heard.append((steps, states)))
    assert heard[-1] == (result.steps, result.states)
    assert [steps for steps, _ in heard[:3]] == [1, 2, 3]


def test_what_cannot_be_searched_is_said() -> None:
    with pytest.raises(ValueError, match="choose from to-high-watermark"):
        explore("kip-999")
    with pytest.raises(ValueError, match="2 to 4 replicas"):
        explore("kip-320", replicas=1)
