"""One odd file costs its own mark: it gets a sentence, and the others are marked and reported."""

from __future__ import annotations

import io
import json
import os
import socket
import stat
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest

from kit import cli
from kit.grading import class_run, identity, intake, submission
from tests.kit.grading.handing_in import SAMPLE, graded, handed_in, notebook

CLASS_FILES = {"class.csv", "class.json", "class.html", "totals.csv", "import.csv", "times.csv"}
pytestmark = pytest.mark.timeout(120)


@pytest.fixture(autouse=True)
def sample_course(monkeypatch) -> None:
    monkeypatch.setenv("KAFKALAB_COURSE", str(SAMPLE))


def fifo(folder: Path) -> Path:
    os.mkfifo(folder / "pipe.ipynb")
    return folder / "pipe.ipynb"


def link(name: str, to: str):
    def make(folder: Path) -> Path:
        (folder / name).symlink_to(to)
        return folder / name

    return make


def unix_socket(folder: Path) -> Path:
    here = os.getcwd()
    os.chdir(folder)  # the address of a socket may have 107 bytes
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("socket.ipynb")
    finally:
        os.chdir(here)
    return folder / "socket.ipynb"


def empty_folder(folder: Path) -> Path:
    (folder / "folder.ipynb").mkdir()
    return folder / "folder.ipynb"


def deep_folders(folder: Path) -> Path:
    """Folders in each other, and no path is long enough for all of them."""
    name = "d" * 100
    here = os.open(folder, os.O_RDONLY)
    for _ in range(300):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    return folder / name


def huge(folder: Path) -> Path:
    with (folder / "huge.ipynb").open("wb") as file:
        file.truncate(intake.LARGEST_SUBMISSION + 1)
    return folder / "huge.ipynb"


def written(name: str, content: bytes):
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return write


def exercise(exercise_id: str, **more: object) -> dict:
    return {"cell_type": "code", "id": f"exercise-{exercise_id}", "source": "x", **more}


def cells(*made: object, **more: object) -> bytes:
    return json.dumps({"cells": list(made), **more}).encode()


def zipped(*members: tuple[str, bytes], attributes: int = 0) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            member = zipfile.ZipInfo(name)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = attributes << 16
            archive.writestr(member, content)
    return whole.getvalue()


def damaged() -> bytes:
    content = bytearray(zipped(("nb.ipynb", b"x" * 1000)))
    content[45:50] = b"\0\0\0\0\0"
    return bytes(content)


def encrypted() -> bytes:
    content = bytearray(zipped(("nb.ipynb", b"{}")))
    content[6] |= 1
    content[content.index(b"PK\1\2") + 8] |= 1
    return bytes(content)


def unusual_method(number: int = 9) -> bytes:
    """Deflate64, as Windows writes it for large files."""
    content = bytearray(zipped(("nb.ipynb", b"{}")))
    content[8] = content[content.index(b"PK\1\2") + 10] = number
    return bytes(content)


