"""An answer writes nbval's report in nbval's place: the judge's verdicts stay what they are.

The forger is a process in a session of its own, which outlives its cell and puts its file in the
place of nbval's for as long as the sandbox stands.
"""

from __future__ import annotations

import json
import shutil

import pytest

from kit.grading import grade, stage
from tests.kit.grading.handing_in import SAMPLE, notebook, rows

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]

FORGER = f"""
import os, pathlib, time
if os.fork() == 0:
    os.setsid()
    while True:
        pathlib.Path("forged").write_text(CONTENT)
        os.replace("forged", "{stage.REPORT}")
        time.sleep(0.001)
"""
PASSED = "<testsuite>" + "<testcase/>" * 8 + "</testsuite>"
SETUP_FAILED = "<testsuite><testcase><failure>ImportError: no jar</failure></testcase></testsuite>"
RIGHT = "def high_watermark(leo, isr):\n    return min(leo[b] for b in isr)"
FORGED = {
    # the forger's report; then the state, 99-2, 99-3, and a part of the notes
    "passes": (PASSED, ("marked", "right", "failed"), ""),
    "a set-up that failed": (
        SETUP_FAILED,
        ("not marked", "", ""),
        "The set-up failed (ImportError: no jar), but not with the course's own solutions.",
    ),
}


def test_a_forged_report_earns_nothing_and_takes_no_mark_away(tmp_path, monkeypatch) -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed; run: sudo apt install bubblewrap")
    monkeypatch.setenv("KAFKALAB_COURSE", str(SAMPLE))
    for name, (report, _, _) in FORGED.items():
        made = notebook(RIGHT)
        for cell in made["cells"]:
            if cell["id"] == "exercise-99-3":
                forger = FORGER.replace("CONTENT", repr(report))
                cell["source"] = f"{forger}\ntime.sleep(0.5)\nraise ValueError('no quorum')"
        path = tmp_path / "class" / name / "99.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(made))
    assert grade([tmp_path / "class"], tmp_path / "out", jobs=2) == 3
    found = rows(tmp_path / "out")
    for name, (_, marks, sentence) in FORGED.items():
        row = found[name]
        assert (row["state"], row["99-2"], row["99-3"]) == marks, row
        assert sentence in row["notes"]
    (lost,) = [
        mark["message"]
        for mark in json.loads((tmp_path / "out" / "passes.json").read_text())["exercises"]
        if mark["exercise"] == "99-3"
    ]
    assert lost == "The cell ran, and no answer reached the judge.", "its error is hidden, no more"
