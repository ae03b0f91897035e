"""Executes a source once and writes both notebooks from that run.

The reference keeps every output.  The student's notebook keeps all but those of exercise
and check cells, so that it reads well before a kernel is started and gives nothing away.
Of a prediction it shows the question.
"""

from __future__ import annotations

import copy
import os
import tempfile
from pathlib import Path
from typing import Any

import nbformat

from kit.authoring import compose, outputs
from kit.authoring.sources import read_source
from kit.course import PROJECT, reference_notebook, student_notebook

CELL_TIMEOUT_S = 180


class BuildFailed(Exception):
    """A build stopped; the message names the notebook, the cell and the error."""


def build(source: Path) -> list[Path]:
    """Executes `source` and writes both notebooks.  Raises BuildFailed or BadSource."""
    cells = read_source(source)
    executed = execute(compose.everything(cells), student_notebook(source).parent, source.name)
    shown: dict[str, Any] = {}
    questions: dict[str, Any] = {}
    for run_count, cell in enumerate((c for c in executed.cells if c.cell_type == "code"), 1):
        tags = cell.metadata.get("tags", [])
        if "sim" in tags and any(outputs.WIDGET in o.get("data", {}) for o in cell.outputs):
            raise BuildFailed(f"{source.name}, cell {cell.id}: a sim cell cannot show a widget.")
        if outputs.shows_only_a_widget(cell):
            raise BuildFailed(
                f"{source.name}, cell {cell.id}: the widget has no static form (SVG or HTML)."
            )
        outputs.clean(cell, run_count)
        if "predict" in tags and cell.id not in questions:
            questions[cell.id] = cell  # the stub comes first, then the answer
        else:
            shown[cell.id] = cell
    reference = compose.reference(cells)
    _fill(reference, shown)
    student = compose.student(cells)
    open_cells = {c.id: c for c in shown.values() if not _is_work(c)} | questions
    _fill(student, open_cells)
    return [
        _write(student, student_notebook(source)),
        _write(reference, reference_notebook(source)),
    ]


def execute(notebook: Any, folder: Path, name: str) -> Any:
    """Runs a notebook in `folder` with a progress file of its own.  Raises BuildFailed."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    notebook = copy.deepcopy(notebook)
    folder.mkdir(parents=True, exist_ok=True)
    for position, cell in enumerate(notebook.cells):
        # nbformat wants ids to be unique, and a question shares its id with its answer.
        cell.id, cell.metadata["name"] = f"cell-{position}", cell.id
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT_S,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        store_widget_state=False,
        record_timing=False,
    )
    with tempfile.TemporaryDirectory(prefix="kafkalab-build-") as scratch:
        env = os.environ | {
            "KAFKALAB_PROGRESS": str(Path(scratch) / "progress.json"),
            "JUPYTER_PREFER_ENV_PATH": "1",
            "PYTHONPATH": str(PROJECT),
        }
        try:
            client.execute(env=env)
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            raise BuildFailed(f"{name}: {error}") from error
    for cell in notebook.cells:
        cell.id = cell.metadata.pop("name")
    return notebook


def drift(source: Path) -> list[str]:
    """How the written notebooks differ from their source; empty if they do not."""
    cells = read_source(source)
    found = []
    for path, composed in (
        (student_notebook(source), compose.student(cells)),
        (reference_notebook(source), compose.reference(cells)),
    ):
        if not path.exists():
            found.append(f"{path.name} is not there")
        elif difference := compose.same_cells(nbformat.read(path, as_version=4), composed):
            found.append(f"{path.parent.name}/{path.name}: {difference}")
    return [f"{line}; run: make notebooks" for line in found]


def _is_work(cell: Any) -> bool:
    tags = cell.metadata.get("tags", [])
    return "exercise" in tags or "check" in tags


def _fill(notebook: Any, executed: dict[str, Any]) -> None:
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.id in executed:
            cell.outputs = copy.deepcopy(executed[cell.id].outputs)
            cell.execution_count = executed[cell.id].execution_count


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
