"""Every batch as a bar over time: how long it filled, and how long its request was in flight.

    p0  ░░░░░████████ 60        waited for linger.ms, then 8 ms in flight, 60 records
    p1  ░███ 1

It is the still picture of `AccumulatorFilm`, and small enough to stay in a notebook's file.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from kit.drawings.accumulator.moments import FLYING, QUEUED, Moment, many, moments
from kit.drawings.axes import Axis
from kit.drawings.picture import Picture, picture

if TYPE_CHECKING:
    from kit.probes.own_producer import OwnProducer

WIDTH, LEFT, RIGHT, TOP, LANE, BAR = 720, 96, 60, 56, 30, 18
LANES_MOST = 24
STYLE = (
    ".kio-acc{--bg:#fff;--ink:#1c2430;--soft:#5b6675;--line:#d5dae1;--wait:#e69f00;--go:#0072b2;"
    "--bad:#c04a00}"
    "@media(prefers-color-scheme:dark){.kio-acc{--bg:#111418;--ink:#e8ebf0;--soft:#9aa5b4;"
    "--line:#323a45;--go:#56b4e9;--bad:#ff8a50}}"
    '.kio-acc text{font:13px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;'
    "fill:var(--ink)}.kio-acc .s{fill:var(--soft)}.kio-acc .b{font-weight:700;font-size:14px}"
    ".kio-acc .e{text-anchor:end}.kio-acc .m{text-anchor:middle}.kio-acc .bad{fill:var(--bad)}"
)


@dataclass
class Bar:
    """One batch's way; `end_ms` is None while it is under way at the end of the notes."""

    number: int
    partition: int
    began_ms: float
    sent_ms: float | None = None
    end_ms: float | None = None
    records: int = 0
    error: str = ""


class AccumulatorTimeline(Picture):
    """A picture and a text of one producer's batches."""

    def __init__(self, producer: OwnProducer, title: str = "Batches of this producer") -> None:
        self.title = title
        self.moments = moments(producer.notes, producer.records, producer.producer.settings)
        self.partitions = range(producer.producer.metadata.partitions(producer.topic))
        self.bars = bars(self.moments)

    @property
    def text(self) -> str:
        return "\n".join([self.title, *(_told(bar) for bar in self.bars)])

    def svg(self) -> str:
        lanes, place_of = _lanes(self.bars, self.partitions)
        bottom = TOP + LANE * len(lanes)
        height = bottom + 56
        begin = min((bar.began_ms for bar in self.bars), default=0.0)
        ends = [bar.end_ms or bar.sent_ms or bar.began_ms for bar in self.bars]
        is_open = any(bar.end_ms is None for bar in self.bars)
        end = max([*ends, *([self.moments[-1].ms] if is_open else [])], default=1.0)
        x = Axis(0.0, max(end - begin, 1.0), LEFT, WIDTH - RIGHT)
        parts = [
            f'<text class="b" x="18" y="26">{escape(self.title)}</text>',
            *_keys(),
        ]
        for tick in x.ticks(6):
            parts.append(
                f'<path d="M{x.at(tick)} {TOP - 6}V{bottom}" stroke="var(--line)"/>'
                f'<text class="s m" x="{x.at(tick)}" y="{bottom + 20}">{tick:g}</text>'
            )
        parts.append(
            f'<text class="s m" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{bottom + 42}">'
            "milliseconds since the first record</text>"
        )
        for at, name in enumerate(lanes):
            y = TOP + LANE * at
            if name:
                parts.append(f'<text class="e" x="{LEFT - 12}" y="{y + 14}">{name}</text>')
        for bar in self.bars:
            if bar.number in place_of:
                parts += _drawn(bar, TOP + LANE * place_of[bar.number], x, begin, end)
        return picture("kio-acc", WIDTH, height, self.text, STYLE, parts)


