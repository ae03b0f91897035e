"""Draws the panel as a still SVG picture, for notebooks that are read without a kernel.

Bars of the newest segments, and below them the bytes of the batch that is open.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from html import escape

from kit.film.output import RERUN
from kit.film.shapes import PALETTE, STYLE, box, stripes, text
from kit.film.steps import plain
from kit.segment_panel.batches import Opened
from kit.segment_panel.folder import OneSegment, Replica
from kit.segment_panel.records import Field
from kit.segment_panel.scene import TEXTS, facts, marks, pieces, printable
from kit.segment_panel.source import Known
from kit.segment_panel.wording import size

WIDTH, LEFT = 820, 118
SEGMENTS_MOST, ROWS_MOST = 8, 8
BAR, ROW = 20, 40
ACROSS, CELL, LINE = 24, 30, 40
BYTES_LEFT = 62
COLOURS = {
    "offset": PALETTE[0], "epoch": PALETTE[1], "producer": PALETTE[2], "time": PALETTE[3],
    "check": PALETTE[4], "key": PALETTE[5], "header": PALETTE[5], "packed": "var(--soft)",
    "value": "var(--soft)", "length": "var(--line)", "unopened": "var(--line)",
    "damage": "var(--bad)",
}  # fmt: skip


def draw(
    title: str,
    replica: Replica,
    known: Known,
    chosen: OneSegment | None,
    opened: Opened | None,
    caption: str,
) -> str:
    """One picture of a moment, with its sentence below."""
    bars, y = _bars(replica, known, opened, chosen)
    if opened is not None:
        grid, y = _grid(opened.stored, y + 12)
        bars += grid
    sentences = textwrap.wrap(plain(caption), 104)
    height = y + 26 + 19 * len(sentences) + 22
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(plain(caption))}">',
            f"<style>{STYLE}.x{{font:12px ui-monospace,monospace}}</style><defs>",
            *(stripes(number, colour) for number, colour in enumerate(PALETTE)),
            "</defs>",
            box(0.5, 0.5, WIDTH - 1, height - 1, 10, "var(--bg)", "var(--line)"),
            *_heading(title, replica, known),
            *bars,
            f'<path d="M0 {y + 4}H{WIDTH}" stroke="var(--line)"/>',
            *(text(18, y + 26 + 19 * at, line, "", 14) for at, line in enumerate(sentences)),
            text(18, height - 12, RERUN, "s"),
            "</svg>",
        ]
    )


def _heading(title: str, replica: Replica, known: Known) -> Iterator[str]:
    yield text(18, 28, title, "big")
    said = " · ".join(f"{name} {value}" for name, value in facts(replica, known))
    yield text(18, 47, said, "s")
    yield f'<path d="M0 58H{WIDTH}" stroke="var(--line)"/>'


def _bars(
    replica: Replica, known: Known, opened: Opened | None, chosen: OneSegment | None
) -> tuple[list[str], int]:
    shown = replica.segments[-SEGMENTS_MOST:]
    most = max([1, *(segment.size for segment in shown)])
    scale = (WIDTH - LEFT - 24) / most
    places = marks(replica, known)
    parts, y = [], 74
    left_out = len(replica.segments) - len(shown)
    if left_out:
        parts.append(text(28, y + 4, f"and {left_out} older segments", "s"))
        y += 20
    for segment in shown:
        parts.append(text(28, y + 26, str(segment.base_offset), "b"))
        parts.append(text(LEFT - 12, y + 26, size(segment.size), "s e"))
        parts.append(
            box(LEFT, y + 12, max(3, round(segment.size * scale, 1)), BAR, 3, "var(--card)", "none")
        )
        for piece in pieces(segment, 120):
            number = piece.epoch % len(PALETTE)
            fill = f"url(#kio-still-{number})" if piece.codec != "none" else PALETTE[number]
            x, wide = LEFT + piece.position * scale, max(0.8, piece.size * scale - 1)
            here = segment == chosen and opened is not None and (
                piece.position <= opened.position < piece.position + piece.size
            )  # fmt: skip
            edge = "var(--ink)" if here else "none"
            parts.append(box(round(x, 1), y + 12, round(wide, 1), BAR, 2, fill, edge, 1.6,
                             'fill-opacity=".55"'))  # fmt: skip
        own = [mark for mark in places if mark.segment == segment.base_offset]
        for at, mark in enumerate(own):
            x = round(LEFT + mark.position * scale, 1)
            parts.append(f'<path d="M{x} {y + 8}V{y + 34}" stroke="var(--ink)"/>')
            if not any(abs(mark.position - each.position) * scale < 120 for each in own[at + 1 :]):
                words = " · ".join(
                    f"{each.name} {each.offset}"
                    for each in own
                    if abs(mark.position - each.position) * scale < 120
                )
                anchor = "s e" if x > WIDTH - 160 else "s"
                parts.append(text(min(x, WIDTH - 18), y + 7, words, anchor, 10))
        y += ROW
    return parts, y


def _grid(fields: Sequence[Field], top: int) -> tuple[list[str], int]:
    """The first rows of bytes."""
    parts: list[str] = []
    at = 0
    for field in fields:
        shown = field.data[: ROWS_MOST * ACROSS - at]
        places = [_place(at + number, top) for number in range(len(shown))]
        parts.append(_cells(places, COLOURS[field.kind]))
        for number, (byte, (x, y)) in enumerate(zip(shown, places, strict=True)):
            if x == BYTES_LEFT:
                parts.append(text(BYTES_LEFT - 10, y + 15, str(field.start + number), "s e", 10))
            parts.append(text(x + CELL / 2 - 1, y + 15, f"{byte:02x}", "x m"))
            if field.kind in TEXTS:
                parts.append(text(x + CELL / 2 - 1, y + 32, printable(bytes([byte])), "x m"))
        if len(shown) < len(field.data):
            parts.append(text(BYTES_LEFT, top + ROWS_MOST * LINE + 8, "and more bytes", "s"))
            return parts, top + ROWS_MOST * LINE + 16
        x, y = _place(at, top)
        room = min(len(field.data), ACROSS - at % ACROSS) * CELL
        if field.kind not in TEXTS and len(field.tag) * 5 < room + 4:
            parts.append(text(x + room / 2 - 1, y + 32, field.tag, "s m", 9))
        at += len(field.data)
    return parts, top + -(-at // ACROSS) * LINE


def _place(number: int, top: int) -> tuple[int, int]:
    """Where a byte is drawn, by its number from the first one on."""
    row, column = divmod(number, ACROSS)
    return BYTES_LEFT + column * CELL, top + row * LINE


def _cells(places: Sequence[tuple[int, int]], colour: str) -> str:
    """The frames of a field's bytes in one path, which takes a fifth of the room of so many."""
    frames = "".join(f"M{x} {y}h{CELL - 2}v21h{2 - CELL}z" for x, y in places)
    return f'<path d="{frames}" fill="{colour}" stroke="{colour}" fill-opacity=".38"/>'
