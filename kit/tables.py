"""A small table with one content and two forms: HTML in JupyterLab's colours, and text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under a heading; `closing` is a line below."""

    heading: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    closing: str = ""

    def __repr__(self) -> str:
        everything = [self.columns, *self.rows]
        widths = [max(len(row[i]) for row in everything) for i in range(len(self.columns))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in everything
        ]
        lines.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join([self.heading, *lines, *([self.closing] if self.closing else [])])

    def _repr_html_(self) -> str:
        cell = "style='text-align:left;padding:2px 16px 2px 0'"
        head = "".join(f"<th scope='col' {cell}>{escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td {cell}>{escape(text)}</td>" for text in row) + "</tr>"
            for row in self.rows
        )
        closing = f"<div>{escape(self.closing)}</div>" if self.closing else ""
        return (
            "<div style='color:var(--jp-content-font-color1,inherit)'>"
            f"<strong>{escape(self.heading)}</strong>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{closing}</div>"
        )
