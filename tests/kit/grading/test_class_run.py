"""One bad file costs its own mark; the rest of the class is marked and reported."""

from __future__ import annotations

import csv
import json
import os
import socket
import sys
from pathlib import Path

import nbformat
import pytest

from kit import cli
from kit.authoring import compose
from kit.authoring.sources import read_source
from kit.grading import grade, marking, report, submission
from kit.grading.marking import Mark, Marks

SAMPLE = Path(__file__).parents[1] / "sample_course"
SOURCE = SAMPLE / "lessons" / "nb99_sample" / "source" / "99_sample.py"
CLASS_FILES = {"class.csv", "class.html"}
pytestmark = pytest.mark.timeout(60)


@pytest.fixture(autouse=True)
def sample_course(monkeypatch) -> None:
    monkeypatch.setenv("KAFKALAB_COURSE", str(SAMPLE))


def handed_in(path: Path, answer: str | None = None) -> Path:
    """A submission; without an answer it is marked (as empty) and not run."""
    notebook = compose.student(read_source(SOURCE))
    for cell in notebook.cells:
        if answer is not None and cell.id == "exercise-99-2":
            cell.source = answer
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook))
    return path


def graded(files: list[Path], out: Path) -> dict[str, dict[str, str]]:
    """The rows of class.csv by name, after a run without a sandbox."""
    grade(files, out, sandboxed=False)
    return rows(out)


def rows(out: Path) -> dict[str, dict[str, str]]:
    with (out / "class.csv").open(encoding="utf-8", newline="") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def latin_1_name(folder: Path) -> Path:
    """A name that is no UTF-8: some file systems refuse to hold it."""
    path = folder / os.fsdecode("Müller.ipynb".encode("latin-1"))
    try:
        return handed_in(path)
    except OSError:
        return path


def fifo(folder: Path) -> Path:
    os.mkfifo(folder / "pipe.ipynb")
    return folder / "pipe.ipynb"


def link_to_a_device(folder: Path) -> Path:
    (folder / "zero.ipynb").symlink_to("/dev/zero")
    return folder / "zero.ipynb"


def broken_link(folder: Path) -> Path:
    (folder / "gone.ipynb").symlink_to("nothing-here")
    return folder / "gone.ipynb"


def link_in_a_circle(folder: Path) -> Path:
    (folder / "circle.ipynb").symlink_to("circle.ipynb")
    return folder / "circle.ipynb"


def unix_socket(folder: Path) -> Path:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket.ipynb"))
    return folder / "socket.ipynb"


def folder_of_that_name(folder: Path) -> Path:
    (folder / "folder.ipynb").mkdir()
    return folder / "folder.ipynb"


def huge(folder: Path) -> Path:
    with (folder / "huge.ipynb").open("wb") as file:
        file.truncate(submission.LARGEST_SUBMISSION + 1)
    return folder / "huge.ipynb"


def written(name: str, content: bytes):
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return write


def exercise(exercise_id: str, source: object = "x") -> bytes:
    cell = {"cell_type": "code", "id": f"exercise-{exercise_id}", "source": source}
    return json.dumps({"cells": [cell]}).encode()


