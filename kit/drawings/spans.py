"""What held from when to when: a row for each thing, a bar for each time in which it held.

    Spans(
        "A tombstone, and a slow reader",
        {"bert=Oslo is in the log": [(0.0, 12.0)], "the tombstone is in the log": [(3.0, 41.5)]},
        x="seconds", marks={12.0: "a pass"}, bad=("the reader has bert",),
    )

A bar that ends where it begins is a moment.  `bad` names the rows that a reader should worry about:
their bars are striped.  Like a Chart it is SVG without a plot library, brings its own background,
and says the same in `text`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from kit.drawings.axes import Axis, labels, span, spoken
from kit.drawings.picture import Picture, picture
from kit.drawings.series_looks import px

Bar = tuple[float, float]

WIDTH, LEFT, EDGE, TITLE, ROW, BAR, LANE, LETTER = 680, 18, 24, 50, 30, 18, 17, 7.0
SAID_MOST = 8
"""Bars of a row that are said one by one."""
STYLE = (
    ".kio-spans{--bg:#fff;--ink:#1c2430;--soft:#5b6675;--line:#e3e7ec;--bar:#0072b2;--bad:#c04a00}"
    "@media(prefers-color-scheme:dark){.kio-spans{--bg:#111418;--ink:#e8ebf0;--soft:#9aa5b4;"
    "--line:#262d37;--bar:#56b4e9;--bad:#ff8a50}}"
    '.kio-spans text{font:13px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;'
    "fill:var(--ink)}.kio-spans .s{fill:var(--soft)}.kio-spans .b{font-weight:700;font-size:14px}"
    ".kio-spans .e{text-anchor:end}.kio-spans .m{text-anchor:middle}"
)


class Spans(Picture):
    """`rows` by name; the axis goes from 0 to the last end of a bar, or to `until`."""

    def __init__(
        self,
        title: str,
        rows: Mapping[str, Sequence[Bar]],
        x: str = "",
        marks: Mapping[float, str] | None = None,
        bad: Sequence[str] = (),
        until: float | None = None,
    ) -> None:
        self.title, self.x, self.bad = title, x, tuple(bad)
        self.rows = {name: sorted(bars) for name, bars in rows.items()}
        self.marks = dict(sorted((marks or {}).items()))
        ends = [bar[1] for bars in self.rows.values() for bar in bars]
        _, last = span([*ends, *self.marks, 1.0], from_zero=True, logarithmic=False)
        self.until = last if until is None else until

    # -- in words

    @property
    def text(self) -> str:
        lines = [f"{self.title}{f' ({self.x})' if self.x else ''}"]
        for name, bars in self.rows.items():
            said = "; ".join(map(_told, bars)) or "never"
            if len(bars) > SAID_MOST:
                said = f"{len(bars)} times, {_told((bars[0][0], max(bar[1] for bar in bars)))}"
            lines.append(f"{name}: {said}")
        lines += [f"at {spoken(at)}: {words}" for at, words in self.marks.items()]
        return "\n".join(lines)

    # -- as a picture

    def svg(self) -> str:
        left = LEFT + LETTER * max(map(len, self.rows), default=0) + 14
        x = Axis(0.0, self.until, left, WIDTH - EDGE)
        lanes, marks = self._lanes(x)
        top = TITLE + LANE * lanes
        bottom = top + ROW * len(self.rows)
        height = px(bottom + (52 if self.x else 32))
        parts = [
            f'<text class="b" x="{LEFT}" y="25">{escape(self.title)}</text>',
            *self._axis(x, top, bottom),
            *self._bars(x, top),
            *(_mark(x, at, words, lane, bottom) for at, lane, words in marks),
        ]
        return picture("kio-spans", WIDTH, height, self.text, STYLE, parts)

    def _axis(self, x: Axis, top: float, bottom: float) -> Iterator[str]:
        ticks = x.ticks(7)
        for tick, words in zip(ticks, labels(ticks), strict=True):
            place = px(x.at(tick))
            yield f'<path d="M{place} {px(top)}V{px(bottom)}" stroke="var(--line)"/>'
            yield f'<text class="s m" x="{place}" y="{px(bottom + 18)}">{words}</text>'
        middle = px((x.start + x.end) / 2)
        yield f'<text class="s m" x="{middle}" y="{px(bottom + 40)}">{escape(self.x)}</text>'

    def _bars(self, x: Axis, top: float) -> Iterator[str]:
        name = f"kio-{zlib.crc32(self.text.encode()):08x}"
        yield (
            f'<pattern id="{name}" width="8" height="8" patternUnits="userSpaceOnUse">'
            '<rect width="8" height="8" fill="var(--bad)" fill-opacity=".3"/>'
            '<path d="M0 8L8 0M-2 2L2 -2M6 10L10 6" stroke="var(--bad)" stroke-width="2"/>'
            "</pattern>"
        )
        for number, (row, bars) in enumerate(self.rows.items()):
            y = top + ROW * number + (ROW - BAR) / 2
            yield (
                f'<text class="e" x="{px(x.start - 10)}" y="{px(y + BAR - 4)}">{escape(row)}</text>'
            )
            look = f'fill="url(#{name})" stroke="var(--bad)"'
            if row not in self.bad:
                look = 'fill="var(--bar)"'
            moments = "".join(
                f"M{px(x.at(bar[0]))} {px(y)}v{BAR}" for bar in bars if bar[0] == bar[1]
            )
            if moments:
                ink = "bad" if row in self.bad else "bar"
                yield f'<path d="{moments}" stroke="var(--{ink})" stroke-width="2"/>'
            for start, end in bars:
                if start == end:
                    continue
                width = max(2.0, x.at(end) - x.at(start))
                yield (
                    f'<rect x="{px(x.at(start))}" y="{px(y)}" width="{px(width)}" '
                    f'height="{BAR}" rx="3" {look}/>'
                )

    def _lanes(self, x: Axis) -> tuple[int, list[tuple[float, int, str]]]:
        """For each mark the row above the bars in which its words meet no others."""
        ends: list[float] = []
        placed = []
        for at, words in self.marks.items():
            half = LETTER * len(words) / 2
            start = min(x.at(at) - half, WIDTH - 2 * half - 6)
            lane = next((n for n, end in enumerate(ends) if end <= start), len(ends))
            ends[lane : lane + 1] = [start + 2 * half + 10]
            placed.append((at, lane, words))
        return len(ends), placed


def _told(bar: Bar) -> str:
    return f"from {spoken(bar[0])} to {spoken(bar[1])}"


def _mark(x: Axis, at: float, words: str, lane: int, bottom: float) -> str:
    place, y = x.at(at), TITLE + LANE * lane - 2
    middle = min(place, WIDTH - LETTER * len(words) / 2 - 6)
    return (
        f'<path d="M{px(place)} {px(y + 5)}V{px(bottom)}" stroke="var(--soft)" '
        'stroke-dasharray="4 3"/>'
        f'<text class="m" x="{px(middle)}" y="{px(y)}">{escape(words)}</text>'
    )
