"""One small chart: lines, steps or bars over a numeric axis, as a picture and as text.

    Chart(
        "Acknowledged records around the kill",
        {"engine": [(0.0, 40), (0.1, 38), …], "local": […]},
        x="seconds", y="records per 100 ms", kind="step", marks={1.5: "101 killed"},
    )

The picture is SVG and needs no plot library: it is small enough to stay in the notebook's
file, so a reader without a kernel sees it.  The page around it is unknown, so it brings its
own background and follows the reader's system for light or dark.  A series has a color
(Okabe and Ito's), and a shape as well: a dash and a marker, or a bar's stripes.  Its name
is at the end of its line.  The same data and arguments give the same bytes.
"""

from __future__ import annotations

import math
import textwrap
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import pairwise
from typing import Literal

from kit.drawings.axes import Axis, labels, span, spoken
from kit.drawings.picture import Picture, picture
from kit.drawings.series_looks import COLOURS, DASHES, MOST, marker, px, stripes

Points = Sequence[tuple[float, float]]
Kind = Literal["line", "step", "bars"]

WIDTH, PLOT_HEIGHT, LEFT, EDGE = 680, 210, 18, 16
TITLE, LANE, LINE = 62, 18, 16
LETTER = 7.2
"""Pixels that a letter takes at most, on average: the picture cannot measure its font."""
KEY_LETTERS = 22
MARKERS_MOST = 14
"""Markers on one line; more points than that have a marker now and then."""
STYLE = (
    ".kio-chart{--bg:#fff;--ink:#1c2430;--soft:#5b6675;--line:#d5dae1;--bad:#c04a00}"
    "@media(prefers-color-scheme:dark){.kio-chart{--bg:#111418;--ink:#e8ebf0;--soft:#9aa5b4;"
    "--line:#323a45;--bad:#ff8a50}}"
    '.kio-chart text{font:13px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;'
    "fill:var(--ink)}.kio-chart .s{fill:var(--soft)}.kio-chart .b{font-weight:700;font-size:14px}"
    ".kio-chart .m{text-anchor:middle}.kio-chart .e{text-anchor:end}"
    ".kio-chart .bad{fill:var(--bad)}" + COLOURS
)


