"""The watermark's staircase: event time against the order of arrival, drawn from a run.

    8:30 |                              o o o |
         |                    o o o o o       |   o  counted     x  dropped
         |          o o o o o           x     |   ___  the watermark of each micro-batch
    8:10 |o o o o o            _____|######## |   ###  windows that are closed: what arrives
         |          _____|################### |        in here is dropped
           0         1         2         3       micro-batch

A dot's column is its offset, so micro-batches of equal size are columns of equal width.  Nothing
here knows Spark's rules: the watermark is what each micro-batch's progress says, and which
records were dropped is what the counts of the written windows say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from math import floor
from typing import Any

from kit.drawings.axes import Axis
from kit.drawings.chart import STYLE
from kit.drawings.picture import Picture, picture
from kit.drawings.series_looks import marker, px
from labs.L3_event_time_and_joins.arrivals import Arrival, clock, minute_of
from labs.L3_event_time_and_joins.progress import Run

WIDTH, TOP, PLOT, LEFT, RIGHT = 680, 74, 300, 62, 500
ON_TIME, SPECIAL = 0, 1
KEY_Y, KEY_STEP = 96, 26
MORE = ".kio-chart .wm{stroke:var(--c2)}.kio-chart .shut{fill:var(--soft);fill-opacity:.2}"


@dataclass(frozen=True, repr=False)
class Staircase(Picture):
    """`watched` is the key whose records the story is about; windows are `width` minutes long."""

    title: str
    arrivals: Sequence[Arrival]
    run: Run
    watched: str
    width: int

    @property
    def dropped(self) -> set[int]:
        """Offsets of the records that no written window counts, though their window is over.

        A window that is closed stays closed, so of one key's records in a window those that
        arrive first are the ones that count.
        """
        over = self.run.batches[-1].watermark or 0.0
        left = Counter[tuple[str, int]]()
        for row in self.run.rows:
            left[row["key"], floor(minute_of(row["window"]["start"]))] += row["count"]
        lost = set()
        for offset, arrival in enumerate(self.arrivals):
            start = self._window(arrival.event)
            left[arrival.key, start] -= 1
            if left[arrival.key, start] < 0 and start + self.width <= over:
                lost.add(offset)
        return lost

    @property
    def closed(self) -> list[float]:
        """For each micro-batch the end of the newest window that takes no more records: those
        below the watermark of the micro-batch before."""
        known = [batch.watermark for batch in self.run.batches]
        before = [None, *known[:-1]]
        return [0.0 if mark is None else max(0.0, self._window(mark)) for mark in before]

    @property
    def text(self) -> str:
        lost = self.dropped
        lines = [self.title]
        for number, (first, last) in enumerate(self._spans()):
            here = range(first, last)
            batch = self.run.batches[number]
            mark = "none" if batch.watermark is None else clock(batch.watermark)
            gone = [clock(self.arrivals[offset].event) for offset in here if offset in lost]
            lost_here = f", dropped: {', '.join(gone)}" if gone else ""
            records = f"{len(here)} record{'s' if len(here) > 1 else ''}"
            lines.append(f"micro-batch {number}: watermark {mark}, {records}{lost_here}")
        return "\n".join(lines)

    def svg(self) -> str:
        times = [arrival.event for arrival in self.arrivals]
        y = Axis(0, self.width * (floor(max(times) / self.width) + 1), TOP + PLOT, TOP)
        x = Axis(0, len(self.arrivals), LEFT, RIGHT)
        height = TOP + PLOT + 56
        parts = [
            _text(18, 25, self.title, "b"),
            _text(18, 47, "event time, in windows", "s"),
            *self._shut(x, y),
            *self._grid(x, y),
            *self._stairs(x, y),
            *self._dots(x, y),
            *self._key(),
        ]
        return picture("kio-chart", WIDTH, height, self.text, STYLE + MORE, parts)

    # -- parts of the picture

    def _shut(self, x: Axis, y: Axis) -> Iterator[str]:
        for (first, last), end in zip(self._spans(), self.closed, strict=False):
            if end > 0:
                yield (
                    f'<rect class="shut" x="{x.at(first)}" y="{y.at(end)}" '
                    f'width="{px(x.at(last) - x.at(first))}" height="{px(y.start - y.at(end))}"/>'
                )

    def _grid(self, x: Axis, y: Axis) -> Iterator[str]:
        for time in range(0, round(y.high) + 1, self.width):
            yield f'<path d="M{LEFT} {y.at(time)}H{RIGHT}" stroke="var(--line)"/>'
            yield _text(LEFT - 8, y.at(time) + 4.5, clock(time), "s e")
        for number, (first, last) in enumerate(self._spans()):
            yield f'<path d="M{x.at(last)} {TOP}V{TOP + PLOT}" stroke="var(--line)"/>'
            yield _text((x.at(first) + x.at(last)) / 2, TOP + PLOT + 20, str(number), "s m")
        yield f'<path d="M{LEFT} {TOP + PLOT}H{RIGHT}" stroke="var(--soft)"/>'
        yield _text((LEFT + RIGHT) / 2, TOP + PLOT + 42, "micro-batch, in order of arrival", "s m")

    def _stairs(self, x: Axis, y: Axis) -> Iterator[str]:
        path, pen = [], "M"
        for (first, last), batch in zip(self._spans(), self.run.batches, strict=False):
            if batch.watermark is None or batch.watermark < 0:
                continue
            path.append(f"{pen}{x.at(first)} {y.at(batch.watermark)}H{x.at(last)}")
            pen = "L"
        yield f'<path class="wm" d="{"".join(path)}" fill="none" stroke-width="2.5"/>'

    def _dots(self, x: Axis, y: Axis) -> Iterator[str]:
        lost = self.dropped
        for offset, arrival in enumerate(self.arrivals):
            place = x.at(offset + 0.5), y.at(arrival.event)
            yield _cross(*place) if offset in lost else marker(self._look(arrival.key), *place)

    def _key(self) -> Iterator[str]:
        left = RIGHT + 26
        lines = [
            (marker(ON_TIME, left, KEY_Y - 4), "other trucks"),
            (marker(SPECIAL, left, KEY_Y + KEY_STEP - 4), self.watched),
            (_cross(left, KEY_Y + 2 * KEY_STEP - 4), "dropped"),
            (_stroke(left, KEY_Y + 3 * KEY_STEP - 4), "watermark"),
            (_patch(left, KEY_Y + 4 * KEY_STEP - 4), "closed windows"),
        ]
        for number, (sign, words) in enumerate(lines):
            yield sign
            yield _text(left + 18, KEY_Y + number * KEY_STEP, words)

    def _look(self, key: str) -> int:
        return SPECIAL if key == self.watched else ON_TIME

    def _spans(self) -> list[tuple[int, int]]:
        """First offset, and the one after the last, of each micro-batch that read records."""
        edges = [0]
        for batch in self.run.batches:
            if batch.rows:
                edges.append(edges[-1] + batch.rows)
        return list(pairwise(edges))

    def _window(self, time: float) -> int:
        return floor(time / self.width) * self.width


def _cross(x: float, y: float) -> str:
    d = f"M{px(x - 5)} {px(y - 5)}l10 10m0 -10l-10 10"
    return f'<path d="{d}" fill="none" stroke="var(--bad)" stroke-width="2.5"/>'


def _stroke(x: float, y: float) -> str:
    return f'<path class="wm" d="M{px(x - 9)} {px(y)}h18" stroke-width="2.5"/>'


def _patch(x: float, y: float) -> str:
    return f'<rect class="shut" x="{px(x - 9)}" y="{px(y - 6)}" width="18" height="12"/>'


def _text(x: float, y: float, words: str, kind: str = "") -> str:
    kind = f' class="{kind}"' if kind else ""
    return f'<text x="{px(x)}" y="{px(y)}"{kind}>{escape(words)}</text>'


def rows_of(run: Run, key: str) -> list[Any]:
    """The written rows of one key."""
    return [row for row in run.rows if row["key"] == key]
