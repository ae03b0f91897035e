"""Draws a counter-example of the ladder as the engine's brokers replay it.

    broken = replay_model.replay("kip-101")
    replayed.side_by_side(broken, replay_model.follow(broken))

It shows the moves of the replay with the steps of the model that they stand for, and then
two frames: the logs when the invariant broke, and the logs at the end of the same actions
under the next rule.  `refused` listens to the brokers' messages meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.sim.model.replay_stage import Replay, heard_epoch, is_acknowledged, log_end
from kit.drawings.frames import Frame, Strip
from kit.drawings.walkthrough import Walkthrough
from kit.tables import Table

COLUMNS = ("event", "what happens", "steps above")


@dataclass(frozen=True)
class SideBySide:
    """The moves, and the two endings; `.text`, or HTML in a notebook."""

    moves: Table
    endings: Strip

    @property
    def text(self) -> str:
        return f"{self.moves}\n\n{self.endings}"

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"{self.moves._repr_html_()}<br>{self.endings._repr_html_()}"


def side_by_side(broken: Replay, mended: Replay) -> SideBySide:
    """How a rule broke, and what the same actions do under a later one."""
    rows = [(str(move.event), move.text, ", ".join(map(str, move.steps))) for move in broken.moves]
    title = f"{broken.rule}, in the engine's brokers"
    moves = Table(title, COLUMNS, rows, broken.otherwise)
    actions = len([done for done in broken.world.tape if done.event > broken.begins])
    endings = (
        _ending(f"{broken.rule}: where it broke, at event {broken.world.events}", broken),
        _ending(f"{mended.rule}: the same {actions} actions, all mended, at rest", mended),
    )
    return SideBySide(moves, Strip(endings))


def _ending(title: str, replay: Replay) -> Frame:
    walk = Walkthrough(replay.world).shot(title, note=verdict(replay))
    return walk.frames[0]


def verdict(replay: Replay) -> str:
    """The invariant that broke, by its name, and what is wrong."""
    if not replay.violation:
        return "Every invariant holds."
    invariant, _, what = replay.violation.partition(": ")
    return f"Broken: the invariant “{invariant}”: {what}."


def refused(broken: Replay, rule: str) -> Walkthrough:
    """The actions of the last scene under another rule, and the answers that 102 gets.

    The scene is `kip-320-first-try`: 102 hears two epochs late, one after the other.
    """
    world = broken.world.fork()
    world.goto(event=broken.begins)
    world.invariants = None
    world.use_rule(rule)
    tape = [done for done in broken.world.tape if done.event > broken.begins]
    walk = Walkthrough(world)
    walk.follow(tape)
    walk.shot("102 is late: 101 leads epoch 2, and takes A", lambda w: log_end(w, 101) == 1)
    walk.shot("102 hears of epoch 1: it follows 103", lambda w: heard_epoch(w, 102) == 1)
    walk.shot("102 hears of epoch 2: it follows 101", lambda w: heard_epoch(w, 102) == 2)
    walk.shot("102 has fetched A in epoch 2: it is committed", lambda w: is_acknowledged(w, "A"))
    return walk
