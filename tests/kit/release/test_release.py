"""The archives that are handed out: what is in them, and that they run."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest

from kit.authoring.sources import read_source
from kit.course import PROJECT, group_of, source_files
from kit.release import archive
from kit.release.archive import NoRelease
from kit.release.editions import File
from kit.release.sealed import LEFT_OUT, sealed, unsealed

if not (PROJECT / ".git").exists():
    pytest.skip("not a missing part: this copy is not a git checkout", allow_module_level=True)

EDITIONS = ("student", "solution", "clean")


@pytest.fixture(scope="module")
def commit() -> archive.Commit:
    return archive.read_commit(PROJECT)


@pytest.fixture(scope="module")
def release(commit, tmp_path_factory) -> Path:
    return archive.write(commit, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def editions(release, commit) -> dict[str, dict[str, bytes]]:
    """Edition -> path within it -> content."""
    found = {}
    with zipfile.ZipFile(release) as whole:
        for name in EDITIONS:
            stem = f"kafka-inside-out-{commit.version}-{name}"
            with zipfile.ZipFile(io.BytesIO(whole.read(f"{stem}.zip"))) as inner:
                assert inner.testzip() is None
                found[name] = {
                    path.removeprefix(f"{stem}/"): inner.read(path) for path in inner.namelist()
                }
    return found


@pytest.fixture(scope="module")
def student(release, commit, tmp_path_factory) -> Path:
    """The student edition, unpacked."""
    folder = tmp_path_factory.mktemp("room")
    with zipfile.ZipFile(release) as whole:
        stem = f"kafka-inside-out-{commit.version}-student"
        zipfile.ZipFile(io.BytesIO(whole.read(f"{stem}.zip"))).extractall(folder)
    return folder / stem


def notebooks(edition: dict[str, bytes]) -> dict[str, object]:
    return {
        path: nbformat.reads(content.decode(), as_version=4)
        for path, content in edition.items()
        if path.endswith(".ipynb")
    }


def outputs(notebook) -> int:
    return sum(len(cell.get("outputs", ())) for cell in notebook.cells)


def test_the_same_commit_gives_the_same_bytes(release, tmp_path) -> None:
    again = archive.write(archive.read_commit(PROJECT), tmp_path)
    assert again.read_bytes() == release.read_bytes()


def test_licence_version_and_what_is_in_it_stand_on_top(release, commit) -> None:
    with zipfile.ZipFile(release) as whole:
        assert "Apache License" in whole.read("LICENSE").decode()
        assert whole.read("VERSION").decode() == f"{commit.line}\n"
        assert commit.version in commit.line
        assert commit.id[:12] in commit.line
        said = whole.read("README.txt").decode()
    assert all(f"-{name}.zip" in said for name in EDITIONS)


@pytest.mark.parametrize("name", EDITIONS)
def test_every_edition_is_a_course_of_its_own(editions, commit, name) -> None:
    files = editions[name]
    assert {"LICENSE", "NOTICE", "VERSION", "EDITION.md", "Makefile", "README.md"} <= set(files)
    assert commit.line in files["EDITION.md"].decode()
    assert not [path for path in files if path.startswith(("tests/", ".ci/"))]
    assert not [path for path in files if "solutions" in Path(path).parts]
    links = re.findall(r"\]\(([^)#\s]+)", files["README.md"].decode())
    assert [link for link in links if "://" not in link and link not in files] == []
    assert len(notebooks(files)) == len(source_files())


def test_the_students_have_stubs_the_clean_edition_solutions_and_one_is_executed(
    editions,
) -> None:
    student, solution, clean = (notebooks(editions[name]) for name in EDITIONS)
    assert student.keys() == solution.keys() == clean.keys()
    for path in student:
        assert outputs(student[path]) == outputs(clean[path]) == 0
        assert outputs(solution[path]) > 10
        texts = [[cell.source for cell in each[path].cells] for each in (solution, clean)]
        assert texts[0] == texts[1] != [cell.source for cell in student[path].cells]


def test_no_file_of_the_student_edition_shows_a_solution(editions) -> None:
    whole = {p: c.decode(errors="replace") for p, c in editions["student"].items()}
    files = {path: text.replace("\\n", "\n").replace('\\"', '"') for path, text in whole.items()}
    shown = []
    for source in source_files():
        for cell in read_source(source):
            if cell.has("solution") and len(cell.text.splitlines()) > 3:
                shown += [
                    (path, cell.name) for path, text in files.items() if cell.text.strip() in text
                ]
    assert shown == []
    assert not [path for path in whole if path.endswith("facilitator.md")]
    assert [path for path in editions["solution"] if path.endswith("facilitator.md")]


def test_sealed_sources_say_the_same_as_the_whole_ones(tmp_path) -> None:
    for source in source_files():
        folder = tmp_path / source.parent.parent.name / "source"
        folder.mkdir(parents=True)
        copy = folder / source.name
        copy.write_text(sealed(source.read_text()))
        assert [(c.name, c.tags, c.text.strip()) for c in read_source(copy)] == [
            (c.name, c.tags, c.text.strip()) for c in read_source(source)
        ]


def test_a_class_that_is_marked_gets_no_solutions_at_all(commit, tmp_path) -> None:
    source = '# %% a\nx = 1\n\n# %% 1-1 tags=["solution"]\nanswer = 42\n\n# %% b\ny = 2\n'
    assert sealed(source, leave_out=True) == source.replace("answer = 42", LEFT_OUT)
    assert unsealed(sealed(source).splitlines()[4]) == "answer = 42"
    path = archive.write(commit, tmp_path, without_solutions=True)
    assert path.name == f"kafka-inside-out-{commit.version}-graded.zip"
    stem = f"kafka-inside-out-{commit.version}-graded"
    with zipfile.ZipFile(path) as whole:
        zipfile.ZipFile(io.BytesIO(whole.read(f"{stem}.zip"))).extractall(tmp_path)
    edition = tmp_path / stem
    texts = [file.read_text() for file in edition.glob("l*/*/source/*.py")]
    assert len(texts) == len(source_files())
    assert all(LEFT_OUT in text and "# sealed: " not in text for text in texts)
    judges = [*edition.glob("l*/*/exercises/**/*.py")]
    assert len(judges) > 60
    for judge in judges:
        sealed_text = re.search(r'"""(# sealed: [^"]+)"""', judge.read_text())
        assert sealed_text is not None
        original = commit.files[str(judge.relative_to(edition))].content.decode()
        assert unsealed(sealed_text[1]) == original
    ask = "from kit.exercises import catalogue as c; print([each.title for each in c.everything()])"
    environment = os.environ | {"PYTHONPATH": str(edition)}
    said = [
        subprocess.run([sys.executable, "-c", ask], cwd=cwd, capture_output=True, text=True,
                       env=env, check=True).stdout
        for cwd, env in ((edition, environment), (PROJECT, os.environ))
    ]  # fmt: skip
    assert said[0] == said[1] != ""


def test_programs_keep_their_bit_and_a_folder_that_is_no_clone_gets_a_sentence(tmp_path) -> None:
    content = archive.zipped({"run": File(b"#!/bin/sh\n", True)}, (2026, 1, 2, 3, 4, 6))
    entry = zipfile.ZipFile(io.BytesIO(content)).getinfo("run")
    assert (entry.external_attr >> 16) & 0o111
    with pytest.raises(NoRelease, match="from a git clone of the course"):
        archive.read_commit(tmp_path)


RUN = """
import json, sys
import nbformat
from nbclient import NotebookClient
import kit
from kit import exercises
notebook = nbformat.read("00-start-here.ipynb", as_version=4)
NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
said = ["".join(str(o) for o in cell.outputs) for cell in notebook.cells if "outputs" in cell]
hints = [repr(exercises.hint("06-4")) for _ in range(4)]
print(json.dumps([kit.__file__, sum(map(bool, said)), hints]))
"""


@pytest.mark.full
def test_notebook_00_runs_from_the_unpacked_archive(student, tmp_path) -> None:
    environment = os.environ | {
        "PYTHONPATH": str(student),
        "KAFKALAB_REAL": "off",
        "KAFKALAB_PROGRESS": str(tmp_path / "progress.json"),
        "JUPYTER_PREFER_ENV_PATH": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        cwd=student / "notebooks",
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    where, said, hints = json.loads(done.stdout.splitlines()[-1])
    assert Path(where).is_relative_to(student), "another copy of the course ran"
    assert said > 15
    solution = next(
        cell.text
        for source in source_files()
        if group_of(source) == "06"
        for cell in read_source(source)
        if cell.name == "06-4" and cell.has("solution")
    )
    last = solution.strip().splitlines()[-1].strip()
    assert [last in hint for hint in hints] == [False, False, False, True]