OLD = {"nbformat": 3, "worksheets": [{"cells": []}]}
DEEP = b'{"cells": ' + b"[" * 100_000
LATIN_1 = json.dumps({"cells": [exercise("99-2", source="é")]}, ensure_ascii=False)
NOT_MARKED = {
    "a lone surrogate in the name": (lambda folder: folder / "\ud800.ipynb", "cannot be read"),
    "a null in the name": (lambda folder: folder / "a\0b.ipynb", "cannot be read"),
    "a name that is too long": (lambda folder: folder / ("n" * 300), "File name too long"),
    "a pipe": (fifo, "not a regular file"),
    "a socket": (unix_socket, "not a regular file"),
    "a link to a device": (link("zero.ipynb", "/dev/zero"), "This is a link"),
    "a link to nothing": (link("gone.ipynb", "nothing-here"), "This is a link"),
    "a link to itself": (link("circle.ipynb", "circle.ipynb"), "This is a link"),
    "a link to a neighbor's file": (link("copy.ipynb", "anna.ipynb"), "This is a link"),
    "a link to a folder": (link("up", ".."), "This is a link"),
    "an empty folder": (empty_folder, "The folder is empty"),
    "folders in folders without an end": (deep_folders, "below 12 levels"),
    "a missing file": (lambda folder: folder / "absent.ipynb", "No such file"),
    "a path below a file": (lambda folder: folder / "anna.ipynb" / "x.ipynb", "Not a directory"),
    "more than 20 MB": (huge, "larger than 20 MB"),
    "an empty file": (written("void.ipynb", b" \n"), "The file is empty"),
    "cut JSON": (written("cut.ipynb", b'{"cells": ['), "ends in the middle"),
    "broken JSON": (written("b.ipynb", b'{\n"cells": [],,\n"a": 1}'), r"JSON is broken (line 2)"),
    "Python": (written("code.ipynb", b"import kafka\n"), "it is not JSON; hand in the .ipynb"),
    "a page": (written("page.ipynb", b"<!doctype html><p>nb"), "it is not JSON"),
    "Latin-1": (written("l.ipynb", LATIN_1.encode("latin-1")), "it is not in UTF-8 (byte"),
    "a picture": (written("p.ipynb", b"\x89PNG\r\n\x1a\n\0\0"), "not a Jupyter notebook"),
    "JSON as deep as a well": (written("deep.ipynb", DEEP), "nested too deeply"),
    "a number without an end": (written("n.ipynb", b"[" + b"9" * 9999 + b"]"), "JSON is broken"),
    "a list": (written("list.ipynb", b"[1, 2]"), "JSON of another kind"),
    "no cells": (written("none.ipynb", b'{"nbformat": 4}'), "no list of cells"),
    "cells that are no list": (written("three.ipynb", b'{"cells": 3}'), "no list of cells"),
    "nbformat 3": (written("old.ipynb", json.dumps(OLD).encode()), "nbformat 3); open it in Jup"),
    "nbformat 5": (written("new.ipynb", cells(nbformat=5)), "not known here"),
    "too many cells": (written("m.ipynb", cells(*[0] * 10_001)), "more than 10000 cells"),
    "no exercise": (written("own.ipynb", cells({"cell_type": "code"}, 7)), "no exercise cell"),
    "another course's": (written("o.ipynb", cells(exercise("77-1"))), "no notebook 77"),
    "an odd id": (written("s.ipynb", cells(exercise("\ud800-1"))), "no exercise cell"),
    "tags of another kind": (
        written("t.ipynb", cells({"cell_type": "code", "metadata": {"tags": 1}})),
        "no exercise cell",
    ),
    "a tar archive": (written("t.tar.gz", b"\x1f\x8b"), "kind .gz are not read; pack the files as"),
    "a rar archive": (written("r.RAR", b"Rar!"), "kind .rar are not read"),
    "no zip": (written("no.zip", b"PK, but no archive"), "not a zip archive"),
    "a link in a zip": (
        written("l.zip", zipped(("x.ipynb", b"/etc/shadow"), attributes=stat.S_IFLNK | 0o777)),
        "This is a link",
    ),
    "a damaged zip": (written("d.zip", damaged()), "damaged"),
    "an empty zip": (written("0.zip", zipped()), "The archive is empty"),
    "a zip of a folder": (written("f.zip", zipped(("work/", b""))), "The archive is empty"),
    "a zip of clutter": (
        written("c.zip", zipped(("__MACOSX/._a.ipynb", b"x"), (".DS_Store", b""))),
        "The archive is empty",
    ),
    "an empty zip in a zip": (
        written("i.zip", zipped(("work.zip", zipped()))),
        "The archive is empty",
    ),
    "a zip named notebook": (written("z.ipynb", zipped(("a.ipynb", b"{}"))), "is a zip archive"),
    "an unusual zip": (written("u.zip", unusual_method()), "in a way that cannot be read"),
    "an encrypted zip": (written("e.zip", encrypted()), "encrypted"),
    "a zip that grows": (written("g.zip", zipped(("x.ipynb", b"0" * 21_000_000))), "larger than"),
    "zip in zip in zip": (
        written(
            "z.zip",
            zipped(("b.zip", zipped(("c.zip", zipped(("d.zip", zipped(("x.ipynb", b"")))))))),
        ),
        "archive in an archive",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("make", "sentence"), NOT_MARKED.values(), ids=NOT_MARKED.keys())
def test_a_file_that_cannot_be_marked_costs_only_its_own_mark(tmp_path, make, sentence) -> None:
    anna, zoe = handed_in(tmp_path / "anna.ipynb"), handed_in(tmp_path / "zoe.ipynb")
    bad = make(tmp_path)
    found = graded([anna, bad, zoe], tmp_path / "out")
    assert len(found) == 3
    assert found["anna"]["99-2"] == found["zoe"]["99-2"] == "empty"
    (row,) = (row for name, row in found.items() if name not in ("anna", "zoe"))
    assert sentence in row["notes"]
    assert (row["state"], row["score"]) == ("unreadable", "")
    reports = {path.name for path in (tmp_path / "out").iterdir() if path.is_file()}
    assert reports == CLASS_FILES | {".lock"} | {f"{name}.json" for name in found}


def test_a_folder_of_all_of_them_is_marked_in_one_run(tmp_path) -> None:
    handed_in(tmp_path / "class" / "anna.ipynb")
    handed_in(tmp_path / "class" / "zoe.ipynb")
    expected = 2
    for number, (make, _) in enumerate(NOT_MARKED.values()):
        place = tmp_path / "class" / f"learner-{number:02}"
        place.mkdir()
        handed_in(tmp_path / "class" / f"learner-{number:02}" / "anna.ipynb").unlink()
        expected += os.path.lexists(os.fspath(make(place)).replace("\0", ""))
    found = graded([tmp_path / "class"], tmp_path / "out")
    states = [row["state"] for row in found.values()]
    assert (states.count("marked"), found["anna"]["99-2"], found["zoe"]["99-2"]) == (
        2, "empty", "empty"
    )  # fmt: skip
    assert len(states) >= expected
    assert cli.main(["grade", str(tmp_path / "class"), "--no-sandbox", "--out",
                     str(tmp_path / "again")]) == 1  # fmt: skip
    for name in ("class.csv", "class.json", "class.html", "totals.csv"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


FINE = {
    "a byte order mark": (lambda content: b"\xef\xbb\xbf" + content, ""),
    "UTF-16": (lambda content: content.decode().encode("utf-16"), "is in UTF-16"),
    "UTF-16 without a mark": (lambda content: content.decode().encode("utf-16-le"), "is in UTF-16"),
    "UTF-32": (lambda content: content.decode().encode("utf-32"), "is in UTF-32"),
    "other line ends": (
        lambda content: json.dumps(json.loads(content), indent=1).replace("\n", "\r\n").encode(),
        "",
    ),
    "cells of another shape": (
        lambda content: content.replace(b'"cells": [', b'"cells": [3, null, [], {}, '),
        "",
    ),
    "half a character in a tag": (
        lambda content: content.replace(b'"tags": [', b'"tags": ["\\ud800", '),
        "",
    ),
    "half a character in an output": (
        lambda content: content.replace(b'"outputs": []', b'"outputs": ["\\ud800"]'),
        "",
    ),
    "a broken output": (lambda content: content.replace(b'"outputs": []', b'"outputs": 7'), ""),
}


@pytest.mark.parametrize(("change", "note"), FINE.values(), ids=FINE.keys())
def test_a_notebook_is_read_in_other_clothes(tmp_path, change, note) -> None:
    file = tmp_path / "anna.ipynb"
    file.write_bytes(change(json.dumps(notebook()).encode()))
    (row,) = graded([file], tmp_path / "out").values()
    assert row["99-2"] == "empty"
    assert note in row["notes"]
    assert note or row["notes"] == ""


def test_a_name_that_is_no_utf8_is_marked_and_reported_in_ascii(tmp_path) -> None:
    file = tmp_path / os.fsdecode("Müller.ipynb".encode("latin-1"))
    try:
        handed_in(file)
    except OSError:
        pytest.skip("not a missing part: this file system refuses names that are no UTF-8")
    (row,) = graded([tmp_path], tmp_path / "out").values()
    assert row["99-2"] == "empty"
    assert row["learner"] == r"M\udcfcller"
    assert row["file"].endswith(r"M\udcfcller.ipynb")
    stored = json.loads((tmp_path / "out" / f"{row['name']}.json").read_text())
    assert stored["file"] == row["file"]


def test_names_that_are_equal_in_their_first_200_bytes_keep_a_report_each(tmp_path) -> None:
    for last in "ab":
        handed_in(tmp_path / "class" / f"{'n' * 200}{last}.ipynb")
    found = graded([tmp_path / "class"], tmp_path / "out")
    assert len(found) == 2
    assert all((tmp_path / "out" / f"{name}.json").is_file() for name in found)


def test_a_terminal_that_speaks_only_ascii_ends_nothing(tmp_path, monkeypatch) -> None:
    file = handed_in(tmp_path / "Émile.ipynb")
    shown = (tmp_path / "screen").open("w", encoding="ascii")
    monkeypatch.setattr(sys, "stdout", shown)
    assert cli.main(["grade", str(file), "--no-sandbox", "--out", str(tmp_path / "out")]) == 0
    monkeypatch.undo()
    shown.close()
    assert r"\xc9mile: 0 of 2" in (tmp_path / "screen").read_text()


def test_code_with_half_a_character_can_be_run(tmp_path) -> None:
    file = handed_in(tmp_path / "half.ipynb", "x = '\ud800'")
    made = submission.transplant(submission.read(file))
    nbformat.write(made, tmp_path / "run.ipynb")
    assert "x = '?'" in (tmp_path / "run.ipynb").read_text()


def test_a_thousand_cells_of_other_exercises_give_a_short_note(tmp_path) -> None:
    made = [exercise("99-2")] * 3
    made += [exercise(f"88-{n % 900}-{n}") for n in range(10)]
    made += [exercise(f"9-{n}") for n in range(900)]
    made += [exercise(f"99-{n}") for n in range(10, 999)]
    found = submission.parse(cells(*made))
    assert len(found.notes) == submission.MOST_NOTES + 1
    assert found.notes[-1].endswith("more notes were left out.")


def test_a_cell_that_is_too_long_is_left_out_with_a_note() -> None:
    long = "x" * (submission.LARGEST_CELL + 1)
    found = submission.parse(cells(exercise("99-2", source=long), exercise("99-3")))
    assert "A cell for 99-2 is longer than 100 kB and was left out." in found.notes
    assert set(found.answers) == {"99-3"}


def test_files_beside_a_notebook_are_passed_over_and_alone_they_are_named(tmp_path) -> None:
    handed_in(tmp_path / "class" / "anna" / "nb.ipynb")
    for name in ("anna/data.csv", "bob/answers.docx", ".DS_Store", "carl.pdf"):
        path = tmp_path / "class" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x")
    found = graded([tmp_path / "class"], tmp_path / "out")
    assert set(found) == {"anna", "bob", "carl"}
    assert found["anna"]["state"] == "marked"
    assert "its name does not end in .ipynb" in found["bob"]["notes"]


@pytest.mark.parametrize(("files", "largest"), [(30, 10**9), (6, 200_000)])
def test_a_learner_with_too_much_does_not_hold_up_the_class(
    files: int, largest: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_run, "MOST_FILES_OF_A_LEARNER", 10)
    monkeypatch.setattr(class_run, "LARGEST_LEARNER", largest)
    for name, count in (("anna", files), ("bob", 2)):
        (tmp_path / name).mkdir()
        for number in range(count):
            text = json.dumps(notebook()) + " " * 90_000
            (tmp_path / name / f"{number}.ipynb").write_text(text)
    handed_in = class_run.look_at([tmp_path], class_run.Options(), None)
    of = {
        name: [h.unmarked for h in handed_in if h.unmarked.learner == name]
        for name in ("anna", "bob")
    }
    assert len(of["bob"]) == 2
    assert not any(each.problem for each in of["bob"])
    *read, last = of["anna"]
    assert 2 <= len(read) <= 10
    assert not any(each.problem for each in read)
    assert "were left out" in last.problem


def packed(name: str = "anna.ipynb", method: int = zipfile.ZIP_DEFLATED) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", method) as archive:
        archive.comment = b"handed in on time"
        archive.writestr(name, json.dumps(notebook("x = 1")))
    return whole.getvalue()


READ_ALL_THE_SAME = {
    "Windows' separators": packed("work\\99\\nb.ipynb"),
    "a drive": packed("C:\\work\\nb.ipynb"),
    "a path up": packed("a/../../nb.ipynb"),
    "bzip2": packed(method=zipfile.ZIP_BZIP2),
    "LZMA": packed(method=zipfile.ZIP_LZMA),
    "not compressed": packed(method=zipfile.ZIP_STORED),
    "a program before it": b"MZ" + bytes(500) + packed(),
    "bytes behind it": packed() + bytes(500),
    "a name in an old code page": packed("Mxller.ipynb").replace(b"Mxller", b"M\x81ller"),
    "a name that is no text": packed("qqq.ipynb").replace(b"qqq", b"\xff\xfe\xfd"),
    "a name without an end": packed("n" * 60_000 + ".ipynb"),
    "capitals": packed("NB.IPYNB"),
    "a hidden name": packed(".nb.ipynb"),
}


@pytest.mark.parametrize("content", READ_ALL_THE_SAME.values(), ids=READ_ALL_THE_SAME.keys())
def test_an_unusual_archive_is_read(tmp_path, content) -> None:
    path = tmp_path / "class" / "anna.ZIP"
    path.parent.mkdir()
    path.write_bytes(content)
    (found,) = intake.search([tmp_path / "class"])
    assert submission.parse(found.content()).answers["99-2"] == "x = 1"
    assert [learner.name for learner in identity.learners([found])] == ["anna"]
