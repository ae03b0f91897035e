"""Each lesson and lab stands for itself, and a kernel never loads the judge's side."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.authoring import compose
from kit.authoring.sources import read_source
from kit.course import PROJECT, modules_for_kernels, slice_of, source_files

SOURCES = source_files()
SLICES = [slice_of(source) for source in SOURCES]
SHARED = [
    folder.parent for folder in sorted((PROJECT / "labs").glob("*/__init__.py"))
    if folder.parent not in SLICES
]  # fmt: skip
"""What several labs are made of, and no lab itself: `labs/fleet`, `labs/pipeline`, …"""
JUDGES = {"kit.exercises." + name for name in ("catalogue", "cluster_log", "exercise", "judge")}
"""What the judge alone imports of the kit, beside `kit.grading`."""


def name_of(own: Path) -> str:
    """`lessons/nb06_replication` -> `lessons.nb06_replication`."""
    return ".".join(own.relative_to(PROJECT).parts)


def imported(code: str) -> Iterator[str]:
    """Every module that some code names in an import, late ones included."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_within(module: str, package: str) -> bool:
    return f"{module}.".startswith(f"{package}.")


def is_the_judges(module: str) -> bool:
    parts = module.split(".")
    in_a_slice = parts[0] in ("lessons", "labs") and "exercises" in parts
    return in_a_slice or is_within(module, "kit.grading") or module in JUDGES


@pytest.mark.parametrize("own", SLICES, ids=name_of)
def test_a_slice_imports_no_other_slice(own) -> None:
    allowed = [own, *(SHARED if own.parent.name == "labs" else ())]
    found = {
        str(file.relative_to(PROJECT)): foreign
        for file in own.rglob("*.py")
        if (
            foreign := [
                module
                for module in imported(file.read_text())
                if is_within(module, "lessons") or is_within(module, "labs")
                if not any(is_within(module, name_of(each)) for each in allowed)
            ]
        )
    }
    assert found == {}


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_the_judges_side_never_loads_in_a_kernel(source, tmp_path) -> None:
    """All imports of a notebook, and of the modules that they lead to, run in a new process."""
    notebook = compose.reference(read_source(source))
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    nodes = [node for cell in cells for node in ast.walk(ast.parse(cell))]
    statements = [ast.unparse(n) for n in nodes if isinstance(n, ast.Import | ast.ImportFrom)]
    statements += [
        f"import {name_of(slice_of(source))}.{file.stem}"
        for file in modules_for_kernels()
        if file.parent == slice_of(source) and file.stem != "__init__"
    ]
    code = "\n".join(["import sys", *statements, "print(*sys.modules, sep='\\n')"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [module for module in done.stdout.split() if is_the_judges(module)] == []


def test_learners_code_may_see_neither_sources_nor_exercises() -> None:
    seen = {file.parent for file in modules_for_kernels()}
    assert seen == {PROJECT / "lessons", PROJECT / "labs", *SHARED, *SLICES}


@pytest.mark.parametrize("own", SLICES, ids=name_of)
def test_every_slice_has_its_parts_and_the_guide_names_its_page(own) -> None:
    for part in ("__init__.py", "exercises/__init__.py", "facilitator.md"):
        assert (own / part).exists(), part
    guide = (PROJECT / "docs" / "instructor-guide.md").read_text()
    page = f"{own.relative_to(PROJECT)}/facilitator.md"
    assert page in guide, f"docs/instructor-guide.md does not link {page}"
