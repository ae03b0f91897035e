"""What a scenario showed in each column: a table to look at, and plain data to judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from kit.both.comparison import ABSENT, CELL, shown
from kit.both.outcomes import Measured, Plain, rows
from kit.columns.side import LOST, STANDARD
from kit.columns.stage import KRAFT, ZOOKEEPER

DESIGNS = (KRAFT, ZOOKEEPER)
ARROW = " → "
PAIRS = {f"active before{ARROW}after": ("active before", "active after"),
         f"epoch before{ARROW}after": ("epoch before", "epoch after")}  # fmt: skip
"""Rows of the table that show two observations."""
_BAD = "color:var(--jp-error-color1, #b00020)"


@dataclass(frozen=True)
class Column:
    """One column: its rows, or the sentence why there are none."""

    name: str
    rows: Mapping[str, Plain | Measured]
    absence: str = ""


@dataclass(frozen=True)
class Outcome:
    """Print it, read `.text`, or let a notebook show it.

    `seen` holds the observations by column; `of(name)` those of one; `plain` all of them flat, as
    `real KRaft › epoch after`.  `lab.verdict` settles a prediction on the outcome column by
    column, or on `plain` where the question is about several columns.
    """

    scenario: str
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()

    @property
    def seen(self) -> dict[str, dict[str, Any]]:
        """By column: each observation, a measurement as its number."""
        return {
            column.name: {what: _number(value) for what, value in column.rows.items()}
            for column in self.columns
            if not column.absence
        }

    @property
    def absent(self) -> dict[str, str]:
        """The columns that are missing, and why."""
        return {column.name: column.absence for column in self.columns if column.absence}

    def of(self, name: str) -> dict[str, Any]:
        """One column's observations; LookupError says why there are none."""
        if name in self.seen:
            return self.seen[name]
        names = ", ".join(column.name for column in self.columns)
        raise LookupError(
            self.absent.get(name, f"There is no column {name!r}; there are: {names}.")
        )

    @property
    def plain(self) -> dict[str, Any]:
        """All observations under flat names, `real KRaft › epoch after`."""
        return dict(rows(self.seen))

    @property
    def differences(self) -> dict[str, list[str]]:
        """By design: the facts in which the engine and the real one differ.

        Measurements are not compared, and neither is which node was elected and in how many
        attempts; whether there was an election at all is.
        """
        return {
            design: found
            for design in DESIGNS
            if (found := _different(self.seen.get(f"engine {design}"),
                                    self.seen.get(f"real {design}"), self._measured))
        }  # fmt: skip

    @property
    def _measured(self) -> set[str]:
        return {
            what
            for column in self.columns
            for what, value in column.rows.items()
            if isinstance(value, Measured)
        }

    @property
    def verdict(self) -> str:
        """One sentence about the records, and one about each missing column."""
        return " ".join(self._sentences)

    @property
    def _sentences(self) -> list[str]:
        lost = [name for name, found in self.seen.items() if found[LOST] is not True]
        if lost:
            said = f"Not every acknowledged record was read back in: {', '.join(lost)}."
        else:
            said = "Every acknowledged record was read back." if self.seen else "No column ran."
        return [said, *(f"{name}: {why}" for name, why in self.absent.items())]

    def table(self) -> list[tuple[str, list[str]]]:
        """Each row's name, and what the columns show."""
        differ = {what for found in self.differences.values() for what in found}
        names = dict.fromkeys(what for column in self.columns for what in column.rows)
        own = [name for name in names if name not in STANDARD]
        single = [name for name in STANDARD if name not in sum(PAIRS.values(), ())]
        return [
            (
                f"≠ {what}" if what in differ else what,
                [_cell(column.rows, PAIRS.get(what, (what,))) for column in self.columns],
            )
            for what in (*PAIRS, *single, *own)
        ]

    @property
    def text(self) -> str:
        lines = [("", *(column.name for column in self.columns))]
        lines += [(what, *cells) for what, cells in self.table()]
        widths = [max(map(len, each)) for each in zip(*lines, strict=True)]
        body = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
                for line in lines]  # fmt: skip
        notes = [f"  {note}" for note in self.notes]
        return "\n".join([f"{self.scenario}: {self.verdict}", *map(str.rstrip, body), *notes])

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        cell = f"style='{CELL};vertical-align:top'"
        names = ["", *(column.name for column in self.columns)]
        head = "".join(f"<th scope='col' {cell}>{escape(name)}</th>" for name in names)
        body = "".join(
            f"<tr><th scope='row' style='{CELL};vertical-align:top;font-weight:normal'>"
            f"{escape(what)}</th>{''.join(_html_cell(c, what) for c in cells)}</tr>"
            for what, cells in self.table()
        )
        sentences = "".join(f"<div>{escape(each)}</div>" for each in self._sentences)
        notes = "".join(f"<div style='opacity:.75'>{escape(note)}</div>" for note in self.notes)
        return (
            "<div style='color:var(--jp-content-font-color1,inherit)'>"
            f"<strong>{escape(self.scenario.replace('_', ' '))}</strong>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            f"{sentences}{notes}</div>"
        )


def _number(value: Plain | Measured) -> Plain:
    if isinstance(value, Measured):
        return None if value.value != value.value else round(value.value, 3)
    return value


def _cell(found: Mapping[str, Plain | Measured], whats: tuple[str, ...]) -> str:
    return ARROW.join(shown(found.get(what)) for what in whats) if found else ABSENT


def _html_cell(text: str, what: str) -> str:
    tone = f";{_BAD}" if what.endswith(LOST) and text not in ("yes", ABSENT) else ""
    return f"<td style='{CELL};vertical-align:top{tone}'>{escape(text)}</td>"


def _different(
    ours: Mapping[str, Any] | None, theirs: Mapping[str, Any] | None, measured: set[str]
) -> list[str]:
    if ours is None or theirs is None:
        return []
    paired = {
        shows: (_outcome(ours)[place], _outcome(theirs)[place]) for place, shows in enumerate(PAIRS)
    }
    single = {
        what: (ours.get(what), theirs.get(what))
        for what in dict.fromkeys([*ours, *theirs])
        if what not in measured and not any(what in pair for pair in PAIRS.values())
    }
    return [what for what, (one, other) in (paired | single).items() if one != other]


def _outcome(seen: Mapping[str, Any]) -> tuple[bool, bool]:
    """What does not depend on chance: is one active at the end, and was there an election?"""
    return seen["active after"] >= 0, seen["epoch after"] > seen["epoch before"]
