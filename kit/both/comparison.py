"""Runs a scenario on both sides at the same time and lays the outcomes side by side."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any

from kit.both.differences import Difference, declared
from kit.both.outcomes import INSIDE, Measured, Plain, rows
from kit.clusters.interface import Cluster, NotOffered

Scenario = Callable[[Cluster], Mapping[str, Any]]
ABSENT = "–"
WIDEST = 60
"""Longer values are below the table of the plain text."""
ONE_LINE = 40
"""Letters of a value that a narrow table does not break."""
CELL = "text-align:left;padding:3px 16px 3px 0"
_SAME, _MEASURED, _DECLARED, _UNDECLARED = "same", "measured", "declared", "different"
_ALONE = "one side"
LEGEND = "· measured on each side, not compared"
_MARKS = {_SAME: "✓", _MEASURED: "·", _DECLARED: "≠", _UNDECLARED: "✗", _ALONE: " "}
_TONES = {
    _SAME: "var(--jp-success-color1, #117733)",
    _UNDECLARED: "var(--jp-error-color1, #b00020)",
    _DECLARED: "var(--jp-warn-color1, #b35900)",
}


class UndeclaredDifference(AssertionError):
    """The two sides differ in a way that is not declared; the message is the table."""


@dataclass(frozen=True)
class Row:
    """One observation on both sides, and the verdict."""

    what: str
    engine: Plain | Measured
    real: Plain | Measured
    verdict: str
    why: str = ""


@dataclass(frozen=True)
class Comparison:
    """Print it, read `.text`, or let a notebook show it.  `complete` if both sides ran.

    `engine` and `real` are what the scenario returned.  Without a real side `real` is None,
    and `absence` says why and what to do about it.
    """

    scenario: str
    real_name: str
    engine: dict[str, Any]
    real: dict[str, Any] | None
    rows: tuple[Row, ...]
    absence: str = ""

    @property
    def complete(self) -> bool:
        return self.real is not None

    @property
    def is_measured(self) -> bool:
        """Whether there is a row of two measurements."""
        return any(row.verdict == _MEASURED for row in self.rows)

    @property
    def differences(self) -> list[Row]:
        """Rows that differ, declared or not."""
        return [row for row in self.rows if row.verdict in (_DECLARED, _UNDECLARED)]

    @property
    def verdict(self) -> str:
        """One sentence."""
        if not self.complete:
            return f"Engine only. {self.absence}"
        compared = [row for row in self.rows if row.verdict != _MEASURED]
        if not compared:
            return "Each observation was measured on the engine and on Kafka; none is compared."
        same = sum(row.verdict == _SAME for row in compared)
        text = f"{same} of {len(compared)} observations are the same on the engine and on Kafka"
        undeclared = [row.what for row in self.rows if row.verdict == _UNDECLARED]
        if undeclared:
            return f"{text}; not explained: {', '.join(undeclared)}."
        return (
            f"{text}; the other differences are explained." if same < len(compared) else f"{text}."
        )

    @property
    def text(self) -> str:
        sides = ("engine", self.real_name if self.complete else "no real Kafka")
        table, long = [("", "observed", *sides)], []
        for group, rows_inside in self.groups():
            table += [("", group, "", "")] if group else []
            for name, row in rows_inside:
                cells = (shown(row.engine), shown(row.real))
                if max(map(len, cells)) > WIDEST:
                    long += [f"  {row.what}:"] + [
                        f"    {s}: {c}" for s, c in zip(sides, cells, strict=True)
                    ]
                    cells = ("below", "below" if self.complete else ABSENT)
                table.append((_MARKS[row.verdict], f"  {name}" if group else name, *cells))
        widths = [max(len(row[column]) for row in table) for column in range(4)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in table
        ]
        notes = [f"  ≠ {row.what}: {row.why}" for row in self.rows if row.why]
        notes += [f"  {LEGEND}"] if self.is_measured else []
        return "\n".join([f"{self.scenario}: {self.verdict}", *lines, *long, *notes])

    def groups(self) -> Iterator[tuple[str, list[tuple[str, Row]]]]:
        """Rows with their names, in order; those of one nested observation under its name."""
        for group, together in groupby(self.rows, _group):
            found = list(together)
            alone = not group or len(found) == 1
            names = [row.what if alone else row.what.removeprefix(group + INSIDE) for row in found]
            yield "" if alone else group, list(zip(names, found, strict=True))

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        cell = f"style='{CELL}'"
        body = []
        for group, rows_inside in self.groups():
            if group:
                body.append(f"<tr><td></td><th colspan='3' {cell}>{escape(group)}</th></tr>")
            body += [_html_row(row, name, bool(group)) for name, row in rows_inside]
        real = escape(f"Kafka ({self.real_name})") if self.complete else "no real Kafka"
        legend = f"<div style='opacity:.75'>{LEGEND}</div>" if self.is_measured else ""
        head = "".join(
            f"<th scope='col' {cell}>{title}</th>" for title in ("", "observed", "engine", real)
        )
        return (
            "<div style='color:var(--jp-content-font-color1,inherit)'>"
            f"<strong>{escape(self.scenario.replace('_', ' '))}</strong>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
            f"{legend}<div>{escape(self.verdict)}</div></div>"
        )


def _group(row: Row) -> str:
    group, inside, _ = row.what.partition(INSIDE)
    return group if inside else ""


def _html_row(row: Row, name: str, inside: bool) -> str:
    values = [shown(value) for value in (row.engine, row.real)]
    is_one_line = not row.why and all(len(value) <= ONE_LINE for value in (name, *values))
    cell = CELL if is_one_line else f"{CELL};vertical-align:top"
    tone = _TONES.get(row.verdict, "inherit")
    mark = f"<td style='{cell};color:{tone}' title='{row.verdict}'>{_MARKS[row.verdict]}</td>"
    why = f"<div style='opacity:.75'>{escape(row.why)}</div>" if row.why else ""
    indented = f"<div style='padding-left:1.2em'>{escape(name)}{why}</div>"
    label = indented if inside else f"{escape(name)}{why}"
    shows = "".join(f"<td style='{cell}'>{escape(value)}</td>" for value in values)
    return f"<tr>{mark}<td style='{cell}'>{label}</td>{shows}</tr>"


def shown(value: Plain | Measured) -> str:
    if isinstance(value, list):
        return ", ".join(map(shown, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ABSENT if value is None else str(value)


def compare(
    scenario: str,
    engine: Mapping[str, Any],
    real: Mapping[str, Any] | None,
    real_name: str = "real",
    absence: str = "",
) -> Comparison:
    """Lays two outcomes side by side; raises no error."""
    ours = rows(engine)
    theirs = rows(real) if real is not None else {}
    judged = tuple(
        judge(scenario, what, ours.get(what), theirs.get(what), real is not None)
        for what in dict.fromkeys([*ours, *theirs])
    )
    return Comparison(
        scenario, real_name, dict(engine), dict(real) if real is not None else None, judged, absence
    )


def judge(
    scenario: str, what: str, ours: Plain | Measured, theirs: Plain | Measured, complete: bool
) -> Row:
    if not complete:
        return Row(what, ours, None, _ALONE)
    if isinstance(ours, Measured) and isinstance(theirs, Measured):
        return Row(what, ours, theirs, _MEASURED)
    if ours == theirs and type(ours) is type(theirs):
        return Row(what, ours, theirs, _SAME)
    known: Difference | None = declared(scenario, what)
    if known is not None:
        return Row(what, ours, theirs, _DECLARED, known.why)
    return Row(what, ours, theirs, _UNDECLARED)


def run(scenario: Scenario, engine: Cluster, real: Cluster | None, absence: str) -> Comparison:
    """Runs a scenario on the engine and on the real side; mends each before and after.

    Raises UndeclaredDifference if the outcomes differ in a way that is not declared.  If the
    real side does not offer the scenario's fault, the engine's side is shown alone.
    """
    name = getattr(scenario, "__name__", "scenario")
    ours, theirs = on_both(scenario, engine, real) if real else (on(scenario, engine), None)
    if isinstance(theirs, NotOffered):
        absence, theirs = str(theirs), None
    outcome = compare(name, ours, theirs, real.name if real is not None else "", absence)
    if any(row.verdict == _UNDECLARED for row in outcome.rows):
        raise UndeclaredDifference(outcome.text)
    return outcome


def on_both(
    scenario: Scenario, engine: Cluster, real: Cluster
) -> tuple[Mapping[str, Any], Mapping[str, Any] | NotOffered]:
    """Runs a scenario on both sides at once: most of it is waiting for timeouts.

    An interrupt reaches both sides, and both are repaired before it goes on.
    """
    threads: list[int] = []
    with ThreadPoolExecutor(1, initializer=lambda: threads.append(threading.get_ident())) as other:
        theirs = other.submit(on, scenario, real)
        try:
            return on(scenario, engine), _unless_not_offered(theirs)
        except KeyboardInterrupt as interrupt:
            for thread in () if theirs.done() else threads:
                _raise_in(thread, type(interrupt))
            raise


def _unless_not_offered(theirs: Future[Mapping[str, Any]]) -> Mapping[str, Any] | NotOffered:
    try:
        return theirs.result()
    except NotOffered as refusal:
        return refusal


def _raise_in(thread: int, error: type[BaseException]) -> None:
    """Python delivers signals to the main thread alone; this passes one on."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


def on(scenario: Scenario, cluster: Cluster) -> Mapping[str, Any]:
    """Runs a scenario on one healthy cluster and leaves it healthy."""
    mend(cluster)
    try:
        seen = scenario(cluster)
    except Exception as error:
        error.add_note(f"This happened on the {cluster.name} side.")
        raise
    finally:
        mend(cluster)
    if not isinstance(seen, Mapping):
        raise TypeError("A scenario returns a mapping of what was observed: {'leader': 102, …}.")
    return seen


def mend(cluster: Cluster) -> None:
    """Heals links, starts and resumes nodes, and waits until brokers are in service."""
    snapshot = cluster.snapshot()
    if snapshot["links"]:
        cluster.heal()
    controller = snapshot["controller"]
    known = snapshot.get("controllers") or {controller["id"]: controller}
    states = {node: seen["state"] for node, seen in (known | snapshot["brokers"]).items()}
    if down := [node for node, state in states.items() if state in ("stopped", "killed")]:
        cluster.start(*down)
    for node in (node for node, state in states.items() if state == "paused"):
        cluster.resume(node)
    cluster.wait_until(
        lambda c: not any(b["fenced"] for b in c.snapshot()["brokers"].values()),
        timeout_s=40,
        what="every broker to be in service",
    )
