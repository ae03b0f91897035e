"""The panel as a still SVG picture: what a notebook keeps for places without a kernel.

It is shown as an image on a page we know nothing about, so it brings its own background
and follows the reader's system for light or dark.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from html import escape

from kit.panel.scene import Cell, Row, Scene
from kit.panel.text import plain

PALETTE = ("#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#0072b2")
RERUN = "A still picture. Run this cell for the live panel."
WIDTH, LEFT, TOP, ROW = 820, 262, 88, 84
CELL_WIDTH, CELL_HEIGHT, GAP = 52, 40, 6

STYLE = """
svg{--bg:#fff;--card:#f6f7f9;--ink:#1c2430;--soft:#5b6675;--line:#d5dae1;--accent:#0072b2;
--bad:#c04a00;--good:#00735a}
@media(prefers-color-scheme:dark){svg{--bg:#111418;--card:#1a1f26;--ink:#e8ebf0;--soft:#9aa5b4;
--line:#323a45;--accent:#56b4e9;--bad:#ff8a50;--good:#3ccfa4}}
text{font:12px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--ink)}
.b{font-weight:700}.big{font-size:15px;font-weight:700}.s{fill:var(--soft);font-size:11px}
.m{text-anchor:middle}.e{text-anchor:end}.bad{fill:var(--bad)}.good{fill:var(--good)}
.open{stroke-dasharray:4 3}.halo{paint-order:stroke;stroke:var(--bg);stroke-width:3.5px}
"""


def draw(scene: Scene, caption: str) -> str:
    """One picture of a scene, its sentence below."""
    sentence = textwrap.wrap(plain(caption), 104)
    bottom = TOP + ROW * len(scene.rows)
    height = bottom + 34 + 19 * len(sentence) + 22
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(plain(caption))}">',
        f"<style>{STYLE}</style>",
        "<defs>",
        *(_stripes(number, colour) for number, colour in enumerate(PALETTE)),
        "</defs>",
        _box(0.5, 0.5, WIDTH - 1, height - 1, 10, "var(--bg)", "var(--line)"),
        *_heading(scene),
        *_offsets(scene, bottom),
    ]
    for place, row in enumerate(scene.rows):
        parts += _row(scene, row, TOP + place * ROW)
    parts.append(f'<path d="M0 {bottom + 8}H{WIDTH}" stroke="var(--line)"/>')
    for place, line in enumerate(sentence):
        parts.append(_text(18, bottom + 32 + 19 * place, line, size=14))
    parts.append(_text(18, height - 12, RERUN, "s"))
    return "".join([*parts, "</svg>"])


def _heading(scene: Scene) -> Iterator[str]:
    title = f"{scene.topic} · partition {scene.partition}" if scene.facts else "cluster"
    facts = [
        f'<tspan dx="16" fill="var(--soft)">{escape(name)}</tspan>'
        f'<tspan dx="5" class="b">{escape(value)}</tspan>'
        for name, value in scene.facts
    ]
    yield f'<text x="18" y="30"><tspan class="big">{escape(title)}</tspan>{"".join(facts)}</text>'
    yield _text(WIDTH - 18, 30, f"controller {scene.controller[0]} {scene.controller[1]}", "s e")
    yield f'<path d="M0 46H{WIDTH}" stroke="var(--line)"/>'


def _offsets(scene: Scene, bottom: int) -> Iterator[str]:
    yield _text(LEFT - 14, TOP - 14, "offset", "s e")
    first, end = scene.offsets
    for offset in range(first, end):
        yield _text(_x(scene, offset) + (CELL_WIDTH - GAP) / 2, TOP - 14, str(offset), "s m")
    if scene.parts_at is not None and first <= scene.parts_at < end:
        x = _x(scene, scene.parts_at) - GAP / 2
        yield (
            f'<path d="M{x} {TOP - 8}V{bottom - 4}" stroke="var(--bad)" stroke-width="1.4" '
            'stroke-dasharray="2 4"/>'
        )
        yield _text(x + 4, bottom, "histories part here", "s bad")


def _row(scene: Scene, row: Row, top: int) -> Iterator[str]:
    leads = row.id == scene.leader
    edge = "var(--accent)" if leads else "var(--line)"
    down = row.role == "offline"
    yield _box(16, top - 4, 200, 56, 8, "var(--card)", edge, 2 if leads else 1)
    yield _text(28, top + 18, str(row.id), "big")
    role = "♛ leader" if leads else "replica" if down else "follower"
    yield _text(66, top + 17, role, "b" if leads else "s")
    sync = "✓ ISR" if row.in_isr else "ELR" if row.eligible else "not in ISR"
    yield _text(206, top + 17, sync, "e good" if row.in_isr else "e s")
    words = [row.state, *(["fenced"] if row.fenced else [])]
    if row.cut_from:
        words.append(f"cut from {' '.join(map(str, row.cut_from))}")
    calm = words == ["running"]
    yield _text(28, top + 39, " · ".join(words), "s" if calm else "bad")
    if row.log_start_offset < scene.offsets[0] < row.log_end_offset:
        yield _text(LEFT - 12, top + 26, "…", "m")
    yield f'<g opacity="{0.55 if down else 1}">'
    for cell in row.cells:
        yield _cell(_x(scene, cell.offset), top, cell)
    if row.log_end_offset >= 0:
        yield from _marks(scene, row, top + CELL_HEIGHT + 3)
    yield "</g>"


def _cell(x: float, top: int, cell: Cell) -> str:
    width, colour = CELL_WIDTH - GAP, PALETTE[cell.epoch % len(PALETTE)]
    middle = x + width / 2
    if cell.committed:
        face = _box(x, top, width, CELL_HEIGHT, 6, colour, colour, 1.4, 'fill-opacity=".36"')
        halo = ""
    else:
        stripes = f"url(#kio-still-{cell.epoch % len(PALETTE)})"
        face = _box(x, top, width, CELL_HEIGHT, 6, stripes, colour, 1.4, 'class="open"')
        halo = " halo"
    value = cell.value or "·"
    value = value if len(value) <= 5 else value[:4] + "…"
    return (
        f"<g><title>{escape(f'offset {cell.offset}, epoch {cell.epoch}: {cell.value}')}</title>"
        + face
        + _text(middle, top + 19, value, "b m" + halo)
        + _text(middle, top + 33, f"epoch {cell.epoch}", "m" + halo, size=9.5)
        + "</g>"
    )


def _marks(scene: Scene, row: Row, y: int) -> Iterator[str]:
    first, end = scene.offsets
    triangle = "l5.5 9.5h-11z"
    leo = _x(scene, min(max(row.log_end_offset, first), end)) - GAP / 2
    yield f'<path d="M{leo} {y}{triangle}" fill="var(--bg)" stroke="var(--soft)"/>'
    yield _text(leo + 9, y + 10, f"LEO {row.log_end_offset}", "s")
    if row.high_watermark >= 0:
        mark = _x(scene, min(max(row.high_watermark, first), end)) - GAP / 2
        yield f'<path d="M{mark} {y}{triangle}" fill="var(--ink)"/>'
        yield _text(mark - 9, y + 10, f"HW {row.high_watermark}", "b e", size=11)


def _x(scene: Scene, offset: int) -> float:
    return LEFT + (offset - scene.offsets[0]) * CELL_WIDTH


def _box(
    x: float,
    y: float,
    width: float,
    height: float,
    radius: float,
    fill: str,
    stroke: str,
    stroke_width: float = 1,
    more: str = "",
) -> str:
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="{radius}" fill="{fill}" '
        f'stroke="{stroke}" stroke-width="{stroke_width}" {more}/>'
    )


def _text(x: float, y: float, words: str, kind: str = "", size: float | None = None) -> str:
    style = f' style="font-size:{size}px"' if size else ""
    return f'<text x="{x}" y="{y}" class="{kind}"{style}>{escape(words)}</text>'


def _stripes(number: int, colour: str) -> str:
    return (
        f'<pattern id="kio-still-{number}" width="7" height="7" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><rect width="7" height="7" fill="var(--bg)"/>'
        f'<rect width="2" height="7" fill="{colour}" fill-opacity=".6"/></pattern>'
    )
