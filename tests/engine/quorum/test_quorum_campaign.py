"""Faults among the controllers, drawn from a seed: an epoch has one leader, and commits stay.

`QuorumInvariants` looks after every event.  Rules that are broken on purpose are in
engine/sim/campaign/quorum_mutants.py, and their tapes in tests/engine/sim/mutant_tapes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from engine.control.controller import Controller
from engine.quorum.raft_log import RaftLog
from engine.sim.campaign import campaign, timed_scripts
from engine.sim.campaign.play import SNAPSHOTS
from engine.sim.campaign.play import play as play_schedule
from engine.sim.campaign.schedules import draw
from engine.sim.clients.clients import create_topics
from engine.sim.invariants.invariants import Violation
from engine.sim.scripts.scripts import parse
from engine.sim.world.world import World
from engine.wire import messages as m

FAULTS = 14
SEEDS = range(24)


@dataclass
class Story:
    """What a schedule went through."""

    elections: int
    truncated: int
    loaded: int
    topics: int
    violation: str = ""


def play(seed: int, controllers: int = 3) -> Story:
    """Kills, pauses, cuts and power losses of controllers, while topics come and go.

    In every second one snapshots are written often, and the log behind them is deleted.
    """
    chance = Random(f"quorum/{seed}")
    settings = SNAPSHOTS if seed % 2 else {}
    made = World(seed=seed, controllers=controllers, rewindable=False, settings=settings)
    ids = list(made.cluster.spec.controllers)
    made_topics = 0
    violation = ""
    try:
        for number in range(FAULTS):
            fail(made, chance, ids)
            made.run(for_s=chance.choice((0.05, 0.5, 2.0, 4.0)))
            made.post(creation(f"topic-{number}"), chance.choice(made.cluster.spec.brokers))
            if number % 3 == 2:
                made.post(deletion(f"topic-{number - 2}"), 101)
            made.run(for_s=chance.choice((0.01, 0.3, 1.0)))
        mend(made, ids)
        made_topics = len(made.image().topic_ids)
    except Violation as error:
        violation = str(error)
    kinds = [line.kind for _, _, line in made.cluster.trace]
    loads = sum(
        line.kind == "snapshot-loaded" and node in ids for _, node, line in made.cluster.trace
    )
    return Story(kinds.count("controller"), kinds.count("truncated"), loads, made_topics, violation)


def creation(name: str) -> Any:
    return create_topics(name, 1, 3, None, None)


def deletion(name: str) -> Any:
    request = m.DeleteTopicsRequest
    return request(topics=[request.DeleteTopicState(name, bytes(16))], timeout_ms=1000)


def mend(made: World, ids: list[int]) -> None:
    """Ends all faults, and waits until a controller is active."""
    made.heal()
    for each in ids:
        made.resume(each)
        made.start(each)
    assert made.run(until=lambda w: w.cluster.controller is not None, for_s=60)
    made.run(for_s=5)


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


def test_the_schedules_elect_truncate_and_load_snapshots(stories: list[Story]) -> None:
    assert sum(each.elections >= 2 for each in stories) >= 0.95 * len(stories)
    assert sum(each.truncated > 0 for each in stories) >= 0.3 * len(stories)
    assert sum(each.topics > 2 for each in stories) >= 0.9 * len(stories)
    assert sum(each.loaded > 0 for each in stories) >= 0.1 * len(stories)


def test_the_usual_schedules_are_clean_with_three_controllers_too() -> None:
    """Brokers, links, disks and clocks fail beside them; records, groups and offsets are judged."""
    results = list(campaign.outcomes(range(700, 706), light=True, controllers=3))
    assert [each.violation for each in results if each.violation] == []
    assert all(each.takeovers for each in results)
    text, _ = campaign.report(results, light=True)
    assert "controllers: " in text


def test_a_voter_may_end_in_the_moment_of_its_vote() -> None:
    """In this schedule one has to stop, votes for the next leader, and is gone."""
    outcome = play_schedule(draw(3007, light=True, controllers=3))
    assert outcome.violation == ""


def test_a_schedule_with_controllers_is_a_script_that_plays_again() -> None:
    outcome = play_schedule(draw(703, light=True, controllers=3))
    timed = timed_scripts.Timed(outcome.setup, outcome.tape)
    text = timed_scripts.write(timed, "seed 703", outcome.violation)
    assert "controllers=3" in text
    assert timed_scripts.read(parse(text)).setup.controllers == 3
    assert timed_scripts.play(parse(text)) == timed_scripts.HELD


def snapshot_on_top(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a snapshot does not have stays as it was."""

    def apply(self: Controller, limit: int) -> None:
        newest = self.log.snapshot_for(self.image.offset)
        if newest is not None:
            for record in self.log.snapshots.load(newest):
                self.state.apply(newest.end_offset - 1, record)
            self.image.offset, self.image.epoch = newest
        for offset, record in self.log.records(self.image.offset, limit):
            self.state.apply(offset, record)

    monkeypatch.setattr(Controller, "_apply", apply)


def keeps_its_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot is stored, and the log that ended before it goes on where it was."""
    keep_the_log(monkeypatch, of_brokers=False)


def keep_the_log(monkeypatch: pytest.MonkeyPatch, *, of_brokers: bool) -> None:
    right = RaftLog.restart_at

    def restart_at(self: RaftLog, now: int, new: Any, data: bytes) -> None:
        if self.flushes is of_brokers:
            right(self, now, new, data)
            return
        self.snapshots.write(new, data)
        self.high_watermark = self.end_offset

    monkeypatch.setattr(RaftLog, "restart_at", restart_at)


@pytest.mark.parametrize(("mutant", "seed"), [(snapshot_on_top, 21), (keeps_its_log, 39)])
def test_a_snapshot_takes_the_place_of_what_was_there(
    mutant: Callable[[pytest.MonkeyPatch], None], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the mutants of quorum_mutants.py; these take topics that are deleted, and tapes have none.

    The first seed caught them when it was written; another one does once the engine has changed.
    """
    mutant(monkeypatch)
    found = next(v for each in (seed, *range(60)) if (v := play(each).violation))
    assert found.startswith(("applied:", "committed:", "snapshot:")), found


def test_a_snapshot_takes_the_place_of_a_brokers_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    keep_the_log(monkeypatch, of_brokers=True)
    with pytest.raises(Violation, match="copied: "):
        World(seed=39, controllers=3, rewindable=False, settings=SNAPSHOTS)
