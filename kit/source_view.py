"""Shows the real source of rules, so that a lesson quotes the code that ran."""

from __future__ import annotations

import inspect
import re
from html import escape
from pathlib import Path
from typing import Any

from kit.course import PROJECT

# JupyterLab gives names and white space the color of plain text.
UNCOLORED = re.compile(r'<span class="(?:n\w?|fm|vm|bp|w)">([^<]*)</span>')


class Source:
    """The source of a function, method, class or module, with its file and line."""

    def __init__(self, thing: Any) -> None:
        lines, start = inspect.getsourcelines(thing)
        self.start = max(1, start)
        self.file = Path(inspect.getsourcefile(thing) or "")
        self.code = inspect.cleandoc("\n" + "".join(lines)) if start else "".join(lines)

    @property
    def place(self) -> str:
        """`engine/replication/partition.py:173`"""
        file = self.file
        if file.is_relative_to(PROJECT):
            file = file.relative_to(PROJECT)
        return f"{file}:{self.start}"

    def __repr__(self) -> str:
        return f"# {self.place}\n{self.code}"

    def _repr_html_(self) -> str:
        place = f"<div style='opacity:.75'>{escape(self.place)}</div>"
        try:
            from pygments import highlight
            from pygments.formatters import HtmlFormatter
            from pygments.lexers import PythonLexer
        except ModuleNotFoundError:
            return f"{place}<pre>{escape(self.code)}</pre>"
        formatter = HtmlFormatter(cssclass="highlight jp-RenderedHTMLCommon-source")
        return place + UNCOLORED.sub(r"\1", highlight(self.code, PythonLexer(), formatter))


class SourceView:
    """Sources, one below the other."""

    def __init__(self, *things: Any) -> None:
        self.sources = [Source(thing) for thing in things]

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.sources))

    def _repr_html_(self) -> str:
        return "".join(source._repr_html_() for source in self.sources)
