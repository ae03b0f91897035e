"""Draws the panel as a still SVG picture, for notebooks that are read without a kernel.

The transactional ids with their states, and below them the logs with the two readers.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from html import escape

from kit.film.output import RERUN
from kit.film.shapes import PALETTE, STYLE, box, stripes, text
from kit.film.steps import plain
from kit.transaction_panel.readers import AHEAD, GIVEN, HELD, SKIPPED
from kit.transaction_panel.scene import Cell, Id, Row, Scene
from kit.transaction_panel.text import markers
from kit.transaction_panel.view import NO_LEADER

WIDTH, LEFT = 820, 176
CELL, HIGH, GAP = 74, 36, 5
ACROSS = (WIDTH - LEFT - 24) // (CELL + GAP)
ROWS_MOST = 10
LANES = {GIVEN: "var(--good)", HELD: "url(#kio-still-held)", SKIPPED: "none", AHEAD: "var(--card)"}
HELD_PATTERN = (
    '<pattern id="kio-still-held" width="5" height="5" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect width="2.2" height="5" fill="var(--bad)"/></pattern>'
)


def draw(scene: Scene, caption: str) -> str:
    """One picture of a moment, with its sentence below."""
    parts: list[str] = []
    y = 56
    for each in scene.ids:
        parts += _id(each, y)
        y += 26
    for row in scene.rows[:ROWS_MOST]:
        parts += _row(row, y)
        y += HIGH + (26 if row.internal else 48)
    sentences = textwrap.wrap(plain(caption), 104)
    height = y + 26 + 19 * len(sentences) + 22
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(plain(caption))}">',
            f"<style>{STYLE}</style><defs>",
            *(stripes(number, colour) for number, colour in enumerate(PALETTE)),
            HELD_PATTERN,
            "</defs>",
            box(0.5, 0.5, WIDTH - 1, height - 1, 10, "var(--bg)", "var(--line)"),
            text(18, 30, "Transactions", "big"),
            *parts,
            f'<path d="M0 {y + 4}H{WIDTH}" stroke="var(--line)"/>',
            *(text(18, y + 26 + 19 * at, line, "", 14) for at, line in enumerate(sentences)),
            text(18, height - 12, RERUN, "s"),
            "</svg>",
        ]
    )


def _id(each: Id, y: int) -> Iterator[str]:
    odd = each.state in ("PrepareAbort", "CompleteAbort", "PrepareEpochFence")
    yield text(18, y + 14, each.id, "b")
    yield box(LEFT, y, 124, 20, 10, "var(--card)", "var(--bad)" if odd else "var(--accent)", 1.6)
    yield text(LEFT + 62, y + 14, each.state, "b m", 11.5)
    where = f"producer {each.producer_id}, epoch {each.epoch}"
    where += f", coordinator {each.coordinator}" if each.coordinator >= 0 else ""
    said = f"{where}; {markers(each)}" if each.parts else where
    yield text(LEFT + 136, y + 14, textwrap.shorten(said, 92, placeholder=" …"), "s")


def _row(row: Row, top: int) -> Iterator[str]:
    yield text(18, top + 30, textwrap.shorten(row.name, 24, placeholder="…"), "b")
    yield text(18, top + 45, row.led, "s bad" if row.leader == NO_LEADER else "s", 10.5)
    shown = row.cells[-ACROSS:]
    y = top + 16
    for at, each in enumerate(shown):
        x = LEFT + at * (CELL + GAP)
        yield from _cell(each, x, y)
        if row.internal:
            continue
        for line, had in enumerate((each.uncommitted, each.committed)):
            if had in LANES:
                lane = y + HIGH + 5 + line * 10
                edge = "none" if had == GIVEN else "var(--bad)" if had == HELD else "var(--line)"
                yield box(x, lane, CELL, 7, 2, LANES[had], edge, 0.8)
    yield _line(row.high_watermark, shown, f"HW {row.high_watermark}", top, y + HIGH + 14, "--ink")
    if not row.internal:
        low = y + HIGH + 24
        words = f"LSO {row.last_stable_offset}"
        yield _line(row.last_stable_offset, shown, words, y, low, "--two", below=True)


def _cell(each: Cell, x: int, y: int) -> Iterator[str]:
    number = max(0, each.producer_id) % len(PALETTE)
    colour = PALETTE[number] if each.producer_id >= 0 else "var(--soft)"
    fill, more, value = colour, 'fill-opacity=".36"', each.value
    if each.kind in ("commit", "abort"):
        colour = "var(--good)" if each.kind == "commit" else "var(--bad)"
        fill, more = colour, 'fill-opacity=".2"'
        value = f"{'✓' if each.kind == 'commit' else '✕'} {each.kind.upper()}"
    elif each.fate == "open":
        fill, more = f"url(#kio-still-{number})", 'class="open"'
    elif each.fate == "aborted" or each.producer_id < 0:
        fill, more = "none", ""
    yield f"<g><title>{escape(each.says)}</title>"
    yield box(x, y, CELL, HIGH, 6, fill, colour, 1.4, more)
    yield text(x + CELL / 2, y + 16, textwrap.shorten(value, 12, placeholder="…"), "b m halo", 11)
    if each.fate == "aborted":
        yield f'<path d="M{x + 6} {y + 12}h{CELL - 12}" stroke="var(--bad)" stroke-width="1.5"/>'
    yield text(x + 5, y + HIGH - 5, str(each.offset), "s", 9.5)
    if each.producer_id >= 0:
        yield text(x + CELL - 5, y + HIGH - 5, f"p{each.producer_id} e{each.epoch}", "s e", 9.5)
    yield "</g>"


def _line(
    offset: int, shown: tuple[Cell, ...], words: str, top: int, low: int, colour: str,
    below: bool = False,
) -> str:  # fmt: skip
    at = next((at for at, each in enumerate(shown) if each.offset >= offset), len(shown))
    x = LEFT + at * (CELL + GAP) - GAP / 2
    y = low + 4 if below else top + 9
    where = ("s e", x - 4) if x - LEFT > 40 or not below else ("s", x + 4)
    return f'<path d="M{x} {top}V{low}" stroke="var({colour})" stroke-width="2"/>' + text(
        where[1], y, words, where[0], 10
    )
