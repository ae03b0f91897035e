"""Draws one moment of the quorum small, for the strip: a row per controller, logs aligned.

active 200 · epoch 3 · committed below 17
100 follower         ♛ 2   ▤ 2   ▦ 2 ▌
200 ♛ leader         ♛ 2   ▤ 2   ▦ 2 ▌
300 killed           ♛ 2 ▌
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from kit.film.shapes import PALETTE, coloured, text
from kit.film.strip import Small
from kit.quorum_panel.logs import QUIET
from kit.quorum_panel.scene import Cell, Column, Row, Scene

SIGNS = {
    "leader": "♛", "topic": "▤", "partition": "▦", "broker": "●", "fence": "⚑", "config": "⚙",
    "feature": "★", "ids": "#", "quota": "≤", QUIET: "·", "other": "?",
}  # fmt: skip
LOG, PITCH, WIDE, HIGH, ROW = 148, 34, 31, 18, 24
LEGEND = (
    "Bar: high watermark. Digit: epoch. ♛ leader change, ▤ topic, ▦ partition, ● broker, ⚑ fence, "
    "⚙ config, ★ feature."
)


def shapes(scenes: Iterable[Scene]) -> str:
    """The styles of the records, by epoch."""
    cells = (cell for scene in scenes for row in scene.rows for cell in row.cells)
    return coloured((cell.epoch % len(PALETTE) for cell in cells), "k", "o")


def draw(scene: Scene) -> Small:
    """One moment."""
    facts = (f"{name} {value}" for name, value in scene.facts if name != "majority")
    parts = [text(0, 8, " · ".join(facts), "b f")]
    for place, row in enumerate(scene.rows):
        parts += _row(row, 18 + place * ROW, scene.columns)
    return Small(parts, 18 + ROW * len(scene.rows))


def place(offset: int, columns: tuple[Column, ...]) -> float:
    """Where an offset is on the axis of columns; the end of the last one if it is not there yet."""
    for at, each in enumerate(columns):
        if offset <= each.last:
            into = (offset - each.first) / (each.last - each.first + 1)
            return at + max(0.0, into)
    return float(len(columns))


def _row(row: Row, y: int, columns: tuple[Column, ...]) -> Iterator[str]:
    words, kind = state(row)
    yield (
        f'<text y="{y + 13}"><tspan class="b">{row.id}</tspan>'
        f'<tspan class="{kind} f" dx="6">{escape(words)}</tspan></text>'
    )
    shown = [(at, cell) for at, each in enumerate(columns)
             for cell in row.cells if cell.offset <= each.first <= cell.last]  # fmt: skip
    for at, cell in shown:
        x = LOG + at * PITCH
        yield f'<path class="{_style(cell)}" d="M{x} {y}h{WIDE}v{HIGH}h-{WIDE}z"/>'
    if shown:
        words = "".join(
            f'<tspan x="{LOG + at * PITCH + WIDE / 2}">{SIGNS[cell.kind]} {cell.epoch}</tspan>'
            for at, cell in shown
        )
        yield f'<text y="{y + 13}" class="m v halo">{words}</text>'
    if row.high_watermark >= 0 and columns and row.high_watermark >= columns[0].first:
        bar = LOG + place(row.high_watermark, columns) * PITCH - 2
        yield f'<path d="M{bar:g} {y - 2}v{HIGH + 4}" stroke="var(--ink)" stroke-width="3"/>'


def _style(cell: Cell) -> str:
    return f"{'k' if cell.committed else 'o'}{cell.epoch % len(PALETTE)}"


def state(row: Row) -> tuple[str, str]:
    """A controller in a few words; trouble comes first."""
    trouble = [] if row.state == "running" else [row.state]
    trouble += [f"✂ {' '.join(map(str, row.cut_from))}"] if row.cut_from else []
    role = [f"{'♛ ' if row.role == 'leader' else ''}{row.role}"] if row.role else []
    words = [*role, *trouble] if trouble else [*role, f"epoch {row.epoch}"]
    return " · ".join(words)[:26], "bad" if trouble else "good" if row.is_active else "s"
