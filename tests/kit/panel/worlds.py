"""Simulated worlds for panels under test: a trace script, played to its end."""

from __future__ import annotations

from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from engine.sim.scripts.scripts import SimulatedStage, parse, play
from engine.sim.world.world import World

SCRIPTS = Path(__file__).parents[2] / "scripts"


def played(name: str) -> World:
    """The world of `tests/scripts/NAME.txt` after its last command."""
    script = parse((SCRIPTS / f"{name}.txt").read_text("utf-8"))
    stage = SimulatedStage(script)
    _finish(play(script, stage))
    return stage.world


def _finish(playing: Coroutine[Any, Any, str]) -> str:
    """In virtual time nothing is waited for, so no event loop is needed (a kernel has its own)."""
    try:
        playing.send(None)
    except StopIteration as done:
        return str(done.value)
    raise AssertionError("a script in virtual time has waited for real time")


def old_rule() -> World:
    """KIP-101, scenario 1: B is acknowledged by three replicas, and lost."""
    return played("replication/kip_101_scenario_1_old_rule")


def divergent() -> World:
    """101 holds X1 to X3 alone when it dies, and must cut them when it comes back."""
    return played("replication/divergent_tail_truncated")
