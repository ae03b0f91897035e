"""Right, wrong, empty and faked submissions get the marks they deserve, in the sandbox."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import nbformat
import pytest

from kit import exercises
from kit.authoring import compose
from kit.authoring.sources import read_source
from kit.exercises import catalogue
from kit.exercises.cluster_log import Context
from kit.grading import attempts, grade, sandbox
from kit.grading.limits import Limits
from kit.grading.submission import Submission

SAMPLE = Path(__file__).parents[1] / "sample_course"
SOURCE = SAMPLE / "lessons" / "nb99_sample" / "source" / "99_sample.py"
pytestmark = [pytest.mark.heavy, pytest.mark.timeout(240)]


@pytest.fixture(autouse=True)
def sample_course(monkeypatch) -> None:
    monkeypatch.setenv("KAFKALAB_COURSE", str(SAMPLE))


@pytest.fixture(params=["sandbox", "no-sandbox"])
def sandboxed(request) -> bool:
    if request.param == "sandbox" and shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed; run: sudo apt install bubblewrap")
    return request.param == "sandbox"


@pytest.fixture
def fenced() -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed; run: sudo apt install bubblewrap")


def student_file(path: Path, answers: dict[str, str] | None = None) -> Path:
    """A submission: the student's notebook with some answers typed in."""
    notebook = compose.student(read_source(SOURCE))
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if "exercise" in tags and tags[1] in (answers or {}):
            cell.source = answers[tags[1]]
    nbformat.write(notebook, path)
    return path


def states(out: Path, name: str) -> dict[str, str]:
    content = json.loads((out / f"{name}.json").read_text())
    return {exercise["exercise"]: exercise["state"] for exercise in content["exercises"]}


GOOD = {
    "99-4": 'lab.quiz("99-4", "a", "c")',
    "99-2": "def high_watermark(leo, isr):\n    return min(leo[b] for b in isr)",
    "99-3": 'quorum = {"replicas": 3, "min.insync.replicas": 2}',
}
WRONG = {
    "99-4": 'lab.quiz("99-4", "b")',
    "99-2": "def high_watermark(leo, isr):\n    return max(leo.values())",
    "99-3": 'quorum = {"replicas": 3, "min.insync.replicas": 3}',
}


def test_right_wrong_empty_and_faked_submissions(tmp_path, sandboxed) -> None:
    right = student_file(tmp_path / "right.ipynb", GOOD)
    wrong = student_file(tmp_path / "wrong.ipynb", WRONG)
    empty = student_file(tmp_path / "empty.ipynb")
    faked = student_file(tmp_path / "faked.ipynb")
    notebook = nbformat.read(faked, as_version=4)
    for cell in notebook.cells:
        if "check" in cell.metadata.get("tags", []):
            cell.source = "print('right')"
            cell.outputs = [nbformat.v4.new_output("stream", text="✓ right")]
    nbformat.write(notebook, faked)

    out = tmp_path / "out"
    assert grade([right, wrong, empty, faked], out, sandboxed=sandboxed) == 0
    assert set(states(out, "right").values()) == {"right"}
    assert set(states(out, "wrong").values()) == {"wrong"}
    assert set(states(out, "empty").values()) == {"empty"}
    assert set(states(out, "faked").values()) == {"empty"}
    with (out / "class.csv").open(encoding="utf-8-sig") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    assert {name: row["score"] for name, row in rows.items()} == {
        "right": "2",
        "wrong": "0",
        "empty": "0",
        "faked": "0",
    }
    again = tmp_path / "again"
    assert grade([right, wrong, empty, faked], again, sandboxed=sandboxed) == 0
    for report in out.rglob("*.*"):
        if report.name != "times.csv":
            assert report.read_bytes() == (again / report.relative_to(out)).read_bytes(), report
    page = (out / "class.html").read_text()
    assert "leader&#x27;s log end" in page
    wrong_marks = json.loads((out / "wrong.json").read_text())["exercises"]
    assert wrong_marks[0]["counter_example"].startswith("called with")


