"""A consumer loop that is handed in is crashed inside the sandbox, and judged outside it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import nbformat
import pytest

from kit.authoring import compose
from kit.authoring.sources import read_source
from kit.grading import grade

SOURCE = '''
# %% doorway tags=["setup"]
from kit import lab

eng = lab.engine()

# %% 98-1 tags=["stub"]
def loop(consumer, topic, process):
    """Reads the topic, at least once."""

# %% 98-1 tags=["solution"]
def loop(consumer, topic, process):
    """Reads the topic, at least once."""
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            process(message)
            consumer.commit(message, asynchronous=False)

# %% 98-1 tags=["check"]
lab.check("98-1", lab.crash_evidence(loop, eng))
'''
DEFINITION = """
from kit.crashes.judging import fresh_records, loop_that
from kit.exercises.exercise import Exercise

EXERCISES = (
    Exercise("98-1", "At least once", ("a", "b", "c"), loop_that(), inputs=fresh_records),
)
"""
COMMITS_FIRST = """
def loop(consumer, topic, process):
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            consumer.commit(message, asynchronous=False)
            process(message)
"""
pytestmark = [pytest.mark.heavy, pytest.mark.timeout(240)]


def test_a_submitted_loop_is_crashed_in_the_sandbox(tmp_path, monkeypatch) -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed; run: sudo apt install bubblewrap")
    lesson = tmp_path / "course" / "lessons" / "nb98_loop"
    for folder in ("source", "exercises"):
        (lesson / folder).mkdir(parents=True)
    (lesson / "exercises" / "__init__.py").write_text(DEFINITION)
    path = lesson / "source" / "98_loop.py"
    path.write_text(SOURCE)
    monkeypatch.setenv("KAFKALAB_COURSE", str(tmp_path / "course"))
    cells = read_source(path)
    nbformat.write(compose.reference(cells), tmp_path / "right.ipynb")
    wrong = compose.student(cells)
    for cell in wrong.cells:
        if cell.id == "exercise-98-1":
            cell.source = COMMITS_FIRST
    nbformat.write(wrong, tmp_path / "wrong.ipynb")
    out = tmp_path / "out"
    assert grade([tmp_path / "right.ipynb", tmp_path / "wrong.ipynb"], out) == 0
    marks = {name: mark_of(out / f"{name}.json") for name in ("right", "wrong")}
    assert marks["right"]["state"] == "right", marks
    assert marks["wrong"]["state"] == "wrong", marks
    assert marks["wrong"]["message"].startswith("Commit before processing. Line 6 committed")
    assert "lost" in marks["wrong"]["counter_example"]


def mark_of(report: Path) -> dict[str, str]:
    (mark,) = json.loads(report.read_text())["exercises"]
    return dict(mark)
