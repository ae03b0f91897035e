"""An exercise done on a cluster is marked by the cluster's own log, inside the sandbox too."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import nbformat
import pytest

from kit.authoring import compose
from kit.authoring.sources import read_source
from kit.grading import grade

SOURCE = """
# %% doorway tags=["setup"]
from confluent_kafka import Producer
from kit import lab

eng = lab.engine()
eng.create_topic("orders")

# %% 98-1 tags=["stub"]
acknowledged = []

# %% 98-1 tags=["solution"]
producer = Producer({"bootstrap.servers": eng.bootstrap, "acks": "all"})
producer.produce("orders", value="one")
producer.flush(30)

# %% 98-1 tags=["check"]
lab.check("98-1", cluster=eng)
"""

DEFINITION = """
from kit.exercises.exercise import Exercise, right, wrong


def judge(answer, context):
    values = [record.value for record in context.records("orders")]
    if values == [b"one"]:
        return right("One record, in the log.")
    return wrong("The log tells another story.", expected=[b"one"], seen=values)


EXERCISES = (Exercise("98-1", "One record", ("a", "b", "c"), judge),)
"""

OWN_CLUSTER = """
eng = lab.engine(private=True)
eng.create_topic("orders")
producer = Producer({"bootstrap.servers": eng.bootstrap, "acks": "all"})
producer.produce("orders", value="one")
producer.flush(30)
"""

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(240)]


@pytest.fixture
def source(tmp_path, monkeypatch) -> Path:
    course = tmp_path / "course"
    lesson = course / "lessons" / "nb98_live"
    for folder in ("source", "exercises"):
        (lesson / folder).mkdir(parents=True)
    (lesson / "exercises" / "__init__.py").write_text(DEFINITION)
    path = lesson / "source" / "98_live.py"
    path.write_text(SOURCE)
    monkeypatch.setenv("KAFKALAB_COURSE", str(course))
    return path


def test_the_brokers_log_decides(source, tmp_path) -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed; run: sudo apt install bubblewrap")
    cells = read_source(source)
    right = compose.reference(cells)
    nbformat.write(right, tmp_path / "right.ipynb")
    boast = compose.student(cells)
    for cell in boast.cells:
        if cell.id == "exercise-98-1":
            cell.source = 'acknowledged = ["one"]\nprint("delivered")'
    nbformat.write(boast, tmp_path / "boast.ipynb")
    stranger = compose.student(cells)
    for cell in stranger.cells:
        if cell.id == "exercise-98-1":
            cell.source = OWN_CLUSTER
    nbformat.write(stranger, tmp_path / "stranger.ipynb")
    out = tmp_path / "out"
    files = [tmp_path / f"{name}.ipynb" for name in ("right", "boast", "stranger")]
    assert grade(files, out) == 0
    (mark,) = json.loads((out / "right.json").read_text())["exercises"]
    assert mark["state"] == "right", mark
    (mark,) = json.loads((out / "boast.json").read_text())["exercises"]
    assert mark["state"] == "wrong"
    assert mark["seen"] == "[]"
    (mark,) = json.loads((out / "stranger.json").read_text())["exercises"]
    assert mark["state"] == "wrong"
    assert "is not the one of this notebook's set-up cells" in mark["message"]