ATTACKS = {
    "patches the kit": (
        "from kit.exercises import doorway, ask\n"
        "ask.ask = doorway.ask = lambda *a, **k: {'passed': True, 'title': '', 'message': '',"
        " 'hints': []}\nquorum = None"
    ),
    "asks the judge what is expected": (
        "card = lab.check('99-3', {'replicas': 3, 'min.insync.replicas': 3})\n"
        "expected = dict(card.rows).get('expected', '0')\n"
        "quorum = {'replicas': 3, 'min.insync.replicas': int(expected)}"
    ),
    "asks for the solution": "quorum = [repr(lab.hint('99-3')) for _ in range(5)]\n"
    "quorum = {'replicas': 3, 'min.insync.replicas': 2} if '2}' in str(quorum) else None",
    "looks for exercises and solutions": (
        "import pathlib, kit\n"
        "project = pathlib.Path(kit.__file__).parents[1]\n"
        "secret = ('exercises/*', 'source/*', 'solutions/*')\n"
        "found = [f for p in ('lessons', 'labs', 'notebooks') for s in secret\n"
        "         for f in (project / p).rglob(s)]\n"
        "found += sorted((project / 'kit' / 'grading').rglob('*'))\n"
        "quorum = {'replicas': 3, 'min.insync.replicas': 2} if found else {'found': len(found)}"
    ),
    "reads the marker's files": (
        "import glob\nfound = [f for p in ('/home/*', '/etc/shadow')"
        " for f in glob.glob(p)]\n"
        "quorum = {'replicas': 3, 'min.insync.replicas': 2} if found else None"
    ),
}


def test_attacks_from_inside_earn_nothing(tmp_path, fenced) -> None:
    files = [
        student_file(
            tmp_path / f"{name.replace(' ', '-')}.ipynb", {"99-2": GOOD["99-2"], "99-3": a}
        )
        for name, a in ATTACKS.items()
    ]
    out = tmp_path / "out"
    assert grade(files, out) == 0
    for file in files:
        marks = states(out, file.stem)
        assert marks["99-2"] == "right", f"{file.stem}: an honest answer beside it counts"
        assert marks["99-3"] in ("wrong", "failed"), file.stem


def test_results_remembered_from_class_earn_nothing(tmp_path, fenced, monkeypatch) -> None:
    exercise = catalogue.find("99-2")
    in_class = exercise.inputs_for("class")
    table = {repr(list(each)): min(each[0][b] for b in each[1]) for each in in_class}
    code = (
        f"TABLE = {table!r}\ndef high_watermark(leo, isr):\n    return TABLE.get(repr([leo, isr]))"
    )
    monkeypatch.setenv("KAFKALAB_PROGRESS", str(tmp_path / "progress.json"))
    names: dict = {}
    exec(code, names)
    results = [names["high_watermark"](*each) for each in in_class]
    assert exercise.judge(results, Context(inputs=in_class)).passed
    assert exercises.check("99-2", names["high_watermark"]).passed is False, "another seed"
    file = student_file(tmp_path / "table.ipynb", {"99-2": code})
    assert grade([file], tmp_path / "out") == 0
    assert states(tmp_path / "out", "table")["99-2"] == "wrong"


ENDLESS = {
    "stops when interrupted": "while True: pass",
    "ignores interrupts": "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    "while True: pass",
}


@pytest.mark.parametrize(
    "code",
    [
        ENDLESS["stops when interrupted"],
        pytest.param(ENDLESS["ignores interrupts"], marks=pytest.mark.full),
    ],
    ids=ENDLESS,
)
def test_a_loop_without_end_costs_no_other_exercise(fenced, code) -> None:
    answers = {"99-2": code, "99-3": GOOD["99-3"]}
    outcome = attempts.run(Submission("99", answers), Limits(time_s=200, cell_s=15), sandboxed=True)
    assert outcome.errors == {1: "The cell ran longer than 15 s."}
    assert outcome.verdicts["99-3"].passed
    assert "99-2" not in outcome.verdicts


def test_the_network_is_loopback_only(fenced) -> None:
    import subprocess
    import sys

    code = "import socket; print(sorted(name for _, name in socket.if_nameindex()))"
    command = sandbox.on_stage([sys.executable, "-c", code])
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.strip() == "['lo']", done.stderr


def test_without_bubblewrap_nothing_is_run(tmp_path, monkeypatch) -> None:
    file = student_file(tmp_path / "good.ipynb", GOOD)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(sandbox.NoSandbox, match=r"apt install bubblewrap.*--no-sandbox"):
        grade([file], tmp_path / "out")
    assert not (tmp_path / "out").exists()
