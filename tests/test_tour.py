"""The walk through the engine leads to code that exists: each link's name is defined there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"
TOUR = (DOCS / "architecture.md").read_text("utf-8")
LINKS = re.findall(r"\[`([A-Za-z_.]+)`\]\(([^)]+\.py)\)", TOUR)


def defined(tree: ast.Module) -> set[str]:
    """Classes, functions, methods (as `method` and `Class.method`) and constants of a module."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            inner = [each.name for each in node.body if isinstance(each, ast.FunctionDef)]
            names |= {f"{node.name}.{name}" for name in inner}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            names |= {each.id for each in node.targets if isinstance(each, ast.Name)}
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


@pytest.mark.parametrize(("name", "target"), LINKS, ids=[name for name, _ in LINKS])
def test_a_name_on_the_walk_is_defined_where_its_link_leads(name: str, target: str) -> None:
    path = (DOCS / target).resolve(strict=True)
    assert name in (path.name, path.stem) or name in defined(ast.parse(path.read_text("utf-8")))


def test_each_link_of_the_walk_leads_somewhere() -> None:
    targets = [target.split("#")[0] for target in re.findall(r"\]\(([^)]+)\)", TOUR)]
    assert len(targets) > 100
    assert [each for each in targets if each and not (DOCS / each).exists()] == []


def test_each_place_that_contributors_are_sent_to_exists() -> None:
    text = (DOCS.parent / "CONTRIBUTING.md").read_text("utf-8")
    places = re.findall(r"`((?:engine|kit|tests|docs|lessons)/[\w/.]+)`", text)
    assert len(places) > 20
    missing = [each for each in places
               if "NN" not in each and not (DOCS.parent / each).exists()]  # fmt: skip
    assert missing == []


def test_the_walk_has_a_stop_in_every_room() -> None:
    rooms = {path.parent.name for path in (DOCS.parent / "engine").rglob("__init__.py")}
    passed = {part for _, target in re.findall(r"\[(.*?)\]\((\.\./engine[^)]*)\)", TOUR)
              for part in Path(target).parts}  # fmt: skip
    assert rooms - passed == set()
