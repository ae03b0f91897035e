"""The table of sinks and crash points: counts from runs, as text, as HTML and in a file.

Each cell has a sign as well as a colour: ✓ every event once, ↻ events that are there twice, ∅
events that are lost.  `python -m labs.crash.table` makes it; nothing here is written by hand.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from html import escape
from pathlib import Path

from kit.tables import Table
from labs.crash.payments import Count

WRITTEN = Path(__file__).with_name("table.json")
_MAKERS = [
    Path(__file__).with_name(f"{name}.py")
    for name in ("driver", "payments", "points", "sinks", "trial")
]
COLUMNS = {
    "before-offsets": "before offsets",
    "after-offsets": "after offsets",
    "in-sink": "in the sink",
    "after-sink": "after the sink",
    "after-commits": "after commits",
    "executor": "executor",
}
"""The crash points, by their names in commands, as the table calls them."""
_EXACT, _REPEATED, _LOST = ("✓", "#009E73"), ("↻", "#E69F00"), ("∅", "#D55E00")


@dataclass(frozen=True, slots=True)
class Results:
    """Counts by reader and crash point."""

    seed: int
    batch: int
    cells: Mapping[str, Mapping[str, Count]]

    def repeats(self, reader: str) -> list[str]:
        """The points at which this reader finds rows twice."""
        return [COLUMNS[at] for at, found in self.cells[reader].items() if found.repeated]

    def losses(self, reader: str) -> list[str]:
        """The points at which this reader misses rows."""
        return [COLUMNS[at] for at, found in self.cells[reader].items() if found.lost]

    @property
    def _points(self) -> list[str]:
        return [point for point in COLUMNS if point in next(iter(self.cells.values()))]

    @property
    def _closing(self) -> str:
        produced = self.cells[next(iter(self.cells))][self._points[0]].produced
        return (
            f"{produced} events in the topic. Killed in micro-batch {self.batch}; seed {self.seed}."
        )

    def __repr__(self) -> str:
        rows = [
            [reader, *(str(found[point]) for point in self._points)]
            for reader, found in self.cells.items()
        ]
        columns = ["sink and reader", *(COLUMNS[point] for point in self._points)]
        return repr(Table("Sink × crash point", columns, rows, self._closing))

    def _repr_html_(self) -> str:
        head = "".join(
            f"<th scope='col' style='{_CELL};font-weight:600'>{escape(COLUMNS[point])}</th>"
            for point in self._points
        )
        body = "".join(
            f"<tr style='background:none'><th scope='row' style='{_CELL};font-weight:400'>"
            f"{escape(reader)}</th>{''.join(_cell(found[point]) for point in self._points)}</tr>"
            for reader, found in self.cells.items()
        )
        return (
            "<div style='overflow-x:auto;color:var(--jp-content-font-color1,inherit)'>"
            "<strong>Sink × crash point</strong><table style='border-collapse:separate;"
            "border-spacing:3px;margin:6px 0;font-size:12px;color:inherit'>"
            "<thead><tr style='background:none'>"
            f"<th scope='col' style='{_CELL};font-weight:600'>sink and reader</th>{head}</tr>"
            f"</thead><tbody>{body}</tbody></table><div>{escape(self._closing)}</div></div>"
        )

    def text(self) -> str:
        """For `read`."""
        cells = {
            reader: {point: asdict(by_point[point]) for point in COLUMNS if point in by_point}
            for reader, by_point in self.cells.items()
        }
        whole = {"code": code(), "seed": self.seed, "batch": self.batch, "cells": cells}
        return json.dumps(whole, indent=1) + "\n"


def code() -> str:
    """A digest of what makes the table: it is written with the table, and a test compares.

    Docstrings and comments do not count, so better English needs no new table.
    """
    statements = [line for file in _MAKERS for line in _statements(file.read_text())]
    return sha256("\n".join(statements).encode()).hexdigest()


def _statements(source: str) -> list[str]:
    docstrings = {
        number
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return [
        line
        for number, line in enumerate(source.splitlines(), 1)
        if number not in docstrings and line.strip() and not line.strip().startswith("#")
    ]


def read(file: Path) -> Results:
    """The table that an earlier run has written."""
    whole = json.loads(file.read_text())
    cells = {
        reader: {point: Count(**numbers) for point, numbers in by_point.items()}
        for reader, by_point in whole["cells"].items()
    }
    return Results(whole["seed"], whole["batch"], cells)


_CELL = "text-align:left;vertical-align:top;padding:3px 8px"


def _cell(found: Count) -> str:
    sign, colour = _LOST if found.lost else _REPEATED if found.repeated else _EXACT
    # The colour is an edge and a tint, so that text keeps its contrast in light and dark.
    style = f"{_CELL};white-space:nowrap;border-left:4px solid {colour};background:{colour}22"
    return f"<td style='{style}'><span aria-hidden='true'>{sign}</span> {escape(str(found))}</td>"
