"""Which concepts of the sources have a cell.

The ledger of concepts is kept beside the project, not in it.  Without the ledger, only
the project's own map can be shown.  `docs/coverage.csv` maps a ledger row to a notebook
and a cell's name, and notes what a run corrected.  A notebook listed in
`notebooks/finished.txt` must cover every row that the ledger gives it first.
"""

from __future__ import annotations

import csv
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from kit.authoring.sources import read_source
from kit.course import PROJECT, source_of
from kit.tables import Table

MAP = PROJECT / "docs" / "coverage.csv"
FINISHED = PROJECT / "notebooks" / "finished.txt"


@dataclass(frozen=True, slots=True)
class Concept:
    """One row of the ledger; `notebook` is its first owner."""

    id: str
    notebook: str
    concept: str


@dataclass(frozen=True, slots=True)
class Covered:
    """One row of the project's map."""

    row: str
    notebook: str
    cell: str
    correction: str = ""


def ledger() -> list[Concept]:
    """The ledger's rows, from KAFKALAB_LEDGER or from beside the project; else none."""
    beside = PROJECT.parent / "shared" / "ledger"
    folder = Path(os.environ.get("KAFKALAB_LEDGER", beside))
    return [
        Concept(row["id"], row["notebook"].split(";")[0].strip(), row["concept"])
        for path in sorted(folder.glob("*.csv"))
        for row in _rows(path)
    ]


def covered(path: Path = MAP) -> list[Covered]:
    return [
        Covered(row["row"], row["notebook"], row["cell"], row.get("correction") or "")
        for row in (_rows(path) if path.exists() else [])
    ]


def finished(path: Path = FINISHED) -> list[str]:
    """Numbers of the notebooks that claim to cover all their rows."""
    lines = path.read_text().split("\n") if path.exists() else []
    return [line.split("#")[0].strip() for line in lines if line.split("#")[0].strip()]


def faults(concepts: list[Concept], rows: list[Covered], done: list[str]) -> list[str]:
    """What is wrong with the map, one sentence each.

    A finished notebook has a row without a cell; a mapped cell does not exist; a mapped row
    is not in the ledger (where there is one).
    """
    mapped = {row.row for row in rows}
    found = [
        f"{c.id} belongs to notebook {c.notebook}, which is finished, and has no cell: {c.concept}"
        for c in concepts
        if c.notebook in done and c.id not in mapped
    ]
    known = {concept.id for concept in concepts}
    found += [f"{r.row} is not in the ledger" for r in rows if known and r.row not in known]
    cells = {number: _cell_names(number) for number in {row.notebook for row in rows}}
    found += [
        f"{row.row}: notebook {row.notebook} has no cell {row.cell!r}"
        for row in rows
        if row.cell not in cells[row.notebook]
    ]
    return found


def state() -> Table:
    """Per notebook: rows it owns, rows with a cell, and whether it claims to be finished."""
    concepts, rows, done = ledger(), covered(), finished()
    mapped = {row.row for row in rows}
    if not concepts:
        cells = Counter(row.notebook for row in rows)
        return Table(
            "Coverage (there is no ledger beside the project)",
            ("notebook", "rows with a cell", "state"),
            [(n, str(cells[n]), "finished" if n in done else "") for n in sorted(cells)],
        )
    owned = Counter(concept.notebook for concept in concepts)
    have = Counter(concept.notebook for concept in concepts if concept.id in mapped)
    lines = [
        (n, str(owned[n]), str(have[n]), str(owned[n] - have[n]), "finished" if n in done else "")
        for n in sorted(owned)
    ]
    closing = f"{have.total()} of {owned.total()} rows have a cell."
    return Table("Coverage", ("notebook", "rows", "with a cell", "open", "state"), lines, closing)


def open_rows(notebook: str) -> Table:
    """The rows of one notebook that have no cell yet."""
    mapped = {row.row for row in covered()}
    lines = [
        (concept.id, concept.concept)
        for concept in ledger()
        if concept.notebook == notebook and concept.id not in mapped
    ]
    return Table(f"Open rows of notebook {notebook}", ("row", "concept"), lines, f"{len(lines)}")


def _cell_names(number: str) -> set[str]:
    source = source_of(number)
    return {cell.name for cell in read_source(source)} if source else set()


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
