"""What `make bench` measures: the engine beside its rivals, a module for each measurement.

A module has `measure(rounds) -> rows`; a row has name, unit, ours, theirs, ratio, budget
and holds (docs: design budgets).  Both sides are measured in the same run, in turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

from kit.tables import Table

PARTS = (
    "codec",
    "records",
    "cluster",
    "lag",
    "rebalance",
    "simulator",
    "explorer",
)
ON_REQUEST = ("grading", "wide", "failover", "restart")
"""Parts that take many minutes: they run only where they are named."""
_SHOWN = ("name", "unit", "ours", "theirs", "ratio", "budget")
_COLUMNS = ("what", "unit", "engine", "beside it", "ratio", "budget", "holds")


def rows_of(
    names: Sequence[str], packages: Sequence[ModuleType], rounds: int
) -> list[dict[str, Any]]:
    """Measures the named parts, or all PARTS of the `packages`; ValueError for an unknown one."""
    usual = {part: package for package in packages for part in package.PARTS}
    known = usual | {part: package for package in packages for part in package.ON_REQUEST}
    if unknown := [each for each in names if each not in known]:
        raise ValueError(f"there is no part {unknown[0]}: choose from {', '.join(known)}")
    modules = [import_module(f"{known[part].__name__}.{part}") for part in names or usual]
    return [row for module in modules for row in module.measure(rounds=rounds)]


def table(rows: list[dict[str, Any]]) -> Table:
    """The rows for a terminal or a notebook."""
    shown = [
        [*(_shown(row[name]) for name in _SHOWN), "yes" if row["holds"] else "no"] for row in rows
    ]
    return Table("The engine beside what it is compared with", _COLUMNS, shown)


def _shown(value: Any) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
