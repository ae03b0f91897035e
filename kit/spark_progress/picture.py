"""Draws a streaming query's micro-batches: lanes below each other over the same numbers.

Rows, lag by topic, rows in the state, event time beside the watermark, and milliseconds by stage.
A lane without data is left out.  The picture is SVG in the looks of `kit.drawings.chart`; each
lane has its series beside it, and the value of the newest micro-batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape

from kit.drawings.axes import Axis, labels, span, spoken
from kit.drawings.chart import STYLE
from kit.drawings.series_looks import DASHES, MOST, marker, px, stripes
from kit.spark_progress.micro_batches import STAGES, MicroBatch

WIDTH, LEFT, RIGHT = 760, 84, 548
TOP, LANE, GAP, FOOT = 66, 62, 40, 8
KEY_LINE = 17
SHOWN = 40
"""Micro-batches in the picture; older ones leave it."""

Series = Mapping[str, Sequence[float | None]]


@dataclass(frozen=True, slots=True)
class Lane:
    """One quantity: a value for each micro-batch, by the name of its series."""

    title: str
    series: Series
    kind: str = "line"
    """`line`; `bars`; or `stack`, where the series are on top of each other."""
    times: bool = False
    """The values are instants, in seconds since 1970."""

    @property
    def keys(self) -> int:
        return len(self.series)

    @property
    def height(self) -> int:
        return max(LANE, KEY_LINE * self.keys)


def lanes(batches: Sequence[MicroBatch]) -> list[Lane]:
    """What there is to draw; nothing for a query without a micro-batch."""
    if not batches:
        return []
    found = [Lane("rows", {"rows": [each.rows for each in batches]}, "bars")]
    topics = sorted({topic for each in batches for topic in each.lag})
    if len(topics) > MOST:
        found.append(
            Lane(
                "lag in records", {f"{len(topics)} topics": [sum(b.lag.values()) for b in batches]}
            )
        )
    elif topics:
        by_topic = {topic: [each.lag.get(topic) for each in batches] for topic in topics}
        found.append(Lane("lag in records", by_topic))
    if any(each.state_rows is not None for each in batches):
        found.append(Lane("rows in the state", {"state": [each.state_rows for each in batches]}))
    if any(each.late_rows for each in batches):
        late = {"late, dropped": [each.late_rows for each in batches]}
        found.append(Lane("rows behind the watermark", late, "bars"))
    if any(each.watermark_s is not None for each in batches):
        times = {
            "newest event": [each.newest_event_s for each in batches],
            "watermark": [each.watermark_s for each in batches],
        }
        found.append(Lane("event time", times, times=True))
    stages = {name: [each.stages[name] for each in batches] for name in STAGES}
    return [*found, Lane("milliseconds by stage", stages, "stack")]


def draw(heading: str, state: str, batches: Sequence[MicroBatch], text: str) -> str:
    """The whole picture; `state` is the sentence under the heading, `text` its equivalent."""
    batches = batches[-SHOWN:]
    numbers = [each.number for each in batches]
    shown = lanes(batches)
    height = TOP + sum(lane.height + GAP for lane in shown) + (FOOT if shown else 0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="kio-chart" width="{WIDTH}" '
        f'height="{height}" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(text)}" style="max-width:100%;height:auto">'
        f"<style>{STYLE}</style>",
        *(stripes(f"kio-stage-{number}", number) for number in range(1, len(STAGES))),
        f'<rect width="{WIDTH}" height="{height}" rx="10" fill="var(--bg)"/>',
        _text(18, 25, heading, "b"),
        _text(18, 45, state, "s"),
    ]
    y = float(TOP)
    for lane in shown:
        parts += _lane(lane, numbers, y + 20)
        y += lane.height + GAP
    if shown:
        parts += _numbers(numbers, y - GAP + 20)
    return "".join([*parts, "</svg>"])


def _lane(lane: Lane, numbers: Sequence[int], top: float) -> Iterator[str]:
    bottom = top + lane.height
    known = [v for values in lane.series.values() for v in values if v is not None]
    if lane.kind == "stack":
        known = [sum(v or 0 for v in column) for column in zip(*lane.series.values(), strict=True)]
    low, high = span(known if lane.times else [0, 1, *known], from_zero=False, logarithmic=False)
    axis = Axis(low, high, bottom, top, whole=not lane.times)
    axis = axis if lane.times else axis.to_ticks(4)
    yield _text(LEFT, top - 8, lane.title, "s")
    ticks = [low, high] if lane.times else [axis.low, axis.high]
    words = [_clock(tick) for tick in ticks] if lane.times else labels(ticks)
    for tick, said in zip(ticks, words, strict=True):
        colour = "var(--soft)" if tick == ticks[0] else "var(--line)"
        yield f'<path d="M{LEFT} {axis.at(tick)}H{RIGHT}" stroke="{colour}"/>'
        yield _text(LEFT - 8, axis.at(tick) + 4.5, said, "s e")
    x = _x_axis(numbers)
    if lane.kind == "line":
        yield from _lines(lane, numbers, x, axis)
    else:
        yield from _stack(lane, numbers, x, axis)
    yield from _keys(lane, top)


def _lines(lane: Lane, numbers: Sequence[int], x: Axis, y: Axis) -> Iterator[str]:
    for place, values in enumerate(lane.series.values()):
        path, pen = [], "M"
        for number, value in zip(numbers, values, strict=True):
            if value is None:
                pen = "M"
                continue
            path.append(f"{pen}{x.at(number)} {y.at(value)}")
            pen = "L"
            if len(numbers) <= 20:
                yield marker(place, x.at(number), y.at(value))
        yield (
            f'<path d="{"".join(path)}" fill="none" stroke="var(--c{place})" stroke-width="2" '
            f'stroke-linejoin="round" stroke-dasharray="{DASHES[place]}"/>'
        )


def _stack(lane: Lane, numbers: Sequence[int], x: Axis, y: Axis) -> Iterator[str]:
    width = min(36.0, 0.76 * (x.at(1) - x.at(0)))
    floors = [0.0] * len(numbers)
    for place, values in enumerate(lane.series.values()):
        for at, (number, value) in enumerate(zip(numbers, values, strict=True)):
            if value:
                top, bottom = y.at(floors[at] + value), y.at(floors[at])
                floors[at] += value
                look = _look(lane, place)
                yield (
                    f'<rect x="{px(x.at(number) - width / 2)}" y="{px(top)}" '
                    f'width="{px(width)}" height="{px(max(0.8, bottom - top))}" '
                    f'fill="{_fill(look)}" stroke="var(--c{look})" stroke-width=".8"/>'
                )


def _keys(lane: Lane, top: float) -> Iterator[str]:
    """The series beside the lane, each with its newest value; a stack is read from its top."""
    named = list(enumerate(lane.series.items()))
    for line, (place, (name, values)) in enumerate(
        reversed(named) if lane.kind == "stack" else named
    ):
        y = top + 6 + KEY_LINE * line
        if lane.kind == "line":
            yield marker(place, RIGHT + 20, y - 4)
        else:
            look = _look(lane, place)
            yield (
                f'<rect x="{RIGHT + 14}" y="{px(y - 10)}" width="12" height="12" '
                f'fill="{_fill(look)}" stroke="var(--c{look})"/>'
            )
        newest = next((value for value in reversed(values) if value is not None), None)
        said = "" if newest is None else _clock(newest) if lane.times else spoken(newest)
        yield _text(RIGHT + 34, y, name)
        yield _text(WIDTH - 16, y, said, "e")


def _look(lane: Lane, place: int) -> int:
    """The work itself is plain in its stack, what is around it striped."""
    return (4, 1, 2, 3, 0, 5)[place] if lane.kind == "stack" else place


def _fill(place: int) -> str:
    return f"url(#kio-stage-{place})" if place else "var(--c0)"


def _x_axis(numbers: Sequence[int]) -> Axis:
    # A query that has just begun gets room for ten, so its bars do not grow thin as they come.
    first, last = numbers[0], max(numbers[-1], numbers[0] + 9)
    return Axis(first - 0.6, last + 0.6, LEFT, RIGHT, whole=True)


def _numbers(numbers: Sequence[int], bottom: float) -> Iterator[str]:
    x = _x_axis(numbers)
    for tick in x.ticks(10):
        if numbers[0] <= tick <= numbers[-1]:
            yield _text(x.at(tick), bottom + 17, f"{tick:.0f}", "s m")
    yield _text(RIGHT + 14, bottom + 17, "micro-batch", "s")


def _clock(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%H:%M:%S}"


def _text(x: float, y: float, words: str, kind: str = "") -> str:
    kind = f' class="{kind}"' if kind else ""
    return f'<text x="{px(x)}" y="{px(y)}"{kind}>{escape(words)}</text>'
