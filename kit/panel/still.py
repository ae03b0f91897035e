"""Draws the panel as a still SVG picture, for notebooks that are read without a kernel.

The page around the image is unknown, so the picture brings its own background and follows
the reader's system for light or dark.

If a recorded world was forked, each replica has two lanes, one below the other, as in the
live panel.  A record that differs is outlined; where one timeline has no record, the place
is empty.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from kit.film.output import RERUN
from kit.film.shapes import PALETTE, STYLE, box, stripes, text
from kit.film.steps import plain
from kit.panel.marks import CELL_HEIGHT, CELL_WIDTH, GAP, badge, nothing, unequal
from kit.panel.moments import Differs
from kit.panel.scene import Cell, Row, Scene

WIDTH, LEFT, TOP, ROW = 820, 282, 88, 84
CARD = 216
"""Where a broker's card ends."""
CELLS_MOST = 10
LANE, RULES = 68, 26
"""The height of one of two lanes, and of the line that names the timelines."""


@dataclass(frozen=True)
class Second:
    """The other timeline of a fork: its scene, both rules, and what differs now."""

    scene: Scene
    rules: tuple[str, str]
    differs: Differs


@dataclass(frozen=True)
class Grid:
    """Which offsets are drawn, the same for all lanes."""

    first: int
    end: int

    def x(self, offset: int) -> float:
        return LEFT + (offset - self.first) * CELL_WIDTH

    def seen(self, offset: int) -> bool:
        return self.first <= offset < self.end


def draw(scene: Scene, caption: str, second: Second | None = None) -> str:
    """One picture of a scene, or of two, with its sentences below (one per line of `caption`)."""
    scenes = [scene, second.scene] if second else [scene]
    grid = _grid(scenes)
    sentences = [
        (line, "") for part in plain(caption).split("\n") for line in textwrap.wrap(part, 104)
    ]
    if second:
        said = textwrap.wrap(plain(second.differs.sentence), 100)
        sentences += [
            (f"{'≠' if not place else '   '} {line}", "two") for place, line in enumerate(said)
        ]
    top = TOP + (RULES if second else 0)
    step = 2 * LANE + 12 if second else ROW
    bottom = top + step * len(scene.rows)
    height = bottom + 34 + 19 * len(sentences) + 22
    aloud = escape(" ".join(line for line, _ in sentences))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{aloud}">',
        f"<style>{STYLE}</style>",
        "<defs>",
        *(stripes(number, colour) for number, colour in enumerate(PALETTE)),
        "</defs>",
        box(0.5, 0.5, WIDTH - 1, height - 1, 10, "var(--bg)", "var(--line)"),
        *_heading(scenes),
        *(_rules(second.rules) if second else ()),
        *_offsets(grid, top),
    ]
    for place, row in enumerate(scene.rows):
        if second:
            parts += _pair(scene, second, place, top + place * step, grid)
        else:
            parts += _row(scene, row, top + place * step, grid)
    if not second:
        parts += _seam(scene, grid, top - 8, bottom - 4, "logs diverge here")
    parts.append(f'<path d="M0 {bottom + 8}H{WIDTH}" stroke="var(--line)"/>')
    for place, (line, kind) in enumerate(sentences):
        parts.append(text(18, bottom + 32 + 19 * place, line, kind, size=14))
    parts.append(text(18, height - 12, RERUN, "s"))
    return "".join([*parts, "</svg>"])


def _grid(scenes: Sequence[Scene]) -> Grid:
    """The newest offsets of all scenes; if room is short, free places are dropped first."""
    first = min(scene.offsets[0] for scene in scenes)
    end = max(scene.offsets[1] for scene in scenes)
    last = max((row.log_end_offset for scene in scenes for row in scene.rows), default=0)
    end = max(last + 1, min(end, first + CELLS_MOST))
    return Grid(max(first, end - CELLS_MOST), end)