class Chart(Picture):
    """`series` by name: points (x, y), drawn in the order of x; up to some hundred each.

    `kind`: `line`; `step`, where a value holds until the next point; or `bars`, side by side.
    `marks` are vertical lines with a text, by x.  A y that is not a number interrupts its line.
    `log_y` needs values above 0.  The y axis shows `y_within` at least: under a slider it stays.
    """

    def __init__(
        self,
        title: str,
        series: Mapping[str, Points],
        x: str = "",
        y: str = "",
        kind: Kind = "line",
        marks: Mapping[float, str] | None = None,
        *,
        log_y: bool = False,
        y_within: tuple[float, float] | None = None,
    ) -> None:
        if len(series) > MOST:
            raise ValueError(f"A chart shows at most {MOST} series: split it.")
        self.title, self.x, self.y, self.kind, self.log_y = title, x, y, kind, log_y
        self.y_within = y_within
        self.series = {
            name: sorted(((float(at), float(value)) for at, value in points), key=lambda p: p[0])
            for name, points in series.items()
        }
        self.marks = dict(sorted((marks or {}).items()))
        if log_y and any(value <= 0 for _, value in self._points()):
            raise ValueError("A logarithmic axis has no place for 0 or less: leave out log_y.")

    # -- as text

    @property
    def text(self) -> str:
        axes = [f"{name}: {words}" for name, words in (("x", self.x), ("y", self.y)) if words]
        lines = [self.title, ", ".join(axes)]
        lines += [f"{name}: {_told(points)}" for name, points in self.series.items()]
        lines += [f"at {spoken(at)}: {words}" for at, words in self.marks.items()]
        return "\n".join(line for line in lines if line)

    # -- as a picture

    def svg(self) -> str:
        keys = [textwrap.wrap(name, KEY_LETTERS) or [""] for name in self.series]
        widest = max((len(line) for key in keys for line in key), default=0)
        right = WIDTH - (EDGE + 30 + LETTER * widest if widest else EDGE + 12)
        low, high = self._y_span()
        whole = all(value == round(value) for _, value in self._points())
        y = Axis(low, high, 0, 1, self.log_y, whole).to_ticks(5)
        left = LEFT + LETTER * max(map(len, labels(y.ticks(5)))) + 8
        lanes, marks = self._lanes(left, right)
        top = TITLE + LANE * lanes
        bottom = top + PLOT_HEIGHT
        height = bottom + (54 if self.x else 32)
        x = self._x_axis(left, right)
        y = replace(y, start=bottom, end=top)
        parts = [
            _text(LEFT, 25, self.title, "b"),
            _text(LEFT, 45, self.y, "s") if self.y else "",
            *_grid(x, y, self._x_ticks(x)),
            _text((left + right) / 2, bottom + 42, self.x, "s m") if self.x else "",
        ]
        for at, lane, words in marks:
            parts += _mark(x, at, words, TITLE + LANE * lane + 12, bottom, right)
        parts += self._bars(x, y) if self.kind == "bars" else self._lines(x, y)
        parts += self._keys(keys, right, y)
        return picture("kio-chart", WIDTH, height, self.text, STYLE, parts)

    def _y_span(self) -> tuple[float, float]:
        values = [value for _, value in self._points()] + [*(self.y_within or ())]
        return span(values, from_zero=self.kind == "bars", logarithmic=self.log_y)

    def _x_axis(self, left: float, right: float) -> Axis:
        places = [at for at, _ in self._points()]
        low, high = span([*places, *self.marks], from_zero=False, logarithmic=False)
        if self.kind == "bars":
            low, high = min(places, default=0.0), max([*places, *self.marks], default=1.0)
            low, high = low - self._gap() / 2, high + self._gap() / 2
        return Axis(low, high, left, right, whole=all(at == round(at) for at in places))

    def _x_ticks(self, x: Axis) -> list[float]:
        places = sorted({at for at, _ in self._points()})
        return places if self.kind == "bars" and len(places) <= 12 else x.ticks(8)

    def _points(self) -> list[tuple[float, float]]:
        return [p for points in self.series.values() for p in points if math.isfinite(p[1])]

    def _gap(self) -> float:
        """The smallest distance between two places on the x axis."""
        places = sorted({at for at, _ in self._points()})
        return min((b - a for a, b in pairwise(places)), default=1.0)

    def _lines(self, x: Axis, y: Axis) -> Iterator[str]:
        for number, points in enumerate(self.series.values()):
            path, pen = [], "M"
            for at, value in points:
                if not math.isfinite(value):
                    pen = "M"
                    continue
                bend = f"H{x.at(at)}V{y.at(value)}" if self.kind == "step" and pen == "L" else ""
                path.append(bend or f"{pen}{x.at(at)} {y.at(value)}")
                pen = "L"
            yield (
                f'<path d="{"".join(path)}" fill="none" stroke="var(--c{number})" '
                f'stroke-width="2" stroke-linejoin="round" stroke-dasharray="{DASHES[number]}"/>'
            )
            known = [point for point in points if math.isfinite(point[1])]
            every = max(1, math.ceil(len(known) / MARKERS_MOST))
            first = every * number // len(self.series)  # so that markers of two lines do not meet
            for at, value in known[first::every]:
                yield marker(number, x.at(at), y.at(value))

    def _bars(self, x: Axis, y: Axis) -> Iterator[str]:
        room = 0.8 * (x.at(self._gap()) - x.at(0.0))
        width = room / max(1, len(self.series))
        names = f"kio-{zlib.crc32(self.text.encode()):08x}"
        for number, points in enumerate(self.series.values()):
            if number:
                yield stripes(f"{names}-{number}", number)
            fill = f"url(#{names}-{number})" if number else "var(--c0)"
            for at, value in points:
                if not math.isfinite(value):
                    continue
                floor = y.at(y.low if self.log_y else 0.0)
                high, low = sorted((y.at(value), floor))
                yield (
                    f'<rect x="{x.at(at) - room / 2 + number * width:.1f}" y="{high:.1f}" '
                    f'width="{max(1.0, width - 1):.1f}" height="{low - high:.1f}" fill="{fill}" '
                    f'stroke="var(--c{number})"/>'
                )

    def _keys(self, keys: list[list[str]], right: float, y: Axis) -> Iterator[str]:
        """Each series' name beside the end of its line, moved up or down where two would meet."""
        wanted = []
        for number, points in enumerate(self.series.values()):
            known = [value for _, value in points if math.isfinite(value)]
            beside = y.at(known[-1]) if known and self.kind != "bars" else y.end + 8
            wanted.append((beside, number))
        free = y.end - 4
        lows = []
        for beside, number in sorted(wanted):
            lows.append((max(free, beside), number))
            free = lows[-1][0] + LINE * len(keys[number]) + 4
        over = max(0.0, free - (y.start + 12))
        names = f"kio-{zlib.crc32(self.text.encode()):08x}"
        for place, number in lows:
            top = place - over
            if self.kind == "bars":
                fill = f"url(#{names}-{number})" if number else "var(--c0)"
                yield (
                    f'<rect x="{right + 12:.1f}" y="{top - 6:.1f}" width="12" height="12" '
                    f'fill="{fill}" stroke="var(--c{number})"/>'
                )
            else:
                yield marker(number, right + 18, top)
            for line, words in enumerate(keys[number]):
                yield _text(right + 30, top + 4 + LINE * line, words)

    def _lanes(self, left: float, right: float) -> tuple[int, list[tuple[float, int, str]]]:
        """For each mark the row above the plot in which its text meets no other."""
        x = self._x_axis(left, right)
        ends: list[float] = []
        placed = []
        for at, words in self.marks.items():
            start, end = _extent(x.at(at), words, right)
            lane = next((n for n, taken in enumerate(ends) if taken <= start), len(ends))
            ends[lane : lane + 1] = [end + 8]
            placed.append((at, lane, words))
        return len(ends), placed


