"""Right, wrong, faked and empty answers of the lab get the marks they deserve."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import pytest

from kit.authoring import compose
from kit.authoring.sources import read_source
from kit.course import source_of
from kit.exercises import catalogue
from kit.grading import grade, submission

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]
EXERCISES = ("L1-2", "L1-3", "L1-4", "L1-11")


def student_file(folder: Path, name: str, answers: dict[str, str]) -> Path:
    notebook = compose.student(read_source(source_of("L1")))
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if "exercise" in tags and tags[1] in answers:
            cell.source = answers[tags[1]]
    path = folder / f"{name}.ipynb"
    nbformat.write(notebook, path)
    return path


def faked_file(folder: Path) -> Path:
    """Checks replaced by praise with outputs to match, and an answer that only claims."""
    claim = "def archive(rows, table, checkpoint):\n    print('each row once, all right')"
    path = student_file(folder, "faked", {"L1-4": claim})
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if "check" in cell.metadata.get("tags", []):
            cell.source = "print('✓ right')"
            cell.outputs = [nbformat.v4.new_output("stream", text="✓ right")]
    nbformat.write(notebook, path)
    return path


def test_marks_of_the_lab(tmp_path) -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed; run: sudo apt install bubblewrap")
    wrong = {id: next(iter(catalogue.find(id).wrong_answers.values())) for id in EXERCISES}
    files = [
        student_file(tmp_path, "right", submission.solved("L1").answers),
        student_file(tmp_path, "wrong", wrong),
        faked_file(tmp_path),
    ]
    with ThreadPoolExecutor(2) as two_at_a_time:
        assert set(two_at_a_time.map(lambda f: grade([f], tmp_path / f.stem), files)) == {0}
    marks = {file.stem: marked(tmp_path, file.stem) for file in files}
    assert marks["right"] == ["right"] * 4
    assert marks["wrong"] == ["wrong"] * 4
    assert marks["faked"] == ["empty", "empty", "wrong", "empty"]


def marked(out: Path, name: str) -> list[str]:
    content = json.loads((out / name / f"{name}.json").read_text())
    assert not content["problem"], content
    states = {mark["exercise"]: mark["state"] for mark in content["exercises"]}
    return [states[id] for id in EXERCISES]