NOT_MARKED = {
    "a lone surrogate in the name": (lambda folder: folder / "\ud800.ipynb", "cannot be read"),
    "a null in the name": (lambda folder: folder / "a\0b.ipynb", "cannot be read"),
    "a pipe": (fifo, "not a regular file"),
    "a link to a device": (link_to_a_device, "not a regular file"),
    "a socket": (unix_socket, "not a regular file"),
    "a folder": (folder_of_that_name, "not a regular file"),
    "a link to nothing": (broken_link, "No such file"),
    "a link to itself": (link_in_a_circle, "cannot be read"),
    "a missing file": (lambda folder: folder / "absent.ipynb", "No such file"),
    "a path below a file": (lambda folder: folder / "anna.ipynb" / "x.ipynb", "Not a directory"),
    "a file of 20 MB": (huge, "larger than 20 MB"),
    "an empty file": (written("void.ipynb", b""), "not a Jupyter notebook"),
    "broken JSON": (written("cut.ipynb", b'{"cells": ['), "not a Jupyter notebook"),
    "bytes that are no text": (written("b.ipynb", b'{"cells": "\xff"}'), "not a Jupyter notebook"),
    "JSON as deep as a well": (written("deep.ipynb", b"[" * 100_000), "not a Jupyter notebook"),
    "another course's exercise": (written("o.ipynb", exercise("77-1")), "no notebook 77"),
    "an exercise that no course has": (written("s.ipynb", exercise("\ud800-1")), "no exercise"),
}


@pytest.mark.parametrize(("make", "sentence"), NOT_MARKED.values(), ids=NOT_MARKED.keys())
def test_a_file_that_cannot_be_marked_costs_only_its_own_mark(tmp_path, make, sentence) -> None:
    anna, zoe = handed_in(tmp_path / "anna.ipynb"), handed_in(tmp_path / "zoe.ipynb")
    bad = make(tmp_path)
    found = graded([anna, bad, zoe], tmp_path / "out")
    assert len(found) == 3
    assert found["anna"]["99-2"] == found["zoe"]["99-2"] == "empty"
    (row,) = (row for name, row in found.items() if name not in ("anna", "zoe"))
    assert sentence in row["notes"]
    reports = {path.name for path in (tmp_path / "out").iterdir()}
    assert reports == CLASS_FILES | {f"{name}.json" for name in found}


def test_a_name_that_is_no_utf8_is_marked_and_reported_in_ascii(tmp_path) -> None:
    file = latin_1_name(tmp_path)
    found = graded([file], tmp_path / "out")
    if file.exists():
        assert found["M_ller"]["99-2"] == "empty"
    assert found["M_ller"]["file"].endswith(r"M\udcfcller.ipynb")
    assert json.loads((tmp_path / "out" / "M_ller.json").read_text())["file"].endswith(
        r"M\udcfcller.ipynb"
    )


def test_a_terminal_that_speaks_only_ascii_ends_nothing(tmp_path, monkeypatch) -> None:
    file = handed_in(tmp_path / "Émile.ipynb")
    shown = (tmp_path / "screen").open("w", encoding="ascii")
    monkeypatch.setattr(sys, "stdout", shown)
    assert cli.main(["grade", str(file), "--no-sandbox", "--out", str(tmp_path / "out")]) == 0
    monkeypatch.undo()
    shown.close()
    assert r"\xc9mile: 0 of 2" in (tmp_path / "screen").read_text()


def test_a_link_to_a_notebook_and_a_byte_order_mark_are_fine(tmp_path) -> None:
    file = handed_in(tmp_path / "anna.ipynb")
    (tmp_path / "link.ipynb").symlink_to(file)
    marked = tmp_path / "marked.ipynb"
    marked.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    found = graded([tmp_path / "link.ipynb", marked], tmp_path / "out")
    assert found["link"]["notes"] == found["marked"]["notes"] == ""


def test_code_with_half_a_character_can_be_run(tmp_path) -> None:
    file = handed_in(tmp_path / "half.ipynb", "x = '\ud800'")
    notebook = submission.transplant(submission.read(file))
    nbformat.write(notebook, tmp_path / "run.ipynb")
    assert "x = '?'" in (tmp_path / "run.ipynb").read_text()


def test_a_surprise_while_marking_is_that_files_own(tmp_path, monkeypatch) -> None:
    def surprise(*_: object, **__: object) -> None:
        raise LookupError("nobody thought of this")

    monkeypatch.setattr(marking, "run", surprise)
    file = handed_in(tmp_path / "odd.ipynb", "x = 1")
    found = graded([file, handed_in(tmp_path / "zoe.ipynb")], tmp_path / "out")
    assert "LookupError: nobody thought of this" in found["odd"]["notes"]
    assert found["zoe"]["99-2"] == "empty"


