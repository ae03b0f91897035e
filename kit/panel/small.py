"""Draws one moment of a partition small, for the strip: its replicas, records aligned by offset.

                0    1    2    3
leader 103 · epoch 1 · ISR 103, 102
101 killed     A·0  B·0  C·0 ▌D·0
103 ♛          A·0  B·0  C·0  D·0▌
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby

from kit.film.shapes import PALETTE, coloured, text
from kit.film.strip import LEFT, Small
from kit.panel.scene import Cell, Row, Scene

LOG, PITCH, WIDE, HIGH, ROW = 156, 36, 32, 18, 24
COLUMNS_MOST = 9
SHOWN = ("leader", "epoch", "ISR", "ELR")
LEGEND = "Bar: high watermark. Last digit: epoch. Hatched: not committed, as far as it knows."


def shapes(scenes: Iterable[Scene]) -> str:
    """The styles of the records, by epoch."""
    cells = (cell for scene in scenes for row in scene.rows for cell in row.cells)
    return coloured((cell.epoch % len(PALETTE) for cell in cells), "k", "o")


def columns(scenes: Sequence[Scene]) -> range:
    """The offsets that every picture of a strip shows: the newest ones, and a free place."""
    first = min((scene.offsets[0] for scene in scenes), default=0)
    end = 1 + max((row.log_end_offset for scene in scenes for row in scene.rows), default=0)
    return range(max(first, end - COLUMNS_MOST), max(end, first + 1))


def head(offsets: range) -> list[str]:
    """The offsets, once above all moments."""
    places = (f'<tspan x="{LEFT + _middle(at, offsets)}">{at}</tspan>' for at in offsets[:-1])
    words = text(LEFT + LOG - 8, 0, "offset", "s e v")
    return [words, f'<text class="s m v">{"".join(places)}</text>']


def draw(scene: Scene, offsets: range) -> Small:
    """One moment."""
    facts = (f"{name} {value}" for name, value in scene.facts if name in SHOWN)
    parts = [text(0, 8, " · ".join(facts), "b f")]
    for place, row in enumerate(scene.rows):
        parts += _row(scene, row, 18 + place * ROW, offsets)
    return Small(parts, 18 + ROW * len(scene.rows))


def _x(offset: int, offsets: range) -> int:
    return LOG + (offset - offsets.start) * PITCH


def _middle(offset: int, offsets: range) -> int:
    return _x(offset, offsets) + WIDE // 2


def _row(scene: Scene, row: Row, y: int, offsets: range) -> Iterator[str]:
    words, kind = _state(scene, row)
    yield (
        f'<text y="{y + 13}"><tspan class="b">{row.id}</tspan>'
        f'<tspan class="{kind} f" dx="6">{escape(words)}</tspan></text>'
    )
    if row.role == "offline":
        yield '<g opacity=".55">'
    cells = [cell for cell in row.cells if cell.offset in offsets]
    for name, alike in groupby(cells, key=_style):
        boxes = (f"M{_x(cell.offset, offsets)} {y}h{WIDE}v{HIGH}h-{WIDE}z" for cell in alike)
        yield f'<path class="{name}" d="{"".join(boxes)}"/>'
    if cells:
        words = "".join(
            f'<tspan x="{_middle(cell.offset, offsets)}">{escape(_said(cell))}</tspan>'
            for cell in cells
        )
        yield f'<text y="{y + 13}" class="m v halo">{words}</text>'
    if row.role == "offline":
        yield "</g>"
    if row.high_watermark >= offsets.start:
        x = _x(min(row.high_watermark, offsets.stop), offsets) - 2
        yield f'<path d="M{x} {y - 2}v{HIGH + 4}" stroke="var(--ink)" stroke-width="3"/>'


def _style(cell: Cell) -> str:
    return f"{'k' if cell.committed else 'o'}{cell.epoch % len(PALETTE)}"


def _said(cell: Cell) -> str:
    """At most three letters and the epoch."""
    value = cell.value or str(cell.offset)
    return f"{value if len(value) <= 3 else value[:2] + '…'}·{cell.epoch}"


def _state(scene: Scene, row: Row) -> tuple[str, str]:
    """A replica in a few words; trouble comes first."""
    trouble = [] if row.state == "running" else [row.state]
    trouble += ["fenced"] if row.fenced else []
    trouble += [f"✂ {' '.join(map(str, row.cut_from))}"] if row.cut_from else []
    role = ["♛ leads"] if row.id == scene.leader else []
    if trouble:
        return " · ".join([*role, *trouble])[:26], "bad"
    in_sync = "✓ ISR" if row.in_isr else "not in ISR"
    return " · ".join([*role, in_sync]), "good" if row.in_isr else "s"
