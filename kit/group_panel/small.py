"""Draws one moment of a group small, for the strip: each member with the partitions that it reads.

Facts of the group come first, then the partitions without a reader, then the members.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from kit.film.shapes import PALETTE, coloured, text
from kit.film.strip import LEFT, RIGHT, Small
from kit.group_panel.scene import FREE, GIVEN, STALE, TARGET, TRAY, Member, Piece, Scene
from kit.group_panel.text import state

LANE, PITCH, WIDE, HIGH, ROW = 206, 27, 23, 18, 23
PIECES_MOST = (RIGHT - LEFT - LANE - 30) // PITCH
MEMBERS_MOST = 8
SHOWN = ("state", "generation", "epoch", "lag")
LEGEND = "Dashed: not read yet. Hatched: no longer its own. Bars: readers; orange: no reader."
ODD = ".kg{fill:none;stroke:var(--soft);stroke-dasharray:4 3}.kf{fill:none;stroke:var(--bad)}"


def shapes(scenes: Sequence[Scene]) -> str:
    """The styles of the partitions."""
    pieces = (piece for scene in scenes for piece in scene.pieces)
    used = (piece.partition % len(PALETTE) for piece in pieces)
    return coloured(used, "p", "z", edge="var(--bad)", more=ODD)


def draw(scene: Scene) -> Small:
    """One moment."""
    facts = (f"{name} {value}" for name, value in scene.facts if name in SHOWN)
    parts = [text(0, 8, " · ".join(facts), "b f")]
    y = 18
    if free := scene.of(TRAY):
        parts += [text(0, y + 13, "no reader", "b bad"), *_pieces(free, y)]
        y += ROW
    for member in scene.members[:MEMBERS_MOST]:
        parts += [_label(member, y), *_pieces(scene.of(member.name), y)]
        y += ROW
    if len(scene.members) > MEMBERS_MOST:
        more = len(scene.members) - MEMBERS_MOST
        parts.append(text(0, y + 13, f"and {more} more members", "s"))
        y += ROW
    return Small(parts, y)


def _label(member: Member, y: int) -> str:
    odd = member.zombie or member.process not in ("running", "")
    words = textwrap.shorten(state(member), 32, placeholder="…")
    return (
        f'<text y="{y + 13}"><tspan class="b">{escape(member.name)}</tspan>'
        f'<tspan class="{"bad f" if odd else "s"}" dx="6">'
        f"{escape(words)}</tspan></text>"
    )


def _pieces(pieces: Sequence[Piece], y: int) -> Iterator[str]:
    shown = list(enumerate(pieces[:PIECES_MOST]))
    for name, alike in groupby(shown, key=lambda each: _style(each[1])):
        boxes = (f"M{LANE + at * PITCH} {y}h{WIDE}v{HIGH}h-{WIDE}z" for at, _ in alike)
        yield f'<path class="{name}" d="{"".join(boxes)}"/>'
    numbers = "".join(
        f'<tspan x="{LANE + at * PITCH + WIDE / 2}">{piece.partition}</tspan>'
        for at, piece in shown
    )
    if numbers:
        yield f'<text y="{y + 13}" class="b m f halo">{numbers}</text>'
    if len(pieces) > len(shown):
        more = f"+{len(pieces) - len(shown)}"
        yield text(LANE + len(shown) * PITCH, y + 13, more, "s")


def _style(piece: Piece) -> str:
    number = piece.partition % len(PALETTE)
    if piece.kind == FREE:
        return "kf"
    if piece.kind in (GIVEN, TARGET):
        return "kg"
    return f"{'z' if piece.kind == STALE else 'p'}{number}"