def test_an_interrupted_run_keeps_what_was_marked(tmp_path, monkeypatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(marking, "run", interrupt)
    files = [handed_in(tmp_path / "anna.ipynb"), handed_in(tmp_path / "slow.ipynb", "x = 1")]
    with pytest.raises(KeyboardInterrupt):
        grade(files, tmp_path / "out", sandboxed=False)
    assert set(rows(tmp_path / "out")) == {"anna"}
    assert "anna" in (tmp_path / "out" / "class.html").read_text()
    assert {path.name for path in (tmp_path / "out").iterdir()} == CLASS_FILES | {"anna.json"}


def test_two_submissions_of_one_name_keep_a_report_each(tmp_path) -> None:
    paths = ["a/nb.ipynb", "b/nb.ipynb", "c/nb-2.ipynb", "d/NB.ipynb"]
    files = [handed_in(tmp_path / path) for path in paths]
    found = graded(files, tmp_path / "out")
    assert list(found) == ["nb", "nb-2", "nb-2-2", "NB-3"]
    assert [row["file"] for row in found.values()] == [str(file) for file in files]
    for name, row in found.items():
        assert json.loads((tmp_path / "out" / f"{name}.json").read_text())["file"] == row["file"]


@pytest.mark.parametrize(
    ("stem", "name"),
    [
        ("06 Anna-Lena O'Hara (2)", "06 Anna-Lena O'Hara (2)"),
        ("Zoe\u0301", "Zo\u00e9"),
        ("हिन्दी", "हिन्दी"),
        ('what: "this"? <a|b>*', "what_ _this__ _a_b__"),
        ("line\nbreak\x1b[31m", "line_break__31m"),
        ("CON", "_CON"),
        ("lpt1.old", "_lpt1.old"),
        ("ends in dots. . ", "ends in dots"),
        ("..", "submission"),
        ("x" * 250, "x" * 60),
    ],
)
def test_every_file_system_takes_a_reports_name(tmp_path, stem, name) -> None:
    assert report.distinct_names([Path(f"{stem}.ipynb")]) == [name]
    report.write_json(Marks(name), tmp_path)


def test_names_that_differ_in_case_alone_are_distinguished() -> None:
    names = report.distinct_names([Path("é.ipynb"), Path("É.ipynb"), Path("e\u0301.ipynb")])
    assert names == ["é", "É-2", "é-3"]


def test_half_a_character_in_an_answer_is_reported_as_an_escape(tmp_path) -> None:
    marks = Marks("odd", "odd.ipynb", "99", (Mark("99-2", False, "wrong", "seen: \ud800"),))
    path = report.write_json(marks, tmp_path)
    assert json.loads(path.read_text(encoding="utf-8"))["exercises"][0]["message"] == "seen: \ud800"
    report.write_class([marks], tmp_path)
    assert r"seen: \ud800" in (tmp_path / "class.html").read_text(encoding="utf-8")


def test_a_thousand_cells_of_other_exercises_give_a_short_note(tmp_path) -> None:
    cells = [{"cell_type": "code", "id": "exercise-99-2", "source": "x"}] * 3
    cells += [{"cell_type": "code", "id": f"exercise-88-{n % 900}-{n}"} for n in range(10)]
    cells += [{"cell_type": "code", "id": f"exercise-9-{n}", "source": ""} for n in range(900)]
    cells += [{"cell_type": "code", "id": f"exercise-99-{n}"} for n in range(10, 999)]
    file = tmp_path / "many.ipynb"
    file.write_text(json.dumps({"cells": cells}))
    found = submission.read(file)
    assert len(found.notes) == submission.MOST_NOTES + 1
    assert found.notes[-1].endswith("more notes were left out.")
