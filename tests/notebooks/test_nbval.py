"""Every reference notebook runs clean: on the engine alone, and beside a real Kafka.

`make test-all` does.  `make test` runs those of SHORT_FORM: the first notebook (00) and one with
transactions (11) on the engine alone, and 06, which shows what the course is about, beside a real
Kafka.  A lab is executed where it is marked (tests/labs/L1_telemetry_pipeline/test_marks.py).
Of the labs only L4 runs on the engine alone, too: a lab uses the engine in any case, and the
others would take half an hour (`pytest -m long tests/notebooks`).

nbval runs in a process of its own.  Its report is read as XML, not by exit status alone:
after a time-out nbval marks the remaining cells as expected failures, and a notebook that
ran no cell would look green.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from itertools import pairwise
from pathlib import Path
from typing import Any

import nbformat
import pytest

from kit.authoring.build import build
from kit.course import PROJECT, group_of, reference_notebook, source_files

SAMPLE = Path(__file__).parents[1] / "kit" / "sample_course"
CELL_TIMEOUT_S = 300
"""Ends a hanging cell.  A lab kills drivers beside a real Kafka while two lanes keep the cores."""
SOURCES = source_files()
SHORT_FORM = {"off": ("00", "11"), "local": ("06",)}
LABS_ALONE = ("L4",)


def marks(source: Path, real: str) -> list[pytest.MarkDecorator]:
    """A lab needs Spark.  Beside a real Kafka it runs in the lane that would end first."""
    found = [] if group_of(source) in SHORT_FORM[real] else [pytest.mark.full]
    if source.is_relative_to(PROJECT / "labs"):
        found.append(pytest.mark.spark)
        if real == "local":
            found.append(pytest.mark.lane("plain"))
        if real == "off" and group_of(source) not in LABS_ALONE:
            found.append(pytest.mark.long)
    return found


def notebooks(real: str) -> list[Any]:
    """Every reference notebook."""
    return [
        pytest.param(
            reference_notebook(source),
            id=source.stem.replace("_", "-"),
            marks=marks(source, real),
        )
        for source in SOURCES
    ]


def run_nbval(notebook: Path, real: str, scratch: Path) -> list[str]:
    """What went wrong, first failure first; empty if every code cell passed."""
    report = scratch / "report.xml"
    command = [sys.executable, "-m", "pytest", "--nbval-lax", "--nbval-current-env"]
    command += [f"--nbval-cell-timeout={CELL_TIMEOUT_S}", f"--junitxml={report}"]
    command += ["-p", "no:hypothesispytest", "-p", "no:anyio"]  # they cost a second to load
    command += ["-p", "no:cacheprovider", "-c", os.devnull, f"--rootdir={notebook.parent}", "-q"]
    environment = os.environ | {
        "KAFKALAB_REAL": real,
        "KAFKALAB_PROGRESS": str(scratch / "progress.json"),
        "PYTHONPATH": str(PROJECT),
        "JUPYTER_PREFER_ENV_PATH": "1",
    }
    done = subprocess.run(
        [*command, str(notebook)], env=environment, capture_output=True, text=True, cwd=scratch
    )
    if not report.exists():
        return [done.stdout + done.stderr]
    cases = list(ElementTree.parse(report).iter("testcase"))
    faults = [
        f"{case.get('name')}: {outcome.get('message', '')}\n{outcome.text or ''}"
        for case in cases
        for outcome in case
        if outcome.tag in ("failure", "error", "skipped")  # an xfail is written as skipped
    ]
    code_cells = [
        cell
        for cell in nbformat.read(notebook, as_version=4).cells
        if cell.cell_type == "code" and "nbval-skip" not in tags(cell)
    ]
    if not faults and len(cases) != len(code_cells):
        faults.append(f"{len(cases)} of {len(code_cells)} cells ran")
    return faults or unsettled(notebook, scratch / "progress.json", real)


def tags(cell: Any) -> list[str]:
    return list(cell.metadata.get("tags", []))


def unsettled(notebook: Path, progress: Path, real: str) -> list[str]:
    """Answers and predictions of the reference that its own run has not shown to be right."""
    entries = json.loads(progress.read_text())["exercises"] if progress.exists() else {}
    cells = nbformat.read(notebook, as_version=4).cells
    checks = [{*cell.metadata.tags} - {"check"} for cell in cells if "check" in tags(cell)]
    faults = [
        f"{name} is judged wrong: {entries.get(name)}"
        for name in set().union(*checks)
        if not entries.get(name, {}).get("passed_at")
    ]
    for cell, run in pairwise(cells):
        if "prediction" not in tags(cell):
            continue
        prediction = cell.id.removeprefix("prediction-")
        entry = entries.get(prediction, {})
        if not entry.get("first_right"):
            faults.append(f"{prediction} is not settled as the solution says: {entry}")
        beside_kafka = real != "off" and "both" in run.metadata.tags
        if beside_kafka and "Kafka" not in entry.get("seen_on", ""):
            faults.append(f"{prediction} was not settled on Kafka: {entry}")
    return faults


@pytest.mark.heavy
@pytest.mark.timeout(600)
@pytest.mark.parametrize("notebook", notebooks("off"))
def test_runs_clean_on_the_engine_alone(notebook, tmp_path) -> None:
    faults = run_nbval(notebook, "off", tmp_path)
    assert not faults, faults[0]


@pytest.mark.real
@pytest.mark.timeout(900)
@pytest.mark.parametrize("notebook", notebooks("local"))
def test_runs_clean_beside_a_real_kafka(notebook, tmp_path) -> None:
    faults = run_nbval(notebook, "local", tmp_path)
    assert not faults, faults[0]


@pytest.fixture
def reference(tmp_path, monkeypatch) -> Path:
    """The sample notebook's reference, executed afresh."""
    course = tmp_path / "course"
    shutil.copytree(SAMPLE, course)
    monkeypatch.setenv("KAFKALAB_COURSE", str(course))
    return build(course / "lessons" / "nb99_sample" / "source" / "99_sample.py")[1]


def rewrite(path: Path, cell_id: str, source: str) -> None:
    notebook = nbformat.read(path, as_version=4)
    next(cell for cell in notebook.cells if cell.id == cell_id).source = source
    nbformat.write(notebook, path)


def test_the_lane_itself_catches_a_changed_output_and_an_error(reference, tmp_path) -> None:
    assert run_nbval(reference, "off", tmp_path) == []
    cell = "how-a-high-watermark-moves"
    rewrite(reference, cell, "log_end_offsets = {101: 5}\nmin(log_end_offsets.values())")
    assert "5" in run_nbval(reference, "off", tmp_path)[0]
    rewrite(reference, cell, "raise RuntimeError('no leader')")
    assert "no leader" in run_nbval(reference, "off", tmp_path)[0]


def test_the_lane_catches_a_prediction_that_its_run_does_not_confirm(reference, tmp_path) -> None:
    rewrite(reference, "prediction-99-5", 'lab.predict("99-5", "101")')
    assert "99-5 is not settled as the solution says" in run_nbval(reference, "off", tmp_path)[0]
