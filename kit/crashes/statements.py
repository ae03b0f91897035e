"""The statements of a function: after each of them a crash can come.

A simple statement counts with all its lines, a compound one (`for`, `if`, `try`) with its head.
Nested functions belong to it: a listener and a worker are also part of a loop.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any


class NoSource(ValueError):
    """The function's source cannot be read; the text says what to do."""


@dataclass(frozen=True)
class Source:
    """A function's text; `first` is the number of its first line in its file or cell."""

    name: str
    text: str
    first: int
    statements: dict[int, int]
    """Each line of the file -> the first line of its statement."""

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    def number(self, line: int) -> int:
        """The line as a reader of the function counts, from 1."""
        return line - self.first + 1


NO_DEF = "A loop is written with def: it is neither a lambda nor async."
NOTHING = Source("the loop", "", 1, {})


def read(function: Callable[..., Any]) -> Source:
    """The statements of a function that was written in a cell or a file."""
    if not inspect.isfunction(function):
        raise NoSource(
            f"A loop is a function, def loop(consumer, topic, process), and this is a "
            f"{type(function).__name__}: pass the function itself, without calling it."
        )
    try:
        found, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        raise NoSource(
            "The source of this function cannot be read: define it with def in a cell."
        ) from None
    text = textwrap.dedent("".join(found)).rstrip()
    try:
        tree = ast.parse(text)
    except SyntaxError:
        raise NoSource(NO_DEF) from None
    if not tree.body or not isinstance(tree.body[0], ast.FunctionDef):
        raise NoSource(NO_DEF)
    places = dict(_places(tree.body[0].body))
    shift = first - 1
    heads = {line + shift: head + shift for line, head in places.items()}
    return Source(function.__name__, text, first, heads)


def _places(body: list[ast.stmt]) -> Iterator[tuple[int, int]]:
    """Each line and the first line of its statement; an inner statement comes later and wins."""
    for each in body:
        inner = [part for name in ("body", "handlers", "orelse", "finalbody")
                 for part in getattr(each, name, [])]  # fmt: skip
        last = inner[0].lineno - 1 if inner else each.end_lineno or each.lineno
        for line in range(each.lineno, max(last, each.lineno) + 1):
            yield line, each.lineno
        if inner:
            yield from _places(inner)
        if isinstance(each, ast.Match):
            for case in each.cases:
                yield from _places(case.body)


def codes(code: CodeType) -> Iterator[CodeType]:
    """A function's code and the code of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)