def bars(steps: list[Moment]) -> list[Bar]:
    """One bar for each batch, in the order in which they began."""
    found: dict[int, Bar] = {}
    for step in steps:
        there = {lot.number for lot in step.lots}
        for bar in found.values():
            if bar.end_ms is None and bar.number not in there:
                bar.end_ms = step.ms
                bar.error = step.kind if step.kind in ("refused", "unknown") else ""
        for lot in step.lots:
            bar = found.setdefault(lot.number, Bar(lot.number, lot.partition, lot.since_ms))
            bar.records = lot.records
            if lot.place == FLYING and bar.sent_ms is None:
                bar.sent_ms = lot.sent_ms
            elif lot.place == QUEUED and lot.attempt and lot.error:
                bar.error = lot.error
    return list(found.values())


def _lanes(found: list[Bar], partitions: range) -> tuple[list[str], dict[int, int]]:
    """Lanes by name, and each batch's lane: batches of a partition share one where they do not
    overlap."""
    lanes: list[str] = []
    place_of: dict[int, int] = {}
    for partition in partitions:
        free_at: list[float] = []
        first = len(lanes)
        for bar in (bar for bar in found if bar.partition == partition):
            end = bar.end_ms if bar.end_ms is not None else float("inf")
            lane = next((n for n, at in enumerate(free_at) if at <= bar.began_ms), len(free_at))
            free_at[lane : lane + 1] = [end]
            place_of[bar.number] = first + lane
        count = max(1, len(free_at))
        lanes += [f"partition {partition}"] + [""] * (count - 1)
    kept = {number: lane for number, lane in place_of.items() if lane < LANES_MOST}
    return lanes[:LANES_MOST], kept


def _drawn(bar: Bar, y: int, x: Axis, first_ms: float, last_ms: float) -> list[str]:
    end_ms = bar.end_ms if bar.end_ms is not None else last_ms
    left_ms = bar.sent_ms if bar.sent_ms is not None else end_ms
    begin, left, end = (x.at(ms - first_ms) for ms in (bar.began_ms, left_ms, end_ms))
    wait, go = max(2.0, left - begin), end - left
    parts = [
        f'<rect x="{begin}" y="{y}" width="{wait:.1f}" height="{BAR}" rx="3" '
        'fill="var(--wait)" fill-opacity=".35" stroke="var(--wait)" stroke-dasharray="4 2"/>'
    ]
    if bar.sent_ms is not None:
        parts.append(
            f'<rect x="{left}" y="{y}" width="{max(3.0, go):.1f}" height="{BAR}" rx="3" '
            'fill="var(--go)" stroke="var(--go)"/>'
        )
    words = f"{bar.records}" + (f" {bar.error}" if bar.error else "")
    tone = "bad" if bar.error else ""
    parts.append(f'<text class="{tone}" x="{end + 6:.1f}" y="{y + 14}">{escape(words)}</text>')
    return parts


def _keys() -> list[str]:
    return [
        '<rect x="18" y="36" width="12" height="10" rx="2" fill="var(--wait)" fill-opacity=".35" '
        'stroke="var(--wait)" stroke-dasharray="4 2"/>'
        '<text class="s" x="36" y="46">waits in its batch</text>'
        '<rect x="160" y="36" width="12" height="10" rx="2" fill="var(--go)"/>'
        '<text class="s" x="178" y="46">in flight; the number counts its records</text>'
    ]


def _told(bar: Bar) -> str:
    name = f"batch {bar.number}, partition {bar.partition}: {many(bar.records)}"
    if bar.sent_ms is None:
        return f"{name}, waits"
    wait = f"waits {bar.sent_ms - bar.began_ms:.1f} ms"
    if bar.end_ms is None:
        return f"{name}, {wait}, in flight"
    tail = f", {bar.error}" if bar.error else ""
    return f"{name}, {wait}, in flight {bar.end_ms - bar.sent_ms:.1f} ms{tail}"