def _told(points: Points) -> str:
    known = [(at, value) for at, value in points if math.isfinite(value)]
    if not known:
        return "no points"
    first, last = known[0], known[-1]
    said = f"{spoken(first[1])} at {spoken(first[0])}"
    if len(known) == 1:
        return said
    low, high = min(known, key=lambda p: p[1]), max(known, key=lambda p: p[1])
    if low[1] == high[1]:
        return f"{spoken(low[1])} from {spoken(first[0])} to {spoken(last[0])}"
    return (
        f"from {said} to {spoken(last[1])} at {spoken(last[0])}, "
        f"lowest {spoken(low[1])} at {spoken(low[0])}, "
        f"highest {spoken(high[1])} at {spoken(high[0])}"
    )


def _grid(x: Axis, y: Axis, x_ticks: list[float]) -> Iterator[str]:
    y_ticks = y.ticks(5)
    for tick, words in zip(y_ticks, labels(y_ticks), strict=True):
        yield f'<path d="M{x.start:.1f} {y.at(tick)}H{x.end:.1f}" stroke="var(--line)"/>'
        yield _text(x.start - 8, y.at(tick) + 4.5, words, "s e")
    yield f'<path d="M{x.start:.1f} {y.start}H{x.end:.1f}" stroke="var(--soft)"/>'
    for tick, words in zip(x_ticks, labels(x_ticks), strict=True):
        yield f'<path d="M{x.at(tick)} {y.start}v5" stroke="var(--soft)"/>'
        yield _text(x.at(tick), y.start + 20, words, "s m")


def _extent(place: float, words: str, right: float) -> tuple[float, float]:
    """Where a mark's text begins and ends: right of its line, or left if the edge is near."""
    long = LETTER * len(words) + 6
    return (place - long, place) if place + long > right + 8 else (place, place + long)


def _mark(x: Axis, at: float, words: str, y: float, bottom: float, right: float) -> Iterator[str]:
    place = x.at(at)
    before = _extent(place, words, right)[1] <= place
    yield (
        f'<path d="M{place} {y - 11}V{bottom}" stroke="var(--bad)" stroke-width="1.5" '
        'stroke-dasharray="4 3"/>'
    )
    yield _text(place + (-5 if before else 5), y, words, "bad e" if before else "bad")


def _text(x: float, y: float, words: str, kind: str = "") -> str:
    kind = f' class="{kind}"' if kind else ""
    return f'<text x="{px(x)}" y="{px(y)}"{kind}>{escape(words)}</text>'
