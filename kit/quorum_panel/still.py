"""Draws the panel as a still SVG picture, for notebooks that are read without a kernel.

A card and a lane for each controller, and the newest records in words.  Of two timelines, each
controller has two lanes, one below the other; a record that differs is outlined.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from kit.film.output import RERUN
from kit.film.shapes import PALETTE, STYLE, box, stripes, text
from kit.film.steps import plain
from kit.panel.marks import badge, unequal
from kit.panel.moments import Differs
from kit.quorum_panel.logs import QUIET
from kit.quorum_panel.scene import Cell, Column, Entry, Row, Scene, columns
from kit.quorum_panel.small import SIGNS, place, state
from kit.quorum_panel.text import voted

WIDTH, LEFT, TOP, ROW, LANE = 820, 282, 88, 84, 66
CARD = 232
CELL, HIGH, GAP = 52, 40, 5
ENTRIES = 6


@dataclass(frozen=True)
class Second:
    """The other timeline of a fork: its scene, and what differs now."""

    scene: Scene
    differs: Differs


def draw(scene: Scene, caption: str, second: Second | None = None) -> str:
    """One picture of a scene, or of two, with its sentences below (one per line of `caption`)."""
    scenes = [scene, second.scene] if second else [scene]
    axis = _columns(scene, second)
    step = 2 * LANE + 8 if second else ROW
    bottom = TOP + step * len(scene.rows)
    parts = [*_heading(scenes), *_axis(axis)]
    for at, row in enumerate(scene.rows):
        top = TOP + at * step
        if second:
            parts += _pair(row, second, at, top, axis)
        else:
            parts += [*_card(row, top), *_lane(row, top, axis)]
    shown = scenes[-1].entries[-ENTRIES:]
    for at, entry in enumerate(shown):
        parts += _entry(entry, bottom + 10 + 18 * at)
    bottom += 16 + 18 * len(shown)
    sentences = [line for part in plain(caption).split("\n") for line in textwrap.wrap(part, 104)]
    if second:
        sentences.append(f"≠ {plain(second.differs.sentence)}")
    height = bottom + 34 + 19 * len(sentences) + 22
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}" role="img" '
            f'aria-label="{escape(" ".join(sentences))}"><style>{STYLE}</style><defs>',
            *(stripes(number, colour) for number, colour in enumerate(PALETTE)),
            "</defs>",
            box(0.5, 0.5, WIDTH - 1, height - 1, 10, "var(--bg)", "var(--line)"),
            *parts,
            f'<path d="M0 {bottom + 8}H{WIDTH}" stroke="var(--line)"/>',
            *(text(18, bottom + 32 + 19 * at, line, "", 14) for at, line in enumerate(sentences)),
            text(18, height - 12, RERUN, "s"),
            "</svg>",
        ]
    )


def _columns(scene: Scene, second: Second | None) -> tuple[Column, ...]:
    if second is None:
        return scene.columns
    apart = [offsets[0] for _, offsets in second.differs.cells]
    return columns([*scene.rows, *second.scene.rows], min(apart, default=None))


def _heading(scenes: Sequence[Scene]) -> Iterator[str]:
    others = dict(scenes[0].facts)
    facts = []
    for name, value in scenes[-1].facts:
        both = value if others.get(name) == value else f"{others.get(name, '–')} | {value}"
        facts.append(
            f'<tspan dx="16" fill="var(--soft)">{escape(name)}</tspan>'
            f'<tspan dx="5" class="b">{escape(both)}</tspan>'
        )
    yield f'<text x="18" y="30"><tspan class="big">Quorum</tspan>{"".join(facts)}</text>'
    yield f'<path d="M0 46H{WIDTH}" stroke="var(--line)"/>'


def _axis(axis: Sequence[Column]) -> Iterator[str]:
    yield text(LEFT - 14, TOP - 14, "offset", "s e")
    for at, each in enumerate(axis):
        said = "…" if each.quiet else str(each.first)
        yield text(LEFT + at * CELL + (CELL - GAP) / 2, TOP - 14, said, "s m")


def _card(row: Row, top: int) -> Iterator[str]:
    edge, wide = ("var(--accent)", 2) if row.is_active else ("var(--line)", 1)
    yield box(16, top - 4, CARD - 16, 56, 8, "var(--card)", edge, wide)
    words, kind = state(row)
    yield text(28, top + 18, str(row.id), "big")
    yield text(66, top + 17, words, f"{kind} b" if kind == "good" else kind)
    vote = textwrap.shorten(voted(row), 34, placeholder=" …")
    yield text(28, top + 39, vote, "s")


def _pair(row: Row, second: Second, at: int, top: int, axis: tuple[Column, ...]) -> Iterator[str]:
    """One controller in both timelines."""
    differing = dict(second.differs.cells).get(row.id, ())
    yield box(16, top + 12, CARD - 16, 80, 8, "var(--card)", "var(--line)")
    yield text(28, top + 33, str(row.id), "big")
    for take, shown in enumerate((row, second.scene.rows[at])):
        words, kind = state(shown)
        yield badge(35, top + 53 + take * 23, take)
        yield text(50, top + 57 + take * 23, words, kind)
        yield badge(CARD + 22, top + take * LANE + HIGH // 2, take)
        yield from _lane(shown, top + take * LANE, axis, differing)


def _lane(
    row: Row, top: int, axis: tuple[Column, ...], differing: Sequence[int] = ()
) -> Iterator[str]:
    yield f'<g opacity="{1 if row.state in ("running", "paused") else 0.55}">'
    for at, column in enumerate(axis):
        for cell in row.cells:
            if cell.offset <= column.first <= cell.last:
                x = LEFT + at * CELL
                yield _cell(x, top, cell)
                if cell.offset in differing:
                    yield unequal(x, top)
    yield "</g>"
    if row.log_end_offset >= 0 and axis:
        yield from _marks(row, top + HIGH + 3, axis)


def _cell(x: float, top: int, cell: Cell) -> str:
    wide, number = CELL - GAP, cell.epoch % len(PALETTE)
    colour, middle = PALETTE[number], x + (CELL - GAP) / 2
    if cell.kind == QUIET:
        return text(middle, top + 25, "…", "m s")
    fill, more = (colour, 'fill-opacity=".36"') if cell.committed else (
        f"url(#kio-still-{number})", 'class="open"')  # fmt: skip
    edge = "var(--bad)" if cell.parted else colour
    brief = cell.brief if len(cell.brief) <= 7 else f"{cell.brief[:6]}…"
    says = f"offset {cell.offset}, epoch {cell.epoch}: {cell.says}"
    return (
        f"<g><title>{escape(says)}</title>"
        + box(x, top, wide, HIGH, 6, fill, edge, 1.4, more)
        + text(middle, top + 16, SIGNS[cell.kind], "b m halo")
        + text(middle, top + 31, brief, "m halo", size=9.5)
        + "</g>"
    )


def _marks(row: Row, y: int, axis: tuple[Column, ...]) -> Iterator[str]:
    """HW to the left of its mark, LEO to the right."""
    leo = LEFT + place(row.log_end_offset, axis) * CELL - GAP / 2
    yield f'<path d="M{leo:g} {y}l5.5 9.5h-11z" fill="var(--bg)" stroke="var(--soft)"/>'
    words = leo + 9
    if row.high_watermark >= 0:
        mark = LEFT + place(row.high_watermark, axis) * CELL - GAP / 2
        yield f'<path d="M{mark:g} {y}l5.5 9.5h-11z" fill="var(--ink)"/>'
        yield text(mark - 9, y + 10, f"HW {row.high_watermark}", "b e", size=11)
    yield text(words, y + 10, f"LEO {row.log_end_offset}", "s")


def _entry(entry: Entry, y: int) -> Iterator[str]:
    """A record in words, with the controllers that have it."""
    yield text(LEFT - 14, y, f"{entry.offset}", "s e")
    yield text(LEFT, y, SIGNS[entry.kind], "b")
    fate = "" if entry.known_by else " · not committed"
    held = f"{' '.join(map(str, entry.held_by))}{fate}"
    yield (
        f'<text x="{LEFT + 20}" y="{y}">{escape(entry.says)}'
        f'<tspan dx="10" class="s{"" if entry.known_by else " bad"}">{escape(held)}</tspan></text>'
    )
