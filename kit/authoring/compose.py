"""Turns source cells into the two notebooks, without outputs.

The student's notebook has the stubs, the reference has the solutions; everything else is
the same, cell for cell.  Cell ids come from names, so that a comment, a coverage row or a
submission can point at a cell, and a rebuild changes only what the author changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import nbformat

from kit.authoring.sources import Cell
from kit.update import stamps

KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
LANGUAGE = {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"}

COLLAPSED = "jp-MarkdownHeadingCollapsed"
"""JupyterLab opens a heading with this mark closed, with all cells below it."""

Notebook = Any  # nbformat.NotebookNode


def student(cells: Sequence[Cell]) -> Notebook:
    """What learners open: stubs in the exercise cells."""
    return _notebook(cells, lambda cell: not cell.has("solution"))


def reference(cells: Sequence[Cell]) -> Notebook:
    """What is executed and compared: solutions in the exercise cells."""
    return _notebook(cells, lambda cell: not cell.has("stub"))


def _notebook(cells: Sequence[Cell], wanted: Callable[[Cell], bool]) -> Notebook:
    notebook = nbformat.v4.new_notebook(
        metadata={"kernelspec": dict(KERNEL), "language_info": dict(LANGUAGE)}
    )
    notebook.nbformat_minor = 5
    notebook.cells = [_cell(cell) for cell in cells if wanted(cell)]
    return notebook


def _cell(cell: Cell) -> Any:
    new = nbformat.v4.new_code_cell if cell.code else nbformat.v4.new_markdown_cell
    tags = _tags(cell)
    metadata: dict[str, Any] = {"tags": tags} if tags else {}
    if cell.opens_deeper:
        metadata[COLLAPSED] = True
    return new(cell.text, id=_id(cell), metadata=metadata)


def _id(cell: Cell) -> str:
    if cell.is_prediction:
        return f"prediction-{cell.name}"
    if cell.has("stub") or cell.has("solution"):
        return f"exercise-{cell.name}"
    return f"check-{cell.name}" if cell.has("check") else cell.name


def _tags(cell: Cell) -> list[str]:
    """The tags a reader, nbval and the grader see; stub and solution look alike."""
    tags = [tag for tag in cell.tags if tag not in ("stub", "solution")]
    if cell.is_prediction:
        tags = ["prediction", cell.name]
    elif cell.has("stub") or cell.has("solution"):
        tags = ["exercise", cell.name, *tags]
    elif cell.has("check"):
        tags.append(cell.name)
    if cell.has("sim"):
        tags.append("nbval-check-output")
    return tags


def same_cells(written: Notebook, composed: Notebook) -> str:
    """Empty if both have the same cells, outputs aside; else the first difference."""
    if len(written.cells) != len(composed.cells):
        return f"{len(written.cells)} cells in the file, {len(composed.cells)} in the source"
    for old, new in zip(written.cells, composed.cells, strict=True):
        for what in ("id", "cell_type", "source"):
            if old[what] != new[what]:
                return f"cell {new.id}: its {what} differs"
        if old.metadata.get("tags", []) != new.metadata.get("tags", []):
            return f"cell {new.id}: its tags differ"
    if written.metadata.get(stamps.KEY) != composed.metadata.get(stamps.KEY):
        return "its stamp differs"
    return ""
