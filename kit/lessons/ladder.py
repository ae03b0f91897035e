"""The truncation ladder in the notebook: searches, their table, and what they found, drawn.

    ladder.counter_example("kip-101")     the shortest way to break a rule, as a strip
    ladder.table()                        every rule, with two replicas and with three

Each search is done once in a kernel (engine/sim/explore.py); the last rung with three
replicas takes a few seconds, the others are there at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from engine.sim.explore import Exploration, explore
from engine.sim.model_rules import RUNGS
from kit.lessons.frames import Frame, Replica, Strip
from kit.tables import Table

BOUNDS = "Logs of 2 records, 2 records written, epochs 0 to 2. Two states that differ only in"
BOUNDS += " which broker is which count as one."


@cache
def search(rule: str, replicas: int = 3) -> Exploration:
    """All states of a rule, or those up to the first that breaks it."""
    return explore(rule, replicas)


def counter_example(rule: str, replicas: int = 3) -> Strip | str:
    """The shortest way to break a rule, a frame a step; a sentence if there is none."""
    found = search(rule, replicas)
    if found.holds:
        return (
            f"{rule} with {replicas} replicas holds: all {found.states:,} states were seen, the "
            f"farthest {found.steps} steps from the beginning, and none breaks the property."
        )
    frames = [
        Frame(action.text, replicas_of(action.state), note="")
        for action in found.counter_example[:-1]
    ]
    last = found.counter_example[-1]
    frames.append(Frame(last.text, replicas_of(last.state), note=f"Broken: {found.why}."))
    return Strip(tuple(frames), narrow=True)


def replicas_of(state: Mapping[str, Any]) -> tuple[Replica, ...]:
    """A state of the model as rows of a frame: what each replica itself believes."""
    return tuple(
        Replica(
            broker,
            tuple((record["record"], record["epoch"]) for record in row["log"]),
            row["high_watermark"],
            _does(row),
            row["role"] == "leader",
            broker in state["isr"],
        )
        for broker, row in state["replicas"].items()
    )


def _does(row: Mapping[str, Any]) -> str:
    if row["role"] == "leader":
        return f"leads epoch {row['epoch']}"
    if row["role"] == "follower":
        return f"follows {row['leader']}, epoch {row['epoch']}"
    return f"no leader in epoch {row['epoch']}" if row["epoch"] >= 0 else "has heard nothing"


def table(replicas: tuple[int, ...] = (2, 3)) -> Table:
    """Every rung, what it does, and whether it holds."""
    rows = [
        (rule, rung.change, *(_cell(search(rule, number)) for number in replicas))
        for rule, rung in RUNGS.items()
    ]
    columns = ("rule", "what it does", *(f"{number} replicas" for number in replicas))
    return Table("The truncation ladder", columns, rows, BOUNDS)


def _cell(found: Exploration) -> str:
    return f"holds: all {found.states:,} states" if found.holds else found.verdict
