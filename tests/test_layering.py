"""Who may import whom: engine the standard library, kit the engine, the command line all.

Inside the engine, each room's prologue ends with the line "May import: ...".  That line is the
rule, and it is held here: a room that needs another says so where its readers look first.
"""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ACCELERATORS = "engine/records/accelerators.py"
OURS = ("engine", "kit", "labs", "lessons")


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
    """The command line is the top floor: its commands reach everything."""
    above = {"notebooks", "labs", "lessons", "tests"}
    found = {
        name: imports_of(ROOT / name) & above
        for name in modules(package)
        if not name.startswith("kit/cli/")
    }
    assert {name: names for name, names in found.items() if names} == {}


def test_nothing_below_names_a_floor_above_in_a_string() -> None:
    """A module's name in a string is an import that this test's neighbors do not see."""
    above = re.compile(r"(labs|lessons|tests)\.\w*[\w.:]*")
    found = {
        (name, node.value)
        for package in ("engine", "kit")
        for name in modules(package)
        for node in ast.walk(ast.parse((ROOT / name).read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if above.fullmatch(node.value)
    }
    assert found == set()


# -- no module reaches itself


def is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


@cache
def modules_named(package: str) -> dict[str, set[str]]:
    """Each module of a package, and the project's modules that it names, for types too."""
    found: dict[str, set[str]] = {}
    for file in modules(package):
        name = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        used = found[name] = set()
        for node in ast.walk(ast.parse((ROOT / file).read_text())):
            if isinstance(node, ast.Import):
                used |= {alias.name for alias in node.names if alias.name.startswith(OURS)}
            elif isinstance(node, ast.ImportFrom) and node.level:
                raise AssertionError(f"{file}: a relative import hides what it imports")
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(OURS):
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                used |= {each for each in inner if is_module(each)} or {str(node.module)}
    return found


def test_no_module_reaches_itself() -> None:
    """Not late, and not for types alone, either."""
    named = {module: used for each in OURS for module, used in modules_named(each).items()}
    TopologicalSorter(named).prepare()


# -- the rooms of the engine


def room(module: str) -> str:
    """`engine.wire.codec` is in the room `wire`; `engine.events` is a room of its own."""
    is_package = ROOT.joinpath(*module.split(".")).is_dir()
    parts = module.split(".")[1:]
    return ".".join(parts if is_package or len(parts) == 1 else parts[:-1])


def may_import(name: str) -> set[str]:
    """What the room's prologue says."""
    prologue = ast.get_docstring(ast.parse((ROOT / "engine" / name.replace(".", "/") /
                                            "__init__.py").read_text())) or ""  # fmt: skip
    said = re.search(r"^May import: ([^.]*(?:\.\w[^.]*)*)\.$", prologue, re.MULTILINE)
    assert said is not None, f"engine/{name}: the prologue has no line 'May import: ....'"
    words = {word.strip() for word in said.group(1).replace("\n", " ").split(",")}
    return words - {"nothing"}


ROOMS = sorted({room(name) for name in modules_named("engine")} - {"", "events", "past", "plain"})
ROOMS = [each for each in ROOMS if each != "__main__"]


@pytest.mark.parametrize("name", ROOMS)
def test_a_room_imports_what_its_prologue_says(name: str) -> None:
    used = {
        (module, room(each))
        for module, imports in modules_named("engine").items()
        if room(module) == name
        for each in imports
        if room(each) != name
    }
    allowed = may_import(name)
    assert {(module, other) for module, other in used if other not in allowed} == set()
    unknown = {each for each in allowed if not is_module(f"engine.{each}")}
    assert unknown == set(), f"engine/{name}: the prologue names rooms that are not there"


def test_the_rooms_are_floors() -> None:
    """No room may import, over others or directly, a room that may import it."""
    TopologicalSorter({name: may_import(name) for name in ROOMS}).prepare()


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