def _heading(scenes: Sequence[Scene]) -> Iterator[str]:
    scene = scenes[-1]
    title = f"{scene.topic} · partition {scene.partition}" if scene.facts else "cluster"
    others = dict(scenes[0].facts)
    facts = []
    for name, value in scene.facts:
        both = value if others.get(name) == value else f"{others.get(name, '–')} | {value}"
        facts.append(
            f'<tspan dx="16" fill="var(--soft)">{escape(name)}</tspan>'
            f'<tspan dx="5" class="b">{escape(both)}</tspan>'
        )
    yield f'<text x="18" y="30"><tspan class="big">{escape(title)}</tspan>{"".join(facts)}</text>'
    yield text(WIDTH - 18, 30, _controllers(scene), "s e")
    yield f'<path d="M0 46H{WIDTH}" stroke="var(--line)"/>'


def _controllers(scene: Scene) -> str:
    if not scene.controllers:
        return f"controller {scene.controller[0]} {scene.controller[1]}"
    named = (
        f"{'♛ ' if each.is_active else ''}{each.id}"
        + (f" {each.state}" if each.state != "running" else "")
        for each in scene.controllers
    )
    return f"controllers {' · '.join(named)}"


def _rules(rules: tuple[str, str]) -> Iterator[str]:
    """Which timeline follows which rule."""
    for place, rule in enumerate(rules):
        x = 28 + place * 260
        yield badge(x, 66, place)
        yield text(x + 14, 70, f"timeline {place + 1}, rule {rule}", "s")


def _offsets(grid: Grid, top: int) -> Iterator[str]:
    yield text(LEFT - 14, top - 14, "offset", "s e")
    for offset in range(grid.first, grid.end):
        yield text(grid.x(offset) + (CELL_WIDTH - GAP) / 2, top - 14, str(offset), "s m")


def _seam(scene: Scene, grid: Grid, top: int, bottom: int, words: str = "") -> Iterator[str]:
    """Where logs diverge."""
    if scene.parts_at is None or not grid.seen(scene.parts_at):
        return
    x = grid.x(scene.parts_at) - GAP / 2
    yield (
        f'<path d="M{x} {top}V{bottom}" stroke="var(--bad)" stroke-width="1.4" '
        'stroke-dasharray="2 4"/>'
    )
    if words:
        yield text(x + 4, bottom + 4, words, "s bad")


# -- a broker's card and lanes


def _row(scene: Scene, row: Row, top: int, grid: Grid) -> Iterator[str]:
    leads = row.id == scene.leader
    edge = "var(--accent)" if leads else "var(--line)"
    yield box(16, top - 4, CARD - 16, 56, 8, "var(--card)", edge, 2 if leads else 1)
    yield text(28, top + 18, str(row.id), "big")
    role = "♛ leader" if leads else "replica" if row.role == "offline" else "follower"
    yield text(66, top + 17, role, "b" if leads else "s")
    yield text(CARD - 10, top + 17, _sync(row), "e good" if row.in_isr else "e s")
    words = _state(row)
    yield text(28, top + 39, " · ".join(words), "s" if words == ["running"] else "bad")
    yield from _lane(row, top, grid)


