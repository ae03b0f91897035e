"""Finds the line of the engine that wrote a trace line.

A trace line carries the dotted name of the rule that acted (`replication.partition.Partition.
truncate`) and its kind (`truncate`).  The place is found in the engine's own syntax tree: the
function of that name, and in it the call that has the kind among its arguments.  Nothing is
written down twice, so nothing can drift; a test walks every line that every script tells.

If a rule writes its trace line through another function, the rule is shown from its first
line.

A truncation is traced in one place and decided in others.  A line's `why` leads to the
decision: the module that decides has the same words as text.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import dedent

from kit.course import PROJECT

ENGINE = PROJECT / "engine"
TELLERS = frozenset(("trace", "_trace", "tell", "_tell", "note"))
LINES_MOST = 44
DECIDING = {"truncate": ("replication.truncation", "replication.fetcher")}
"""Where a line of this kind gets its `why` from."""
KINDS = (
    ("Token.Keyword", "keyword"),
    ("Token.Operator.Word", "keyword"),
    ("Token.Comment", "comment"),
    ("Token.Literal.String", "string"),
    ("Token.Literal.Number", "number"),
    ("Token.Name.Function", "name"),
    ("Token.Name.Class", "name"),
)


@dataclass(frozen=True)
class SourceLine:
    """A place in the engine: `line` within `start`..`end`, the function around it."""

    file: str
    function: str
    line: int
    start: int
    end: int

    @property
    def place(self) -> str:
        """`engine/replication/partition.py:298`"""
        return f"{self.file}:{self.line}"


@cache
def find(rule: str, kind: str) -> SourceLine | None:
    """Where a rule wrote a line of this kind; None for a rule that is not the engine's."""
    module, names = _split(rule)
    if module is None:
        return None
    tree = _tree(module)
    scope: ast.AST = tree
    for name in names:
        inner = _defined(scope, name)
        if inner is None:
            break
        scope = inner
    inside = _telling(scope, kind) or _telling(tree, kind)
    return _place(module, inside or scope, _around(tree, inside) if inside else scope)


def names_code(rule: str) -> bool:
    """Whether a rule is the dotted name of a class, function or method of the engine."""
    module, names = _split(rule)
    if module is None or not names:
        return False
    scope: ast.AST | None = _tree(module)
    for name in names:
        scope = None if scope is None else _defined(scope, name)
    return scope is not None


@cache
def find_reason(kind: str, why: str) -> SourceLine | None:
    """Where it was decided, found by the words of the line's `why`; None if they are not found."""
    for name in DECIDING.get(kind, ()) if why else ():
        module, _ = _split(name)
        assert module is not None
        tree = _tree(module)
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.expr)
                and (words := _pattern(node))
                and re.fullmatch(words, why)
            ):
                return _place(module, node, _around(tree, node))
    return None


def _pattern(node: ast.expr) -> str:
    """A text as a pattern that matches any value in the place of each `{…}`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.escape(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(
            _pattern(part) if isinstance(part, ast.Constant) else ".*" for part in node.values
        )
    return ""


def _place(module: Path, node: ast.AST, function: ast.AST | None) -> SourceLine | None:
    """A node's line, with the function around it."""
    if not isinstance(function, ast.FunctionDef | ast.ClassDef):
        return None
    line: int = node.lineno  # type: ignore[attr-defined]
    start = min([function.lineno, *(each.lineno for each in function.decorator_list)])
    end = function.end_lineno or line
    if end - start >= LINES_MOST:  # a long function: what is near
        start = max(start, line - LINES_MOST // 2)
        end = min(end, start + LINES_MOST - 1)
    file = str(module.relative_to(PROJECT))
    return SourceLine(file, function.name, line, start, end)


@cache
def excerpt(place: SourceLine) -> tuple[tuple[tuple[str, str], ...], ...]:
    """The lines `start`..`end`, each as (kind of token, text) pairs for a picture to colour."""
    from pygments.lexers import PythonLexer

    wanted = _text(PROJECT / place.file).splitlines()[place.start - 1 : place.end]
    lines: list[list[tuple[str, str]]] = [[]]
    for token, words in PythonLexer(stripnl=False).get_tokens(dedent("\n".join(wanted))):
        kind = next((kind for prefix, kind in KINDS if str(token).startswith(prefix)), "")
        for number, piece in enumerate(words.split("\n")):
            if number:
                lines.append([])
            line = lines[-1]
            if line and line[-1][0] == kind:
                line[-1] = (kind, line[-1][1] + piece)
            elif piece:
                line.append((kind, piece))
    return tuple(map(tuple, lines[: len(wanted)]))


def _split(rule: str) -> tuple[Path | None, list[str]]:
    """A dotted name's module file, and the names below it."""
    parts = rule.split(".")
    for length in range(len(parts), 0, -1):
        file = ENGINE.joinpath(*parts[:length]).with_suffix(".py")
        if file.is_file():
            return file, parts[length:]
    return None, []


@cache
def _text(file: Path) -> str:
    return file.read_text("utf-8")


@cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(_text(file))


def _defined(scope: ast.AST, name: str) -> ast.AST | None:
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return node
    return None


def _telling(scope: ast.AST, kind: str) -> ast.Call | None:
    """The first call in a scope that tells a line of a kind."""
    for node in ast.walk(scope):
        if isinstance(node, ast.Call) and _name(node.func) in TELLERS:
            given = [each.value for each in node.args if isinstance(each, ast.Constant)]
            if kind in given:
                return node
    return None


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _around(tree: ast.Module, call: ast.AST) -> ast.AST | None:
    """The innermost function that holds a call."""
    found: ast.AST | None = None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and _holds(node, call):
            found = node  # the walk goes from the outside in
    return found


def _holds(function: ast.FunctionDef, call: ast.AST) -> bool:
    return function.lineno <= call.lineno <= (function.end_lineno or 0)  # type: ignore[attr-defined]
