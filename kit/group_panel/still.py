"""Draws the panel as a still SVG picture, for notebooks that are read without a kernel.

Members with their partitions, and below them the bars of the times without a reader.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from kit.film.output import RERUN
from kit.film.shapes import PALETTE, STYLE, box, stripes, text
from kit.film.steps import plain
from kit.group_panel.scene import FREE, GIVEN, STALE, TARGET, TRAY, Piece, Scene
from kit.group_panel.text import state

WIDTH, LEFT = 820, 214
TOP = 58
PIECE, HEIGHT, GAP = 38, 30, 6
ACROSS = (WIDTH - LEFT - 16) // (PIECE + GAP)
BARS_LEFT = 96
ROWS_MOST = 24
"""More members or partitions than this are counted, not drawn."""


def draw(scene: Scene, caption: str, timeline: Mapping[str, Any]) -> str:
    """One picture of a moment, with its sentence below."""
    parts, y = [], TOP
    for seat in (TRAY, *(each.name for each in scene.members[:ROWS_MOST])):
        drawn, y = _lane(scene, seat, y)
        parts += drawn
    if len(scene.members) > ROWS_MOST:
        parts.append(text(28, y + 14, f"and {len(scene.members) - ROWS_MOST} more members", "s"))
        y += 24
    rows, y = bars(scene, timeline, y + 10)
    sentences = textwrap.wrap(plain(caption), 104)
    height = y + 26 + 19 * len(sentences) + 22
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(plain(caption))}">',
            f"<style>{STYLE}</style><defs>",
            *(stripes(number, colour) for number, colour in enumerate(PALETTE)),
            "</defs>",
            box(0.5, 0.5, WIDTH - 1, height - 1, 10, "var(--bg)", "var(--line)"),
            *_heading(scene),
            *parts,
            *rows,
            f'<path d="M0 {y + 4}H{WIDTH}" stroke="var(--line)"/>',
            *(text(18, y + 26 + 19 * at, line, "", 14) for at, line in enumerate(sentences)),
            text(18, height - 12, RERUN, "s"),
            "</svg>",
        ]
    )


def _heading(scene: Scene) -> Iterator[str]:
    facts = "".join(
        f'<tspan dx="14" fill="var(--soft)">{escape(name)}</tspan>'
        f'<tspan dx="5" class="b">{escape(value)}</tspan>'
        for name, value in scene.facts
    )
    title = escape(f"{scene.group} · {scene.topic}")
    yield f'<text x="18" y="30"><tspan class="big">{title}</tspan>{facts}</text>'
    yield f'<path d="M0 46H{WIDTH}" stroke="var(--line)"/>'


def _lane(scene: Scene, seat: str, top: int) -> tuple[list[str], int]:
    """A member's card and pieces, or the tray; and where the next lane begins."""
    pieces = scene.of(seat)
    if seat == TRAY and not pieces:
        return [], top
    lines = max(1, -(-len(pieces) // ACROSS))
    height = max(44, lines * (HEIGHT + GAP) + 8)
    parts = []
    if seat == TRAY:
        parts.append(text(28, top + height // 2 + 4, "no reader", "b bad"))
    else:
        member = next(each for each in scene.members if each.name == seat)
        odd = member.zombie or member.process not in ("running", "")
        edge = "var(--bad)" if odd else "var(--line)"
        parts.append(box(16, top + 2, LEFT - 32, height - 6, 8, "var(--card)", edge))
        parts.append(text(28, top + 20, member.name, "big"))
        words = textwrap.shorten(state(member), 36, placeholder="…")
        parts.append(text(28, top + 35, words, "bad" if odd else "s", 10.5))
    first = top + (height - lines * (HEIGHT + GAP) + GAP) // 2
    for at, piece in enumerate(pieces):
        x = LEFT + at % ACROSS * (PIECE + GAP)
        parts.append(_piece(piece, x, first + at // ACROSS * (HEIGHT + GAP)))
    return parts, top + height


def _piece(piece: Piece, x: float, y: float) -> str:
    number = piece.partition % len(PALETTE)
    fill, edge, more = PALETTE[number], PALETTE[number], 'fill-opacity=".36" stroke-width="1.4"'
    if piece.kind == STALE:
        fill, edge, more = f"url(#kio-still-{number})", "var(--bad)", 'class="open"'
    elif piece.kind in (GIVEN, TARGET):
        fill, more = "none", 'class="open"'
    elif piece.kind == FREE:
        edge = "var(--bad)"
    said = escape(f"partition {piece.partition}: {piece.says}")
    return (
        f"<g><title>{said}</title>"
        + box(x, y, PIECE, HEIGHT, 6, fill, edge, 1.4, more.replace(' stroke-width="1.4"', ""))
        + text(x + PIECE / 2, y + 20, str(piece.partition), "b m halo")
        + "</g>"
    )


FILLS = {"stopped": "var(--bad)", "waits": "var(--bad)", "twice": "var(--two)"}


def bars(scene: Scene, timeline: Mapping[str, Any], top: int) -> tuple[list[str], int]:
    """A bar per partition, of who read it and when it waited; and where the next thing begins."""
    rows, end = timeline.get("rows") or {}, max(1, timeline.get("end", 1))
    shown = [lag for lag in scene.lags if lag.partition in rows][:ROWS_MOST]
    if not shown:
        return [], top
    room, high = WIDTH - BARS_LEFT - 18, 13
    parts = []
    for at, lag in enumerate(shown):
        y = top + at * high
        parts.append(text(BARS_LEFT - 10, y + 10, f"{lag.partition}  lag {max(0, lag.lag)}", "s e"))
        for begin, until, kind, owner in rows[lag.partition]:
            x, wide = BARS_LEFT + begin / end * room, max(1.0, (until - begin) / end * room)
            number = lag.partition % len(PALETTE)
            fill = FILLS.get(kind, PALETTE[number])
            faint = ' fill-opacity=".25"' if kind not in FILLS else ' fill-opacity=".55"'
            parts.append(box(round(x, 1), y + 1, round(wide, 1), high - 2, 0, fill, "none", 0,
                             faint if kind != "stopped" else ""))  # fmt: skip
            if kind in ("reads", "reported") and wide > 8 * len(owner) + 6:
                parts.append(text(round(x + 4, 1), y + 10, owner, "s", 9.5))
    bottom = top + len(shown) * high
    seconds = (timeline.get("end", 1)) / 1e6
    parts.append(text(BARS_LEFT, bottom + 14, "0 s", "s"))
    parts.append(text(WIDTH - 18, bottom + 14, f"{seconds:.1f} s", "s e"))
    return parts, bottom + 20
