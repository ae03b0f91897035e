"""The facilitator pages of all lessons as one document that prints.

Each lesson's folder holds a `facilitator.md`, with the same headings in the same order, so a
teacher finds the minute plan of any lesson at once.  `kafkalab guide` gathers the pages into
one HTML file: a table of contents, then lesson after lesson.  The minutes are those
that the notebook itself prints.  A page names a cell as the source does; JupyterLab shows no such
name, so the document names the section that the cell is in.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from kit.authoring import times
from kit.authoring.sources import Cell, read_source
from kit.course import group_of, slice_of, source_files

PAGE = "facilitator.md"
HEADINGS = (
    "45 minutes",
    "90 minutes",
    "Must and may",
    "Five moments for the projector",
    "Misconceptions",
    "Questions to discuss",
    "What goes wrong",
)
PLAN_ROW = re.compile(r"^(\| *\d+ *\|.*\|)([^|]*)\|$", re.MULTILINE)
EXERCISE = re.compile(r"L?\d+-\d+")
"""A number that the notebook shows; it stays."""
STYLE = """
@page { margin: 14mm; }
body { font: 11pt/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; color: #1c2430;
       background: #fff; max-width: 48rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7em; line-height: 1.2; margin: 0 0 .4em; }
h2 { font-size: 1.15em; margin: 1.6em 0 .4em; break-after: avoid; }
table { border-collapse: collapse; width: 100%; margin: .5em 0 1em; }
th, td { border-bottom: 1px solid #d5dae1; padding: .3em .7em .3em 0; text-align: left;
         vertical-align: top; }
tr, li { break-inside: avoid; }
td:first-child, td code { white-space: nowrap; }
code { font: .9em ui-monospace, "DejaVu Sans Mono", monospace; background: #f1f3f6;
       padding: 0 .25em; border-radius: 3px; }
section { margin-top: 4rem; }
section h1 { break-after: avoid; }
.minutes { color: #5b6675; margin: 0 0 1em; }
nav td:last-child { text-align: right; white-space: nowrap; }
@media print { body { margin: 0; max-width: none; font-size: 9pt; line-height: 1.35; }
               section { margin-top: 2.5em; } td, th { padding-top: .15em; padding-bottom: .15em; }
               a { color: inherit; text-decoration: none; } }
"""


class NoSuchLesson(RuntimeError):
    """A number that no lesson has; the text says which there are."""


def write(numbers: Sequence[str], out: Path) -> Path:
    """Writes the document for these lessons, or for all.  Raises NoSuchLesson, OSError."""
    sources = {group_of(source): source for source in source_files()}
    if unknown := [number for number in numbers if number not in sources]:
        raise NoSuchLesson(
            f"There is no lesson {', '.join(unknown)}; there are {', '.join(sources)}."
        )
    chosen = {number: sources[number] for number in (numbers or sources)}
    out.write_text(document(chosen), encoding="utf-8")
    return out


def document(sources: dict[str, Path]) -> str:
    """The pages of these lessons as HTML."""
    try:
        pages = {number: (slice_of(each) / PAGE).read_text() for number, each in sources.items()}
    except FileNotFoundError as error:
        raise NoSuchLesson(
            "The student edition has no facilitator pages; they are in the solution edition."
        ) from error
    cells = {number: read_source(each) for number, each in sources.items()}
    minutes = {number: times.sentence(number, found) for number, found in cells.items()}
    contents = "".join(
        f"<tr><td><a href='#lesson-{number}'>{escape(title(text))}</a></td>"
        f"<td>{escape(minutes[number])}</td></tr>"
        for number, text in pages.items()
    )
    sections = "".join(
        f"<section id='lesson-{number}'><h1>{escape(title(text))}</h1>"
        f"<p class='minutes'>The notebook says: {escape(minutes[number])}.</p>"
        f"{_html(_body(in_sections(text, cells[number])))}</section>"
        for number, text in pages.items()
    )
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width'>"
        f"<title>Facilitator guide · Kafka Inside Out</title><style>{STYLE}</style></head><body>"
        "<h1>Facilitator guide</h1><p>One page for each lesson: the plan by minutes, what must "
        "be shown, and what goes wrong.</p>"
        f"<nav><table><tbody>{contents}</tbody></table></nav>{sections}</body></html>\n"
    )


def title(page: str) -> str:
    """`# Facilitator page: 00, start here` -> `00, start here`."""
    return page.splitlines()[0].removeprefix("# ").removeprefix("Facilitator page: ")


def headings(page: str) -> list[str]:
    return re.findall(r"^## (.+)$", page, re.MULTILINE)


def in_sections(page: str, cells: Sequence[Cell]) -> str:
    """The page with the section of each code cell in place of the cell's name."""
    section, of = "the first cells", dict[str, str]()
    for cell in cells:
        if not cell.code:
            section = ([section, *re.findall(r"^##+ (.+)$", cell.text, re.MULTILINE)])[-1]
        elif not EXERCISE.fullmatch(cell.name):
            of[cell.name] = section

    def places(row: re.Match[str]) -> str:
        named = (re.sub(r"`?([\w-]+)`?", lambda n: of.get(n[1], n[1]), part.strip())
                 if "`" in part or part.strip() in of else part.strip()
                 for part in row[2].split(","))  # fmt: skip
        shown = dict.fromkeys(re.sub(r"^(.+) (?:…|to) \1$", r"\1", each) for each in named)
        return f"{row[1]} {', '.join(shown)} |"

    def quoted(named: re.Match[str]) -> str:
        return f"“{of[named[1]]}”" if named[1] in of else named[0]

    page = page.replace("| minute | what | cell |", "| minute | what | section |")
    page = PLAN_ROW.sub(places, page)
    return re.sub(r"(?:cell )?`([\w-]+)`", quoted, page)


def _body(page: str) -> str:
    return page.partition("\n")[2]


def _html(markdown: str) -> str:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table").render(markdown)
