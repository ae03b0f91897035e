"""The ladder of consensus in the notebook: a table of its rungs, and a counter-example as a table.

consensus.ladder(RUNGS)                        each rule, and whether it holds
consensus.counter_example("vote-in-memory")    the shortest way to break it, a row a step
consensus.replayed("vote-in-memory")           the same in the engine's controllers, a row a move
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from engine.sim.consensus import replay
from engine.sim.consensus.ladder import RUNGS, Exploration, explore
from kit.tables import Table

BROKEN = {"lost": "a committed record is lost", "two leaders": "two leaders of one epoch"}
BOUNDS = "Three voters, two records, epochs up to 4; every order of steps."


@cache
def search(rule: str) -> Exploration:
    """All states of a rule, or those up to the first that breaks it; once per kernel."""
    return explore(rule)


def ladder(rules: Sequence[str]) -> Table:
    """Each of these rules: what it allows, and what the search found."""
    rows = [(rule, RUNGS[rule].change, _found(search(rule))) for rule in rules]
    return Table("The ladder of consensus", ("rule", "what it allows", "the search"), rows, BOUNDS)


def _found(found: Exploration) -> str:
    if found.holds:
        return f"holds in all {found.states:,} states"
    return f"broken in {found.steps} steps: {why(found)}"


def why(found: Exploration) -> str:
    """What is wrong in the last state of a counter-example; empty if the rule holds."""
    return BROKEN.get(found.broken, found.broken)


def counter_example(rule: str) -> Table | str:
    """The shortest way to break a rule: what happens, and what each voter then has."""
    found = search(rule)
    if found.holds:
        return f"{rule} holds: {found.states:,} states were seen, and none is wrong."
    voters = list(found.counter_example[0].state["voters"])
    rows = [
        (str(number), action.text, *(_row(action.state["voters"][each]) for each in voters),
         " ".join(action.state["committed"]))
        for number, action in enumerate(found.counter_example, 1)
    ]  # fmt: skip
    columns = ("", "what happens", *map(str, voters), "committed")
    last = (
        f"Broken: {why(found)}. A voter's cell is its epoch and its log; ★ leads, ? stands for "
        "election. A1 is the first record, written in epoch 1."
    )
    return Table(f"{rule}, broken", columns, rows, last)


def _row(voter: Mapping[str, Any]) -> str:
    mark = {"leader": "★", "candidate": "?"}.get(voter["role"], "")
    return " ".join([f"{voter['epoch']}{mark}:", *voter["log"]]).rstrip(":") or "0"


def replayed(rule: str) -> Table | str:
    """A counter-example in the controllers' code, and what its tape does with KRaft's rules."""
    found = search(rule)
    if found.holds:
        return f"{rule} holds: there is nothing to replay."
    broken = replay.replay(rule, found=found)
    kept = replay.follow(broken)
    rows = [(str(move.event), move.text, ", ".join(map(str, move.steps))) for move in broken.moves]
    again = f"The same {len(broken.tape)} actions with the rules of KRaft"
    last = (
        f"Broken: the invariant {_quoted(broken.violation)}. {again}: "
        f"{kept.violation or 'every invariant holds'}. {broken.otherwise} Another controller may "
        "play a part: the last column says which step a move is."
    )
    columns = ("event", "what happens", "steps above")
    return Table(f"{rule}, in the engine's controllers", columns, rows, last)


def _quoted(violation: str) -> str:
    name, _, what = violation.partition(": ")
    return f"“{name}”: {what}"
