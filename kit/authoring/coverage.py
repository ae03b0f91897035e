"""Which concepts of the sources have a cell.

The ledger of concepts is kept beside the project, not in it.  Without the ledger, only
the project's own map can be shown.  `docs/coverage.csv` maps a ledger row to a notebook
and a cell's name, says on which side the cell shows it, and notes what a run corrected.  A
notebook listed in `notebooks/finished.txt` must cover every row that the ledger gives it first.

The side comes from the run that built the notebook (see `witness`); `python -m kit.authoring
coverage` writes it.  Where the ledger asks for both sides and the cell shows fewer, the row
needs a reason: what a real broker cannot be made to show.

A row's check is what the ledger wants to be seen.  `seen` quotes the words in which the cell's
stored output shows it, so a cell that no longer shows them is a fault.  Where a part of the check
is not shown, `missing` says which.
"""

from __future__ import annotations

import csv
import html
import os
import re
from collections import Counter
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path

from kit.authoring import witness
from kit.authoring.sources import read_source
from kit.course import PROJECT, reference_notebook, source_of
from kit.tables import Table

MAP = PROJECT / "docs" / "coverage.csv"
STRENGTH = ("read", "sim", "kafka", "engine", "both")
PART = re.compile(r"^(exercise|check|prediction)-")
MARKUP = re.compile(r"<style>.*?</style>|<[^>]*>", re.DOTALL)
SPACE = re.compile(r"\s+")
FINISHED = PROJECT / "notebooks" / "finished.txt"


@dataclass(frozen=True, slots=True)
class Concept:
    """One row of the ledger; `notebook` is its first owner, `evidence` what it asks for."""

    id: str
    notebook: str
    concept: str
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Covered:
    """One line of the project's map.  A row has several where several cells show its check."""

    row: str
    notebook: str
    cell: str
    side: str = ""
    """`both`, `engine`, `kafka`, `sim` or `read`: what the cell's run reached."""
    correction: str = ""
    reason: str = ""
    """Why the cell shows a weaker side than the ledger asks for."""
    seen: str = ""
    """The words of the cell's output that show the row's check; several are split by ` | `."""
    missing: str = ""
    """What of the check is not shown."""


def ledger() -> list[Concept]:
    """The ledger's rows, from KAFKALAB_LEDGER or from beside the project; else none."""
    beside = PROJECT.parent / "shared" / "ledger"
    folder = Path(os.environ.get("KAFKALAB_LEDGER", beside))
    return [
        Concept(
            row["id"],
            row["notebook"].split(";")[0].strip(),
            row["concept"],
            (row.get("evidence") or "").strip(),
        )
        for path in sorted(folder.glob("*.csv"))
        for row in _rows(path)
    ]


def covered(path: Path = MAP) -> list[Covered]:
    return [
        Covered(**{field.name: row.get(field.name) or "" for field in fields(Covered)})
        for row in (_rows(path) if path.exists() else [])
    ]


def finished(path: Path = FINISHED) -> list[str]:
    """Numbers of the notebooks that claim to cover all their rows."""
    lines = path.read_text().split("\n") if path.exists() else []
    return [line.split("#")[0].strip() for line in lines if line.split("#")[0].strip()]


