"""Finds answers that change what other exercises need, from their code alone.

    clients = [1, 2]        a name of the set-up
    cluster.close()         something that the set-up made is asked to do something
    %reset -f               a command to the kernel

Such an answer may be right.  It says why another one that follows it may be wrong: that one is run
again without it (kit/grading/attempts.py).  `missing` finds what an answer left in other cells.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator

HELPERS = frozenset({"lab"})
"""What every notebook imports to say something: to ask it for a check changes nothing."""


def bound(code: str) -> set[str]:
    """The names that a cell's code gives a value outside of functions and classes."""
    return {name for statement in _statements(code) for name in _binds(statement)}


def changes(code: str, stub: str, setup: Iterable[str]) -> str:
    """What an answer changes for others, as a noun phrase; empty if it is nothing."""
    names = {name for cell in setup for name in bound(cell)} - HELPERS - bound(stub)
    if any(line.lstrip().startswith(("%", "!")) for line in code.splitlines()):
        return "the kernel, by a command that begins with % or !"
    if taken := sorted(bound(code) & names):
        return f"`{taken[0]}`, a name of the set-up"
    for statement in _statements(code):
        for node in _outside_of_functions(statement):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                root = _root(node.func)
                if root in names:
                    return f"`{root}`, which the set-up made"
    return ""


def missing(code: str, known: Iterable[str]) -> set[str]:
    """Names that a cell's code uses, and that neither it nor Python nor `known` binds."""
    used, own = set(), set(dir(builtins)) | set(known)
    for statement in _statements(code):
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                used.add(node.id)
            elif isinstance(node, ast.arg):
                own.add(node.arg)
            elif isinstance(node, ast.ExceptHandler) and node.name:
                own.add(node.name)
        for node in ast.walk(statement):
            own.update(_bound_by(node))
    return used - own


def _statements(code: str) -> list[ast.stmt]:
    try:
        return ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _outside_of_functions(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        for child in ast.iter_child_nodes(node):
            yield from _outside_of_functions(child)


def _binds(statement: ast.stmt) -> Iterator[str]:
    for node in _outside_of_functions(statement):
        yield from _bound_by(node)
    for node in ast.walk(statement):
        if isinstance(node, ast.Global):
            yield from node.names


def _bound_by(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name
        case ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from ((each.asname or each.name).partition(".")[0] for each in names)


def _root(node: ast.expr) -> str:
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
