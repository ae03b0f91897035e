"""Simulated worlds for panels under test: a trace script, played to its end."""

from __future__ import annotations

import asyncio
from pathlib import Path

from engine.sim.scripts import SimulatedStage, parse, play
from engine.sim.world import World

SCRIPTS = Path(__file__).parents[2] / "scripts"


def played(name: str) -> World:
    """The world of `tests/scripts/NAME.txt` after its last command."""
    script = parse((SCRIPTS / f"{name}.txt").read_text("utf-8"))
    stage = SimulatedStage(script)
    asyncio.run(play(script, stage))
    return stage.world


def old_rule() -> World:
    """KIP-101, scenario 1: B is acknowledged by three replicas, and lost."""
    return played("replication/kip_101_scenario_1_old_rule")


def divergent() -> World:
    """101 holds X1 to X3 alone when it dies, and must cut them when it comes back."""
    return played("replication/divergent_tail_truncated")
