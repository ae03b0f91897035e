"""Every concept that a finished notebook owns has a cell that exists."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kit.authoring import coverage
from kit.authoring.build import build
from kit.authoring.coverage import Concept, Covered

SAMPLE = Path(__file__).parents[1] / "kit" / "sample_course"


def test_the_map_names_cells_that_exist() -> None:
    assert coverage.faults([], coverage.covered(), []) == []


def test_finished_notebooks_cover_every_row_they_own() -> None:
    concepts = coverage.ledger()
    if not concepts:
        pytest.skip("not a missing part: the ledger does not lie beside the project")
    assert coverage.faults(concepts, coverage.covered(), coverage.finished()) == []


def test_each_kind_of_fault_is_named(monkeypatch) -> None:
    monkeypatch.setenv("KAFKALAB_COURSE", str(SAMPLE))
    concepts = [Concept("D001", "99", "the ISR"), Concept("D002", "12", "compaction")]
    good = Covered("D001", "99", "how-a-high-watermark-moves", missing="its chart")
    assert coverage.faults(concepts, [good], ["99"]) == []
    (uncovered,) = coverage.faults(concepts, [], ["99"])
    assert "D001 belongs to notebook 99, which is finished, and has no cell" in uncovered
    (absent,) = coverage.faults(concepts, [replace(good, cell="nowhere")], ["99"])
    assert absent == "D001: notebook 99 has no cell 'nowhere'"
    (silent,) = coverage.faults(concepts, [replace(good, missing="")], ["99"])
    assert "quotes nothing that shows its check" in silent
    both = [Concept("D001", "99", "the ISR", "both")]
    (weak,) = coverage.faults(both, [replace(good, side="sim")], [])
    assert weak.startswith("D001 asks for both sides")
    assert coverage.faults(both, [replace(good, side="sim", reason="no such moment")], []) == []
    (unknown,) = coverage.faults(concepts, [good, Covered("X9", "99", "99-2")], [])
    assert unknown == "X9 is not in the ledger"


def test_sides_and_words_come_from_the_run_that_built_the_notebook(monkeypatch, tmp_path) -> None:
    course = tmp_path / "course"
    shutil.copytree(SAMPLE, course)
    monkeypatch.setenv("KAFKALAB_COURSE", str(course))
    build(course / "lessons" / "nb99_sample" / "source" / "99_sample.py")
    path = tmp_path / "map.csv"
    path.write_text("row,notebook,cell,side,correction,reason\nD1,99,doorway,both,,why\n")
    (typed,) = coverage.faults([], coverage.covered(path), [])
    assert "the run of 'doorway' reached 'read', the map says 'both'" in typed
    assert coverage.write_sides(path) == 1
    assert coverage.covered(path) == [Covered("D1", "99", "doorway", "read", "", "why")]
    assert coverage.faults([], coverage.covered(path), []) == []
    name, text = max(coverage.texts("99").items(), key=lambda cell: len(cell[1]))
    row = Covered("D1", "99", name, coverage.sides("99")[name], seen=f"{text[:9]} | {text[-9:]}")
    assert coverage.faults([], [row], []) == []
    (fault,) = coverage.faults([], [replace(row, seen=f"{text[:9]} | 4 eyes")], [])
    assert fault == f"D1: {name!r} in notebook 99 does not show '4 eyes'"


def test_finished_notebooks_are_listed_one_a_line(tmp_path) -> None:
    file = tmp_path / "finished.txt"
    file.write_text("# done\n00\n06  # all rows\n\n")
    assert coverage.finished(file) == ["00", "06"]


def test_the_ledger_is_read_from_the_folder_that_is_named(tmp_path, monkeypatch) -> None:
    (tmp_path / "rows.csv").write_text('id,notebook,concept\nG1,01;02,"a, b"\n')
    monkeypatch.setenv("KAFKALAB_LEDGER", str(tmp_path))
    assert coverage.ledger() == [Concept("G1", "01", "a, b")]
    assert "0 of 1 rows have a cell" in repr(coverage.state())
    assert "a, b" in repr(coverage.open_rows("01"))
