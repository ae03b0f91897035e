"""The notebooks in the repository are what their sources say."""

from __future__ import annotations

import nbformat
import pytest

from kit.authoring.build import drift
from kit.course import PROJECT, reference_notebook, source_files, student_notebook
from kit.exercises.cards import RIGHT

SOURCES = source_files()
WRITTEN = [path for s in SOURCES for path in (student_notebook(s), reference_notebook(s))]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_regenerating_gives_the_same_cells(source) -> None:
    assert drift(source) == []


def test_no_notebook_stands_without_a_source() -> None:
    found = {*PROJECT.glob("notebooks/**/*.ipynb"), *PROJECT.glob("labs/**/*.ipynb")}
    found = {path for path in found if ".ipynb_checkpoints" not in path.parts}
    assert found == set(WRITTEN)


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_committed_notebook_opens_anywhere(path) -> None:
    assert path.stat().st_size < 300_000
    notebook = nbformat.read(path, as_version=4)
    assert notebook.metadata.kernelspec.name == "python3"
    assert "widgets" not in notebook.metadata
    text = path.read_text()
    assert "widget-state" not in text
    assert "widget-view" not in text


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_notebook_stays_readable(source) -> None:
    code_cells = [
        cell
        for cell in nbformat.read(student_notebook(source), as_version=4).cells
        if cell.cell_type == "code"
    ]
    assert len(code_cells) <= 45


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_every_side_by_side_run_in_the_reference_reached_a_real_kafka(source) -> None:
    cells = nbformat.read(reference_notebook(source), as_version=4).cells
    runs = [cell for cell in cells if "lab.both(" in cell.source and cell.cell_type == "code"]
    alone = [cell.id for cell in runs if "on the engine and on Kafka" not in str(cell.outputs)]
    assert alone == []


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_every_check_in_the_reference_is_passed(source) -> None:
    cells = nbformat.read(reference_notebook(source), as_version=4).cells
    checks = [cell for cell in cells if "check" in cell.metadata.get("tags", [])]
    said = {cell.id: str(cell.outputs[-1].data["text/plain"]) for cell in checks}
    assert [cell for cell, text in said.items() if not text.startswith(f"{RIGHT} ")] == []
