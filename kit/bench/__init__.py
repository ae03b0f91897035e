"""What `make bench` measures: the engine beside its rivals, a module for each measurement.

A module has `measure(rounds) -> rows`; a row has name, unit, ours, theirs, ratio, budget
and holds (docs: design budgets).  Both sides are measured in the same run, in turns.
"""

from __future__ import annotations

import argparse
import json
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
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
    "pipeline",
    "spark",
)
ON_REQUEST = ("grading", "pipeline_scale")
"""Parts that take many minutes: they run only where they are named."""
_SHOWN = ("name", "unit", "ours", "theirs", "ratio", "budget")
_COLUMNS = ("what", "unit", "engine", "beside it", "ratio", "budget", "holds")


def main(arguments: list[str]) -> int:
    """Measures the named parts (all by default), prints a table, writes JSON if asked."""
    parser = argparse.ArgumentParser(prog="kafkalab bench")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows here")
    parser.add_argument("--rounds", type=int, default=3, help="alternating rounds per row")
    known = (*PARTS, *ON_REQUEST)
    parser.add_argument("parts", nargs="*", help=f"of: {', '.join(known)}; the last only by name")
    chosen = parser.parse_args(arguments)
    unknown = [part for part in chosen.parts if part not in known]
    if unknown:
        parser.error(f"there is no part {unknown[0]}: choose from {', '.join(known)}")
    rows: list[dict[str, Any]] = []
    for part in chosen.parts or PARTS:
        if find_spec(f"{__name__}.{part}") is not None:
            rows += import_module(f"{__name__}.{part}").measure(rounds=chosen.rounds)
    if chosen.json:
        chosen.json.write_text(json.dumps(rows, indent=2) + "\n")
    print(table(rows))
    return 0


def table(rows: list[dict[str, Any]]) -> Table:
    """The rows for a terminal or a notebook."""
    shown = [
        [*(_shown(row[name]) for name in _SHOWN), "yes" if row["holds"] else "no"] for row in rows
    ]
    return Table("The engine beside what it is compared with", _COLUMNS, shown)


def _shown(value: Any) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