def faults(concepts: list[Concept], rows: list[Covered], done: list[str]) -> list[str]:
    """What is wrong with the map, one sentence each.

    A finished notebook has a row without a cell; a mapped cell does not exist; a mapped row
    is not in the ledger (where there is one); a row's side is not the one that the run reached;
    a row that asks for both sides has a weaker one and no reason; the words that a row quotes
    are not in its cell; a row of a finished notebook neither quotes any nor says what is missing.
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
    reached = {number: sides(number) for number in cells}
    found += [
        f"{row.row}: the run of {row.cell!r} reached {side!r}, the map says {row.side!r}; "
        "run: python -m kit.authoring coverage"
        for row in rows
        if (side := reached[row.notebook].get(row.cell, row.side)) != row.side
    ]
    asks_for_both = {concept.id for concept in concepts if concept.evidence == "both"}
    settled = {row.row for row in rows if row.side == "both" or row.reason}
    found += [
        f"{row.row} asks for both sides, {row.cell!r} shows {row.side!r}, and no reason is given"
        for row in rows
        if row.row in asks_for_both - settled
    ]
    shown = {number: texts(number) for number in cells}
    found += [
        f"{row.row}: {row.cell!r} in notebook {row.notebook} does not show {words!r}"
        for row in rows
        for words in filter(None, row.seen.split(" | "))
        if words not in shown[row.notebook].get(row.cell, "")
    ]
    found += [
        f"{row.row}: {row.cell!r} in notebook {row.notebook} quotes nothing that shows its check, "
        "and says nothing that is missing"
        for row in rows
        if row.notebook in done and not row.seen and not row.missing
    ]
    return found


def sides(number: str) -> dict[str, str]:
    """Cell name -> the side that the run of the reference notebook reached."""
    import nbformat

    source = source_of(number)
    if source is None or not (file := reference_notebook(source)).exists():
        return {}
    found: dict[str, str] = {}
    for cell in nbformat.read(file, as_version=4).cells:
        name = PART.sub("", cell.id)
        if side := cell.metadata.get(witness.KEY, {}).get("side"):
            found[name] = max(found.get(name, "read"), side, key=STRENGTH.index)
        elif cell.cell_type == "markdown":
            found[name] = "read"
    return found


def texts(number: str) -> dict[str, str]:
    """Cell name -> the words of its stored output, markup and line breaks aside.

    Of a cell that runs nothing, and of an exercise, also what it says.
    """
    import nbformat

    source = source_of(number)
    if source is None or not (file := reference_notebook(source)).exists():
        return {}
    found: dict[str, str] = {}
    for cell in nbformat.read(file, as_version=4).cells:
        parts = [found.get(name := PART.sub("", cell.id), "")]
        if cell.cell_type == "markdown" or name != cell.id:
            parts.append(cell.source)
        for output in cell.get("outputs", []):
            parts += [output.get("text", ""), *map(str, output.get("data", {}).values())]
        found[name] = " ".join(map(_words, parts))
    return found


def write_sides(path: Path = MAP) -> int:
    """Puts the sides that runs reached into the map; gives how many rows changed."""
    rows = covered(path)
    reached = {number: sides(number) for number in {row.notebook for row in rows}}
    new = [replace(row, side=reached[row.notebook].get(row.cell, "")) for row in rows]
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(field.name for field in fields(Covered))
        table.writerows(astuple(row) for row in new)
    return sum(before != after for before, after in zip(rows, new, strict=True))


def state() -> Table:
    """Per notebook: rows it owns, rows with a cell, and whether it claims to be finished."""
    concepts, rows, done = ledger(), covered(), finished()
    mapped = {row.row for row in rows}
    if not concepts:
        cells = Counter(notebook for _, notebook in {(row.row, row.notebook) for row in rows})
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
    reasons = sum(bool(row.reason) for row in rows)
    missing = sum(bool(row.missing) for row in rows)
    closing = (
        f"{have.total()} of {owned.total()} rows have a cell. {reasons} ask for both sides and "
        f"have a reason why one is shown. {missing} show a part of what their check asks."
    )
    return Table("Coverage", ("notebook", "rows", "with a cell", "open", "state"), lines, closing)


def open_rows(notebook: str) -> Table:
    """The rows of one notebook that have no cell yet, or whose cell shows a part of the check."""
    rows = covered()
    mapped = {row.row for row in rows}
    lines = [
        (concept.id, "", concept.concept)
        for concept in ledger()
        if concept.notebook == notebook and concept.id not in mapped
    ]
    lines += [(r.row, r.cell, r.missing) for r in rows if r.notebook == notebook and r.missing]
    title = f"Open rows of notebook {notebook}"
    return Table(title, ("row", "cell", "what is missing"), lines, f"{len(lines)}")


def _words(text: str) -> str:
    return SPACE.sub(" ", html.unescape(MARKUP.sub(" ", text))).strip()


def _cell_names(number: str) -> set[str]:
    source = source_of(number)
    return {cell.name for cell in read_source(source)} if source else set()


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
