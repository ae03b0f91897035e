"""Executes a source once and writes both notebooks from that run.

The reference keeps every output: it is what one reads online and what the tests compare.
The learner's notebook has none, so that nothing tells what a run will show.  A cell of the
reference also keeps which sides it reached (see `witness`).
"""

from __future__ import annotations

import copy
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat

from kit.authoring import compose, outputs, times, witness
from kit.authoring.sources import Cell, read_source
from kit.course import PROJECT, group_of, reference_notebook, student_notebook
from kit.exercises.cards import NOT_AS_PREDICTED, PROBLEM, WRONG
from kit.update import stamps

CELL_TIMEOUT_S = 180


class BuildFailed(Exception):
    """A build stopped; the message names the notebook, the cell and the error."""


def build(source: Path) -> list[Path]:
    """Executes `source` and writes both notebooks.  Raises BuildFailed or BadSource."""
    cells = timed(source)
    reference = execute(compose.reference(cells), student_notebook(source).parent, source.name)
    for run_count, cell in enumerate((c for c in reference.cells if c.cell_type == "code"), 1):
        tags = cell.metadata.get("tags", [])
        if "sim" in tags and any(outputs.WIDGET in o.get("data", {}) for o in cell.outputs):
            raise BuildFailed(f"{source.name}, cell {cell.id}: a sim cell cannot show a widget.")
        if outputs.shows_only_a_widget(cell):
            raise BuildFailed(
                f"{source.name}, cell {cell.id}: the widget has no static form (SVG or HTML)."
            )
        if words := complaint(cell):
            raise BuildFailed(f"{source.name}, cell {cell.id}: {words}:\n{_text(cell)}")
        outputs.clean(cell, run_count)
    return [
        write_student(source),
        _write(reference, reference_notebook(source)),
    ]


def write_student(source: Path) -> Path:
    """Writes the learner's notebook; nothing is executed for it."""
    return _write(_student(source), student_notebook(source))


def _student(source: Path) -> Any:
    """The learner's notebook with its stamp, by which an update knows a learner's text."""
    notebook = compose.student(timed(source))
    notebook.metadata[stamps.KEY] = stamps.stamp(group_of(source), notebook.cells)
    return notebook


def execute(notebook: Any, folder: Path, name: str) -> Any:
    """Runs a notebook in `folder` with a progress file of its own.  Raises BuildFailed."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    notebook = copy.deepcopy(notebook)
    folder.mkdir(parents=True, exist_ok=True)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(witness.START))
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT_S,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        store_widget_state=False,
        record_timing=False,
    )
    with tempfile.TemporaryDirectory(prefix="kafkalab-build-") as scratch:
        env = environment(Path(scratch))
        try:
            client.execute(env=env | {witness.VARIABLE: str(Path(scratch) / "sides.json")})
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            raise BuildFailed(f"{name}: {error}") from error
        seen = witness.read(Path(scratch) / "sides.json")
    del notebook.cells[0]
    run = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell, noted in zip(run, seen, strict=True):
        cell.metadata[witness.KEY] = noted | _moves(cell)
    return notebook


def environment(scratch: Path) -> dict[str, str]:
    """Of a kernel that keeps its progress in `scratch`."""
    return os.environ | {
        "KAFKALAB_PROGRESS": str(scratch / "progress.json"),
        "JUPYTER_PREFER_ENV_PATH": "1",
        "PYTHONPATH": str(PROJECT),
    }


def complaint(cell: Any) -> str:
    """What is wrong with the outputs of a reference's cell, or nothing."""
    text = _text(cell)
    if NOT_AS_PREDICTED in str(cell.outputs):
        return "the run settles its prediction otherwise than the solution says"
    if "check" in cell.metadata.get("tags", []) and text.startswith(f"{WRONG} "):
        return "the solution fails"
    if any(line.startswith(f"{PROBLEM} ") for line in text.splitlines()):
        return "no answer was taken"
    return ""


def _moves(cell: Any) -> dict[str, bool]:
    shows_widget = any(outputs.WIDGET in output.get("data", {}) for output in cell.outputs)
    return {"moves": True} if shows_widget else {}


def _text(cell: Any) -> str:
    return "\n".join(o.get("text") or o.get("data", {}).get("text/plain", "") for o in cell.outputs)


def timed(source: Path) -> list[Cell]:
    """The cells of a source, with its minutes in the place of `{minutes}`."""
    cells = read_source(source)
    said = times.sentence(group_of(source), cells)
    return [replace(cell, text=cell.text.replace(times.PLACE, said)) for cell in cells]


def drift(source: Path) -> list[str]:
    """How the written notebooks differ from their source; empty if they do not."""
    cells = timed(source)
    found = []
    for path, composed in (
        (student_notebook(source), _student(source)),
        (reference_notebook(source), compose.reference(cells)),
    ):
        if not path.exists():
            found.append(f"{path.name} is not there")
        elif difference := compose.same_cells(nbformat.read(path, as_version=4), composed):
            found.append(f"{path.parent.name}/{path.name}: {difference}")
    return [f"{line}; run: make notebooks" for line in found]


def _write(notebook: Any, path: Path) -> Path:
    nbformat.validate(notebook)
    text = nbformat.writes(notebook) + "\n"
    if len(text.encode()) > outputs.LARGEST_NOTEBOOK:
        raise BuildFailed(
            f"{path.name} would be {len(text) // 1000} KB; {outputs.LARGEST_NOTEBOOK // 1000} KB "
            "is the limit. Show less in its largest output."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path
