"""What every file of the repository keeps to: no machine's paths, one licence, plain prose."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = ("engine", "kit", "labs", "lessons")
TEXT = {".py", ".md", ".toml", ".yml", ".yaml", ".txt", ".js", ".css", ".html", ".xml", ".csv"}
TEXT |= {".ipynb", ".schema", ".lock", ".sha256", ".sh", ".ini", ".cfg", ""}


def tracked() -> list[Path]:
    done = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    files = [ROOT / name for name in done.stdout.split("\0") if name]
    if not files:
        pytest.skip("not a missing part: this copy of the course is not a git checkout")
    return [path for path in files if path.suffix in TEXT and path.is_file()]


def lines_with(pattern: str, files: list[Path]) -> list[str]:
    search = re.compile(pattern)
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for path in files
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if search.search(line)
    ]


def test_no_file_names_a_folder_of_the_machine_it_was_written_on() -> None:
    # In pieces, so that this file does not name them either.
    folders = [
        "/wo" + "rk/",
        "/ro" + "ot/",
        "/tmp/" + "venv",
        "/tmp/" + "ref",
        "/home/" + "[a-z]+/",
    ]
    allowed = ("tests/kit/grading/test_marks.py", "tests/test_repository.py")
    found = lines_with("|".join(rf"(?<![\w.]){folder}" for folder in folders), tracked())
    assert [line for line in found if not line.startswith(allowed)] == []


def test_no_file_names_a_package_index() -> None:
    hosts = [
        "files.python" + "hosted",
        "pypi" + r"\.org/simple",
        "repo1?" + r"\.maven",
        "index-" + "url =",
    ]
    assert lines_with("|".join(hosts), tracked()) == []


def test_no_merge_marker_and_no_trailing_space_in_code() -> None:
    code = [path for path in tracked() if path.suffix in {".py", ".js", ".css", ".toml", ".yml"}]
    assert lines_with(r"^(<{7}|>{7}) |[ \t]+$", code) == []


def test_no_shipped_code_is_left_unfinished() -> None:
    shipped = [p for p in tracked() if p.relative_to(ROOT).parts[0] in SHIPPED]
    # Without a comment's sign, the last one is a part of a pattern of times.
    assert lines_with("TO" + "DO|FIX" + "ME|(#|//) *XX" + "X", shipped) == []


def test_the_licence_is_apache_and_kafkas_name_is_credited() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text()
    credit = "trademarks of the Apache Software Foundation"
    for name in ("NOTICE", "README.md"):
        assert credit in " ".join((ROOT / name).read_text().split()), name


def prose() -> list[Path]:
    return [path for path in tracked() if path.suffix == ".md"]


def test_prose_is_calm() -> None:
    """No exclamation marks in sentences, no filler; code spans and tables' operators apart."""
    filler = r"\b(simply|obviously|of course|very easy|leverage[sd]?|utili[sz]e[sd]?|seamless\w*)\b"
    found = []
    for path in prose():
        text = re.sub(r"```.*?```|`[^`]*`|!\[", "", path.read_text(), flags=re.DOTALL)
        found += [f"{path.name}: {m.group()}" for m in re.finditer(r"[a-z)]!(?=\s|$)", text)]
        found += [f"{path.name}: {m.group()}" for m in re.finditer(filler, text, re.IGNORECASE)]
    assert found == []


def test_links_in_prose_lead_somewhere() -> None:
    broken = [
        f"{path.relative_to(ROOT)} -> {target}"
        for path in prose()
        for target in re.findall(r"\]\(([^)#\s]+)", path.read_text())
        if "://" not in target and not (path.parent / target).exists()
    ]
    assert broken == []


def test_every_make_target_in_the_readme_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"^make ([a-z]+)", (ROOT / "README.md").read_text(), re.MULTILINE))
    assert named <= targets
    assert {"lab", "test"} <= named


def test_ci_runs_the_readmes_test_command() -> None:
    text = (ROOT / ".ci" / "run").read_text()
    assert re.search(r"make [a-z-]* ?test$", text, re.MULTILINE)
    assert "CI=true" in text
