"""Draws one moment of transactions small, for the strip: the ids, and the end of each log.

Below the records of a user's topic are two lines, one for a read_uncommitted reader and one for a
read_committed reader: filled where it has the record, red where it must wait.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from html import escape

from kit.film.shapes import PALETTE, box, coloured, text
from kit.film.strip import LEFT, RIGHT, Small
from kit.transaction_panel.readers import GIVEN, HELD, SKIPPED
from kit.transaction_panel.scene import Cell, Id, Row, Scene

LOG, PITCH, WIDE, HIGH, ROW, LANES = 138, 56, 52, 18, 22, 10
CELLS_MOST = (RIGHT - LEFT - LOG) // PITCH
ENDS = {"commit": "✓ COMMIT", "abort": "✕ ABORT"}
READ = {GIVEN: "var(--good)", HELD: "var(--bad)", SKIPPED: "var(--line)"}
LEGEND = "Violet line: LSO; the other: high watermark. Bars: read_uncommitted, read_committed."
MARKERS = (
    ".tc{fill:var(--good);fill-opacity:.2;stroke:var(--good)}"
    ".ta{fill:var(--bad);fill-opacity:.2;stroke:var(--bad)}"
    ".tn{fill:none;stroke:var(--soft)}"
)


def shapes(scenes: Sequence[Scene]) -> str:
    """The styles of the records, by producer id."""
    cells = (cell for scene in scenes for row in scene.rows for cell in row.cells)
    used = (_colour(cell) for cell in cells if cell.producer_id >= 0)
    return coloured(used, "q", "w", more=MARKERS)


def draw(scene: Scene) -> Small:
    """One moment."""
    parts: list[str] = []
    y = 0
    for each in scene.ids:
        parts.append(_id(each, y))
        y += ROW
    for row in scene.rows:
        parts += _row(row, y)
        y += ROW if row.internal else ROW + LANES
    return Small(parts, y)


def _colour(cell: Cell) -> int:
    return max(0, cell.producer_id) % len(PALETTE)


def _id(each: Id, y: int) -> str:
    odd = "bad" if each.state in ("PrepareAbort", "CompleteAbort", "PrepareEpochFence") else "one"
    return (
        f'<text y="{y + 13}"><tspan class="b">{escape(each.id)}</tspan>'
        f'<tspan class="b {odd}" dx="8">{each.state}</tspan>'
        f'<tspan class="s" dx="8">producer {each.producer_id}, epoch {each.epoch}</tspan></text>'
    )


def _row(row: Row, y: int) -> Iterator[str]:
    yield text(0, y + 13, textwrap.shorten(row.name, 22, placeholder="…"), "v")
    shown = row.cells[-CELLS_MOST:]
    for at, cell in enumerate(shown):
        x = LOG + at * PITCH
        yield f'<path class="{_style(cell)}" d="M{x} {y}h{WIDE}v{HIGH}h-{WIDE}z"/>'
        if row.internal:
            continue
        for line, had in enumerate((cell.uncommitted, cell.committed)):
            if had in READ:
                yield box(x, y + HIGH + 2 + 4 * line, WIDE, 3, 1, READ[had], "none", 0)
    if shown:
        words = "".join(
            f'<tspan x="{LOG + at * PITCH + WIDE // 2}">{escape(_said(cell))}</tspan>'
            for at, cell in enumerate(shown)
        )
        yield f'<text y="{y + 13}" class="m v halo">{words}</text>'
    yield _line(row.high_watermark, shown, y - 2, HIGH + 4, "--ink")
    if not row.internal:
        yield _line(row.last_stable_offset, shown, y - 2, HIGH + LANES + 2, "--two")


def _line(offset: int, shown: Sequence[Cell], y: int, high: int, colour: str) -> str:
    at = next((at for at, each in enumerate(shown) if each.offset >= offset), len(shown))
    x = LOG + at * PITCH - (PITCH - WIDE) / 2 + (1 if colour == "--two" else -1)
    return f'<path d="M{x} {y}v{high}" stroke="var({colour})" stroke-width="2"/>'


def _style(cell: Cell) -> str:
    if cell.kind in ENDS:
        return "tc" if cell.kind == "commit" else "ta"
    if cell.fate == "aborted" or cell.producer_id < 0:
        return "tn"
    return f"{'w' if cell.fate == 'open' else 'q'}{_colour(cell)}"


def _said(cell: Cell) -> str:
    value = ENDS.get(cell.kind, cell.value or str(cell.offset))
    return value if len(value) <= 9 else f"{value[:8]}…"
