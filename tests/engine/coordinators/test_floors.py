"""Who may import whom among the coordinators: runtime, then the protocols, then the door."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

ENGINE = Path(__file__).resolve().parents[3] / "engine"
ROOM = "engine.coordinators"
BELOW = {f"engine.{each}" for each in ("events", "metadata", "records", "settings", "wire")}


def arrows() -> dict[str, set[str]]:
    """Each module of the room, and what it imports of the engine, for types alone included."""
    found: dict[str, set[str]] = {}
    for path in sorted((ENGINE / "coordinators").rglob("*.py")):
        name = ".".join(path.relative_to(ENGINE.parent).with_suffix("").parts)
        found[name] = set()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                inner = {f"{node.module}.{each.name}" for each in node.names}
                files = {each for each in inner if _is_module(each)}
                found[name] |= files or {node.module}
    return {
        name: {each for each in used if each.startswith("engine.")} for name, used in found.items()
    }


def _is_module(name: str) -> bool:
    return ENGINE.parent.joinpath(*name.split(".")).with_suffix(".py").is_file()


def _under(name: str, *rooms: str) -> bool:
    return any(name == room or name.startswith(room + ".") for room in rooms)


def test_no_module_reaches_itself() -> None:
    TopologicalSorter(arrows()).prepare()  # raises CycleError, and names the circle


def test_coordinators_know_neither_brokers_nor_apis() -> None:
    beyond = {
        (name, each)
        for name, used in arrows().items()
        for each in used
        if not _under(each, ROOM, *BELOW)
    }
    assert beyond == set()


def test_the_runtime_knows_no_coordinator_and_a_protocol_only_the_runtime() -> None:
    allowed = {
        f"{ROOM}.runtime": (f"{ROOM}.runtime",),
        f"{ROOM}.classic": (f"{ROOM}.classic", f"{ROOM}.runtime"),
    }
    for room, below in allowed.items():
        upward = {
            (name, each)
            for name, used in arrows().items()
            for each in used
            if _under(name, room) and not _under(each, *below, *BELOW)
        }
        assert upward == set()
