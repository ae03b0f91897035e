"""Notebooks as learners leave them: each exercise gets the mark of its answer, run for real."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kit.grading import submission
from tests.kit.grading.handing_in import SAMPLE, graded, notebook

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(400)]
RIGHT = "def high_watermark(leo, isr):\n    return min(leo[b] for b in isr)"
QUORUM = 'quorum = {"replicas": 3, "min.insync.replicas": 2}'


@pytest.fixture(autouse=True)
def sample_course(monkeypatch) -> None:
    monkeypatch.setenv("KAFKALAB_COURSE", str(SAMPLE))


def cell(made: dict, name: str) -> dict:
    return next(each for each in made["cells"] if each["id"] == name)


def answers(function: str, quorum: str = QUORUM) -> Callable[[dict], None]:
    def change(made: dict) -> None:
        cell(made, "exercise-99-2")["source"] = function
        cell(made, "exercise-99-3")["source"] = quorum

    return change


def reordered_without_tags(made: dict) -> None:
    answers(RIGHT)(made)
    made["cells"].reverse()
    for each in made["cells"]:
        each["metadata"] = {}


def duplicated(made: dict) -> None:
    answers("def high_watermark(leo, isr):\n    return 0")(made)
    second = copy.deepcopy(cell(made, "exercise-99-2")) | {"source": RIGHT, "id": "of-its-own"}
    made["cells"] += [second, copy.deepcopy(cell(notebook(), "exercise-99-2"))]


def one_cell_left(made: dict) -> None:
    answers(RIGHT)(made)
    made["cells"] = [cell(made, "exercise-99-2")]


def helper_elsewhere(made: dict) -> None:
    answers("def high_watermark(leo, isr):\n    return lowest(leo, isr)", LONG)(made)
    cell(made, "doorway")["source"] += "\ndef lowest(leo, isr): return min(leo[b] for b in isr)"


def answer_below(made: dict) -> None:
    answers("def high_watermark(log_end_offsets, isr):\n    pass")(made)
    made["cells"].append(cell(notebook(), "doorway") | {"source": RIGHT, "id": "below"})
    cell(made, "exercise-99-2")["source"] = cell(notebook(), "exercise-99-2")["source"]


BY_ITSELF = 'quorum = {"replicas": len(BROKERS), "min.insync.replicas": 2}'
ESCAPES = "raise ValueError('\\x1b]0;owned\\x07\\x1b[31mred\\u202e')"
LONG = "raise ValueError('x' * 300_000)"
CUT = "def high_watermark(:\n    x"
NOTEBOOKS = {
    # how a notebook was changed -> the marks of 99-2 and 99-3, parts of notes and of messages
    "reordered": (reordered_without_tags, "right right", ()),
    "duplicated": (duplicated, "right right", ("99-2 is there twice",)),
    "one cell left": (one_cell_left, "right empty", ("The cell of 99-3 is missing",)),
    "errors": (
        answers(CUT, ESCAPES),
        "failed failed",
        ("SyntaxError: ", "(line 1 of the cell)", "ValueError: red"),
    ),
    "gave up": (
        answers(
            "def high_watermark(log_end_offsets, isr):\n    pass\nraise RuntimeError('I gave up')",
            "quorum = None\nraise RuntimeError('enough')",
        ),
        "wrong wrong",
        ("ended with an error: RuntimeError: I gave up", "ended with an error: RuntimeError: eno"),
    ),
    "a helper elsewhere": (
        helper_elsewhere,
        "wrong failed",
        (
            "name 'lowest' is not defined",
            "ValueError: xxx",
            "99-2 uses `lowest`, which another cell",
        ),
    ),
    "an answer in another cell": (
        answer_below,
        "empty right",
        ("99-2 has no answer in its own cell, and another cell defines `high_watermark`",),
    ),
    "a name of the set-up changed": (
        answers(f"BROKERS = [101]\n{RIGHT}", BY_ITSELF),
        "right right",
        ("99-3 is right by itself: the answer to 99-2 changes `BROKERS`, a name of the set-up.",),
    ),
    "a command that forgets": (
        answers(f"{RIGHT}\n%reset -f\n{RIGHT}\nfrom kit import exercises as lab", BY_ITSELF),
        "right right",
        ("99-3 is right by itself: the answer to 99-2 changes the kernel, by a command",),
    ),
    "wrong by itself, too": (
        answers(f"BROKERS = [101]\n{RIGHT}", 'quorum = {"replicas": len(BROKERS)}'),
        "right wrong",
        (),
    ),
    "a function that exits": (
        answers("def high_watermark(leo, isr):\n    raise SystemExit('enough')"),
        "failed right",
        ("The check of the answer ended with an error: ", "enough"),
    ),
    "a function that interrupts": (
        answers("def high_watermark(leo, isr):\n    raise KeyboardInterrupt"),
        "failed right",
        ("The check of the answer ended with an error: KeyboardInterrupt",),
    ),
    "comments": (answers("# later", "\n"), "empty empty", ()),
}


@pytest.mark.full
def test_each_exercise_gets_the_mark_of_its_answer(tmp_path) -> None:
    for name, (change, _, _) in NOTEBOOKS.items():
        made = json.loads(json.dumps(notebook()))
        change(made)
        path = tmp_path / "class" / name / "99-sample.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(made))
    out = tmp_path / "out"
    rows = graded([tmp_path / "class"], out, jobs=2)
    states = {name: f"{row['99-2']} {row['99-3']}" for name, row in rows.items()}
    assert states == {name: expected for name, (_, expected, _) in NOTEBOOKS.items()}
    for name, (_, _, sentences) in NOTEBOOKS.items():
        stored = json.loads((out / f"{name}.json").read_text())
        said = [text for each in stored["exercises"] for text in each.values()]
        texts = [str(text) for text in (*said, *stored["notes"])]
        for sentence in sentences:
            assert any(sentence in text for text in texts), (name, texts)
        assert all(text.isprintable() or "\n" in text for text in texts), name
        assert max(map(len, texts)) < 1_100, name
        assert_is_clean(out / "feedback" / f"{name}.html")


def assert_is_clean(page: Path) -> None:
    text = page.read_text()
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert len(text) < 20_000 + submission.LARGEST_CELL
