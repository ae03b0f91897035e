"""Who may import whom: engine the standard library, kit the engine, nobody the notebooks."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ACCELERATORS = "engine/records/accelerators.py"


def imports_of(path: Path) -> set[str]:
    """Top-level names of every import in a file, late ones included."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.split(".")[0])
    return names


def modules(package: str) -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / package).rglob("*.py"))


def test_the_engine_uses_the_standard_library_alone() -> None:
    allowed = sys.stdlib_module_names | {"engine"}
    beyond = {name: imports_of(ROOT / name) - allowed for name in modules("engine")}
    assert {name: found for name, found in beyond.items() if found} == {}


def test_one_module_alone_imports_by_name_what_may_be_missing() -> None:
    dynamic = [
        name
        for name in modules("engine")
        if any(
            isinstance(node, ast.Call) and "import_module" in ast.dump(node.func)
            for node in ast.walk(ast.parse((ROOT / name).read_text()))
        )
    ]
    assert set(dynamic) <= {ACCELERATORS, "engine/broker/broker.py", "engine/api/__init__.py"}
    for name in dynamic:
        if name != ACCELERATORS:
            assert "engine." in (ROOT / name).read_text()


@pytest.mark.parametrize("package", ["engine", "kit"])
def test_nothing_imports_notebooks_labs_or_tests(package) -> None:
    found = {
        name: imports_of(ROOT / name) & {"notebooks", "labs", "tests"} for name in modules(package)
    }
    assert {name: names for name, names in found.items() if names} == {}


def test_what_a_notebook_imports_first_is_light() -> None:
    """PySpark, Docker and Plotly load only when used."""
    import subprocess

    code = (
        "import sys, kit, kit.exercises, kit.cli; kit.cli.parser(); "
        "print(sorted({'pyspark', 'docker', 'plotly', 'pandas', 'pytest', 'nbformat'} "
        "& set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "[]", done.stderr
