"""The truncation ladder in the notebook: searches, their table, and their counter-examples.

    ladder.begin()                        starts all ten searches
    ladder.counter_example("kip-101")     the shortest way to break a rule, as a strip
    ladder.table()                        every rule, with two replicas and with three

The searches (engine/sim/model/explore.py) take some seconds, nearly all of it the last rung with
three replicas.  So a process of its own runs them while learners read the first cells; it
ends by itself.  Without `begin` each search runs when it is first needed, once per kernel.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.sim.model.explore import Exploration, explore
from engine.sim.model.rules import RUNGS
from kit.course import PROJECT
from kit.drawings.frames import Frame, Replica, Strip
from kit.tables import Table

BOUNDS = "Logs of 2 records, 2 records written, epochs 0 to 2. Two states that differ only in"
BOUNDS += " which broker is which count as one."


class _Searches:
    """The results so far, and the process that is still searching."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, int], Exploration] = {}
        self.process: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        if self.process is None and not self.found:
            command = [sys.executable, "-m", "lessons.nb07_reconciliation.ladder"]
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=PROJECT)

    def get(self, rule: str, replicas: int) -> Exploration:
        self._collect()
        if (rule, replicas) not in self.found:
            self.found[rule, replicas] = explore(rule, replicas)
        return self.found[rule, replicas]

    def _collect(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            told, _ = process.communicate()
            if process.returncode == 0:
                self.found |= pickle.loads(told)


_searches = _Searches()


def begin() -> None:
    """Starts all searches in a process of their own; does nothing if they were started."""
    _searches.begin()


def search(rule: str, replicas: int = 3) -> Exploration:
    """All states of a rule, or those up to the first that breaks it."""
    return _searches.get(rule, replicas)


def counter_example(rule: str, replicas: int = 3) -> Strip | str:
    """The shortest way to break a rule, a frame a step; a sentence if there is none.

    The first frame tells everything that happens before there is a record.
    """
    found = search(rule, replicas)
    if found.holds:
        return (
            f"{rule} with {replicas} replicas holds: all {found.states:,} states were seen, the "
            f"farthest {found.steps} steps from the beginning, and none breaks the property."
        )
    actions = found.counter_example
    first = next(n for n, action in enumerate(actions) if _records(action.state)) - 1
    before = tuple(f"{n}. {action.text}" for n, action in enumerate(actions[:first], 1))
    frames = [
        Frame(action.text, replicas_of(action.state), before if n == first else ())
        for n, action in enumerate(actions[first:], first)
    ]
    frames[-1] = replace(frames[-1], note=f"Broken: {found.why}.")
    return Strip(tuple(frames), first + 1)


def _records(state: Mapping[str, Any]) -> int:
    return sum(len(row["log"]) for row in state["replicas"].values())


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


def holding(replicas: int) -> list[str]:
    """The rules that no order of steps breaks with this many replicas."""
    return [rule for rule in RUNGS if search(rule, replicas).holds]


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


def _search_all() -> None:
    """The process: searches all ten cells and writes them to its standard output."""
    found = {(rule, number): explore(rule, number) for rule in RUNGS for number in (2, 3)}
    sys.stdout.buffer.write(pickle.dumps(found))


if __name__ == "__main__":
    _search_all()
