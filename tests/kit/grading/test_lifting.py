"""What is believed of a submitted file: the code of its exercise cells, nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kit.grading import marking, submission
from kit.grading.marking import Control, Marks
from tests.kit.grading.handing_in import SAMPLE


@pytest.fixture(autouse=True)
def sample_course(monkeypatch) -> None:
    monkeypatch.setenv("KAFKALAB_COURSE", str(SAMPLE))


def submitted(path: Path, *cells: dict) -> Path:
    file = path / "submission.ipynb"
    file.write_text(json.dumps({"cells": [{"cell_type": "code", **cell} for cell in cells]}))
    return file


def test_cells_are_found_by_tags_and_where_those_are_lost_by_id(tmp_path) -> None:
    file = submitted(
        tmp_path,
        {"source": ["a = ", "1"], "metadata": {"tags": ["exercise", "99-2"]}},
        {"source": "b", "id": "exercise-99-3"},
        {"source": "guess", "id": "prediction-99-1", "metadata": {"tags": ["prediction", "99-1"]}},
        {"source": "import os", "id": "of-their-own"},
    )
    found = submission.read(file)
    assert found.group == "99"
    assert found.answers == {"99-2": "a = 1", "99-3": "b"}
    assert found.notes == ("The cell of 99-4 is missing.",)


def test_only_answers_reach_the_courses_own_notebook(tmp_path) -> None:
    file = submitted(
        tmp_path,
        {"source": "mine", "metadata": {"tags": ["exercise", "99-2"]}},
        {"source": "cheat", "metadata": {"tags": ["check", "99-2"]}, "id": "check-99-2"},
    )
    notebook = submission.transplant(submission.read(file))
    cells = {cell.id: cell.source for cell in notebook.cells}
    assert cells["exercise-99-2"] == "mine"
    assert cells["check-99-2"] == 'lab.check("99-2", high_watermark)'
    assert "cheat" not in cells.values()
    tags = {tag for cell in notebook.cells for tag in cell.metadata.get("tags", [])}
    assert not tags & {"sim", "live", "both", "read"}, "no exercise needs these"
    assert len(cells) < len(submission.cells_of("99"))


def test_the_courses_own_solutions_can_be_handed_in() -> None:
    assert "return min(" in submission.solved("99").answers["99-2"]


def test_an_untouched_stub_counts_as_empty_with_any_white_space() -> None:
    cells = submission.cells_of("99")
    assert submission.is_untouched("99-3", "quorum  =  None\n\n", cells)
    assert submission.is_untouched("99-3", "\n  # quorum = {}\n", cells)
    assert submission.is_untouched("99-3", "", cells)
    assert not submission.is_untouched("99-3", "quorum = 1", cells)


def test_a_submission_of_untouched_stubs_is_not_run(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(marking, "run", lambda *_, **__: pytest.fail("it was run"))
    stubs = {cell.name: cell.text for cell in submission.cells_of("99") if cell.has("stub")}
    tags = [{"source": text, "id": f"exercise-{name}"} for name, text in stubs.items()]
    control = Control(time_limit_s=9, sandboxed=True)
    found = submission.read(submitted(tmp_path, *tags))
    marks, log = marking.mark(found, Marks("anna"), control, time_limit_s=9, sandboxed=True)
    assert [mark.state for mark in marks.marks] == ["empty"] * len(stubs)
    assert (marks.problem, log) == ("", "")
