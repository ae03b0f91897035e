"""Runs one scenario in a column after another, one real cluster at a time."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

from engine.settings import Settings
from kit.both import waiting
from kit.both.outcomes import INSIDE
from kit.clusters import local, settings_table, zookeeper, zookeeper_plan
from kit.clusters.interface import ClusterError
from kit.columns.live import LiveStage
from kit.columns.outcome import DESIGNS, Column, Outcome
from kit.columns.scenarios import DECLARED
from kit.columns.side import Side
from kit.columns.stage import KRAFT, Stage
from kit.columns.virtual import VirtualStage
from kit.jars import JarsMissing

Scenario = Callable[[Side], Any]
SIZE = 3
"""Controllers, or members of ZooKeeper's ensemble."""
KRAFT_TIMEOUTS = ("controller.quorum.fetch.timeout.ms", "controller.quorum.election.timeout.ms",
                "broker.session.timeout.ms")  # fmt: skip


class NotAScenario(TypeError):
    """It has no parameter, or returns neither None nor a mapping; the message says what to do."""


def run(scenario: Scenario, real: bool = True, absence: str = "") -> Outcome:
    """The outcome of all columns; without `real`, of the engine's two.

    With an `absence` the real columns are not started, and it says why.  A column that fails shows
    its sentence, and the others still run.  Raises NotAScenario.
    """
    _check(scenario)
    found = {}
    with waiting.shown() as at:
        for design in DESIGNS:
            at.step = f"engine {design}, in virtual time"
            found["engine", design] = _column(scenario, partial(VirtualStage, design))
        for design in DESIGNS if real else ():
            at.step = f"real {design}: starts its processes"
            found["real", design] = (
                ({}, absence) if absence else _column(scenario, partial(_live, design, at))
            )
            at.watch()
    columns = [
        Column(f"{kind} {design}", *found[kind, design])
        for design in DESIGNS
        for kind in ("engine", "real")
        if (kind, design) in found
    ]
    name = getattr(scenario, "__name__", "scenario")
    outcome = Outcome(name, tuple(columns), _notes(real))
    return replace(outcome, notes=(*declared(outcome).values(), *outcome.notes))


def declared(outcome: Outcome) -> dict[str, str]:
    """The rows, as `KRaft › created`, in which the two of a design differ, and why they may."""
    return {
        row: f"≠ {row}: {known.why}"
        for design, found in outcome.differences.items()
        for row in (f"{design}{INSIDE}{what}" for what in found)
        for known in DECLARED
        if known.scenario == outcome.scenario and known.what == row
    }


def _check(scenario: Scenario) -> None:
    sentence = "A scenario is a function with one parameter: def controller_dies(side): …"
    if not callable(scenario):
        raise NotAScenario(sentence)
    try:
        inspect.signature(scenario).bind(None)
    except TypeError:
        raise NotAScenario(sentence) from None


def _column(scenario: Scenario, make: Callable[[], Stage]) -> tuple[Mapping[str, Any], str]:
    """A column's rows, or a sentence; its cluster has ended."""
    try:
        with closing(make()) as stage:
            side = Side(stage)
            side.begin()
            _note(side, scenario(side))
            return side.rows(), ""
    except NotAScenario:
        raise
    except (ClusterError, JarsMissing) as failure:
        return {}, str(failure)
    except Exception as error:
        return {}, f"{type(error).__name__}: {error}"


def _note(side: Side, returned: Any) -> None:
    if returned is not None and not isinstance(returned, Mapping):
        raise NotAScenario(
            "A scenario notes what it sees with side.note(row, value), or returns a mapping of "
            f"such rows; this one returned {returned!r}."
        )
    for row, value in (returned or {}).items():
        side.note(row, value)


def _live(design: str, at: waiting.Waiting) -> Stage:
    cluster = local.start(controllers=SIZE) if design == KRAFT else zookeeper.start(ensemble=SIZE)
    at.watch(cluster)
    return LiveStage(cluster)


def _notes(real: bool) -> tuple[str, ...]:
    """What the reader of the times should know."""
    broker, of_plan = Settings(settings_table.as_dict()), zookeeper_plan.SETTINGS
    session = zookeeper_plan.SESSION_TIMEOUT
    where = " in both columns" if real else ""
    return (
        "time to elect: seconds from the first fault until the next controller was elected. "
        f"The engine's seconds are virtual{', those of a real cluster measured' if real else ''}.",
        f"KRaft{where}: {', '.join(f'{name} {broker[name]}' for name in KRAFT_TIMEOUTS)}.",
        f"ZooKeeper{where}: {session} {of_plan[session]}, tickTime {zookeeper_plan.TICK_MS}. "
        "The active controller is a broker, too.",
        "The writer sends a record to orders every 0.1 s, acks=all; the active controller does "
        "not lead orders at the beginning.",
    )
