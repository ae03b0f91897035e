"""Prints the two ladders, of truncation and of consensus: one search, or the table of all."""

from __future__ import annotations

import sys
from time import process_time

from engine.sim.consensus import ladder as consensus
from engine.sim.consensus import replay as consensus_replay
from engine.sim.model.explore import Exploration, explore
from engine.sim.model.replay import follow, replay
from engine.sim.model.rules import RUNGS
from kit.tables import Table


def timed(rule: str, replicas: int, shown: bool = False) -> tuple[Exploration, float]:
    """A search and its states a second of processor time; `shown` keeps a line up to date."""
    began = process_time()
    found = explore(rule, replicas, _show if shown else None)
    return found, found.states / max(process_time() - began, 1e-9)


def _show(steps: int, states: int) -> None:
    if sys.stderr.isatty():
        end = "\r" if states else ""
        print(f"{steps:3} steps, {states:8,} states", end=end, file=sys.stderr, flush=True)


def print_exploration(rule: str, replicas: int) -> None:
    """Searches one rule; prints the verdict and the shortest counter-example.

    RuntimeError says what can be chosen.
    """
    try:
        found, pace = timed(rule, replicas, shown=True)
    except ValueError as error:
        raise RuntimeError(str(error)) from None
    print(f"{found.rule}: {RUNGS[rule].change}.")
    print(
        f"Strong ISR with {replicas} replicas: {found.verdict}. {found.states:,} states, "
        f"{found.steps} steps deep, {pace:,.0f} states a second."
    )
    for number, action in enumerate(found.counter_example, 1):
        print(f"{number:4}  {action.text}")
    if found.why:
        print(f"Broken: {found.why}.")


def print_replay(rule: str) -> None:
    """Plays a rule's counter-example with real brokers, then its tape with the next rule.

    RuntimeError says what can be chosen.
    """
    try:
        broken = replay(rule)
    except ValueError as error:
        raise RuntimeError(str(error)) from None
    print(broken)
    print(follow(broken))


def ladder_table(replicas: tuple[int, ...] = (2, 3)) -> Table:
    """Every rule of the ladder, searched with each number of replicas."""
    rows = []
    for rule, rung in RUNGS.items():
        cells = []
        for number in replicas:
            found, _ = timed(rule, number)
            whole = f", {found.states:,} states" if found.holds else ""
            cells.append(f"{found.verdict}{whole}")
        rows.append([rule, rung.change, *cells])
    heads = ["rule", "what it does", *(f"{number} replicas" for number in replicas)]
    bounds = "Logs of 2 records, 2 records written, epochs 0 to 2."
    bounds += " Two states that differ only in which broker is which count as one."
    return Table("The truncation ladder, searched to its end", heads, rows, bounds)


def print_consensus(rule: str | None, replayed: bool = False) -> None:
    """Searches one rule of the other ladder and tells its counter-example; without one, all.

    `replayed`: with real controllers, too, and then its tape with the rules of KRaft.
    RuntimeError says what can be chosen.
    """
    if rule is None:
        print(consensus_table())
        return
    try:
        found = consensus.explore(rule, progress=_show)
        broken = consensus_replay.replay(rule, found=found) if replayed else None
    except ValueError as error:
        raise RuntimeError(str(error)) from None
    print(f"{rule}: {consensus.RUNGS[rule].change}.")
    print(f"Three voters: {found.verdict}. {found.states:,} states, {found.steps} steps deep.")
    for number, action in enumerate(found.counter_example, 1):
        print(f"{number:4}  {action.text}")
    if broken is not None:
        print(broken)
        print(consensus_replay.follow(broken))


def consensus_table() -> Table:
    """Every rule of the ladder of consensus, searched with three voters."""
    rows = []
    for rule, rung in consensus.RUNGS.items():
        found = consensus.explore(rule)
        rows.append([rule, rung.change, found.verdict, f"{found.states:,}"])
    heads = ["rule", "what it does", "three voters", "states"]
    bounds = "Two records, epochs up to 4; which voter is which does not count."
    return Table("The ladder of consensus, searched to its end", heads, rows, bounds)