def _pair(scene: Scene, second: Second, place: int, top: int, grid: Grid) -> Iterator[str]:
    """One replica in both timelines."""
    differing = dict(second.differs.cells).get(scene.rows[place].id, ())
    yield box(16, top + 14, CARD - 16, 84, 8, "var(--card)", "var(--line)")
    yield text(28, top + 36, str(scene.rows[place].id), "big")
    if place:
        yield f'<path d="M{CARD + 12} {top - 9}H{WIDTH - 18}" stroke="var(--line)"/>'
    for take, shown in enumerate((scene, second.scene)):
        row, lane = shown.rows[place], top + take * LANE
        leads = ["♛ leader"] if row.id == shown.leader else []
        words = " · ".join([*leads, _sync(row), *_short(_state(row))])
        fits = ' textLength="148" lengthAdjust="spacingAndGlyphs"' if len(words) > 28 else ""
        calm = row.state == "running" and not row.fenced and not row.cut_from
        yield badge(35, top + 55 + take * 23, take)
        yield (
            f'<text x="50" y="{top + 59 + take * 23}" class="s {"" if calm else "bad"}"{fits}>'
            f"{escape(words)}</text>"
        )
        yield badge(CARD + 22, lane + CELL_HEIGHT // 2, take)
        yield from _lane(row, lane, grid, differing)
        yield from _seam(shown, grid, lane - 5, lane + LANE - 13)


def _sync(row: Row) -> str:
    return "✓ ISR" if row.in_isr else "ELR" if row.eligible else "not in ISR"


def _state(row: Row) -> list[str]:
    words = [row.state, *(["fenced"] if row.fenced else [])]
    if row.cut_from:
        words.append(f"cut from {' '.join(map(str, row.cut_from))}")
    return words


def _short(state: list[str]) -> list[str]:
    """The same in half the room: "running" is dropped if there is trouble to report."""
    trouble = [each.replace("cut from", "✂") for each in state if each != "running"]
    return trouble or state


def _lane(row: Row, top: int, grid: Grid, differing: Sequence[int] = ()) -> Iterator[str]:
    """A replica's records; `differing` are offsets where the other timeline has another or none."""
    if row.log_start_offset < grid.first < row.log_end_offset:
        yield text(LEFT - 12, top + 26, "…", "m")
    yield f'<g opacity="{0.55 if row.role == "offline" else 1}">'
    cells = {cell.offset: cell for cell in row.cells if grid.seen(cell.offset)}
    for cell in cells.values():
        yield _cell(grid.x(cell.offset), top, cell, cell.offset in differing)
    for offset in differing:
        if grid.seen(offset):
            x = grid.x(offset)
            yield unequal(x, top) if offset in cells else nothing(x, top) + unequal(x, top)
    if row.log_end_offset >= 0:
        yield from _marks(row, top + CELL_HEIGHT + 3, grid)
    yield "</g>"


def _cell(x: float, top: int, cell: Cell, differs: bool) -> str:
    width, colour = CELL_WIDTH - GAP, PALETTE[cell.epoch % len(PALETTE)]
    middle = x + width / 2
    edge, strong = ("var(--two)", 2.6) if differs else (colour, 1.4)
    if cell.committed:
        face = box(x, top, width, CELL_HEIGHT, 6, colour, edge, strong, 'fill-opacity=".36"')
        halo = ""
    else:
        fill = f"url(#kio-still-{cell.epoch % len(PALETTE)})"
        face = box(x, top, width, CELL_HEIGHT, 6, fill, edge, strong, 'class="open"')
        halo = " halo"
    value = cell.value or "·"
    value = value if len(value) <= 5 else value[:4] + "…"
    return (
        f"<g><title>{escape(f'offset {cell.offset}, epoch {cell.epoch}: {cell.value}')}</title>"
        + face
        + text(middle, top + 19, value, "b m" + halo)
        + text(middle, top + 33, f"epoch {cell.epoch}", "m" + halo, size=9.5)
        + "</g>"
    )


def _marks(row: Row, y: int, grid: Grid) -> Iterator[str]:
    """HW to the left of its mark, LEO to the right; HW too where its words would not fit."""
    triangle = "l5.5 9.5h-11z"
    leo = grid.x(min(max(row.log_end_offset, grid.first), grid.end)) - GAP / 2
    yield f'<path d="M{leo} {y}{triangle}" fill="var(--bg)" stroke="var(--soft)"/>'
    words = leo + 9
    if row.high_watermark >= 0:
        mark = grid.x(min(max(row.high_watermark, grid.first), grid.end)) - GAP / 2
        sentences = f"HW {row.high_watermark}"
        long = 8 * len(sentences)
        left = mark - 9 - long > CARD + 4
        yield f'<path d="M{mark} {y}{triangle}" fill="var(--ink)"/>'
        x, side = (mark - 9, "b e") if left else (mark + 9, "b")
        yield text(x, y + 10, sentences, side, size=11)
        if not left and mark == leo:
            words += long + 4
    yield text(words, y + 10, f"LEO {row.log_end_offset}", "s")
